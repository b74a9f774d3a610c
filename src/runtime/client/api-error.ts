/**
 * What a call to the API server can end with instead of an answer. Not-found, conflict and already-exists
 * are normal control flow: ask with the predicates below, never by comparing messages.
 */
import { isDelay, maxRetryAfter } from '../delay.ts';
import type { Status } from './client.ts';

/** The API server answered, and the answer was not 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status code. */
  readonly code: number;
  /** metav1.StatusReason, such as `NotFound`; empty when the body was not a Status. */
  readonly reason: string;
  readonly status: Status;
  /**
   * Milliseconds to wait before the next try, from Retry-After or details.retryAfterSeconds: 0 … 1 h. Undefined
   * when the server named none, or one that is negative, longer or no number.
   */
  readonly retryAfter: number | undefined;

  constructor(message: string, code: number, status: Status, retryAfter?: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.reason = status.reason ?? '';
    this.status = status;
    this.retryAfter = isRetryAfter(retryAfter) ? retryAfter : undefined;
  }
}

/** The same error in other words, and without those of the answer. @param details what of the answer's may stay. */
export function reworded(
  { code, reason, retryAfter, status: { kind } }: ApiError,
  message: string,
  details?: Status['details'],
): ApiError {
  const status = { ...(kind && { kind }), code, reason, message, ...(details && { details }) };
  return new ApiError(message, code, status, retryAfter);
}

/**
 * There was no usable answer: connection refused or cut, deadline over, TLS or name-resolution failure.
 * Of a write it is unknown whether it happened, unless `sent` is false.
 */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** False when the request certainly never left this process (leadership gate, no connection). */
  readonly sent: boolean;

  constructor(message: string, sent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.sent = sent;
  }
}

/** Whether a server may ask for such a wait. */
export function isRetryAfter(milliseconds: number | undefined): boolean {
  return isDelay(milliseconds) && milliseconds <= maxRetryAfter;
}

function hasReason(error: unknown, code: number, reason: string): boolean {
  return error instanceof ApiError && error.code === code && (error.reason === reason || error.reason === '');
}

/** 404: no such object, or no such resource. */
export function isNotFound(error: unknown): boolean {
  return hasReason(error, 404, 'NotFound');
}

/** 404 in the API server's own words, which prove that the object is not there. A page of a proxy proves nothing. */
export function isProvenNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404 && error.reason === 'NotFound';
}

/** 409: an object of that name exists, perhaps the one that a create with a lost answer has made. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409 && error.reason === 'AlreadyExists';
}

/** Another client changed the object first, or a uid or resourceVersion precondition did not hold. */
export function isConflict(error: unknown): boolean {
  return hasReason(error, 409, 'Conflict');
}

/** 403: no right, quota exceeded, or an admission plugin refused. */
export function isForbidden(error: unknown): boolean {
  return hasReason(error, 403, 'Forbidden');
}

/** 422: the object is not valid. */
export function isInvalid(error: unknown): boolean {
  return hasReason(error, 422, 'Invalid');
}

/** 429: the server is busy, or a disruption budget forbids an eviction; `retryAfter` says how long. */
export function isTooManyRequests(error: unknown): boolean {
  return error instanceof ApiError && error.code === 429;
}

/** 410, or the same in a watch event: the resourceVersion is too old; list again. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410;
}
