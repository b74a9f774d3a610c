/**
 * Work list: what a simulated controller still has to look at, by key. An idle list sets no timer, and a key
 * that is added again keeps the earlier of both times.
 */
import { delayWithin, type RandomSource, type SimulatedTime } from './cluster-ports.ts';

/** What one look at a key led to. */
export interface Outcome {
  /** Look again with back-off: something was refused or has changed meanwhile. */
  readonly retry?: boolean;
  /** Look again after so many ms, whatever happens before. */
  readonly after?: number;
}

export interface WorkListOptions {
  readonly time: SimulatedTime;
  readonly random: RandomSource;
  /** How late a change is noticed, in ms. */
  readonly delay: readonly [number, number];
  /** Level-triggered: looks at the present state, whatever the key was added for. */
  readonly sync: (key: string) => Outcome;
  /** First and longest wait after a failure, in ms. Default: client-go's 5 ms doubling to 1000 s. */
  readonly backOff?: readonly [number, number];
}

interface Entry {
  readonly due: number;
  readonly task: { cancel(): void };
}

export class WorkList {
  readonly #options: WorkListOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #failures = new Map<string, number>();

  constructor(options: WorkListOptions) {
    this.#options = options;
  }

  /** Has the key looked at. @param delay ms; default: the list's own */
  add(key: string, delay = delayWithin(this.#options.random, this.#options.delay)): void {
    const { time } = this.#options;
    const due = time.now + Math.max(0, delay);
    const waiting = this.#entries.get(key);
    if (waiting !== undefined) {
      if (waiting.due <= due) return;
      waiting.task.cancel();
    }
    this.#entries.set(key, { due, task: time.schedule(due - time.now, () => this.#run(key)) });
  }

  /** Forgets everything, as a process does that ends. */
  clear(): void {
    for (const { task } of this.#entries.values()) task.cancel();
    this.#entries.clear();
    this.#failures.clear();
  }

  #run(key: string): void {
    this.#entries.delete(key);
    const { retry = false, after } = this.#options.sync(key);
    if (retry) this.add(key, this.#nextBackOff(key));
    else this.#failures.delete(key);
    if (after !== undefined) this.add(key, after);
  }

  #nextBackOff(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const [first, longest] = this.#options.backOff ?? [5, 1_000_000];
    return Math.min(longest, first * 2 ** failures);
  }
}
