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
      this.#longest = this.longest;
      this.#due = Infinity;
    }
  }

  /** Ms of the longest one since {@link reset}, at least; one that lasts until now included. */
  get longest(): number {
    return Math.max(this.#longest, this.#clock.monotonic() - this.#due);
  }

  reset(): void {
    this.#longest = 0;
  }
}
