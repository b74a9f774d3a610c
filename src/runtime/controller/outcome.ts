/**
 * Outcome: how one call of a reconciler ended, as one of five kinds, so that what follows from each stands in
 * one switch (wakes.ts).
 */
import { ApiError } from '../client/api-error.ts';
import { isDelay, maxRetryAfter } from '../delay.ts';
import type { ReconcileEvent } from '../diagnostics.ts';
import { errorChain, errorText } from '../error-chain.ts';
import type { RateLimitedOptions } from '../queue/add-options.ts';
import { type Result, RetryError, TerminalError } from './reconciler.ts';

export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'requeue'; readonly after?: number; readonly at?: number; readonly priority: number }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'terminal'; readonly error: TerminalError }
  /** The counterpart of a Go panic: thrown outside the promise, or something that is no Error. */
  | { readonly kind: 'panic'; readonly error: Error };

/** Calls a reconciler and tells how that ended. Never rejects, whatever the reconciler returns or throws. */
export async function outcomeOf(reconcile: () => Promise<Result>): Promise<Outcome> {
  let result: Promise<Result>;
  try {
    result = reconcile();
  } catch (error) {
    return { kind: 'panic', error: asError(error) };
  }
  try {
    return ofResult((await result) ?? {});
  } catch (error) {
    if (!isError(error)) return { kind: 'panic', error: asError(error) };
    return error instanceof TerminalError ? { kind: 'terminal', error } : { kind: 'error', error };
  }
}

/** Notes the outcome in the event of the reconcile, if there is one. */
export async function withOutcome(
  event: ReconcileEvent | undefined,
  reconcile: () => Promise<Outcome>,
): Promise<Outcome> {
  const outcome = await reconcile();
  if (event !== undefined) {
    event.outcome = outcome.kind;
    if ('error' in outcome) event.error = outcome.error;
  }
  return outcome;
}

/** A wish that no queue can grant is the reconciler's error, tried again as any other. */
function ofResult({ requeueAfter, requeueAt, priority = 0 }: Result): Outcome {
  if (requeueAfter === undefined && requeueAt === undefined) return { kind: 'success' };
  if (requeueAfter !== undefined && !isDelay(requeueAfter)) {
    throw new RangeError(`requeueAfter must be a finite number of ms ≥ 0, got ${errorText(requeueAfter)}`);
  }
  if (requeueAt !== undefined && !Number.isFinite(requeueAt)) {
    throw new RangeError(`requeueAt must be a finite number of epoch ms, got ${errorText(requeueAt)}`);
  }
  if (!Number.isSafeInteger(priority)) {
    throw new RangeError(`priority must be an integer, got ${errorText(priority)}`);
  }
  return {
    kind: 'requeue',
    priority,
    ...(requeueAfter !== undefined && { after: requeueAfter }),
    ...(requeueAt !== undefined && { at: requeueAt }),
  };
}

/** False also for what cannot even be asked, such as a revoked Proxy. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

function asError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(`a reconciler threw no Error: ${errorText(thrown)}`);
}

/**
 * How the key is added again after this error: within which bounds its backoff has to stay, and its priority. Of the
 * numbers in the chain of causes those count that make sense.
 */
export function retryOptions(error: unknown, priority: number): RateLimitedOptions {
  const asked: { atLeast?: number; atMost?: number; priority?: number } = {};
  for (const cause of errorChain(error)) {
    if (cause instanceof RetryError) {
      if (isDelay(cause.maxDelay)) asked.atMost ??= cause.maxDelay;
      if (Number.isSafeInteger(cause.priority)) asked.priority ??= cause.priority as number;
    }
    if (cause instanceof ApiError && isDelay(cause.retryAfter) && cause.retryAfter <= maxRetryAfter) {
      asked.atLeast ??= cause.retryAfter;
    }
  }
  return { priority, ...asked };
}
