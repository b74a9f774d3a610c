import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxWaitMs, TimerHeap } from '../../../src/runtime/queue/timer-heap.ts';
import { FakeClock, type FakeClockOptions } from '../../fake/clock.ts';
import { fc } from '../../fixtures/property.ts';

const day = 24 * 3600 * 1000;

function setUp(time: 'monotonic' | 'wall', options: FakeClockOptions = {}) {
  const clock = new FakeClock({ now: 0, monotonic: 0, ...options });
  const due: string[] = [];
  const read = () => (time === 'wall' ? clock.now() : clock.monotonic());
  const heap = new TimerHeap<string>({ clock, time, onDue: (value) => due.push(`${value}@${read()}`) });
  return { clock, heap, due };
}

describe('TimerHeap', () => {
  it('calls back in order of the instants, whatever the order of scheduling', () => {
    const { clock, heap, due } = setUp('monotonic');
    heap.schedule('c', 30);
    heap.schedule('a', 10);
    heap.schedule('b', 20);
    heap.schedule('b too', 20);
    clock.advance(100);
    assert.deepEqual(due, ['a@10', 'b@20', 'b too@20', 'c@30']);
    assert.equal(heap.size, 0);
  });

  it('sets one timer, however many alarms there are, and none without any', () => {
    const { clock, heap } = setUp('monotonic');
    const alarms = Array.from({ length: 100 }, (_, index) => heap.schedule(`${index}`, 1000 - index));
    assert.equal(clock.pendingTimers, 1);
    assert.equal(clock.nextTimerIn, 901);
    for (const alarm of alarms) heap.cancel(alarm);
    assert.equal(clock.pendingTimers, 0);
  });

  it('is not called for cancelled alarms; cancel may come late and twice', () => {
    const { clock, heap, due } = setUp('monotonic');
    const cancelled = heap.schedule('cancelled', 10);
    heap.schedule('kept', 20);
    heap.cancel(cancelled);
    heap.cancel(cancelled);
    clock.advance(20);
    heap.cancel(cancelled);
    assert.deepEqual(due, ['kept@20']);
  });

  it('calls back for the past soon, but not at once', () => {
    const { clock, heap, due } = setUp('monotonic', { monotonic: 50 });
    heap.schedule('past', 10);
    assert.deepEqual(due, []);
    clock.advance(0);
    assert.deepEqual(due, ['past@50']);
  });

  it('I5: a delay of 30 days and one of 300 years do not fire at once', () => {
    const { clock, heap, due } = setUp('monotonic');
    heap.schedule('30 days', 30 * day);
    heap.schedule('300 years', 300 * 365 * day);
    assert.ok((clock.nextTimerIn ?? Infinity) <= maxWaitMs);
    clock.advance(30 * day - 1);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, [`30 days@${30 * day}`]);
  });

  it('refuses instants that are no numbers', () => {
    const { heap } = setUp('wall');
    for (const instant of [Number.NaN, Infinity, -Infinity]) {
      assert.throws(() => heap.schedule('never', instant), RangeError);
    }
    assert.equal(heap.size, 0);
  });

  it('fires nothing early although timers do', () => {
    const { clock, heap, due } = setUp('monotonic', { earlyBy: 1 });
    heap.schedule('exact', 100);
    heap.schedule('fraction', 250.25);
    clock.advance(300);
    const late = due.map((text) => Number(text.split('@')[1]));
    assert.ok(late[0] !== undefined && late[0] >= 100 && late[0] < 101, due.join());
    assert.ok(late[1] !== undefined && late[1] >= 250.25 && late[1] < 251.25, due.join());
  });

  it('I6: wall-clock jumps do not move monotonic instants', () => {
    const { clock, heap, due } = setUp('monotonic');
    heap.schedule('delay', 1000);
    clock.stepWall(10 * day);
    clock.advance(999);
    clock.stepWall(-20 * day);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, ['delay@1000']);
  });

  it('follows the wall clock when it is set forward, within 30 s', () => {
    const { clock, heap, due } = setUp('wall');
    heap.schedule('tomorrow', day);
    clock.stepWall(day);
    clock.advance(maxWaitMs);
    assert.equal(due.length, 1);
  });

  it('follows the wall clock when it is set back: not a moment before the instant', () => {
    const { clock, heap, due } = setUp('wall');
    heap.schedule('soon', 10_000);
    clock.advance(9999);
    clock.stepWall(-5000);
    clock.advance(5000);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, ['soon@10000']);
  });

  it('notices within 30 s of running that the machine slept over the instant', () => {
    const { clock, heap, due } = setUp('wall');
    heap.schedule('at night', 8 * 3600 * 1000);
    clock.suspend(9 * 3600 * 1000);
    clock.advance(maxWaitMs);
    assert.equal(due.length, 1);
  });

  it('can be scheduled and cancelled from its own callback', () => {
    const clock = new FakeClock({ monotonic: 0 });
    const due: string[] = [];
    const heap: TimerHeap<string> = new TimerHeap({
      clock,
      time: 'monotonic',
      onDue: (value) => {
        due.push(`${value}@${clock.monotonic()}`);
        if (value !== 'first') return;
        heap.cancel(second);
        heap.schedule('third', 30);
      },
    });
    heap.schedule('first', 10);
    const second = heap.schedule('second', 20);
    clock.advance(100);
    assert.deepEqual(due, ['first@10', 'third@30']);
    assert.equal(clock.pendingTimers, 0);
  });

  it('clear cancels everything and leaves no timer', () => {
    const { clock, heap, due } = setUp('wall');
    heap.schedule('a', 10);
    heap.schedule('b', 20);
    heap.clear();
    assert.equal(clock.pendingTimers, 0);
    clock.advance(100);
    assert.deepEqual(due, []);
    assert.equal(heap.size, 0);
  });

  it('calls back each alarm exactly once, never early, at most 1 ms late, with any schedule', () => {
    const schedule = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 100_000 }), pause: fc.integer({ min: 0, max: 40_000 }) }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(schedule, fc.constantFrom(0, 1), (steps, earlyBy) => {
        const clock = new FakeClock({ monotonic: 0, earlyBy });
        const called = new Map<number, number>();
        const heap = new TimerHeap<number>({
          clock,
          time: 'monotonic',
          onDue: (due) => {
            assert.ok(clock.monotonic() >= due && clock.monotonic() < due + 1.001);
            called.set(due, (called.get(due) ?? 0) + 1);
          },
        });
        const dues = new Set<number>();
        for (const { after, pause } of steps) {
          const due = clock.monotonic() + after;
          if (!dues.has(due)) heap.schedule(due, due);
          dues.add(due);
          clock.advance(pause);
        }
        clock.advance(200_000);
        assert.deepEqual(
          [...called.keys()].sort((a, b) => a - b),
          [...dues].sort((a, b) => a - b),
        );
        assert.ok([...called.values()].every((times) => times === 1));
        assert.equal(clock.pendingTimers, 0);
      }),
    );
  });
});
