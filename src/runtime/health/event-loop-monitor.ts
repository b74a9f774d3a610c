/**
 * EventLoopMonitor: notices when the event loop stood still. While it does, nothing here runs and the
 * kubelet's probe times out by itself; what would go unseen is a loop that stands still again and again
 * and answers in between. So one long lag is remembered for a while.
 */
import type { Clock, Timer } from '../clock.ts';
import { eventLoopLagLimit } from '../limits.ts';

/** Ms between two looks. */
const period = 1000;

/**
 * How long it stays one, ms. Longer than one period of a probe (10 s by default), so that each lag is seen;
 * shorter than three, so that a single one, as after a stopped process, is no reason to restart.
 */
const remembered = 15_000;

export class EventLoopMonitor {
  readonly #clock: Clock;
  #due = Infinity;
  #timer: Timer | undefined;
  #lag = 0;
  #laggedAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#due = this.#clock.monotonic() + period;
    this.#timer = this.#clock.setTimer(period, () => {
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#due = Infinity;
  }

  /** @throws {Error} when the event loop lagged too much, now or lately. */
  check(): void {
    this.#look();
    if (this.#clock.monotonic() - this.#laggedAt > remembered) return;
    throw new Error(`the event loop stood still for ${Math.round(this.#lag / 1000)} s`);
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const lag = now - this.#due;
    if (lag <= eventLoopLagLimit) return;
    this.#lag = lag;
    this.#laggedAt = now;
  }
}
