/** Time limit: waits for what others do are not without one. */
import type { Clock } from './clock.ts';

/**
 * Resolves with true when `work` does so within `limit` ms, otherwise with false. A rejection of `work`
 * passes on; one that comes after the limit is swallowed.
 */
export async function endsWithin(clock: Clock, limit: number, work: Promise<unknown>): Promise<boolean> {
  const over = Promise.withResolvers<false>();
  const timer = clock.setTimer(limit, () => over.resolve(false));
  try {
    return await Promise.race([work.then(() => true), over.promise]);
  } finally {
    timer.cancel();
  }
}

/** Resolves when the signal is aborted; at once when it is already. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Aborts the controller when the signal is aborted, and holds nothing any more once it is aborted itself.
 *
 * Neither AbortSignal.any nor the option `signal` of addEventListener: what a signal made by the one, or a listener
 * added with the other, refers to is kept for good when the first signal is never aborted.
 */
export function abortWith(controller: AbortController, signal: AbortSignal): void {
  if (signal.aborted) controller.abort(signal.reason);
  if (controller.signal.aborted) return;
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const forget = () => signal.removeEventListener('abort', onAbort);
  controller.signal.addEventListener('abort', forget, { once: true });
}
