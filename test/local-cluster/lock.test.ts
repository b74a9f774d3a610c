import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lock } from '../../local-cluster/lock.ts';

function lockPath(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, 'lock');
}

test('the second one waits, and is told for whom', async (t) => {
  const path = lockPath(t);
  const release = await lock(path);
  const told: number[] = [];
  const order: string[] = [];
  const waiting = lock(path, { onWait: (pid) => told.push(pid) }).then((releaseSecond) => {
    order.push('second has it');
    return releaseSecond;
  });
  order.push('first gives it back');
  release();
  const releaseSecond = await waiting;
  assert.deepEqual(order, ['first gives it back', 'second has it']);
  assert.deepEqual(told, [process.pid]);
  releaseSecond();
  assert.ok(!existsSync(path));
});

test('the lock of a process that has ended is taken over', async (t) => {
  const path = lockPath(t);
  const { pid } = spawnSync('true');
  writeFileSync(path, `${pid}\n`);
  const release = await lock(path, { onWait: () => assert.fail('it is free') });
  release();
});

test('waiting can be given up', async (t) => {
  const path = lockPath(t);
  const release = await lock(path);
  await assert.rejects(lock(path, { signal: AbortSignal.timeout(10) }));
  release();
});
