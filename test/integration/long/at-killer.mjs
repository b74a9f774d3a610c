/**
 * Killer: loaded into an operator before its own code. It names the writes that go to the API server, says
 * each on standard error, and kills the process with SIGKILL at the one that KILL_AT names: `before POST pods #2`
 * when nothing of the second has been sent, `after POST pods #2` when it has been answered and no client has seen
 * the answer. Which Event comes first differs from run to run, so a write is known by its kind and its number.
 */
import { subscribe } from 'node:diagnostics_channel';

const names = new WeakMap();
const counts = new Map();

/** `PATCH ats/example-at/status #3` */
function nameOf({ method, path }) {
  const [url, query = ''] = path.split('?');
  const object = url.replace(/^.*\/namespaces\/[^/]+\//, '');
  const kind = `${method} ${object}${query.includes('dryRun=All') ? ' (dry run)' : ''}`;
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return `${kind} #${counts.get(kind)}`;
}

function killAt(moment, name) {
  if (name === undefined || process.env.KILL_AT !== `${moment} ${name}`) return;
  process._rawDebug(`killed ${moment} ${name}`);
  process.kill(process.pid, 'SIGKILL');
}

subscribe('undici:request:create', ({ request }) => {
  if (request.method === 'GET') return;
  const name = nameOf(request);
  names.set(request, name);
  process._rawDebug(`write ${name}`);
  killAt('before', name);
});
subscribe('undici:request:headers', ({ request }) => killAt('after', names.get(request)));
