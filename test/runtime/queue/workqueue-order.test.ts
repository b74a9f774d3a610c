import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { day, hour, minute, processReady, second, setUp, takeReady } from './fixtures.ts';

describe('Workqueue: order', () => {
  it('takes higher priorities first, then what became ready first', async () => {
    const { queue } = setUp();
    queue.add('ordinary');
    queue.add('initial', { priority: -100 });
    queue.add('due', { priority: 100 });
    queue.add('ordinary too');
    queue.add('due too', { priority: 100 });
    assert.deepEqual(await takeReady(queue), ['due', 'due too', 'ordinary', 'ordinary too', 'initial']);
  });

  it('orders by the time of becoming ready, not of being added', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('added first', 2 * second);
    queue.addAfter('added second', second);
    clock.advance(1500);
    queue.add('added last');
    clock.advance(500);
    assert.deepEqual(await takeReady(queue), ['added second', 'added last', 'added first']);
  });

  it('keys that become ready at the same instant come by priority', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('low', second, { priority: -1 });
    queue.addAfter('high', second, { priority: 1 });
    clock.advance(second);
    assert.deepEqual(await takeReady(queue), ['high', 'low']);
  });

  it('a waiting key of high priority does not hold back ready ones', async () => {
    const { queue } = setUp();
    queue.addAfter('high', second, { priority: 1000 });
    queue.add('low', { priority: -1000 });
    assert.deepEqual(await takeReady(queue), ['low']);
  });

  it('tells the priority with the key', async () => {
    const { queue } = setUp();
    queue.add('a', { priority: -7 });
    assert.deepEqual(await queue.get(), { key: 'a', priority: -7 });
  });

  it('refuses priorities that are no integers', () => {
    const { queue } = setUp();
    for (const priority of [Number.NaN, Infinity, 0.5]) {
      assert.throws(() => queue.add('a', { priority }), RangeError);
      assert.throws(() => queue.addAfter('a', 1, { priority }), RangeError);
      assert.throws(() => queue.addAt('a', Date.UTC(3000, 0), { priority }), RangeError);
    }
    assert.equal(queue.length, 0);
  });
});

describe('Workqueue: merged adds', () => {
  const rows = [
    { name: 'ready, raised', first: 0, second: 5, priority: 5 },
    { name: 'ready, not lowered', first: 5, second: 0, priority: 5 },
  ];
  for (const { name, first, second: next, priority } of rows) {
    it(`keep the higher priority: ${name}`, async () => {
      const { queue } = setUp();
      queue.add('a', { priority: first });
      queue.add('a', { priority: next });
      assert.equal((await queue.get())?.priority, priority);
    });

    it(`keep the higher priority: waiting, ${name}`, async () => {
      const { queue, clock } = setUp();
      queue.addAfter('a', minute, { priority: first });
      queue.addAt('a', clock.now() + hour, { priority: next });
      clock.advance(minute);
      assert.equal((await queue.get())?.priority, priority);
    });
  }

  it('a raised key overtakes, and keeps its age among its equals', async () => {
    const { queue } = setUp();
    queue.add('low');
    queue.add('old');
    queue.add('middle', { priority: 5 });
    queue.add('old', { priority: 5 });
    assert.deepEqual(await takeReady(queue), ['old', 'middle', 'low']);
  });

  it('a delayed add of higher priority raises a ready key', async () => {
    const { queue } = setUp();
    queue.add('a');
    queue.add('b');
    queue.addAfter('b', hour, { priority: 1 });
    assert.deepEqual(await takeReady(queue), ['b', 'a']);
  });

  it('a key that is added while it is processed is raised as well', async () => {
    const { queue } = setUp();
    queue.add('a', { priority: 100 });
    await queue.get();
    queue.add('a', { priority: -100 });
    queue.add('b');
    queue.add('a', { priority: 1 });
    queue.done('a');
    assert.deepEqual(await takeReady(queue), ['a', 'b']);
  });

  it('the priority of an earlier run does not stick to the next', async () => {
    const { queue } = setUp();
    queue.add('a', { priority: 100 });
    await processReady(queue);
    queue.add('b');
    queue.add('a', { priority: -100 });
    assert.deepEqual(await takeReady(queue), ['b', 'a']);
  });
});

describe('Workqueue: ageing', () => {
  it('one second of readiness weighs as much as one priority step', async () => {
    const { queue, clock } = setUp();
    const served = queue.get();
    queue.add('warm-up');
    await served;
    queue.add('initial', { priority: -100 });
    clock.advance(100 * second - 1);
    queue.add('just in time');
    clock.advance(2);
    queue.add('too late');
    assert.deepEqual(await takeReady(queue), ['just in time', 'initial', 'too late']);
  });

  it('the weight is an option', async () => {
    const { queue, clock } = setUp({ ageing: 10 });
    const served = queue.get();
    queue.add('warm-up');
    await served;
    queue.add('low', { priority: -1 });
    clock.advance(11);
    queue.add('high');
    assert.deepEqual(await takeReady(queue), ['low', 'high']);
    assert.throws(() => setUp({ ageing: 0 }), RangeError);
  });

  it('I20: an endless flood of urgent keys does not starve the initial list', async () => {
    const { queue, clock } = setUp();
    queue.add('initial', { priority: -100 });
    let taken = 0;
    for (let key = ''; key !== 'initial'; taken++) {
      // 200 steps below, so it stands behind what comes in 200 s: 400 keys, here taken one in a second.
      assert.ok(taken <= 401, 'overtaken by keys that became ready more than 200 s later');
      queue.add(`urgent ${taken}`, { priority: 100 });
      queue.add(`urgent ${taken} too`, { priority: 100 });
      key = (await queue.get())?.key ?? '';
      queue.done(key);
      clock.advance(second);
    }
    assert.ok(taken > 200, 'priority counted for nothing');
  });

  it('what waited unserved on a standby does not overtake what happens under the leader', async () => {
    const { queue, clock } = setUp();
    queue.add('initial', { priority: -100 });
    clock.advance(10 * day);
    const first = queue.get();
    assert.equal((await first)?.key, 'initial');
    queue.add('initial too', { priority: -100 });
    queue.add('event');
    assert.deepEqual(await takeReady(queue), ['event', 'initial too']);
  });

  it('a backlog from standby time stays behind the first events', async () => {
    const { queue, clock } = setUp();
    for (const key of ['one', 'two', 'three']) queue.add(key, { priority: -100 });
    clock.advance(10 * day);
    await queue.get();
    clock.advance(50 * second);
    queue.add('event');
    assert.deepEqual(await takeReady(queue), ['event', 'two', 'three']);
  });
});
