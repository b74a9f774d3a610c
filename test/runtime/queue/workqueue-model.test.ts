/** Random histories of a workqueue against the simplest model of it, and against its promises to workers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Workqueue } from '../../../src/runtime/queue/workqueue.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { fc } from '../../fixtures/property.ts';
import { takeReady } from './fixtures.ts';

interface Pending {
  priority: number;
  /** Monotonic; undefined while it waits. */
  readySince: number | undefined;
  due: number;
}

/** What the queue is, written down as slowly and plainly as possible. Wall and monotonic time go together. */
class Model {
  readonly pending = new Map<string, Pending>();
  readonly processing = new Set<string>();
  servedSince: number | undefined;

  add(key: string, due: number, now: number, priority: number): void {
    const known = this.pending.get(key);
    const entry = known ?? { priority, readySince: undefined, due };
    entry.priority = Math.max(entry.priority, priority);
    entry.due = Math.min(entry.due, due);
    if (due <= now) entry.readySince ??= now;
    this.pending.set(key, entry);
  }

  moveTo(now: number): void {
    for (const entry of this.pending.values()) {
      if (entry.due <= now) entry.readySince ??= entry.due;
    }
  }

  get ready(): string[] {
    return [...this.pending].filter(([, entry]) => entry.readySince !== undefined).map(([key]) => key);
  }

  get takeable(): string[] {
    return this.ready.filter((key) => !this.processing.has(key));
  }

  /** Milliseconds; one priority step is worth 1000. */
  merit(key: string, now: number): number {
    const { priority, readySince = now } = this.pending.get(key)!;
    return priority * 1000 + (now - Math.max(readySince, this.servedSince ?? now));
  }

  take(key: string): void {
    this.pending.delete(key);
    this.processing.add(key);
  }
}

interface Step {
  readonly what: keyof typeof play;
  readonly key: string;
  readonly which: number;
  readonly ms: number;
  readonly priority: number;
}

interface World {
  readonly clock: FakeClock;
  readonly queue: Workqueue;
  readonly model: Model;
}

const play = {
  add({ clock, queue, model }: World, { key, priority }: Step) {
    queue.add(key, { priority });
    model.add(key, -Infinity, clock.monotonic(), priority);
  },
  addAfter({ clock, queue, model }: World, { key, ms, priority }: Step) {
    queue.addAfter(key, ms, { priority });
    model.add(key, clock.monotonic() + ms, clock.monotonic(), priority);
  },
  addAt({ clock, queue, model }: World, { key, ms, priority }: Step) {
    const delay = ms - 10_000;
    queue.addAt(key, clock.now() + delay, { priority });
    model.add(key, clock.monotonic() + delay, clock.monotonic(), priority);
  },
  addRateLimited({ clock, queue, model }: World, { key, priority }: Step) {
    const backoff = 5 * 2 ** queue.retries(key);
    queue.addRateLimited(key, { priority });
    model.add(key, clock.monotonic() + backoff, clock.monotonic(), priority);
  },
  forget({ queue }: World, { key }: Step) {
    queue.forget(key);
    assert.equal(queue.retries(key), 0);
  },
  async get({ clock, queue, model }: World) {
    if (model.takeable.length === 0) return;
    const now = clock.monotonic();
    model.servedSince ??= now;
    const item = await queue.get();
    assert.ok(item && model.takeable.includes(item.key), `took ${item?.key} of ${model.takeable}`);
    assert.equal(item.priority, model.pending.get(item.key)?.priority);
    const best = Math.max(...model.takeable.map((key) => model.merit(key, now)));
    assert.equal(model.merit(item.key, now), best, `took ${item.key}`);
    model.take(item.key);
  },
  done({ queue, model }: World, { which }: Step) {
    const key = [...model.processing][which % model.processing.size];
    if (key === undefined) return;
    queue.done(key);
    model.processing.delete(key);
  },
  advance({ clock, model }: World, { ms }: Step) {
    clock.advance(ms);
    model.moveTo(clock.monotonic());
  },
};

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom<keyof typeof play>(
    ...(Object.keys(play) as (keyof typeof play)[]),
    ...(['get', 'get', 'done', 'done', 'advance'] as const),
  ),
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  which: fc.nat({ max: 100 }),
  ms: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 90_000 })),
  priority: fc.constantFrom(-100, -1, 0, 0, 1, 50),
});

