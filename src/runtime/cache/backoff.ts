/**
 * Backoff: how long to wait before the next try of something that keeps failing. client-go's figures for
 * reflectors: 0.8 s doubling to 30 s, forgotten after 2 minutes without a failure.
 */
import type { Clock } from '../clock.ts';

export interface BackoffOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
  /** Milliseconds before jitter. Default 800. */
  readonly initial?: number;
  /** Milliseconds before jitter. Default 30 000. */
  readonly limit?: number;
  /** Milliseconds without a failure after which the next one waits `initial` again. Default 120 000. */
  readonly resetAfter?: number;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #initial: number;
  readonly #limit: number;
  readonly #resetAfter: number;
  #delay: number;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(options: BackoffOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#initial = options.initial ?? 800;
    this.#limit = options.limit ?? 30_000;
    this.#resetAfter = options.resetAfter ?? 120_000;
    this.#delay = this.#initial;
  }

  /**
   * Counts one failure.
   *
   * @returns milliseconds to wait, a quarter less to a quarter more than planned, so that many clients
   * of one API server do not come back together.
   */
  next(): number {
    const now = this.#clock.monotonic();
    if (now - this.#retryAt > this.#resetAfter) this.#delay = this.#initial;
    const delay = this.#delay * (0.75 + this.#random() / 2);
    this.#delay = Math.min(this.#delay * 2, this.#limit);
    this.#retryAt = now + delay;
    return delay;
  }
}
