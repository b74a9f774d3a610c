/**
 * Clock: the only source of time, timers and turns of the event loop in this runtime, so that a test can
 * own them.
 *
 * Two times, on purpose. The wall clock says when a thing is due for people and may jump; the monotonic
 * clock measures delays and never does (a suspended machine may stop it). Leadership asks both.
 */

/** A timer that has been set. `cancel` is idempotent and may be called after it fired. */
export interface Timer {
  cancel(): void;
}

/** The time as a controller gets it from its host: wall clock, monotonic clock, and a timer. */
export interface Clock {
  /** Wall-clock time, epoch milliseconds. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary zero. */
  monotonic(): number;
  /**
   * Calls back once after `delay` milliseconds, never synchronously, possibly up to 1 ms early (as Node's
   * own timers do), so callers compare instants again when called.
   *
   * @param delay 0 … 2³¹−1 ms.
   * @throws {RangeError} for NaN, negative, infinite or longer delays: Node would fire those at once.
   */
  setTimer(delay: number, callback: () => void): Timer;
  /** Resolves in a later turn of the event loop. */
  turn(): Promise<void>;
}

const maxTimerDelayMs = 2 ** 31 - 1;

/** Throws the {@link Clock.setTimer} RangeError unless `delay` is a number of ms a timer can wait for. */
export function assertTimerDelay(delay: number): void {
  if (!(delay >= 0 && delay <= maxTimerDelayMs)) {
    throw new RangeError(`a timer delay must be 0 to ${maxTimerDelayMs} ms, got ${delay}`);
  }
}

/** The clocks and timers of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delay, callback) {
    assertTimerDelay(delay);
    const timeout = setTimeout(callback, delay);
    return { cancel: () => clearTimeout(timeout) };
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

/**
 * Milliseconds since this call, by the clock that has gone further: a sleeping machine may stop the monotonic
 * one, and the wall clock may be turned back.
 */
export function stopwatch(clock: Clock): () => number {
  const [wall, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - wall, clock.monotonic() - monotonic);
}

/**
 * Resolves after `delay` ms, or rejects with the signal's reason as soon as it is aborted.
 *
 * @param delay 0 … 2³¹−1 ms.
 */
export function sleep(clock: Clock, delay: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delay, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
