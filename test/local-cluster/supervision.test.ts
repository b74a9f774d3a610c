import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../local-cluster/lock.ts';
import {
  isUp,
  Supervision,
  type SupervisionOptions,
  stopDetached,
  temporaryDirectory,
} from '../../local-cluster/supervision.ts';

const limit = 10_000;

async function supervise(t: TestContext, options?: SupervisionOptions): Promise<Supervision> {
  const supervision = await Supervision.start(options);
  t.after(() => supervision.stop());
  return supervision;
}

/** Runs a shell script that writes its process id first, and returns that. */
async function runScript(supervision: Supervision, name: string, script: string): Promise<number> {
  const pidFile = join(supervision.directory, `${name}.pid`);
  supervision.run({ name, command: 'sh', args: ['-c', `echo $$ > ${pidFile}; ${script}`] });
  const read = async () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').trim();
  return Number(await supervision.wait('the script', limit, read));
}

async function until(what: string, probe: () => boolean): Promise<void> {
  const start = performance.now();
  while (!probe()) {
    assert.ok(performance.now() - start < limit, what);
    await delay(20);
  }
}

test('a stop ends every program and removes the folder', async (t) => {
  const supervision = await supervise(t);
  const pids = [
    await runScript(supervision, 'a', 'exec sleep 600'),
    await runScript(supervision, 'b', 'trap "" TERM; exec sleep 600'),
  ];
  await supervision.stop();
  assert.deepEqual(pids.map(isAlive), [false, false]);
  assert.ok(!existsSync(supervision.directory));
  await supervision.stop();
});

test('a program that dies ends every wait, with the last lines of its log', async (t) => {
  const supervision = await supervise(t);
  supervision.run({ name: 'broken', command: 'sh', args: ['-c', 'seq 1 50; echo no such flag >&2; exit 3'] });
  await assert.rejects(
    supervision.wait('anything', limit, async () => undefined),
    ({ message }: Error) => {
      assert.match(message, /^broken died \(exit code 3\); its log ends with:\n/);
      assert.match(message, /\n {2}50\n {2}no such flag$/);
      assert.ok(message.split('\n').length < 15);
      return true;
    },
  );
});

test('a program that does not exist is reported as such', async (t) => {
  const supervision = await supervise(t);
  supervision.run({ name: 'missing', command: '/no/such/program', args: [] });
  await assert.rejects(
    supervision.wait('anything', limit, async () => undefined),
    /missing died.*/,
  );
});

test('a death later on is told; an intended kill is not, and the program can be started again', async (t) => {
  const deaths: string[] = [];
  const supervision = await supervise(t, { onDeath: ({ message }) => deaths.push(message) });
  const first = await runScript(supervision, 'a', 'exec sleep 600');
  await supervision.kill('a');
  assert.ok(!isAlive(first));
  assert.deepEqual(deaths, []);

  const second = await runScript(supervision, 'b', 'exec sleep 600');
  process.kill(second, 'SIGKILL');
  await until('the death is told', () => deaths.length === 1);
  assert.match(deaths[0] ?? '', /^b died \(signal SIGKILL\)/);
});

test('a killed supervisor takes its programs along', { skip: process.platform !== 'linux' }, async (t) => {
  const deaths: string[] = [];
  const supervision = await supervise(t, { onDeath: ({ message }) => deaths.push(message) });
  const pid = await runScript(supervision, 'a', 'trap "" TERM; exec sleep 600');
  process.kill(Number(readFileSync(join(supervision.directory, 'supervisor.pid'), 'utf8')), 'SIGKILL');
  await until('the program has ended', () => !isAlive(pid));
  await until('the folder is gone', () => !existsSync(supervision.directory));
  await until('the death is told', () => deaths.length > 0);
  assert.match(deaths[0] ?? '', /^the supervisor of the cluster has ended/);
});

test('what is detached lives on, and again, until it is told to stop', async (t) => {
  const supervision = await supervise(t);
  const first = await runScript(supervision, 'a', 'exec sleep 600');
  await supervision.detach();
  await delay(200);
  assert.ok(isAlive(first));
  assert.ok(await isUp(supervision.directory));

  process.kill(first, 'SIGKILL');
  const current = () => Number(readFileSync(join(supervision.directory, 'a.pid'), 'utf8'));
  await until('the program is started again', () => current() !== 0 && current() !== first);
  const pid = current();
  await stopDetached(supervision.directory);
  assert.ok(!isAlive(pid));
  assert.ok(!existsSync(supervision.directory));
});

/** An owner that starts a program under supervision, tells us about it, and waits to be killed. */
const owner = `
import { Supervision } from '${new URL('../../local-cluster/supervision.ts', import.meta.url)}';
const supervision = await Supervision.start();
supervision.run({ name: 'a', command: 'sleep', args: ['600'] });
console.log(supervision.directory);
setInterval(() => {}, 1000);
`;

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`an owner that ends by ${signal} leaves nothing`, async (t) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', owner], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const [directory] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    assert.ok(existsSync(directory));
    child.kill(signal);
    await until('the folder is gone', () => !existsSync(directory));
  });
}

const places = [
  { name: 'the system’s folder', directory: '/var/tmp', expected: '/var/tmp' },
  { name: '/tmp for one that is hidden', directory: '/run/user/0', expected: '/tmp' },
  { name: 'one that only looks hidden', directory: '/runner/tmp', expected: '/runner/tmp' },
  { name: '/tmp for one with a long name', directory: `/${'x'.repeat(80)}`, expected: '/tmp' },
];

for (const { name, directory, expected } of places) {
  test(`clusters live in ${name}`, () => {
    assert.equal(temporaryDirectory(['/run'], directory), expected);
  });
}
