import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../src/runtime/clock.ts';
import { FakeClock } from './clock.ts';

describe('FakeClock', () => {
  it('moves wall and monotonic time together', () => {
    const clock = new FakeClock({ now: 5000, monotonic: 7 });
    clock.advance(250);
    assert.deepEqual([clock.now(), clock.monotonic()], [5250, 257]);
  });

  it('fires due timers in order of their due times, then of their setting, each at its own instant', () => {
    const clock = new FakeClock({ monotonic: 0 });
    const fired: string[] = [];
    const at = (name: string) => () => fired.push(`${name}@${clock.monotonic()}`);
    clock.setTimer(30, at('late'));
    clock.setTimer(10, at('early'));
    clock.setTimer(10, at('early too'));
    clock.setTimer(31, at('not yet'));
    clock.advance(30);
    assert.deepEqual(fired, ['early@10', 'early too@10', 'late@30']);
    assert.equal(clock.pendingTimers, 1);
    assert.equal(clock.nextTimerIn, 1);
  });

  it('fires timers set by timers when they fall into the same advance', () => {
    const clock = new FakeClock();
    let count = 0;
    const again = () => {
      count++;
      clock.setTimer(10, again);
    };
    clock.setTimer(10, again);
    clock.advance(35);
    assert.equal(count, 3);
  });

  it('never fires synchronously, not even without a delay', () => {
    const clock = new FakeClock();
    let fired = false;
    clock.setTimer(0, () => {
      fired = true;
    });
    assert.equal(fired, false);
    clock.advance(0);
    assert.equal(fired, true);
  });

  it('does not fire a cancelled timer; cancel may come late and twice', () => {
    const clock = new FakeClock();
    let count = 0;
    const timer = clock.setTimer(5, () => count++);
    clock.setTimer(5, () => count++);
    timer.cancel();
    clock.advance(5);
    timer.cancel();
    assert.equal(count, 1);
  });

  it('refuses the delays that the real clock refuses', () => {
    const clock = new FakeClock();
    for (const delay of [Number.NaN, -1, Infinity, 2 ** 31]) {
      assert.throws(() => clock.setTimer(delay, () => {}), RangeError);
    }
  });

  it('steps the wall clock without moving timers', () => {
    const clock = new FakeClock({ now: 1_000_000, monotonic: 0 });
    let fired = false;
    clock.setTimer(10, () => {
      fired = true;
    });
    clock.stepWall(-500_000);
    clock.advance(9);
    assert.equal(fired, false);
    clock.advance(1);
    assert.equal(fired, true);
    assert.deepEqual([clock.now(), clock.monotonic()], [500_010, 10]);
  });

  it('suspends: the wall clock goes on, timers wait', () => {
    const clock = new FakeClock({ now: 0, monotonic: 0 });
    let fired = false;
    clock.setTimer(10, () => {
      fired = true;
    });
    clock.suspend(60_000);
    clock.advance(0);
    assert.equal(fired, false);
    assert.deepEqual([clock.now(), clock.monotonic()], [60_000, 0]);
    clock.suspend(60_000, { monotonic: 'moves' });
    assert.equal(fired, false);
    clock.advance(0);
    assert.equal(fired, true);
    assert.deepEqual([clock.now(), clock.monotonic()], [120_000, 60_000]);
  });

  it('advanceAsync runs promise callbacks between timers', async () => {
    const clock = new FakeClock({ monotonic: 0 });
    const seen: number[] = [];
    const loop = (async () => {
      for (let round = 0; round < 3; round++) {
        await sleep(clock, 10);
        seen.push(clock.monotonic());
      }
    })();
    await clock.advanceAsync(100);
    await loop;
    assert.deepEqual(seen, [10, 20, 30]);
  });

  it('can fire early, as real timers do', () => {
    const clock = new FakeClock({ monotonic: 0, earlyBy: 1 });
    const fired: number[] = [];
    clock.setTimer(100, () => fired.push(clock.monotonic()));
    clock.advance(100);
    assert.deepEqual(fired, [99]);
  });
});
