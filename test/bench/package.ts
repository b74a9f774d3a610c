/**
 * Memory of an operator that is built on the packed runtime, beside that of this project's own operator: `make
 * bench-package`. Both idle on the same API server at the same time, by the settings of their Dockerfiles.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { customResourceDefinitions } from '../fixtures/cluster-resources.ts';
import { command, RuntimePackage } from '../integration/runtime-package.ts';
import { BenchApiServer } from './bench-api-server.ts';
import { settingsOf } from './image.ts';
import { describeMachine } from './measure.ts';
import { residentOf } from './process-usage.ts';
import { printTable } from './table.ts';

/** Seconds after the start, by when the caches are filled and their garbage is collected. */
const quiet = 60;
const samples = 15;
const startLimit = 60_000;

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

/** The operator that `atwatch-runtime new` writes, with what its image has. */
async function newOperator(runtime: RuntimePackage): Promise<string> {
  const empty = join(runtime.folder, 'empty');
  await mkdir(empty);
  await runtime.install(empty);
  await command(join(empty, 'node_modules/.bin/atwatch-runtime'), ['new', 'notes'], { cwd: empty });
  const folder = join(empty, 'notes');
  await command('npm', ['run', 'build'], { cwd: folder });
  return folder;
}

interface Program {
  /** With its Dockerfile. */
  readonly folder: string;
  readonly file: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts it as its image does, and resolves once it says that it is ready. */
async function start({ folder, file, args = [], env }: Program, kubeconfig: string): Promise<ChildProcess> {
  const { nodeFlags, env: settings } = settingsOf(await readFile(join(folder, 'Dockerfile'), 'utf8'));
  const child = spawn(process.execPath, [...nodeFlags, file, ...args], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production', ...settings, ...env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const limit = AbortSignal.timeout(startLimit);
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"msg":"ready"')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code} before it was ready`)));
    limit.addEventListener('abort', () => reject(new Error(`${file} was not ready in time`)));
  });
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const runtime = await RuntimePackage.pack();
const server = await BenchApiServer.start();
const running: ChildProcess[] = [];
try {
  const folder = await newOperator(runtime);
  const crd = parse(await readFile(join(folder, 'crd.yaml'), 'utf8'));
  await server.client.create(customResourceDefinitions, crd);
  const flags = ['--leader-elect', '--health-probe-bind-address=127.0.0.1:0', '--metrics-bind-address=0'];
  const programs: readonly Program[] = [
    { folder: '.', file: 'dist/atwatch.js', args: flags },
    { folder, file: 'dist/main.js', env: { HEALTH_BIND_ADDRESS: '127.0.0.1:0' } },
  ];
  for (const program of programs) running.push(await start(program, server.plane.kubeconfig));
  await delay(quiet * 1000);
  const sizes: Awaited<ReturnType<typeof residentOf>>[][] = [];
  while (sizes.length < samples) {
    sizes.push(await Promise.all(running.map(({ pid }) => residentOf(pid))));
    await delay(1000);
  }
  const sizeOf = (program: number, what: 'rss' | 'pss') =>
    median(sizes.map((both) => both[program]?.[what] ?? Number.NaN));
  console.log(describeMachine());
  const rows = (['rss', 'pss'] as const).flatMap((what) => {
    const [own, other] = [sizeOf(0, what), sizeOf(1, what)];
    return [
      { what: `${what.toUpperCase()} of this operator`, value: own, unit: 'MB' },
      { what: `${what.toUpperCase()} of a new operator on the packed runtime`, value: other, unit: 'MB' },
      {
        ...{ what: `${what.toUpperCase()}: new ÷ this`, value: other / own, unit: '' },
        target: { atMost: 1.2 },
      },
    ];
  });
  printTable(`idle for ${quiet} s, median of ${samples} samples`, rows);
} finally {
  await Promise.all(running.map(stop));
  await server.stop();
  await runtime.remove();
}