describe('Workqueue under random histories', () => {
  it('does what its model does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const clock = new FakeClock();
        const world = { clock, queue: new Workqueue({ clock }), model: new Model() };
        for (const each of steps) {
          await play[each.what](world, each);
          assert.equal(world.queue.length, world.model.ready.length);
        }
        clock.advance(200_000);
        for (const key of world.model.processing) world.queue.done(key);
        world.model.processing.clear();
        assert.deepEqual((await takeReady(world.queue)).sort(), [...world.model.pending.keys()].sort());
        assert.equal(clock.pendingTimers, 0);
      }),
      { numRuns: 300 },
    );
  });

  interface Arrival {
    readonly key: string;
    readonly pause: number;
    readonly delay: number;
    readonly work: number;
  }
  const arrival: fc.Arbitrary<Arrival> = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    pause: fc.integer({ min: 0, max: 50 }),
    delay: fc.constantFrom(0, 0, 0, 20, 200),
    work: fc.integer({ min: 0, max: 60 }),
  });

  it('I1, I2: several workers never hold a key at once, and every add is followed by a run', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arrival, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (arrivals, workers) => {
          const clock = new FakeClock();
          const queue = new Workqueue({ clock });
          const held = new Set<string>();
          const lastBegin = new Map<string, number>();
          const lastAdd = new Map<string, number>();
          let run = 0;
          const work = async () => {
            for (let item = await queue.get(); item; item = await queue.get()) {
              const { key } = item;
              assert.ok(!held.has(key), `${key} runs twice at once`);
              held.add(key);
              lastBegin.set(key, run++);
              await new Promise<void>((resolve) => {
                clock.setTimer(arrivals[run % arrivals.length]?.work ?? 0, resolve);
              });
              held.delete(key);
              queue.done(key);
            }
          };
          const all = Promise.all(Array.from({ length: workers }, work));
          for (const { key, pause, delay } of arrivals) {
            lastAdd.set(key, run);
            queue.addAfter(key, delay);
            await clock.advanceAsync(pause);
          }
          await clock.advanceAsync(10_000);
          for (const [key, add] of lastAdd) {
            assert.ok((lastBegin.get(key) ?? -1) >= add, `the last add of ${key} was lost`);
          }
          assert.equal(clock.pendingTimers, 0);
          queue.shutDown();
          await all;
          await settle();
        },
      ),
      { numRuns: 60 },
    );
  });

  const disturbance = fc.record({
    what: fc.constantFrom<keyof typeof disturb>('advance', 'stepForward', 'stepBack', 'suspend'),
    ms: fc.integer({ min: 0, max: 100_000 }),
  });

  it('instants: never early on the wall clock, at most 30 s late, whatever is done to that clock', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 300_000 }), { maxLength: 10 }),
        fc.array(disturbance, { maxLength: 20 }),
        async (offsets, disturbances) => {
          const clock = new FakeClock();
          const queue = new Workqueue({ clock });
          const open = new Set(offsets.map((offset) => clock.now() + offset));
          for (const instant of open) queue.addAt(String(instant), instant);
          const consumer = consume(queue, (key) => {
            assert.ok(Number(key) <= clock.now(), `${Number(key) - clock.now()} ms early`);
            open.delete(Number(key));
          });
          for (const { what, ms } of disturbances) {
            await disturb[what](clock, ms);
            const due = [...open].filter((instant) => instant <= clock.now());
            await clock.advanceAsync(30_000);
            assert.ok(!due.some((instant) => open.has(instant)), 'more than 30 s late');
          }
          queue.shutDown();
          await consumer;
        },
      ),
      { numRuns: 50 },
    );
  });
});

async function consume(queue: Workqueue, take: (key: string) => void): Promise<void> {
  for (let item = await queue.get(); item; item = await queue.get()) {
    take(item.key);
    queue.done(item.key);
  }
}

const disturb = {
  advance: (clock: FakeClock, ms: number) => clock.advanceAsync(ms),
  stepForward: (clock: FakeClock, ms: number) => clock.stepWall(ms),
  stepBack: (clock: FakeClock, ms: number) => clock.stepWall(-ms),
  suspend: (clock: FakeClock, ms: number) => clock.suspend(ms),
};
