import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import { bulkPriority, launchPriority } from '../../src/at/decide/decision.ts';
import { Memory } from '../../src/at/memory.ts';
import { Turns } from '../../src/at/turns.ts';
import { Workqueue } from '../../src/runtime/queue/workqueue.ts';
import { FakeClock } from '../fake/clock.ts';
import { waiting } from '../fixtures/at.ts';

function atOf(namespace: string, index: number): At {
  return waiting({}, { namespace, name: `at-${index}`, uid: `${namespace}-${index}` });
}

function manyOf(namespace: string, count: number): At[] {
  return Array.from({ length: count }, (_, index) => atOf(namespace, index));
}

describe('Turns', () => {
  it('lets the first of a namespace go, and the rest give way once', () => {
    const turns = new Turns(new Memory());
    const all = manyOf('crowd', 100);
    assert.equal(all.filter((at) => turns.mustGiveWay(at, 0)).length, 68);
    assert.equal(all.slice(32).filter((at) => turns.mustGiveWay(at, 0)).length, 0);
  });

  it('counts each namespace for itself', () => {
    const turns = new Turns(new Memory());
    for (const at of manyOf('crowd', 100)) turns.mustGiveWay(at, 0);
    assert.equal(turns.mustGiveWay(atOf('other', 0), 0), false);
  });

  it('begins again each second, so that a steady rate never gives way', () => {
    const turns = new Turns(new Memory());
    const all = manyOf('steady', 300);
    assert.equal(all.filter((at, index) => turns.mustGiveWay(at, index * 50)).length, 0);
  });
});

describe('an At while thousands of another namespace are due', () => {
  /** What the workers of the controller do: so many launches in each step, which is 10 ms. */
  function serve(launches: number): {
    launched: Map<string, number>;
    clock: FakeClock;
    step: () => Promise<void>;
    queue: Workqueue;
  } {
    const clock = new FakeClock();
    const queue = new Workqueue({ clock });
    const turns = new Turns(new Memory());
    const launched = new Map<string, number>();
    const step = async () => {
      for (let free = launches; free > 0 && queue.length > 0; ) {
        const item = await queue.get();
        assert.ok(item);
        const [namespace = '', index] = item.key.split('/');
        if (turns.mustGiveWay(atOf(namespace, Number(index)), clock.monotonic())) {
          queue.add(item.key, { priority: bulkPriority });
        } else {
          launched.set(item.key, clock.monotonic());
          free -= 1;
        }
        queue.done(item.key);
      }
      clock.advance(10);
    };
    return { launched, clock, step, queue };
  }

  /** How late an At of another namespace is launched, in milliseconds, at three moments of the crowd's time. */
  async function latenessAmongAll(launches: number): Promise<number[]> {
    const { launched, clock, step, queue } = serve(launches);
    const lateness: number[] = [];
    for (let index = 0; index < 10_000; index += 1) queue.add(`crowd/${index}`, { priority: launchPriority });
    for (const second of [0, 3, 8]) {
      while (clock.monotonic() < second * 1000 + 10) await step();
      const due = clock.monotonic();
      queue.add(`other/${second}`, { priority: launchPriority });
      while (!launched.has(`other/${second}`)) await step();
      lateness.push((launched.get(`other/${second}`) ?? Number.NaN) - due);
    }
    while (queue.length > 0) await step();
    assert.equal(launched.size, 10_003);
    return lateness;
  }

  for (const { launches, within } of [
    { launches: 10, within: 40 },
    // As few as an overloaded API server leaves (concurrency-limit.ts).
    { launches: 4, within: 90 },
  ]) {
    it(`is launched within their first turns, early in their queue or late, ${launches} at a time`, async () => {
      const lateness = await latenessAmongAll(launches);
      assert.ok(Math.max(...lateness) <= within, `${lateness}`);
    });
  }
});
