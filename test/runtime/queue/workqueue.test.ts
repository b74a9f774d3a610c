import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../fake/clock.ts';
import { day, hour, minute, processReady, promptly, second, setUp, takeReady } from './fixtures.ts';

describe('Workqueue: one entry per key', () => {
  it('folds adds of the same key', async () => {
    const { queue } = setUp();
    for (const key of ['a', 'b', 'a', 'b', 'a']) queue.add(key);
    assert.equal(queue.length, 2);
    assert.deepEqual(await takeReady(queue), ['a', 'b']);
  });

  it('gives a key to a get that waits', async () => {
    const { queue } = setUp();
    const waiting = queue.get();
    queue.add('a', { priority: 3 });
    assert.deepEqual(await waiting, { key: 'a', priority: 3 });
    assert.equal(queue.length, 0);
  });

  it('serves waiting gets in their order, one key each', async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get(), queue.get()];
    for (const key of ['a', 'b', 'c']) queue.add(key);
    assert.deepEqual(
      (await Promise.all(waiting)).map((item) => item?.key),
      ['a', 'b', 'c'],
    );
  });

  it('I1: never hands out a key twice at once', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    const second = queue.get();
    assert.equal(await promptly(second), undefined);
    queue.add('b');
    assert.equal((await second)?.key, 'b');
  });

  it('I2: an add while the key is processed counts from done on', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    assert.equal(queue.length, 1);
    queue.done('a');
    assert.deepEqual(await processReady(queue), ['a']);
    assert.equal(queue.length, 0);
  });

  it('gives the key to a waiting get as soon as it is done', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    const waiting = queue.get();
    queue.done('a');
    assert.equal((await waiting)?.key, 'a');
  });

  it('ignores done for keys that were not handed out', async () => {
    const { queue, clock } = setUp();
    queue.done('unknown');
    queue.add('ready');
    queue.done('ready');
    queue.addAfter('waiting', second);
    queue.done('waiting');
    assert.deepEqual(await takeReady(queue), ['ready']);
    clock.advance(second);
    assert.deepEqual(await takeReady(queue), ['waiting']);
  });
});

describe('Workqueue: delays', () => {
  it('I3: makes a key ready exactly after its delay', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', minute);
    clock.advance(minute - 1);
    assert.deepEqual([queue.length, await takeReady(queue)], [0, []]);
    clock.advance(1);
    assert.deepEqual([queue.length, await takeReady(queue)], [1, ['a']]);
  });

  it('keeps the earlier of two delays, whichever came first', async () => {
    for (const delays of [
      [minute, second],
      [second, minute],
    ] as const) {
      const { queue, clock } = setUp();
      for (const delay of delays) queue.addAfter('a', delay);
      clock.advance(second);
      assert.deepEqual(await processReady(queue), ['a'], `delays ${delays}`);
      clock.advance(hour);
      assert.equal(queue.length, 0, 'the later delay is gone with the earlier');
    }
  });

  it('an immediate add moves a waiting key to ready and consumes the delay', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', minute);
    queue.add('a');
    assert.deepEqual(await processReady(queue), ['a']);
    assert.equal(clock.pendingTimers, 0);
    clock.advance(hour);
    assert.equal(queue.length, 0);
  });

  it('ready beats waiting: a delay does not hold back a ready key, and runs it once', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    queue.addAfter('a', minute);
    assert.deepEqual(await processReady(queue), ['a']);
    clock.advance(hour);
    assert.equal(queue.length, 0);
  });

  it('a delay of 0 is an immediate add', async () => {
    const { queue } = setUp();
    queue.addAfter('a', 0);
    assert.deepEqual(await takeReady(queue), ['a']);
  });

  it('a delay that is over while the key is processed waits for done', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.addAfter('a', second);
    clock.advance(minute);
    assert.equal(await promptly(queue.get()), undefined);
    queue.done('a');
    await settle();
    assert.equal(queue.length, 0, 'the get above has it');
    queue.done('a');
    clock.advance(hour);
    assert.equal(queue.length, 0);
  });

  it('a delay that is not over at done goes on', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.addAfter('a', minute);
    clock.advance(second);
    queue.done('a');
    assert.equal(queue.length, 0);
    clock.advance(minute - second);
    assert.deepEqual(await takeReady(queue), ['a']);
  });

  it('many delays come out in the order of their ends', async () => {
    const { queue, clock } = setUp();
    const delays = [50, 10, 40, 20, 30];
    for (const delay of delays) queue.addAfter(`after ${delay}`, delay * second);
    clock.advance(minute);
    assert.deepEqual(
      await takeReady(queue),
      [10, 20, 30, 40, 50].map((delay) => `after ${delay}`),
    );
  });

  it('I5: a delay of 30 days does not fire at once', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 30 * day);
    clock.advance(29 * day);
    assert.equal(queue.length, 0);
    clock.advance(day);
    assert.equal(queue.length, 1);
  });

  it('I6: wall-clock jumps do not move delays', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', hour);
    clock.stepWall(10 * day);
    clock.advance(hour - 1);
    clock.stepWall(-20 * day);
    assert.equal(queue.length, 0);
    clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('refuses delays that are none, and keeps working', async () => {
    const { queue } = setUp();
    for (const delay of [Number.NaN, -1, -Infinity, Infinity]) {
      assert.throws(() => queue.addAfter('a', delay), RangeError, `${delay}`);
    }
    queue.add('a');
    assert.deepEqual(await takeReady(queue), ['a']);
  });

  it('leaves nothing behind once all is done', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 400 * day);
    queue.addAt('a', clock.now() + 400 * day);
    queue.add('a');
    await processReady(queue);
    assert.equal(clock.pendingTimers, 0);
  });
});

