/**
 * FairLevel: the ready entries of one priority. Flows, such as namespaces, are served in turns, one entry each,
 * so that an entry waits for one of every other flow and not for the thousands that one flow has; within a flow
 * the lowest rank comes first. With a single flow that is a plain heap.
 */
import { Heap, type HeapItem } from './heap.ts';

/** The entries of one flow. Its own rank is its turn. */
interface Flow<T extends HeapItem> extends HeapItem {
  readonly name: string;
  readonly entries: Heap<T>;
}

export class FairLevel<T extends HeapItem> {
  /** Those that have entries. */
  readonly #flows = new Map<string, Flow<T>>();
  readonly #turns = new Heap<Flow<T>>();
  #lastTurn = 0;

  get isEmpty(): boolean {
    return this.#turns.size === 0;
  }

  push(entry: T, flowName: string): void {
    let flow = this.#flows.get(flowName);
    if (flow === undefined) {
      flow = { name: flowName, entries: new Heap<T>(), rank: this.#lastTurn++, sequence: 0, heapIndex: -1 };
      this.#flows.set(flowName, flow);
      this.#turns.push(flow);
    }
    flow.entries.push(entry);
  }

  /** The entry whose turn it is, left in place. */
  peek(): T | undefined {
    return this.#turns.peek()?.entries.peek();
  }

  pop(): T | undefined {
    const flow = this.#turns.peek();
    const entry = flow?.entries.pop();
    if (flow === undefined || this.#dropEmpty(flow)) return entry;
    flow.rank = this.#lastTurn++;
    this.#turns.update(flow);
    return entry;
  }

  remove(entry: T, flowName: string): void {
    const flow = this.#flows.get(flowName);
    if (flow?.entries.remove(entry)) this.#dropEmpty(flow);
  }

  clear(): void {
    for (const { entries } of this.#flows.values()) entries.clear();
    this.#flows.clear();
    this.#turns.clear();
  }

  #dropEmpty(flow: Flow<T>): boolean {
    if (flow.entries.size > 0) return false;
    this.#turns.remove(flow);
    this.#flows.delete(flow.name);
    return true;
  }
}
