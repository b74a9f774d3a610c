import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { type HostProcess, runManager } from '../../../src/runtime/manager/run-manager.ts';

/** A process that remembers with which codes it was told to exit, and a manager that ends when told to. */
function world() {
  const work = Promise.withResolvers<void>();
  const host = new EventEmitter();
  const seen = { exits: [] as number[], stderr: '', stop: undefined as AbortSignal | undefined };
  Object.assign(host, {
    exit: (code: number) => seen.exits.push(code),
    stderr: { write: (text: string) => (seen.stderr += text) },
  });
  const manager = {
    log: silentLogger,
    start(stop: AbortSignal) {
      seen.stop = stop;
      return work.promise;
    },
    fatal: (error: unknown) => work.reject(error),
  };
  const ended = runManager(manager, host as unknown as HostProcess);
  return { host, work, seen, ended };
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  test(`${signal} asks for a stop, and the clean end of it is exit code 0`, async () => {
    const { host, work, seen, ended } = world();
    assert.equal(seen.stop?.aborted, false);
    host.emit(signal);
    assert.equal(seen.stop?.aborted, true);
    assert.deepEqual(seen.exits, []);
    work.resolve();
    await ended;
    assert.deepEqual(seen.exits, [0]);
  });
}

test('a second signal does not wait for anything', () => {
  const { host, seen } = world();
  host.emit('SIGINT');
  host.emit('SIGTERM');
  assert.deepEqual(seen.exits, [1]);
});

test('a manager that fails is one sentence and exit code 1', async () => {
  const { work, seen, ended } = world();
  work.reject(new Error('cannot reach the API server'));
  await ended;
  assert.equal(seen.stderr, 'cannot reach the API server\n');
  assert.deepEqual(seen.exits, [1]);
});

for (const event of ['unhandledRejection', 'uncaughtException']) {
  test(`an ${event} is fatal`, async () => {
    const { host, seen, ended } = world();
    host.emit(event, new Error('what was not expected'));
    await ended;
    assert.deepEqual(seen.exits, [1]);
  });
}
