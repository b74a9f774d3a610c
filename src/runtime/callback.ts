/**
 * Callback: a function that the user of the runtime gave, and that is called synchronously. What it returns is
 * checked where it enters, because the types do not hold at run time.
 */
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** A callback threw, or returned what it must not. */
export interface CallbackFault {
  /** Which one, by the name of its option: `flowOf`. */
  readonly callback: string;
  /** The key of the queue that it was called for. */
  readonly key: string;
  readonly error: unknown;
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

/** Milliseconds between two lines about the same callback. */
const logPeriod = 60_000;

/** Logs faults: of each callback the first one, and while they go on one a minute, with how many there were. */
export class CallbackFaults {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #seen = new Map<string, { loggedAt: number; unsaid: number }>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  report({ callback, key, error }: CallbackFault): void {
    const now = this.#clock.monotonic();
    const seen = this.#seen.get(callback) ?? { loggedAt: -Infinity, unsaid: 0 };
    this.#seen.set(callback, seen);
    if (now - seen.loggedAt < logPeriod) {
      seen.unsaid++;
      return;
    }
    this.#log.error(
      { err: error, callback, key, unsaid: seen.unsaid },
      'a callback failed; its default is used',
    );
    seen.loggedAt = now;
    seen.unsaid = 0;
  }
}
