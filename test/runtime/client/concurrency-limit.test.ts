import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Answered, ConcurrencyLimit } from '../../../src/runtime/client/concurrency-limit.ts';

/** A server and a client that always has more to send; time passes with each round of answers. */
class Load {
  readonly limit = new ConcurrencyLimit({ most: 32 });
  now = 0;

  /** As many requests as the limit allows, or as the client has, all sent at once. Returns their number. */
  round(durationOf: (underWay: number) => number, answered: Partial<Answered> = {}, wanted = 32): number {
    const underWay = Math.min(wanted, this.limit.current);
    const [sentAt, duration] = [this.now, durationOf(underWay)];
    for (let request = 0; request < underWay; request++) {
      this.limit.observe({ ...write, sentAt, duration, underWay, ...answered });
    }
    this.now += duration;
    return underWay;
  }

  rounds(
    count: number,
    durationOf: (underWay: number) => number,
    answered: Partial<Answered> = {},
  ): number[] {
    return Array.from({ length: count }, () => this.round(durationOf, answered));
  }
}

const write: Answered = { timed: true, sentAt: 0, duration: 1, outcome: 'answered', underWay: 1 };
const quickly = () => 20;
/** Each request beyond the eighth waits until one of them is done, and more load makes all of them slower. */
const overloaded = (underWay: number) => 200 * Math.max(1, underWay / 8) ** 2;

describe('the limit of concurrent requests', () => {
  test('is the highest as long as answers are quick', () => {
    const load = new Load();
    assert.deepEqual(new Set(load.rounds(50, quickly)), new Set([32]));
  });

  test('is halved by requests turned away, once for all that were under way, down to one at a time', () => {
    const load = new Load();
    const seen = load.rounds(7, quickly, { outcome: 'turnedAway' });
    assert.deepEqual(seen, [32, 16, 8, 4, 2, 1, 1]);
  });

  test('rises from one at a time with each round of answers, slow ones too', () => {
    const load = new Load();
    load.rounds(6, quickly, { outcome: 'turnedAway' });
    assert.deepEqual(
      load.rounds(4, () => 4000),
      [1, 1, 2, 3],
    );
  });

  test('stays where it is for 5 s after a request was turned away', () => {
    const load = new Load();
    load.rounds(3, quickly, { outcome: 'turnedAway' });
    const turnedAwayAt = load.now;
    while (load.now + quickly() < turnedAwayAt + 5000) assert.equal(load.round(quickly), 4);
    assert.ok(load.rounds(30, quickly).at(-1) === 32);
  });

  test('rises again when answers come, and more is wanted', () => {
    const load = new Load();
    load.rounds(5, quickly, { outcome: 'turnedAway' });
    load.now += 5000;
    for (let round = 0; round < 50; round++) load.round(quickly, {}, 2);
    assert.equal(load.limit.current, 3);
    const seen = load.rounds(30, quickly);
    assert.equal(seen.at(-1), 32);
    assert.deepEqual(
      seen.toSorted((one, other) => one - other),
      seen,
    );
  });

  test('falls while writes take longer than they normally do, to what the server can bear, and comes back', () => {
    const load = new Load();
    load.rounds(10, quickly);
    const seen = load.rounds(60, overloaded);
    assert.ok(Math.max(...seen.slice(-20)) < 20, `${seen}`);
    assert.ok(Math.min(...seen) >= 4, `${seen}`);
    assert.equal(load.rounds(30, quickly).at(-1), 32);
  });

  test('falls to its least, not to nothing, when nothing is answered', () => {
    const load = new Load();
    load.rounds(10, quickly);
    assert.equal(load.rounds(100, () => 5000, { outcome: 'unanswered' }).at(-1), 4);
  });

  test('does not mind requests that have always been slow', () => {
    const load = new Load();
    for (let round = 0; round < 50; round++) load.round(() => 2000);
    assert.equal(load.limit.current, 32);
  });

  test('of reads falls when they are turned away, and rises with answers, whatever time they take', () => {
    const load = new Load();
    const read = { timed: false } as const;
    load.rounds(6, quickly, { ...read, outcome: 'turnedAway' });
    assert.equal(load.limit.current, 1);
    load.rounds(30, () => 30_000, { ...read, outcome: 'unanswered' });
    assert.equal(load.limit.current, 1);
    assert.equal(load.rounds(30, () => 20_000, read).at(-1), 32);
  });

  test('takes for normal, in the end, what does not get quicker with fewer requests', () => {
    const load = new Load();
    load.rounds(50, quickly);
    const seen = load.rounds(500, () => 2000);
    assert.ok(Math.min(...seen) < 16);
    assert.equal(seen.at(-1), 32);
  });

  test('learns nothing from single slow answers, from how long reads take, or from before it fell', () => {
    const load = new Load();
    for (let index = 0; index < 1000; index++) {
      load.limit.observe({ ...write, sentAt: index, duration: index % 5 === 0 ? 5000 : 20 });
      load.limit.observe({ ...write, timed: false, sentAt: index, duration: 20_000 });
    }
    assert.equal(load.limit.current, 32);
    load.limit.observe({ ...write, sentAt: 10_000, outcome: 'turnedAway' });
    for (let index = 0; index < 100; index++) {
      load.limit.observe({ ...write, sentAt: 9999, outcome: 'turnedAway' });
      load.limit.observe({ ...write, sentAt: 9999, underWay: 32 });
    }
    assert.equal(load.limit.current, 16);
  });

  test('may be one, and nothing else than a number of requests', () => {
    assert.equal(new ConcurrencyLimit({ most: 1 }).current, 1);
    for (const options of [{ most: 0 }, { most: 2, least: 3 }, { most: 1.5 }, { most: Number.NaN }]) {
      assert.throws(() => new ConcurrencyLimit(options), RangeError);
    }
  });
});
