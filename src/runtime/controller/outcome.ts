/**
 * Outcome: how one call of a reconciler ended, as one of five kinds, so that what follows from each stands in
 * one switch (controller.ts).
 */
import { ApiError } from '../client/api-error.ts';
import type { RateLimitedOptions } from '../queue/add-options.ts';
import { type Result, RetryError, TerminalError } from './reconciler.ts';

export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'requeue'; readonly after?: number; readonly at?: number; readonly priority: number }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'terminal'; readonly error: TerminalError }
  /** The counterpart of a Go panic: thrown outside the promise, or something that is no Error. */
  | { readonly kind: 'panic'; readonly error: Error };

/** Calls a reconciler and tells how that ended. Never rejects. */
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
    if (!(error instanceof Error)) return { kind: 'panic', error: asError(error) };
    return error instanceof TerminalError ? { kind: 'terminal', error } : { kind: 'error', error };
  }
}

/** A wish that no queue can grant is the reconciler's error, tried again as any other. */
function ofResult({ requeueAfter, requeueAt, priority = 0 }: Result): Outcome {
  if (requeueAfter === undefined && requeueAt === undefined) return { kind: 'success' };
  if (requeueAfter !== undefined && !(requeueAfter >= 0 && Number.isFinite(requeueAfter))) {
    throw new RangeError(`requeueAfter must be a finite number of ms ≥ 0, got ${requeueAfter}`);
  }
  if (requeueAt !== undefined && !Number.isFinite(requeueAt)) {
    throw new RangeError(`requeueAt must be a finite number of epoch ms, got ${requeueAt}`);
  }
  if (!Number.isSafeInteger(priority)) throw new RangeError(`priority must be an integer, got ${priority}`);
  return {
    kind: 'requeue',
    priority,
    ...(requeueAfter !== undefined && { after: requeueAfter }),
    ...(requeueAt !== undefined && { at: requeueAt }),
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`a reconciler threw no Error: ${String(thrown)}`);
}

/** How the key is added again after this error: within which bounds its backoff has to stay, and its priority. */
export function retryOptions(error: unknown, priority: number): RateLimitedOptions {
  const asked: { atLeast?: number; atMost?: number; priority?: number } = {};
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof RetryError) {
      asked.atMost ??= cause.maxDelay;
      if (cause.priority !== undefined) asked.priority ??= cause.priority;
    }
    if (cause instanceof ApiError && cause.retryAfter !== undefined) asked.atLeast ??= cause.retryAfter;
  }
  return { priority, ...asked };
}
