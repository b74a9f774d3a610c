/**
 * Retry: which failed attempts the transport itself repeats, and when. It mends what passes in a moment;
 * everything longer is left to the caller's own backoff.
 */
import { ApiError, TransportError } from './api-error.ts';
import type { Answered } from './concurrency-limit.ts';
import { isStatusError } from './response-error.ts';

/** Repetitions of one call without being asked to wait by the server. */
const maxBlindRetries = 3;
/** Repetitions of one call in all. */
const maxRetries = 10;
/** Milliseconds before the first blind repetition; each further one waits twice as long. */
const firstDelay = 100;

export interface FailedAttempt {
  readonly method: string;
  readonly error: unknown;
  /** How many repetitions there have been. */
  readonly retries: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Milliseconds to wait before the next attempt; undefined: there is none. */
export function retryDelay({ method, error, retries, random }: FailedAttempt): number | undefined {
  if (retries >= maxRetries) return undefined;
  if (error instanceof ApiError) {
    if (!(method === 'GET' ? mayPass(error) : wasTurnedAway(error))) return undefined;
    // Never earlier than asked, and not all at once.
    if (error.retryAfter !== undefined) return error.retryAfter * (1 + 0.1 * random()) + 50 * random();
  } else if (!(error instanceof TransportError) || method !== 'GET') {
    return undefined;
  }
  if (retries >= maxBlindRetries) return undefined;
  return firstDelay * 2 ** retries * (0.5 + random());
}

function mayPass({ code, status }: ApiError): boolean {
  // The server has already waited for that version, and says that it is not coming.
  if (status.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return false;
  return code === 429 || (code >= 500 && code !== 501);
}

/**
 * A request that was refused before anything looked at it: priority and fairness, or a server that shuts
 * down, answer 429 with Retry-After and no Status. A Status means that the request was worked on (an
 * eviction against a disruption budget is refused so), and the decision is the caller's.
 */
function wasTurnedAway(error: unknown): boolean {
  return (
    error instanceof ApiError && error.code === 429 && error.retryAfter !== undefined && !isStatusError(error)
  );
}

/** What an attempt that ended with this error tells about the load of the server. */
export function outcomeOf(error: unknown): Answered['outcome'] {
  if (error instanceof TransportError) return 'unanswered';
  return wasTurnedAway(error) ? 'turnedAway' : 'answered';
}
