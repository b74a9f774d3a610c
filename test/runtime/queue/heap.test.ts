import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Heap, type HeapItem } from '../../../src/runtime/queue/heap.ts';
import { fc } from '../../fixtures/property.ts';

interface Item extends HeapItem {
  readonly id: number;
}

function item(id: number, rank: number): Item {
  return { id, rank, sequence: id, heapIndex: -1 };
}

function drain(heap: Heap<Item>): number[] {
  const ids: number[] = [];
  for (let next = heap.pop(); next; next = heap.pop()) ids.push(next.id);
  return ids;
}

describe('Heap', () => {
  it('gives out the lowest rank first, and equal ranks by sequence', () => {
    const heap = new Heap<Item>();
    for (const each of [item(3, 5), item(1, 7), item(2, 5), item(0, 9)]) heap.push(each);
    assert.equal(heap.peek()?.id, 2);
    assert.deepEqual(drain(heap), [2, 3, 1, 0]);
    assert.equal(heap.pop(), undefined);
  });

  it('knows which items it holds', () => {
    const heap = new Heap<Item>();
    const held = item(1, 1);
    assert.equal(heap.remove(held), false);
    heap.push(held);
    assert.equal(heap.remove(held), true);
    assert.equal(heap.remove(held), false);
    heap.push(held);
    heap.push(item(2, 2));
    heap.clear();
    assert.equal(heap.size, 0);
    assert.equal(heap.remove(held), false);
  });

  it('does not move an item by update that it does not hold', () => {
    const heap = new Heap<Item>();
    heap.push(item(1, 1));
    heap.update(item(2, 0));
    assert.deepEqual(drain(heap), [1]);
  });

  it('behaves as a sorted list under any sequence of push, pop, remove and update', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new Heap<Item>();
        let model: Item[] = [];
        for (const [id, { what, which, rank }] of steps.entries()) {
          model = apply[what]!(heap, model, { chosen: model[which % model.length], id, rank });
          assert.equal(heap.size, model.length);
          assert.equal(heap.peek(), sorted(model)[0]);
        }
        assert.deepEqual(
          drain(heap),
          sorted(model).map(({ id }) => id),
        );
      }),
    );
  });
});

const step = fc.record({
  what: fc.constantFrom('push', 'pop', 'remove', 'update'),
  which: fc.nat(),
  rank: fc.integer({ min: 0, max: 20 }),
});

function sorted(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => a.rank - b.rank || a.sequence - b.sequence);
}

interface Arguments {
  readonly chosen: Item | undefined;
  readonly id: number;
  readonly rank: number;
}

/** Each does the same to the heap and to the model, and returns the model. */
const apply: Record<string, (heap: Heap<Item>, model: Item[], args: Arguments) => Item[]> = {
  push(heap, model, { id, rank }) {
    const pushed = item(id, rank);
    heap.push(pushed);
    return [...model, pushed];
  },
  pop(heap, model) {
    const popped = heap.pop();
    assert.equal(popped, sorted(model)[0]);
    return model.filter((each) => each !== popped);
  },
  remove(heap, model, { chosen }) {
    if (chosen) assert.equal(heap.remove(chosen), true);
    return model.filter((each) => each !== chosen);
  },
  update(heap, model, { chosen, rank }) {
    if (chosen) {
      chosen.rank = rank;
      heap.update(chosen);
    }
    return model;
  },
};
