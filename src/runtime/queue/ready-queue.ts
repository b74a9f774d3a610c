/**
 * ReadyQueue: the entries that may be taken now, in the order in which to take them: the higher priority
 * first, then what became ready first, or the flows in turns, and with waiting worth something too.
 *
 * Ageing: each `ageing` ms in readiness count as much as one priority step. All entries age alike, so which
 * of two comes first never changes with time, and each has one fixed rank, readiness − priority · ageing. An
 * entry can be overtaken by other priorities only if they become ready within (difference of priorities) ·
 * ageing after it, so nothing starves. With several flows that holds for the entry whose turn it is, for which
 * those behind it wait: for one of each flow at a time.
 */
import type { Clock } from '../clock.ts';
import { FairLevel } from './fair-level.ts';
import { comesBefore, type HeapItem } from './heap.ts';

/** What the queue has to know of an entry. */
export interface Prioritized {
  /** An integer; higher is taken first. */
  priority: number;
}

/** An entry that has become ready. It is made then: most entries wait, by the ten thousand, and need none. */
export interface Ready<T> extends HeapItem {
  readonly entry: T;
  /** Monotonic ms. */
  readonly since: number;
  /** Asked for once: an entry is taken out of the flow that it was put into. */
  readonly flow: string;
}

export interface ReadyQueueOptions<T> {
  readonly clock: Clock;
  /** Milliseconds of readiness that weigh as much as one priority step; > 0. */
  readonly ageing: number;
  /** Entries of one priority are taken in turns by this name of theirs; asked for when one becomes ready. */
  readonly flowOf: (entry: T) => string;
}

export class ReadyQueue<T extends Prioritized> {
  readonly #options: ReadyQueueOptions<T>;
  /** By priority; those that have entries. They are few: a controller has a handful of priorities. */
  readonly #levels = new Map<number, FairLevel<Ready<T>>>();
  #sequence = 0;
  #servedSince: number | undefined;

  constructor(options: ReadyQueueOptions<T>) {
    const { ageing } = options;
    if (!(ageing > 0)) throw new RangeError(`ageing must be more than 0 ms for a step, got ${ageing}`);
    this.#options = options;
  }

  /**
   * The first entry is about to be taken. What became ready before that counts as ready just now: a standby's
   * backlog of hours must not get ahead of what happens once it leads.
   */
  serve(): void {
    this.#servedSince ??= this.#options.clock.monotonic();
  }

  /** For an entry that has become ready. It may be pushed at once, or later. */
  stamp(entry: T): Ready<T> {
    const { clock, ageing } = this.#options;
    const since = clock.monotonic();
    const aged = this.#servedSince === undefined ? 0 : since - this.#servedSince;
    const rank = aged - entry.priority * ageing;
    const flow = this.#options.flowOf(entry);
    return { entry, since, flow, rank, sequence: this.#sequence++, heapIndex: -1 };
  }

  /** Changes the priority of a stamped entry, pushed or not, and keeps the age it has. */
  reprioritize(ready: Ready<T>, priority: number): void {
    const isPushed = ready.heapIndex >= 0;
    if (isPushed) this.#remove(ready);
    ready.rank -= (priority - ready.entry.priority) * this.#options.ageing;
    ready.entry.priority = priority;
    if (isPushed) this.push(ready);
  }

  push(ready: Ready<T>): void {
    const { entry } = ready;
    let level = this.#levels.get(entry.priority);
    if (level === undefined) {
      level = new FairLevel();
      this.#levels.set(entry.priority, level);
    }
    level.push(ready, ready.flow);
  }

  pop(): Ready<T> | undefined {
    let first: Ready<T> | undefined;
    let from: FairLevel<Ready<T>> | undefined;
    for (const level of this.#levels.values()) {
      const ready = level.peek();
      if (ready !== undefined && (first === undefined || comesBefore(ready, first))) {
        first = ready;
        from = level;
      }
    }
    from?.pop();
    if (first !== undefined && from?.isEmpty) this.#levels.delete(first.entry.priority);
    return first;
  }

  clear(): void {
    for (const level of this.#levels.values()) level.clear();
    this.#levels.clear();
  }

  #remove(ready: Ready<T>): void {
    const { entry } = ready;
    const level = this.#levels.get(entry.priority);
    level?.remove(ready, ready.flow);
    if (level?.isEmpty) this.#levels.delete(entry.priority);
  }
}