describe('Workqueue: instants', () => {
  it('makes a key ready at the instant, not a moment before', async () => {
    const { queue, clock } = setUp();
    const midnight = clock.now() + 6 * hour;
    queue.addAt('a', midnight);
    clock.advance(6 * hour - 1);
    assert.equal(queue.length, 0);
    clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('takes an instant in the past, even before 1970, for an immediate add', async () => {
    const { queue, clock } = setUp();
    queue.addAt('now', clock.now());
    queue.addAt('before 1970', -1);
    assert.deepEqual(await takeReady(queue), ['now', 'before 1970']);
    assert.equal(clock.pendingTimers, 0);
  });

  it('follows the wall clock when it is set forward, within 30 s', async () => {
    const { queue, clock } = setUp();
    queue.addAt('a', clock.now() + day);
    clock.stepWall(day);
    clock.advance(30 * second);
    assert.equal(queue.length, 1);
  });

  it('follows the wall clock when it is set back', async () => {
    const { queue, clock } = setUp();
    queue.addAt('a', clock.now() + hour);
    clock.stepWall(-hour);
    clock.advance(2 * hour - 1);
    assert.equal(queue.length, 0);
    clock.advance(1);
    assert.equal(queue.length, 1);
  });

  it('keeps the earlier of two instants', async () => {
    const { queue, clock } = setUp();
    const start = clock.now();
    for (const instant of [start + hour, start + minute, start + day]) queue.addAt('a', instant);
    clock.advance(minute);
    assert.deepEqual(await processReady(queue), ['a']);
    clock.advance(2 * day);
    assert.equal(queue.length, 0);
  });

  it('whichever of a delay and an instant comes first consumes both', async () => {
    for (const [delay, until] of [
      [minute, hour],
      [hour, minute],
    ] as const) {
      const { queue, clock } = setUp();
      queue.addAfter('a', delay);
      queue.addAt('a', clock.now() + until);
      clock.advance(minute);
      assert.deepEqual(await processReady(queue), ['a']);
      assert.equal(clock.pendingTimers, 0);
      clock.advance(day);
      assert.equal(queue.length, 0);
    }
  });

  it('refuses instants that are none', () => {
    const { queue } = setUp();
    for (const instant of [Number.NaN, Infinity, -Infinity]) {
      assert.throws(() => queue.addAt('a', instant), RangeError, `${instant}`);
    }
  });
});

describe('Workqueue: backoff', () => {
  it('doubles from 5 ms with each failure of the key, and begins anew after forget', async () => {
    const { queue, clock } = setUp();
    const waits: number[] = [];
    for (const failure of [1, 2, 3, 4]) {
      queue.addRateLimited('a');
      assert.equal(queue.retries('a'), failure);
      waits.push(clock.nextTimerIn ?? Number.NaN);
      clock.advance(hour);
      await processReady(queue);
    }
    assert.deepEqual(waits, [5, 10, 20, 40]);
    queue.forget('a');
    queue.addRateLimited('a');
    assert.equal(clock.nextTimerIn, 5);
  });

  it('keeps within the bounds given; atMost wins', () => {
    const rows = [
      { bounds: { atLeast: 3 * second }, wait: 3 * second },
      { bounds: { atLeast: 1 }, wait: 5 },
      { bounds: { atMost: 2 }, wait: 2 },
      { bounds: { atLeast: 3 * second, atMost: second }, wait: second },
    ];
    for (const { bounds, wait } of rows) {
      const { queue, clock } = setUp();
      queue.addRateLimited('a', bounds);
      assert.equal(clock.nextTimerIn, wait, JSON.stringify(bounds));
    }
  });

  it('an event does not wait for the backoff, and does not reset it', async () => {
    const { queue, clock } = setUp();
    for (let failure = 0; failure < 10; failure++) queue.addRateLimited('a');
    queue.add('a');
    assert.deepEqual(await processReady(queue), ['a']);
    queue.addRateLimited('a');
    assert.equal(clock.nextTimerIn, 5 * 2 ** 10);
  });

  it('forget does not take the key out of the queue', async () => {
    const { queue } = setUp();
    queue.add('a');
    queue.forget('a');
    assert.deepEqual(await takeReady(queue), ['a']);
  });
});

describe('Workqueue: shutDown', () => {
  it('I13: tells everybody who waits, and later ones', async () => {
    const { queue } = setUp();
    const waiting = [queue.get(), queue.get()];
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
    assert.equal(await queue.get(), undefined);
  });

  it('I13: drops what is ready or waiting, and every later add', async () => {
    const { queue, clock } = setUp();
    queue.add('ready');
    queue.addAfter('waiting', second);
    queue.addAt('alarm', clock.now() + second);
    queue.shutDown();
    queue.add('a');
    queue.addAfter('b', second);
    queue.addAt('c', clock.now() + second);
    queue.addRateLimited('d');
    assert.equal(clock.pendingTimers, 0);
    clock.advance(day);
    assert.equal(queue.length, 0);
    assert.equal(await queue.get(), undefined);
  });

  it('lets keys in progress end, without running them again', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.shutDown();
    queue.shutDown();
    queue.done('a');
    assert.equal(queue.length, 0);
    assert.equal(await queue.get(), undefined);
  });
});
