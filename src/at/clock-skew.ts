/**
 * ClockSkew: how far this machine's clock is from the API server's, judged from the `Date` of its answers.
 * Schedules are compared with this machine's clock, so a wrong one makes every At early or late.
 */
import { Gauge, type Registry } from '@prometheus-io/client';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';

/** A `Date` header has whole seconds. */
const headerStep = 1000;
/** Answers are judged together for so long, in milliseconds: a slow one makes this clock look fast. */
const window = 60_000;
const warnAbove = 2000;

export class ClockSkew {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #gauge: Gauge;
  #windowEnd = 0;
  /** The smallest difference of this window: the answer that was under way for the shortest time. */
  #smallest = Number.POSITIVE_INFINITY;

  constructor(registry: Registry, clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    this.#gauge = new Gauge({
      name: 'atwatch_apiserver_clock_skew_seconds',
      help: "This machine's clock minus the API server's; 0 as long as they may be equal.",
      registers: [registry],
    });
    this.#gauge.set(0);
  }

  /** @param serverTime epoch milliseconds of whole seconds */
  observe(serverTime: number): void {
    const now = this.#clock.monotonic();
    if (now >= this.#windowEnd && Number.isFinite(this.#smallest)) {
      this.#tell(this.#smallest);
      this.#smallest = Number.POSITIVE_INFINITY;
    }
    if (!Number.isFinite(this.#smallest)) {
      this.#windowEnd = now + window;
    }
    this.#smallest = Math.min(this.#smallest, this.#clock.now() - serverTime);
    // Behind is certain at once; ahead only when no answer of the window says otherwise.
    if (this.#smallest < 0) {
      this.#gauge.set(this.#smallest / 1000);
    }
  }

  #tell(difference: number): void {
    const skew = difference < 0 ? difference : Math.max(0, difference - headerStep);
    this.#gauge.set(skew / 1000);
    if (Math.abs(skew) > warnAbove) {
      this.#log.warn({ skewSeconds: skew / 1000 }, "this machine's clock differs from the API server's");
    }
  }
}
