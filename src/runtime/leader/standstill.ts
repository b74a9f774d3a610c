/**
 * Standstill: for how long this process stood still, because its event loop was blocked or the process was stopped.
 * It needs no timer of its own: whatever the LeaderElector waits for has a limit, and what ends far later was held up.
 */
import type { Clock } from '../clock.ts';

export class Standstill {
  readonly #clock: Clock;
  /** Monotonic; when what is waited for should be over. */
  #due = Infinity;
  #longest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Passes on what `work` comes to, which by its own timers ends within `limit` ms. One at a time. */
  async watch<T>(limit: number, work: Promise<T>): Promise<T> {
    this.#due = this.#clock.monotonic() + limit;
    try {
      return await work;
    } finally {
      this.#longest = this.#current();
      this.#due = Infinity;
    }
  }

  /** The longest one since {@link reset} in words; undefined when it was shorter than `atLeast` ms. */
  describe(atLeast: number): string | undefined {
    const longest = this.#current();
    if (longest < atLeast) return undefined;
    const seconds = Math.floor(longest / 1000);
    return `the event loop was blocked, or the process stopped, for ${seconds} s or longer`;
  }

  reset(): void {
    this.#longest = 0;
  }

  /** Ms, one that lasts until now included. */
  #current(): number {
    return Math.max(this.#longest, this.#clock.monotonic() - this.#due);
  }
}
