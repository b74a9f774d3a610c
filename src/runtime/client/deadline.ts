/**
 * Deadline: the end of a call, whichever comes first of its time limit and its caller's signal. There is one for every
 * request, and next to no request meets its end, so an AbortSignal is made only for the code that asks for one.
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
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#end(this.#outer?.reason);
  #controller: AbortController | undefined;
  #isOver = false;
  #reason: unknown;

  /**
   * What is abandoned at the end. An object, since a function that is made for each request and next to never called
   * keeps what it refers to from being collected among the young: most of a client's garbage would grow old.
   */
  guarded: { abandon(reason: unknown): void } | undefined;

  /** @param limit milliseconds. */
  constructor(clock: Clock, limit: number, outer?: AbortSignal) {
    this.#clock = clock;
    this.#due = clock.monotonic() + limit;
    this.#outer = outer;
    this.#timer = clock.setTimer(limit, () => {
      this.#end(new DeadlineError(`no answer within ${limit / 1000} s`));
    });
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why it is over. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborted at the end. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isOver) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Milliseconds left; never negative. */
  get remaining(): number {
    return this.#isOver ? 0 : Math.max(0, this.#due - this.#clock.monotonic());
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

  /** The promise's outcome, or a rejection with the reason of the end if that comes first. */
  race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.guarded?.abandon(reason);
  }
}
