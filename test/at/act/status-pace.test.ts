import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatusPace } from '../../../src/at/act/status-pace.ts';

/** When each of so many Ats has its status written, milliseconds, each looked at again when it was told to. */
function timesOf(pace: StatusPace, group: string, count: number, now = 0): number[] {
  return Array.from({ length: count }, (_, index) => {
    const key = `${group}/${index}`;
    const wait = pace.wait(key, group, now);
    if (wait > 0) assert.equal(pace.wait(key, group, now + wait), 0);
    return wait;
  });
}

const within = (times: readonly number[], from: number) =>
  times.filter((time) => time >= from && time < from + 1000).length;

describe('the statuses that say why due Ats have no Pod', () => {
  it('are written at once for a few', () => {
    assert.deepEqual(timesOf(new StatusPace(), 'shop/PodRejected', 5), [0, 0, 0, 0, 0]);
  });

  it('are written within 60 s for ten thousand, the first 100 within 7 s, at 200 a second', () => {
    const times = timesOf(new StatusPace(), 'shop/PodRejected', 10_000);
    assert.ok(Math.max(...times.slice(0, 100)) < 7000);
    assert.ok(Math.max(...times) < 60_000);
    for (const second of [0, 1, 10, 40]) assert.ok(within(times, second * 1000) <= 220);
  });

  it('of another namespace do not wait for those ten thousand', () => {
    const pace = new StatusPace();
    timesOf(pace, 'shop/PodRejected', 10_000);
    assert.ok(Math.max(...timesOf(pace, 'farm/PodRejected', 100)) < 7000);
  });

  it('keep their place, and lose it when the At is gone', () => {
    const pace = new StatusPace();
    timesOf(pace, 'shop/PodRejected', 1000);
    const wait = pace.wait('one', 'shop/PodRejected', 0);
    assert.equal(pace.wait('one', 'shop/PodRejected', 0), wait);
    pace.forget('one');
    assert.ok(pace.wait('one', 'shop/PodRejected', 0) > wait);
  });

  it('keep it after their turn, too, so that one that is refused waits for its back-off alone', () => {
    const pace = new StatusPace();
    timesOf(pace, 'shop/PodRejected', 1000);
    const wait = pace.wait('one', 'shop/PodRejected', 0);
    for (const later of [0, 5, 10, 20]) assert.equal(pace.wait('one', 'shop/PodRejected', wait + later), 0);
  });
});
