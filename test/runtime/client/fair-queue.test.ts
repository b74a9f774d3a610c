import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FairQueue, type Flow } from '../../../src/runtime/client/fair-queue.ts';
import type { Sort } from '../../../src/runtime/client/request-limits.ts';

interface Waiter {
  readonly name: string;
}

class Line {
  readonly queue: FairQueue<Waiter>;
  readonly underWay: string[] = [];

  constructor(perLane: number) {
    this.queue = new FairQueue(perLane);
  }

  /** Each either enters at once or gets in line. Returns how many entered. */
  come(flow: Flow<Waiter>, name: string, count: number): number {
    let entered = 0;
    for (let index = 0; index < count; index++) {
      if (this.queue.tryEnter(flow)) {
        entered++;
        this.underWay.push(name);
      } else this.queue.wait(flow, { name });
    }
    return entered;
  }

  /** Gives a place of the flow back, and returns who is called up. */
  over(flow: Flow<Waiter>): string[] {
    this.queue.leave(flow);
    const called = [];
    for (let next = this.queue.next(); next !== undefined; next = this.queue.next()) called.push(next.name);
    return called;
  }
}

function sortOf(current = Number.POSITIVE_INFINITY): Sort & { limit: { current: number } } {
  return { method: 'PATCH', resource: 'widgets', limit: { current, observe() {} }, underWay: 0 };
}

describe('lanes', () => {
  test('a lane that is alone has its full number of places, and the next lane half of it at once', () => {
    const line = new Line(32);
    const [a, b, c] = ['a', 'b', 'c'].map((lane) => line.queue.flow(lane, sortOf()));
    assert.ok(a && b && c);
    assert.deepEqual([line.come(a, 'a', 40), line.come(b, 'b', 40), line.come(c, 'c', 40)], [32, 16, 8]);
  });

  test('however few places there are, one lane that hangs leaves one to the next', () => {
    for (const perLane of [1, 2, 3, 7]) {
      const line = new Line(perLane);
      assert.equal(line.come(line.queue.flow('a', sortOf()), 'a', 40), perLane);
      assert.ok(line.come(line.queue.flow('b', sortOf()), 'b', 40) >= 1, `${perLane}`);
    }
  });

  test('a place that becomes free goes to the lane that has the fewest', () => {
    const line = new Line(4);
    const a = line.queue.flow('a', sortOf());
    const b = line.queue.flow('b', sortOf());
    line.come(a, 'a', 10);
    line.come(b, 'b', 10);
    assert.deepEqual([a.underWay, b.underWay], [4, 2]);
    assert.deepEqual(line.over(a), ['b']);
    assert.deepEqual([a.underWay, b.underWay], [3, 3]);
  });

  test('lanes that have equally few are served in turns', () => {
    const line = new Line(1);
    const flows = new Map(['a', 'b', 'c'].map((lane) => [lane, line.queue.flow(lane, sortOf())]));
    for (const [lane, flow] of flows) line.come(flow, lane, 3);
    const { underWay } = line;
    assert.deepEqual(underWay, ['a', 'b']);
    for (let turn = 0; turn < 7; turn++) {
      const flow = flows.get(underWay.at(-2) ?? '');
      assert.ok(flow);
      underWay.push(...line.over(flow));
    }
    assert.equal(underWay.join(''), 'abcabcabc');
  });

  test('first come, first served, within a flow; no request overtakes', () => {
    const line = new Line(1);
    const flow = line.queue.flow('a', sortOf());
    line.come(flow, 'first', 1);
    line.queue.wait(flow, { name: 'second' });
    line.queue.wait(flow, { name: 'third' });
    line.queue.leave(flow);
    assert.equal(line.queue.tryEnter(flow), false);
    assert.equal(line.queue.next()?.name, 'second');
    assert.deepEqual(line.over(flow), ['third']);
  });

  test('a request that quits is not called up', () => {
    const line = new Line(1);
    const flow = line.queue.flow('a', sortOf());
    line.come(flow, 'first', 1);
    const second = { name: 'second' };
    line.queue.wait(flow, second);
    line.queue.quit(flow, second);
    assert.deepEqual([...line.queue.everyone()], []);
    assert.deepEqual(line.over(flow), []);
    assert.equal(line.queue.underWay, 0);
  });
});

describe('sorts', () => {
  test('a sort with a low limit does not slow another sort of its lane', () => {
    const line = new Line(32);
    const slow = line.queue.flow('a', sortOf(4));
    const quick = line.queue.flow('a', sortOf(32));
    assert.equal(line.come(slow, 'slow', 40), 4);
    assert.equal(line.come(quick, 'quick', 10), 10);
    assert.deepEqual(line.over(quick), []);
    assert.deepEqual(line.over(slow), ['slow']);
  });

  test('a lane has one request of a sort, also when those of another lane are at the limit', () => {
    const line = new Line(32);
    const sort = sortOf(4);
    assert.equal(line.come(line.queue.flow('a', sort), 'a', 40), 4);
    assert.equal(line.come(line.queue.flow('b', sort), 'b', 40), 1);
  });

  test('a limit that has risen lets those in line go', () => {
    const line = new Line(32);
    const sort = sortOf(2);
    const flow = line.queue.flow('a', sort);
    line.come(flow, 'a', 6);
    sort.limit.current = 4;
    assert.deepEqual(line.over(flow), ['a', 'a', 'a']);
  });
});

test('a lane has one place or more', () => {
  for (const places of [0, -1, Number.NaN]) assert.throws(() => new FairQueue(places), RangeError);
});
