/**
 * ClockSkew: tells people how far this machine's clock is from the API server's. Schedules are kept all the same, by
 * the server's clock.
 */
import { Gauge, type Registry } from '@prometheus-io/client';
import type { Logger } from '../../runtime/logger.ts';
import type { ServerClock } from '../../runtime/server-clock.ts';

/** Milliseconds between two warnings. */
const warningPeriodMs = 60_000;
const warnAboveMs = 2000;

export class ClockSkew {
  readonly #clock: ServerClock;
  readonly #log: Logger;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry, clock: ServerClock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    const gauge: Gauge = new Gauge({
      name: 'atwatch_apiserver_clock_skew_seconds',
      help: "This machine's clock minus the API server's; 0 as long as they may be equal.",
      registers: [registry],
      collect: () => gauge.set(clock.skew / 1000),
    });
  }

  /** To be called with each answer of the API server. */
  check(): void {
    const { skew } = this.#clock;
    if (Math.abs(skew) <= warnAboveMs || this.#clock.monotonic() - this.#warnedAt < warningPeriodMs) return;
    this.#warnedAt = this.#clock.monotonic();
    const sentence = "this machine's clock differs from the API server's, whose time counts for schedules";
    this.#log.warn({ skewSeconds: skew / 1000 }, sentence);
  }
}
