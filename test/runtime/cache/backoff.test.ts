import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Backoff } from '../../../src/runtime/cache/backoff.ts';
import { FakeClock } from '../../fake/clock.ts';

const middle = () => 0.5;

describe('Backoff', () => {
  it('doubles from 0.8 s to 30 s', () => {
    const backoff = new Backoff({ clock: new FakeClock(), random: middle });
    const delays = Array.from({ length: 8 }, () => backoff.next());
    assert.deepEqual(delays, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  });

  it('spreads by a quarter to either side', () => {
    const clock = new FakeClock();
    assert.equal(new Backoff({ clock, random: () => 0 }).next(), 600);
    assert.equal(new Backoff({ clock, random: () => 1 }).next(), 1000);
  });

  it('starts over after two minutes without a failure, not before', () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock, random: middle });
    clock.advance(backoff.next() + 120_000);
    assert.equal(backoff.next(), 1600);
    clock.advance(1600 + 120_001);
    assert.equal(backoff.next(), 800);
  });
});
