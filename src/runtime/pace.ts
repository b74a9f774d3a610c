/**
 * Pace: lets the event loop turn during long work, so that timers, renewals of the lease and other requests have
 * their turn in between. It counts the time of the work alone, not that of waiting for more of it.
 */
import type { Clock } from './clock.ts';

/** The work in one turn of the event loop. */
const maxTurnMs = 10;

/** Tells long work when it has to let the event loop turn. */
export class Pace {
  readonly #clock: Clock;
  #spent = 0;
  #begunAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A stretch of work begins. */
  begin(): void {
    this.#begunAt = this.#clock.monotonic();
  }

  /** The stretch is over: what follows is waiting. */
  end(): void {
    this.#spent += this.#clock.monotonic() - this.#begunAt;
  }

  /** True within a stretch when the event loop should turn, by {@link turn}. */
  get isDue(): boolean {
    return this.#spent + this.#clock.monotonic() - this.#begunAt >= maxTurnMs;
  }

  async turn(): Promise<void> {
    await this.#clock.turn();
    this.#spent = 0;
    this.begin();
  }
}
