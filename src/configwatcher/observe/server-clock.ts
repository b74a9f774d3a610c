/**
 * ServerClock: what the API server's clock shows at least, from the `Date` headers of its answers.
 *
 * Pods and ConfigMaps carry the server's instants, so everything that is compared with them, or has to hold
 * across operators on different machines, is counted in the server's time. A header has whole seconds and is
 * old when it arrives: the truth is never earlier than what {@link ServerClock.now} says, and after a few
 * answers it is a few milliseconds later.
 */
import type { Clock } from '../../runtime/clock.ts';

/** A header so much earlier than expected comes from a clock that was set back, or from another server. */
const steppedBack = 2000;

export class ServerClock {
  readonly #clock: Clock;
  /** Server time minus monotonic time, at least. */
  #offset: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param date of an answer that has just arrived, epoch milliseconds. */
  observe(date: number): void {
    if (!Number.isFinite(date)) return;
    const offset = date - this.#clock.monotonic();
    const known = this.#offset;
    if (known === undefined || offset > known || offset < known - steppedBack) this.#offset = offset;
  }

  /** Epoch milliseconds, whole; before the first answer the local wall clock. */
  now(): number {
    if (this.#offset === undefined) return Math.floor(this.#clock.now());
    return Math.floor(this.#clock.monotonic() + this.#offset);
  }
}
