/**
 * Killer: loaded into an operator before its own code. It numbers the writes that go to the API server, says
 * each on standard error, and kills the process with SIGKILL at the one that KILL_AT names: `before:3` when
 * nothing of the third has been sent, `after:3` when it has been answered and nobody has seen the answer.
 */
import { subscribe } from 'node:diagnostics_channel';

const numbers = new WeakMap();
let writes = 0;

function killAt(moment, number) {
  if (process.env.KILL_AT !== `${moment}:${number}`) return;
  process._rawDebug(`killed ${moment} write ${number}`);
  process.kill(process.pid, 'SIGKILL');
}

subscribe('undici:request:create', ({ request }) => {
  if (request.method === 'GET' || request.path.includes('/events')) return;
  writes += 1;
  numbers.set(request, writes);
  process._rawDebug(`write ${writes}: ${request.method} ${request.path}`);
  killAt('before', writes);
});
subscribe('undici:request:headers', ({ request }) => killAt('after', numbers.get(request)));
