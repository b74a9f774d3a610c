import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExponentialBackoff } from '../../../src/runtime/queue/rate-limiter.ts';

function waits(limiter: ExponentialBackoff, key: string, count: number): number[] {
  return Array.from({ length: count }, () => limiter.when(key));
}

describe('ExponentialBackoff', () => {
  it('doubles from 5 ms to 1000 s', () => {
    const all = waits(new ExponentialBackoff(), 'a', 20);
    assert.deepEqual(all.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.deepEqual(all.slice(17), [655_360, 1_000_000, 1_000_000]);
  });

  it('counts each key for itself', () => {
    const limiter = new ExponentialBackoff();
    waits(limiter, 'poison', 10);
    assert.equal(limiter.when('other'), 5);
    assert.deepEqual(
      [limiter.retries('poison'), limiter.retries('other'), limiter.retries('new')],
      [10, 1, 0],
    );
  });

  it('begins anew after forget', () => {
    const limiter = new ExponentialBackoff();
    waits(limiter, 'a', 3);
    limiter.forget('a');
    assert.equal(limiter.retries('a'), 0);
    assert.equal(limiter.when('a'), 5);
  });

  it('stays at the cap after thousands of failures', () => {
    const limiter = new ExponentialBackoff({ base: 1, cap: 10_000 });
    assert.equal(waits(limiter, 'a', 5000).at(-1), 10_000);
  });

  it('refuses bounds that make no sense', () => {
    for (const bounds of [
      { base: 0 },
      { base: -1 },
      { base: 10, cap: 9 },
      { cap: Infinity },
      { cap: Number.NaN },
    ]) {
      assert.throws(() => new ExponentialBackoff(bounds), RangeError);
    }
  });
});
