import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Rewrites } from '../../../src/runtime/controller/rewrites.ts';

const ours = 'PENDING PodRejected';
const theirs = 'PENDING PodNameConflict';

/** When a status is written that another client replaces as soon as it is there, in milliseconds. */
function timesOf(rewrites: Rewrites, count: number): number[] {
  const times: number[] = [];
  for (let now = 0; times.length < count; ) {
    const wait = rewrites.wait('shop/web', theirs, ours, now);
    now += wait;
    if (wait > 0) continue;
    rewrites.written('shop/web', theirs, ours, now);
    times.push(now);
  }
  return times;
}

describe('a status that another client replaces', () => {
  it('is written again at once, then after one second, two, four, and each ten', () => {
    const times = timesOf(new Rewrites(), 8);
    assert.deepEqual(times, [0, 0, 1000, 3000, 7000, 15_000, 25_000, 35_000]);
  });

  it('is written at once when the last write is a minute ago', () => {
    const rewrites = new Rewrites();
    const last = timesOf(rewrites, 8).at(-1) ?? 0;
    assert.equal(rewrites.wait('shop/web', theirs, ours, last + 60_001), 0);
  });

  it('is the same with other times, and another with another count', () => {
    const failed = (count: number, at: string) => ({ failed: count, at, since: Date.parse(at) });
    const waitAfter = (stored: object) => {
      const rewrites = new Rewrites();
      for (const now of [0, 1, 2])
        rewrites.written('shop/web', stored, failed(2, '2026-01-01T00:00:00Z'), now);
      return rewrites.wait('shop/web', stored, failed(2, '2026-01-01T00:00:09Z'), 3);
    };
    assert.equal(waitAfter(failed(3, '2026-01-01T00:00:00Z')), 1999);
    assert.equal(waitAfter(failed(2, '2026-01-01T00:00:05Z')), 0);
  });

  it('is the same with its fields in another order, and another with one field or entry more', () => {
    const at = '2026-01-01T00:00:00Z';
    const status = { phase: 'DONE', conditions: [{ type: 'Ready', at }], pending: { since: at } };
    const waitFor = (wanted: object) => {
      const rewrites = new Rewrites();
      for (const now of [0, 1, 2]) rewrites.written('shop/web', theirs, status, now);
      return rewrites.wait('shop/web', theirs, wanted, 3);
    };
    const { phase, ...rest } = status;
    const stalled = { type: 'Stalled' };
    assert.equal(waitFor({ ...rest, phase }), 1999);
    assert.equal(waitFor({ ...status, pending: {} }), 1999, 'a time that is absent says nothing else');
    for (const other of [
      rest,
      { ...status, pending: undefined },
      { ...status, exitCode: 0 },
      { ...status, conditions: [] },
      { ...status, conditions: [...status.conditions, stalled] },
      { ...status, conditions: [stalled] },
      { ...status, conditions: { 0: status.conditions[0] } },
    ]) {
      assert.equal(waitFor(other), 0, JSON.stringify(other));
    }
  });

  it('delays no other status, and not that of another object', () => {
    const rewrites = new Rewrites();
    timesOf(rewrites, 8);
    assert.equal(rewrites.wait('shop/web', theirs, 'RUNNING Launched', 35_001), 0);
    assert.equal(rewrites.wait('shop/api', theirs, ours, 35_001), 0);
  });
});

describe('a status that goes back and forth by itself', () => {
  it('is written at once each time', () => {
    const rewrites = new Rewrites();
    for (let now = 0; now < 100; now += 2) {
      assert.equal(rewrites.wait('shop/web', theirs, ours, now), 0);
      rewrites.written('shop/web', theirs, ours, now);
      assert.equal(rewrites.wait('shop/web', ours, theirs, now + 1), 0);
      rewrites.written('shop/web', ours, theirs, now + 1);
    }
  });
});
