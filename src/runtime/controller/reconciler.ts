/**
 * Reconciler: makes the world match what one object asks for. It gets only the key of the object; it reads the
 * rest itself, so any number of events may be folded into one call, and a call may come without any event.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Logger } from '../logger.ts';

/** Which object to look at. `namespace` is empty for cluster-scoped objects. */
export interface Request {
  readonly namespace: string;
  readonly name: string;
}

/**
 * When to look again, if no event asks earlier. All fields are "at the latest", none is a promise to wait.
 * An empty result means: only when something changes.
 */
export interface Result {
  /** After so many milliseconds on the monotonic clock. ≥ 0 and finite. */
  readonly requeueAfter?: number;
  /** At this wall-clock instant (epoch milliseconds); follows the wall clock when it is set. */
  readonly requeueAt?: number;
  /** Queue priority of that requeue; default 0, higher runs first. */
  readonly priority?: number;
}

/** What goes with one call; nothing in it outlives the call. */
export interface ReconcileContext {
  /** Aborted when leadership is lost, the reconcile timed out, or the drain limit of a stop is over. */
  readonly signal: AbortSignal;
  /** Carries controller, namespace, name and reconcileID. */
  readonly log: Logger;
  readonly reconcileID: string;
}

/** Makes the world match what one object asks for. */
export interface Reconciler {
  /**
   * Rejecting with any error means: again, with backoff (a result would be ignored), but not before the
   * Retry-After of an ApiError and not later than a {@link RetryError} says; with a {@link TerminalError}:
   * not before the next event.
   */
  reconcile(request: Request, context: ReconcileContext): Promise<Result>;
}

/** An error that trying again cannot mend: counted and logged, retried only by the next event. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** What a RetryError may say besides its delay. */
export interface RetryErrorOptions extends ErrorOptions {
  /** Queue priority of the next try; an integer. Default: that of the run that failed. */
  readonly priority?: number | undefined;
}

/**
 * An error after which the next try must not wait longer than `maxDelay` ms, however often the key failed
 * before. The failure counts for the backoff all the same.
 */
export class RetryError extends Error {
  override readonly name = 'RetryError';
  readonly maxDelay: number;
  readonly priority: number | undefined;

  /** @throws {RangeError} unless `maxDelay` is finite and ≥ 0, and the priority an integer. */
  constructor(message: string, maxDelay: number, options: RetryErrorOptions = {}) {
    const { priority, ...errorOptions } = options;
    super(message, errorOptions);
    if (!(maxDelay >= 0 && Number.isFinite(maxDelay))) {
      throw new RangeError(`maxDelay must be a finite number of ms ≥ 0, got ${maxDelay}`, { cause: this });
    }
    if (priority !== undefined && !Number.isSafeInteger(priority)) {
      throw new RangeError(`a priority must be an integer, got ${priority}`, { cause: this });
    }
    this.maxDelay = maxDelay;
    this.priority = priority;
  }
}

/** The request for an object itself. */
export function requestFor({ metadata: { namespace = '', name } }: KubernetesObject): Request {
  return { namespace, name };
}

/** The string form of a request, `namespace/name`, which is its key in queues. */
export function requestKey(request: Request): string {
  return `${request.namespace}/${request.name}`;
}

/** The reverse of {@link requestKey}. */
export function requestOfKey(key: string): Request {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
