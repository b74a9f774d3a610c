/**
 * Heap: a binary heap whose items know their own place, so that any of them can be removed or moved in
 * O(log n). An item is in at most one heap at a time.
 */

/** What an item must carry: plain numbers, not a comparing callback, so that the inner loops inline. */
export interface HeapItem {
  /** The lowest comes out first. After a change of it, {@link Heap.update}. */
  rank: number;
  /** Decides between equal ranks, lowest first. */
  sequence: number;
  /** Position in the heap's array, −1 when in no heap. Set by the heap alone. */
  heapIndex: number;
}

/** The order in which items come out. */
export function comesBefore(a: HeapItem, b: HeapItem): boolean {
  return a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank;
}

export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** The first item, left in place. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#up(item, this.#items.length - 1);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Takes an item out, wherever it is. Returns false when it is in no heap. */
  remove(item: T): boolean {
    const index = item.heapIndex;
    if (index < 0) return false;
    item.heapIndex = -1;
    const last = this.#items.pop();
    if (last !== undefined && last !== item) this.#settle(last, index);
    return true;
  }

  /** Restores the order after the rank of one item has changed. */
  update(item: T): void {
    if (item.heapIndex >= 0) this.#settle(item, item.heapIndex);
  }

  clear(): void {
    for (const item of this.#items) item.heapIndex = -1;
    this.#items.length = 0;
  }

  #settle(item: T, index: number): void {
    this.#up(item, index);
    if (item.heapIndex === index) this.#down(item, index);
  }

  /** Puts `item` at `index` or, past every ancestor it precedes, nearer to the root. */
  #up(item: T, index: number): void {
    const items = this.#items;
    let hole = index;
    while (hole > 0) {
      const parentIndex = (hole - 1) >> 1;
      const parent = items[parentIndex] as T;
      if (!comesBefore(item, parent)) break;
      items[hole] = parent;
      parent.heapIndex = hole;
      hole = parentIndex;
    }
    items[hole] = item;
    item.heapIndex = hole;
  }

  /** Puts `item` at `index` or, past every descendant that precedes it, further from the root. */
  #down(item: T, index: number): void {
    const items = this.#items;
    const size = items.length;
    let hole = index;
    for (let childIndex = 2 * hole + 1; childIndex < size; childIndex = 2 * hole + 1) {
      let child = items[childIndex] as T;
      const sibling = items[childIndex + 1];
      if (sibling !== undefined && comesBefore(sibling, child)) {
        child = sibling;
        childIndex++;
      }
      if (!comesBefore(child, item)) break;
      items[hole] = child;
      child.heapIndex = hole;
      hole = childIndex;
    }
    items[hole] = item;
    item.heapIndex = hole;
  }
}
