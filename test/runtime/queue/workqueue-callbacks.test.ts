/** Callbacks of a workqueue that break their word: whatever they return or throw, no key and no worker is lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RateLimiter } from '../../../src/runtime/queue/rate-limiter.ts';
import { Workqueue } from '../../../src/runtime/queue/workqueue.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { fc } from '../../fixtures/property.ts';
import { promptly, setUp, takeReady } from './fixtures.ts';

const bang = (): never => {
  throw new TypeError('boom');
};

/** What a callback may come up with, whatever its type says. */
const surprises: readonly { readonly name: string; readonly give: () => unknown }[] = [
  { name: 'throws', give: bang },
  { name: 'is undefined', give: () => undefined },
  { name: 'is null', give: () => null },
  { name: 'is NaN', give: () => Number.NaN },
  { name: 'is negative', give: () => -1 },
  { name: 'is infinite', give: () => Infinity },
  { name: 'is negative infinity', give: () => -Infinity },
  { name: 'is a text', give: () => 'soon' },
  { name: 'is a symbol', give: () => Symbol('s') },
  { name: 'is an object', give: () => ({}) },
  { name: 'is an object without a text', give: () => Object.create(null) },
  { name: 'is a promise that is rejected', give: () => Promise.reject(new Error('async by mistake')) },
];

function limiterOf(give: (key: string) => unknown): RateLimiter {
  return { when: give, forget: give, retries: give } as RateLimiter;
}

describe('Workqueue: flowOf', () => {
  it('is asked once, when the key becomes ready', async () => {
    const asked: string[] = [];
    const { queue, clock } = setUp({
      flowOf: (key) => {
        asked.push(key);
        return key;
      },
    });
    queue.addAfter('a', 10);
    assert.deepEqual(asked, []);
    clock.advance(10);
    queue.add('a', { priority: 3 });
    queue.add('a', { priority: 9 });
    assert.deepEqual(await takeReady(queue), ['a']);
    assert.deepEqual(asked, ['a']);
  });

  it('I1: an answer that changes while the key is ready gives the key out once', async () => {
    let flow = 0;
    const { queue } = setUp({ flowOf: () => String(flow++) });
    queue.add('a');
    queue.add('b');
    for (let priority = 1; priority <= 5; priority++) queue.add('a', { priority });
    const taken = await takeReady(queue);
    assert.deepEqual([taken, queue.length], [['a', 'b'], 0]);
  });

  for (const { name, give } of surprises.filter(({ name }) => name !== 'is a text')) {
    it(`gives out the key when its answer ${name}, and says so`, async () => {
      const faults: string[] = [];
      const { queue, clock } = setUp({
        flowOf: give as () => string,
        onFault: ({ callback, key }) => faults.push(`${callback} ${key}`),
      });
      queue.add('a');
      queue.addAfter('b', 10);
      queue.addAt('c', clock.now() + 20);
      clock.advance(20);
      assert.deepEqual((await takeReady(queue)).sort(), ['a', 'b', 'c']);
      assert.deepEqual(faults.sort(), ['flowOf a', 'flowOf b', 'flowOf c']);
      assert.equal(clock.pendingTimers, 0);
    });
  }
});

describe('Workqueue: rateLimiter', () => {
  for (const { name, give } of surprises) {
    it(`a failing key backs off as by default when its answer ${name}`, async () => {
      const faults = new Set<string>();
      const { queue, clock } = setUp({
        rateLimiter: limiterOf(give),
        onFault: ({ callback }) => faults.add(callback),
      });
      for (const delay of [5, 10, 20]) {
        queue.addRateLimited('a');
        clock.advance(delay - 1);
        assert.equal(queue.length, 0);
        clock.advance(1);
        assert.equal((await queue.get())?.key, 'a');
        queue.done('a');
      }
      assert.ok(faults.has('rateLimiter.when'));
      queue.forget('a');
      assert.ok(Number.isSafeInteger(queue.retries('a')));
    });
  }

  it('a rejection of an async one is handled', async () => {
    const { queue } = setUp({ rateLimiter: limiterOf(() => Promise.reject(new Error('no'))) });
    queue.addRateLimited('a');
    queue.forget('a');
    await settle();
  });

  it('bounds that are no numbers are left out', async () => {
    for (const bound of [Number.NaN, -1, Infinity, 'soon' as never]) {
      const { queue, clock } = setUp();
      queue.addRateLimited('a', { atLeast: bound });
      queue.addRateLimited('b', { atMost: bound });
      clock.advance(5);
      assert.deepEqual((await takeReady(queue)).sort(), ['a', 'b'], String(bound));
    }
  });
});

interface Step {
  readonly what: keyof typeof play;
  readonly key: string;
  readonly priority: number;
  readonly ms: number;
}

/** A queue, the keys that were added and not handed out since, and those that are being processed. */
interface World {
  readonly clock: FakeClock;
  readonly queue: Workqueue;
  readonly pending: Set<string>;
  readonly held: Set<string>;
}

const play = {
  add({ queue, pending }: World, { key, priority }: Step) {
    queue.add(key, { priority });
    pending.add(key);
  },
  addAfter({ queue, pending }: World, { key, ms, priority }: Step) {
    queue.addAfter(key, ms, { priority });
    pending.add(key);
  },
  addRateLimited({ queue, pending }: World, { key, priority }: Step) {
    queue.addRateLimited(key, { priority, atMost: 1000 });
    pending.add(key);
  },
  forget({ queue }: World, { key }: Step) {
    queue.forget(key);
  },
  async get(world: World) {
    const { queue, held, pending } = world;
    const locked = [...held].filter((key) => pending.has(key)).length;
    if (queue.length > locked) await take(world);
  },
  done({ queue, held }: World, { key }: Step) {
    if (held.delete(key)) queue.done(key);
  },
  advance({ clock }: World, { ms }: Step) {
    clock.advance(ms);
  },
};

async function take({ queue, pending, held }: World): Promise<void> {
  const item = await promptly(queue.get());
  assert.ok(item && pending.has(item.key) && !held.has(item.key), `took ${item?.key}`);
  pending.delete(item.key);
  held.add(item.key);
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(...(Object.keys(play) as (keyof typeof play)[])),
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  priority: fc.constantFrom(-100, 0, 0, 5),
  ms: fc.integer({ min: 0, max: 200 }),
});

const answer: fc.Arbitrary<() => unknown> = fc.oneof(
  fc.constantFrom(...surprises.map(({ give }) => give)),
  fc.constantFrom('x', 'y', 5, 40, 1e308).map((value) => () => value),
);

describe('Workqueue under random histories with hostile callbacks', () => {
  it('I1, I2: hands out each added key once, loses none, leaves no timer, and counts right', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.array(answer, { minLength: 1, maxLength: 20 }),
        async (steps, answers) => {
          let asked = 0;
          const give = () => answers[asked++ % answers.length]?.();
          const clock = new FakeClock();
          const queue = new Workqueue({ clock, rateLimiter: limiterOf(give), flowOf: give as () => string });
          const world: World = { clock, queue, pending: new Set(), held: new Set() };
          for (const each of steps) {
            await play[each.what](world, each);
            assert.ok(queue.length >= 0 && queue.length <= world.pending.size, `${queue.length}`);
          }
          clock.advance(1000);
          for (const key of world.held) queue.done(key);
          world.held.clear();
          assert.equal(queue.length, world.pending.size);
          while (world.pending.size > 0) await take(world);
          assert.deepEqual([queue.length, clock.pendingTimers], [0, 0]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
