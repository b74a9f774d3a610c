/**
 * Benchmarks of the runtime, one after the other, each in a process of its own: `make bench`. They measure and
 * say which targets they miss; they fail only when something does not work.
 *
 * `main.ts [queue] [store] [decode] [transport]`: those named, or all. The last one needs a cluster in
 * KUBECONFIG.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { apiServerVersion } from './api-server-version.ts';
import { describeMachine } from './measure.ts';

const all = ['queue', 'store', 'decode', 'transport'];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !all.includes(name));
if (unknown.length > 0)
  throw new Error(`there is no benchmark ${unknown.join(', ')}; there are ${all.join(', ')}`);

console.log(`${describeMachine()}${await apiServerVersion()}`);
for (const name of chosen.length === 0 ? all : chosen) {
  const child = spawn(process.execPath, [`test/bench/${name}.ts`], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exitCode = 1;
}
