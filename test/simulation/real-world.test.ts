import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runStory } from './determinism-story.ts';
import { withoutRealWorld } from './real-world.ts';

describe('a simulated run', () => {
  it('reaches no real time, no real chance and no I/O, over the whole life of three replicas', async () => {
    const reached = await withoutRealWorld(async () => {
      for (const seed of ['1', '2', '3']) await runStory(seed);
    });
    assert.deepEqual(reached, []);
  });

  it('would be seen to reach them', async () => {
    const attempts: readonly (() => unknown)[] = [
      () => setTimeout(() => {}, 1),
      () => setImmediate(() => {}),
      () => Math.random(),
      () => Date.now(),
      () => new Date(),
      () => performance.now(),
      () => randomBytes(8),
      () => crypto.randomUUID(),
      () => readFileSync('/etc/hostname'),
    ];
    const reached = await withoutRealWorld(async () => {
      for (const attempt of attempts) assert.throws(attempt, /was reached/);
      assert.equal(new Date(0).toISOString(), '1970-01-01T00:00:00.000Z');
      assert.equal(createHash('sha256').update('').digest('hex').length, 64);
    });
    assert.equal(reached.length, attempts.length);
    assert.ok(new Date() instanceof Date && Math.random() < 1);
  });
});
