/** Flows: keys of one priority that take turns, so that the thousands of one flow do not hold up the few of another. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Workqueue } from '../../../src/runtime/queue/workqueue.ts';
import { fc } from '../../fixtures/property.ts';
import { second, setUp, takeReady } from './fixtures.ts';

const flowOf = (key: string) => key.split('/')[0] ?? '';

function addAll(queue: Workqueue, flow: string, count: number, priority = 0): void {
  for (let index = 1; index <= count; index += 1) queue.add(`${flow}/${index}`, { priority });
}

describe('Workqueue: flows', () => {
  it('takes keys of one priority in turns, and those of one flow in their order', async () => {
    const { queue } = setUp({ flowOf });
    addAll(queue, 'a', 4);
    addAll(queue, 'b', 2);
    addAll(queue, 'c', 1);
    assert.deepEqual(await takeReady(queue), ['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3', 'a/4']);
  });

  it('takes them as they come without flows', async () => {
    const { queue } = setUp();
    addAll(queue, 'a', 3);
    addAll(queue, 'b', 1);
    assert.deepEqual(await takeReady(queue), ['a/1', 'a/2', 'a/3', 'b/1']);
  });

  it('takes the higher priority of whichever flow first', async () => {
    const { queue } = setUp({ flowOf });
    addAll(queue, 'a', 2, 100);
    queue.add('a/low');
    queue.add('b/low');
    queue.add('b/1', { priority: 100 });
    assert.deepEqual(await takeReady(queue), ['a/1', 'b/1', 'a/2', 'a/low', 'b/low']);
  });

  it('a raised key takes its turn among its new equals, before those of its flow that are younger', async () => {
    const { queue } = setUp({ flowOf });
    queue.add('a/old');
    queue.add('a/low');
    addAll(queue, 'b', 2, 5);
    queue.add('a/young', { priority: 5 });
    queue.add('a/old', { priority: 5 });
    assert.deepEqual(await takeReady(queue), ['b/1', 'a/old', 'b/2', 'a/young', 'a/low']);
  });

  it('a flow that has been idle has its turn after one of each other, and no turns to make up for', async () => {
    const { queue } = setUp({ flowOf });
    queue.add('b/early');
    addAll(queue, 'a', 6);
    assert.equal((await queue.get())?.key, 'b/early');
    for (let taken = 0; taken < 3; taken += 1) await queue.get();
    addAll(queue, 'b', 2);
    assert.deepEqual(await takeReady(queue), ['a/4', 'b/1', 'a/5', 'b/2', 'a/6']);
  });

  it('a waiting flood ages as one does without flows', async () => {
    const { queue, clock } = setUp({ flowOf });
    addAll(queue, 'a', 3, -1);
    await queue.get();
    clock.advance(1.1 * second);
    queue.add('b/1');
    assert.deepEqual(await takeReady(queue), ['a/2', 'a/3', 'b/1']);
  });

  it('a priority is as old as the one whose turn it is', async () => {
    const { queue, clock } = setUp({ flowOf });
    queue.add('warm-up');
    await queue.get();
    addAll(queue, 'a', 2, 5);
    clock.advance(2 * second);
    queue.add('c/ordinary');
    clock.advance(6 * second);
    queue.add('b/young', { priority: 5 });
    // a/2 is older than both, and waits for one of b, for which the ordinary one need not wait.
    assert.deepEqual(await takeReady(queue), ['a/1', 'c/ordinary', 'b/young', 'a/2']);
  });

  it('nothing is left of a queue that is shut down', async () => {
    const { queue } = setUp({ flowOf });
    addAll(queue, 'a', 2);
    addAll(queue, 'b', 2, 5);
    queue.shutDown();
    assert.equal(queue.length, 0);
    assert.equal(await queue.get(), undefined);
  });

  for (const moment of [0, 3000, 9990]) {
    it(`one key is the second to be taken after ${moment} of another flow's 10 000`, async () => {
      const { queue } = setUp({ flowOf });
      addAll(queue, 'crowd', 10_000, 100);
      for (let taken = 0; taken < moment; taken += 1) queue.done((await queue.get())?.key ?? '');
      queue.add('other/1', { priority: 100 });
      const next = [await queue.get(), await queue.get()].map((item) => item?.key);
      assert.ok(next.includes('other/1'), `${next}`);
    });
  }

  it('a key never waits for more of another flow than stand before it in its own, and one', async () => {
    const step = fc.oneof(
      fc.record({ add: fc.constantFrom('a', 'b', 'c'), priority: fc.constantFrom(0, 0, 7) }),
      fc.constant('get' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue } = setUp({ flowOf });
        /** What is ready, in the order of adding, with how many of each flow were taken before that. */
        const waiting: { key: string; priority: number; ahead: number; before: Map<string, number> }[] = [];
        const taken = new Map<string, number>();
        const bucket = (flow: string, priority: number) => `${flow} ${priority}`;
        const get = async () => {
          const item = await queue.get();
          const index = waiting.findIndex(({ key }) => key === item?.key);
          const [entry] = waiting.splice(index, 1);
          assert.ok(entry, `took ${item?.key}`);
          const flow = flowOf(entry.key);
          for (const other of ['a', 'b', 'c'].filter((name) => name !== flow)) {
            const name = bucket(other, entry.priority);
            const overtaken = (taken.get(name) ?? 0) - (entry.before.get(name) ?? 0);
            assert.ok(overtaken <= entry.ahead + 1, `${overtaken} of ${other} before ${entry.key}`);
          }
          const own = bucket(flow, entry.priority);
          taken.set(own, (taken.get(own) ?? 0) + 1);
        };
        for (const [index, each] of steps.entries()) {
          if (each === 'get') {
            if (waiting.length > 0) await get();
            continue;
          }
          const { add: flow, priority } = each;
          const isAhead = (one: (typeof waiting)[number]) =>
            flowOf(one.key) === flow && one.priority === priority;
          const ahead = waiting.filter(isAhead).length;
          const key = `${flow}/${index}`;
          waiting.push({ key, priority, ahead, before: new Map(taken) });
          queue.add(key, { priority });
        }
        while (waiting.length > 0) await get();
        assert.equal(queue.length, 0);
      }),
      { numRuns: 300 },
    );
  });
});
