/**
 * GuardedCallbacks: the callbacks of a workqueue, made safe to call. Whatever they return or throw, the queue
 * gets an answer of the right type, and the fault is reported.
 */
import { type CallbackFault, synchronous } from '../callback.ts';
import { isDelay } from '../delay.ts';
import { ExponentialBackoff, type RateLimiter } from './rate-limiter.ts';

export type OnFault = (fault: CallbackFault) => void;

/** The same function; one that throws or returns no string puts the key into the flow `''`. */
export function guardedFlowOf(flowOf: (key: string) => string, onFault: OnFault): (key: string) => string {
  return (key) => {
    try {
      const flow: unknown = synchronous(flowOf(key));
      if (typeof flow === 'string') return flow;
      throw new TypeError(`a flow must be a string, got ${typeof flow}`);
    } catch (error) {
      onFault({ callback: 'flowOf', key, error, consequence: 'the flow of the key is empty' });
      return '';
    }
  };
}

/** The same limiter; where it throws or gives no delay, the default backoff takes its place. */
export class GuardedRateLimiter implements RateLimiter {
  readonly #limiter: RateLimiter;
  readonly #onFault: OnFault;
  /** Counts along, so that it can take over at any failure. */
  readonly #fallback = new ExponentialBackoff();

  constructor(limiter: RateLimiter, onFault: OnFault) {
    this.#limiter = limiter;
    this.#onFault = onFault;
  }

  when(key: string): number {
    const otherwise = this.#fallback.when(key);
    return this.#attempt('rateLimiter.when', key, otherwise, () => {
      const delay: unknown = synchronous(this.#limiter.when(key));
      if (isDelay(delay)) return delay;
      throw new RangeError(`a delay must be a finite number of ms ≥ 0, got ${String(delay)}`);
    });
  }

  forget(key: string): void {
    this.#fallback.forget(key);
    this.#attempt('rateLimiter.forget', key, undefined, () => synchronous(this.#limiter.forget(key)));
  }

  retries(key: string): number {
    return this.#attempt('rateLimiter.retries', key, this.#fallback.retries(key), () => {
      const retries: unknown = synchronous(this.#limiter.retries(key));
      if (Number.isSafeInteger(retries)) return retries as number;
      throw new RangeError(`retries must be an integer, got ${String(retries)}`);
    });
  }

  #attempt<R>(callback: string, key: string, otherwise: R, call: () => R): R {
    try {
      return call();
    } catch (error) {
      this.#onFault({ callback, key, error, consequence: 'the default backoff is used' });
      return otherwise;
    }
  }
}
