/**
 * Deadline: the end of a call, whichever comes first of its time limit and its caller's signal.
 */
import type { Clock, Timer } from '../clock.ts';

/** The time limit of a call is over. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

export class Deadline {
  readonly #clock: Clock;
  readonly #due: number;
  readonly #timer: Timer;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);

  /** @param limit milliseconds. */
  constructor(clock: Clock, limit: number, outer?: AbortSignal) {
    this.#clock = clock;
    this.#due = clock.monotonic() + limit;
    this.#outer = outer;
    this.#timer = clock.setTimer(limit, () => {
      this.#controller.abort(new DeadlineError(`no answer within ${limit / 1000} s`));
    });
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborted at the end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds left; never negative. */
  get remaining(): number {
    return this.#controller.signal.aborted ? 0 : Math.max(0, this.#due - this.#clock.monotonic());
  }

  /** No time limit any more; the caller's signal stays. */
  lift(): void {
    this.#timer.cancel();
  }

  /** To be called when the call is over. */
  cancel(): void {
    this.#timer.cancel();
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }

  /** The promise's outcome, or a rejection with the signal's reason if that comes first. */
  race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }
}
