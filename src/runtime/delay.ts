/** Delay: a number of milliseconds to wait, checked where it enters. */

/** Whether `value` is a finite number ≥ 0. */
export function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value);
}

/** The longest wait that an API server may ask for, ms; a longer Retry-After is taken for a mistake. */
export const maxRetryAfter = 3_600_000;
