/** AddOptions: what an add to the Workqueue may say besides the key. */

/** How a request is queued. */
export interface AddOptions {
  /** An integer; higher is taken first. Default 0. */
  readonly priority?: number;
}

/** Bounds for one backoff: `atMost` wins over `atLeast`. */
export interface RateLimitedOptions extends AddOptions {
  /** Milliseconds; what a Retry-After asked for. */
  readonly atLeast?: number;
  /** Milliseconds; the failure is counted all the same. */
  readonly atMost?: number;
}

/** @throws {RangeError} unless the priority is an integer. */
export function priorityOf(options: AddOptions | undefined): number {
  const priority = options?.priority ?? 0;
  if (!Number.isSafeInteger(priority)) throw new RangeError(`a priority must be an integer, got ${priority}`);
  return priority;
}
