/** Create answer: what the answer to the create or the patch of a Pod, most of all an error, says about what became of it. */
import type { Pod } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import {
  ApiError,
  isConflict,
  isInvalid,
  isTooManyRequests,
  TransportError,
} from '../../runtime/client/api-error.ts';
import { isStatusError } from '../../runtime/client/response-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import { RetryError } from '../../runtime/controller/reconciler.ts';
import { defaultRequestTimeouts } from '../../runtime/limits.ts';
import type { Observed } from '../facts/observed.ts';
import { retryPriority } from '../facts/queue-priority.ts';

/** So long a request takes at most: on a busy machine it may outlast its time limit by a second. */
const longestRequestMs = defaultRequestTimeouts.write + 1000;

/**
 * Turned down as such: the Pod does not exist. The page of a proxy says nothing of the Pod, except that it has been sent
 * nowhere for too many requests or for the token.
 */
function isTurnedDown(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.code < 400 || error.code >= 500 || error.code === 408)
    return false;
  return isStatusError(error) || isTooManyRequests(error) || isUnauthorized(error);
}

/** Turned down for what it is. Too many requests, a quota that others count in, a token that is over pass by themselves. */
export function isRefusal(error: unknown): error is ApiError {
  const passes = isTooManyRequests(error) || isConflict(error) || isUnauthorized(error);
  return isTurnedDown(error) && !passes;
}

/** How the API server names the answer of a webhook or an admission policy, and what becomes of one that is down. */
const ofAdmission = /webhook "|AdmissionPolicy '/;

/**
 * The template itself is wrong, and only an edit mends it: each cause names a field of the Pod as it was sent, and it comes neither
 * from a webhook nor from a policy, whose answer may change.
 */
export function isInvalidPod(error: unknown, pod: Pod): error is ApiError {
  const fields = invalidFields(error);
  const isOfPod = fields.length > 0 && fields.every((field) => field !== '' && !isAdded(field, pod));
  return isOfPod && !ofAdmission.test((error as ApiError).message);
}

/** The field that is not valid, where a webhook or a policy has added it to the Pod: of that the answer says nothing. */
export function addedField(error: unknown, pod: Pod): string | undefined {
  return invalidFields(error).find((field) => isAdded(field, pod));
}

function invalidFields(error: unknown): readonly string[] {
  const causes = isInvalid(error) ? ((error as ApiError).status.details?.causes ?? []) : [];
  return causes.map(({ field = '' }) => field);
}

/** Whether the path names an item of a list that the Pod as it was sent does not have: `spec.containers[1].image`. */
function isAdded(field: string, pod: Pod): boolean {
  let value: unknown = pod;
  for (const name of field.match(/[^.[\]]+/g) ?? []) {
    const isMissing = value === undefined || (Array.isArray(value) && Number(name) >= value.length);
    if (isMissing && /^\d+$/.test(name)) return true;
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  }
  return false;
}

/** What says nothing about the Pod: some webhooks refuse every dry run. */
export function isNoDryRun({ code, message }: ApiError): boolean {
  return code === 400 && message.includes('does not support dry run');
}

/** No answer, or one that a failing server gives: it may have stored the Pod before. */
export function mayHaveHappened(error: unknown): boolean {
  return error instanceof TransportError ? error.sent : !isTurnedDown(error);
}

/** The object does not hold what a JSON Patch tests for. A refusal by admission has 422, too, and another sentence. */
export function isTestFailed(error: unknown): boolean {
  return isInvalid(error) && (error as ApiError).message.includes('rejected our request');
}

/**
 * Since when a request has failed: milliseconds before now. It counts from when it was sent, unless the process stood
 * still in between, since no request takes longer than its time limit.
 *
 * @param sentAt monotonic milliseconds.
 */
export function failedForMs(clock: Pick<Clock, 'monotonic'>, sentAt: number): number {
  const elapsed = clock.monotonic() - sentAt;
  return elapsed <= longestRequestMs ? elapsed : 0;
}

/**
 * When the Pod was launched: at its answer, to the millisecond. Where that is further from the second in which the API
 * server made it than a request may take, the process or its clock stood still in between, and that second counts.
 *
 * @param answeredAt epoch milliseconds, as the result.
 */
export function launchTimeOf({ metadata }: Pod, answeredAt: number): number {
  const createdAt = parseTime(metadata.creationTimestamp ?? '');
  return Math.abs(answeredAt - createdAt) > longestRequestMs ? createdAt : answeredAt;
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof ApiError && error.code === 401;
}

/** Before a create is tried again. */
export const maxDelayMs = 10_000;
/** The same after one without an answer. */
export const maxUnansweredDelayMs = 2000;

/** 250 ms, doubled by each refusal in a row. */
export function delayAfter(refusals: number): number {
  return Math.min(maxDelayMs, 125 * 2 ** Math.min(refusals, 10));
}

/** What to throw where a create has failed, and it is not known whether the Pod exists. */
export function unknownOutcome(error: unknown, { ambiguous }: Observed, { metadata }: Pod): RetryError {
  const hasAnswered = !(error instanceof TransportError);
  // Failed again by a server that answers, such as for a webhook that is down: it waits as one that was refused.
  const isRepeated = hasAnswered && mayHaveHappened(error) && ambiguous === true;
  const delay = hasAnswered ? maxDelayMs : maxUnansweredDelayMs;
  const options = { cause: error, priority: isRepeated ? retryPriority : undefined };
  return new RetryError(`Pod ${metadata.name} could not be created`, delay, options);
}
