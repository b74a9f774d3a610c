/**
 * Workqueue: which keys are to be looked at, in which order, from when on. The semantics are those of
 * controller-runtime's `priorityqueue`, which joins client-go's workqueue, delaying queue and rate limiter:
 *
 * - There is one entry per key; adding again merges. The higher priority and the earlier time win, and ready
 *   beats waiting: an immediate add consumes the delay, a delayed add does not hold back a ready key.
 * - A key that was taken is not handed out again before `done`; an add meanwhile counts from then on.
 * - Higher priorities come first, then the key that became ready first; one second of readiness (`ageing`)
 *   weighs as much as one priority step (ready-queue.ts). So of a flood of ordinary keys only what becomes
 *   ready in the first 100 s gets ahead of the initial list, which is 100 steps below.
 * - Beyond those: keys of one priority can be made to take turns by flow, so that one namespace's flood does not
 *   hold up the others.
 */
import type { Clock } from '../clock.ts';
import { isDelay } from '../delay.ts';
import { type AddOptions, priorityOf, type RateLimitedOptions } from './add-options.ts';
import { GuardedRateLimiter, guardedFlowOf, type OnFault } from './guarded-callbacks.ts';
import { ExponentialBackoff, type RateLimiter } from './rate-limiter.ts';
import { type Ready, ReadyQueue } from './ready-queue.ts';
import { TimerHeap } from './timer-heap.ts';
import { type Entry, newEntry, workInProgress } from './workqueue-entry.ts';
import { noMetrics, type WorkqueueMetrics } from './workqueue-metrics.ts';

/** What {@link Workqueue.get} hands out. */
export interface WorkItem {
  readonly key: string;
  readonly priority: number;
}

export interface WorkqueueOptions {
  readonly clock: Clock;
  /** Default: an {@link ExponentialBackoff} with its defaults. */
  readonly rateLimiter?: RateLimiter;
  /** Milliseconds of readiness that count as much as one priority step. Default 1000. */
  readonly ageing?: number;
  /**
   * Keys of one priority are handed out in turns by what this returns, such as their namespace: one of each, then
   * the next of each. Asked once each time a key becomes ready. Default: all are of one flow, and what became
   * ready first comes first.
   */
  readonly flowOf?: (key: string) => string;
  /** Called when `flowOf` or the `rateLimiter` threw or returned what it must not; the key goes on without it. */
  readonly onFault?: OnFault;
  readonly metrics?: WorkqueueMetrics;
}

export class Workqueue {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #metrics: WorkqueueMetrics;
  readonly #entries = new Map<string, Entry>();
  /** Ready entries whose key is not being processed. */
  readonly #queue: ReadyQueue<Entry>;
  readonly #delays: TimerHeap<Entry>;
  readonly #instants: TimerHeap<Entry>;
  #waiters: ((item: WorkItem | undefined) => void)[] = [];
  #ready = 0;
  #shutDown = false;

