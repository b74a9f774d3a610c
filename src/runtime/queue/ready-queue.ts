/**
 * ReadyQueue: the entries that may be taken now, in the order in which to take them: the higher priority
 * first, then what became ready first, and with waiting worth something too.
 *
 * Ageing: each `ageing` ms in readiness count as much as one priority step. All entries age alike, so which
 * of two comes first never changes with time, and one fixed rank, readiness − priority · ageing, orders a
 * plain heap. An entry can be overtaken only by those that become ready within (difference of priorities) ·
 * ageing after it, so nothing starves.
 */
import type { Clock } from '../clock.ts';
import { Heap, type HeapItem } from './heap.ts';

export interface ReadyEntry extends HeapItem {
  /** An integer; higher is taken first. */
  priority: number;
  /** Monotonic ms, set when the entry becomes ready. */
  readySince: number;
}

export class ReadyQueue<T extends ReadyEntry> {
  readonly #clock: Clock;
  readonly #ageing: number;
  readonly #heap = new Heap<T>();
  #sequence = 0;
  #servedSince: number | undefined;

  /** @param ageing milliseconds of readiness that weigh as much as one priority step; > 0. */
  constructor(clock: Clock, ageing: number) {
    if (!(ageing > 0)) throw new RangeError(`ageing must be more than 0 ms for a step, got ${ageing}`);
    this.#clock = clock;
    this.#ageing = ageing;
  }

  /**
   * Somebody has begun to take entries. What became ready before that counts as ready just now: a standby's
   * backlog of hours must not get ahead of what happens once it leads.
   */
  serve(): void {
    this.#servedSince ??= this.#clock.monotonic();
  }

  /** Gives an entry that has become ready its rank. It may be pushed at once, or later. */
  stamp(entry: T): void {
    entry.readySince = this.#clock.monotonic();
    const aged = this.#servedSince === undefined ? 0 : entry.readySince - this.#servedSince;
    entry.rank = aged - entry.priority * this.#ageing;
    entry.sequence = this.#sequence++;
  }

  /** Changes the priority of a stamped entry, pushed or not, and keeps the age it has. */
  reprioritize(entry: T, priority: number): void {
    entry.rank -= (priority - entry.priority) * this.#ageing;
    entry.priority = priority;
    this.#heap.update(entry);
  }

  push(entry: T): void {
    this.#heap.push(entry);
  }

  pop(): T | undefined {
    return this.#heap.pop();
  }

  clear(): void {
    this.#heap.clear();
  }
}
