/**
 * Callback: a function that the user of the runtime gave, and that is called synchronously. What it returns is
 * checked where it enters, because the types do not hold at run time.
 */
import type { Clock } from './clock.ts';
import { LogLimit } from './log-limit.ts';
import type { Logger } from './logger.ts';

/** A callback threw, or returned what it must not. */
export interface CallbackFault {
  /** Which one, by the name of its option: `flowOf`. */
  readonly callback: string;
  /** What it was called for: an object, as `namespace/name`, or a Runnable. */
  readonly key: string;
  readonly error: unknown;
  /** What happens instead, as the end of a sentence. */
  readonly consequence: string;
}

/**
 * Passes on what a callback returned, unless that is a promise.
 *
 * @throws {TypeError} for a promise, whose rejection is then handled: unhandled it would end the process.
 */
export function synchronous<R>(returned: R): R {
  if (!(returned instanceof Promise)) return returned;
  returned.catch(() => {});
  throw new TypeError('a promise was returned by a function that must be synchronous');
}

/** Logs faults: of each callback the first one, and while they go on one a minute, with how many there were. */
export class CallbackFaults {
  readonly #log: Logger;
  readonly #limit: LogLimit;

  constructor(clock: Clock, log: Logger) {
    this.#log = log;
    this.#limit = new LogLimit(clock);
  }

  report({ callback, key, error, consequence }: CallbackFault): void {
    this.#limit.log(callback, (suppressed) =>
      this.#log.error({ err: error, callback, key, suppressed }, `a callback failed; ${consequence}`),
    );
  }
}
