/** VirtualTime: time that runs as fast as its tasks, in one turn, for tests of what has no promises in it. */
import { Heap, type HeapItem } from '../../src/runtime/queue/heap.ts';
import type { SimulatedTime } from '../../src/testing/cluster-ports.ts';

interface Task extends HeapItem {
  readonly run: () => void;
}

export class VirtualTime implements SimulatedTime {
  readonly #tasks = new Heap<Task>();
  #now = Date.UTC(2030, 0, 1);
  #scheduled = 0;
  /** Tasks that have run. */
  steps = 0;

  get now(): number {
    return this.#now;
  }

  schedule(delay: number, run: () => void): { cancel(): void } {
    const task = { rank: this.#now + delay, sequence: this.#scheduled++, heapIndex: -1, run };
    this.#tasks.push(task);
    return { cancel: () => void this.#tasks.remove(task) };
  }

  /** Lets so many ms pass. */
  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.#step(end));
    this.#now = end;
  }

  /** Runs until the predicate holds. @throws when it does not within `limit` ms */
  until(what: string, predicate: () => boolean, limit = 600_000): void {
    const end = this.#now + limit;
    while (!predicate()) if (!this.#step(end)) throw new Error(`not within ${limit / 1000} s: ${what}`);
  }

  #step(end: number): boolean {
    const task = this.#tasks.peek();
    if (task === undefined || task.rank > end) return false;
    this.#tasks.pop();
    this.#now = Math.max(this.#now, task.rank);
    this.steps++;
    task.run();
    return true;
  }
}