  constructor(options: WorkqueueOptions) {
    const { clock, rateLimiter, ageing = 1000, metrics = noMetrics, onFault = () => {} } = options;
    this.#clock = clock;
    this.#limiter = rateLimiter ? new GuardedRateLimiter(rateLimiter, onFault) : new ExponentialBackoff();
    const flowOf = options.flowOf ? guardedFlowOf(options.flowOf, onFault) : () => '';
    this.#queue = new ReadyQueue({ clock, ageing, flowOf: ({ key }) => flowOf(key) });
    this.#metrics = metrics;
    const onDue = (entry: Entry) => this.#makeReady(entry);
    this.#delays = new TimerHeap({ clock, time: 'monotonic', onDue });
    this.#instants = new TimerHeap({ clock, time: 'wall', onDue });
    metrics.observe(() => workInProgress(this.#entries.values(), clock.monotonic()));
  }

  /** How many keys are ready, those included that are still being processed from an earlier add. */
  get length(): number {
    return this.#ready;
  }

  /** Makes the key ready now. Ignored after {@link shutDown}, as is every other add. */
  add(key: string, options?: AddOptions): void {
    const priority = priorityOf(options);
    if (this.#shutDown) return;
    this.#makeReady(this.#pend(key, priority));
  }

  /**
   * Makes the key ready after a delay on the monotonic clock, unless it becomes ready sooner.
   *
   * @param delay milliseconds; 0 is an immediate add.
   * @throws {RangeError} for NaN, negative and infinite delays.
   */
  addAfter(key: string, delay: number, options?: AddOptions): void {
    if (!isDelay(delay)) {
      throw new RangeError(`a delay must be a finite number of ms ≥ 0, got ${delay}`);
    }
    if (delay === 0) {
      this.add(key, options);
      return;
    }
    this.#wait(key, 'delay', this.#clock.monotonic() + delay, options);
  }

  /**
   * Makes the key ready at an instant of the wall clock, wherever that clock is set to meanwhile, unless it
   * becomes ready sooner. An instant in the past is an immediate add. A key may wait for a delay and for an
   * instant at once: whichever comes first consumes both.
   *
   * @param instant epoch milliseconds.
   * @throws {RangeError} for NaN and infinite instants.
   */
  addAt(key: string, instant: number, options?: AddOptions): void {
    if (!Number.isFinite(instant)) throw new RangeError(`an instant must be a finite number, got ${instant}`);
    if (instant <= this.#clock.now()) {
      this.add(key, options);
      return;
    }
    this.#wait(key, 'instant', instant, options);
  }

  /** {@link addAfter} with the {@link backoff} that one more failure of this key earns. */
  addRateLimited(key: string, options: RateLimitedOptions = {}): void {
    this.addAfter(key, this.backoff(key, options), options);
  }

  /** Counts one more failure of the key: the ms that it has to wait, within bounds. One that is no delay is none. */
  backoff(key: string, options: RateLimitedOptions = {}): number {
    const atLeast = isDelay(options.atLeast) ? options.atLeast : 0;
    const atMost = isDelay(options.atMost) ? options.atMost : Infinity;
    return Math.min(atMost, Math.max(atLeast, this.#limiter.when(key)));
  }

  /** Whether the key may be taken now, or as soon as it is not being processed any more. */
  isReady(key: string): boolean {
    return this.#entries.get(key)?.ready !== undefined;
  }

  /** The key's next failure counts as its first. Does not take the key out of the queue. */
  forget(key: string): void {
    this.#limiter.forget(key);
  }

  /** Failures of the key since {@link forget}. */
  retries(key: string): number {
    return this.#limiter.retries(key);
  }

  /** Resolves with the next key as soon as there is one, or with undefined once the queue is shut down. */
  get(): Promise<WorkItem | undefined> {
    if (this.#shutDown) return Promise.resolve(undefined);
    this.#queue.serve();
    const ready = this.#queue.pop();
    if (ready) return Promise.resolve(this.#take(ready));
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Ends the processing of a key that `get` handed out; of any other key it is ignored. */
  done(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.takenAt === undefined) return;
    this.#metrics.finished(this.#clock.monotonic() - entry.takenAt);
    entry.takenAt = undefined;
    if (entry.ready) this.#offer(entry.ready);
    else if (!entry.delay && !entry.instant) this.#entries.delete(key);
  }

  /**
   * Final: `get` resolves for the workers that wait in it, everything pending is dropped, later adds are ignored. Keys
   * being processed may still be ended with `done`.
   */
  shutDown(): void {
    if (this.#shutDown) return;
    this.#shutDown = true;
    this.#delays.clear();
    this.#instants.clear();
    this.#queue.clear();
    for (const entry of this.#entries.values()) {
      if (entry.ready) this.#metrics.depth(entry.priority, -1);
      entry.ready = undefined;
      entry.delay = undefined;
      entry.instant = undefined;
      if (entry.takenAt === undefined) this.#entries.delete(entry.key);
    }
    this.#ready = 0;
    for (const resolve of this.#waiters.splice(0)) resolve(undefined);
  }

  /** Makes the key ready when the clock of this kind of alarm says `rank`, unless it becomes ready sooner. */
  #wait(key: string, kind: 'delay' | 'instant', rank: number, options: AddOptions | undefined): void {
    const priority = priorityOf(options);
    if (this.#shutDown) return;
    this.#metrics.retried();
    const entry = this.#pend(key, priority);
    const alarm = entry[kind];
    if (entry.ready || (alarm && alarm.rank <= rank)) return;
    const alarms = kind === 'delay' ? this.#delays : this.#instants;
    if (alarm) alarms.cancel(alarm);
    entry[kind] = alarms.schedule(entry, rank);
  }

  /** The key's entry, its priority raised to at least this one, if it was pending, or set to it. */
  #pend(key: string, priority: number): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = newEntry(key, priority);
      this.#entries.set(key, entry);
    } else if (entry.ready) {
      if (priority > entry.priority) this.#raise(entry.ready, priority);
    } else if (entry.delay || entry.instant) {
      entry.priority = Math.max(entry.priority, priority);
    } else {
      entry.priority = priority;
    }
    return entry;
  }

  #raise(ready: Ready<Entry>, priority: number): void {
    this.#metrics.depth(ready.entry.priority, -1);
    this.#metrics.depth(priority, 1);
    this.#queue.reprioritize(ready, priority);
  }

  #makeReady(entry: Entry): void {
    if (entry.ready) return;
    if (entry.delay) this.#delays.cancel(entry.delay);
    if (entry.instant) this.#instants.cancel(entry.instant);
    entry.delay = undefined;
    entry.instant = undefined;
    entry.ready = this.#queue.stamp(entry);
    this.#ready++;
    this.#metrics.added();
    this.#metrics.depth(entry.priority, 1);
    if (entry.takenAt === undefined) this.#offer(entry.ready);
  }

  /** To a worker that waits, if there is one: then no other entry is ready that it could overtake. */
  #offer(ready: Ready<Entry>): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter(this.#take(ready));
    else this.#queue.push(ready);
  }

  #take({ entry, since }: Ready<Entry>): WorkItem {
    const now = this.#clock.monotonic();
    entry.ready = undefined;
    entry.takenAt = now;
    this.#ready--;
    this.#metrics.depth(entry.priority, -1);
    this.#metrics.taken(now - since);
    return { key: entry.key, priority: entry.priority };
  }
}
