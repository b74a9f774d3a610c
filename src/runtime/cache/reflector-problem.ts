/**
 * Reflector problem: why a reflector is not following its resource right now, in words for people and with
 * a reason to act on. None of these ends a reflector; they differ in how soon and how it tries again.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { ApiError, isExpired, isTooManyRequests, TransportError } from '../client/api-error.ts';
import { checkedStatus } from '../client/checked-status.ts';
import type { Status } from '../client/client.ts';
import { isStatusError } from '../client/response-error.ts';
import { UnreadableEventError } from '../client/watch-stream.ts';
import type { Presence } from './presence.ts';
import { InitialEventsError, WatchLimitError } from './watch-session.ts';

/** Why an informer is not following its resource. */
export interface ReflectorProblem {
  /**
   * NotServed: the API server's discovery says that it does not know the resource, so its CRD is not installed (or
   * was removed). Forbidden: a right is missing. Unreachable: there was no answer. Failed: any other answer.
   */
  readonly reason: 'NotServed' | 'Forbidden' | 'Unauthorized' | 'Throttled' | 'Unreachable' | 'Failed';
  /** One sentence without values of objects. */
  readonly message: string;
}

/** The watch cannot go on from where it was: list again. */
export function mustReload(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (isExpired(error) || error.reason === 'Expired' || error.reason === 'Gone') return true;
  // A version from the future: the storage was restored from a backup. It will not come true by waiting.
  const { details, message } = error.status;
  const tooLarge = details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
  return tooLarge || (message ?? '').includes('Too large resource version');
}

/**
 * A watch that was opened, or refused by the API server itself, for what comes after its position: a line that
 * cannot be read, or a version that is no longer valid. Trying again from there may fail for ever.
 */
export function blamesPosition(error: unknown): boolean {
  if (error instanceof ApiError) return isStatusError(error) && (error.code === 400 || error.code === 422);
  return isUnreadable(error);
}

/** What was sent could not be understood: by its bytes, or by what they say. */
export function isUnreadable(error: unknown): boolean {
  if (error instanceof UnreadableEventError) return true;
  // Everything else that is wrong with what was sent surfaces as an error of the language or of the reflector.
  const known = [TransportError, WatchLimitError, InitialEventsError, ApiError];
  return error instanceof Error && !known.some((type) => error instanceof type);
}

/** The server cannot begin this watch with the whole collection (feature off, older than 1.27, or a proxy). */
export function isWatchListRefused(error: unknown): boolean {
  if (error instanceof InitialEventsError || error instanceof UnreadableEventError) return true;
  if (!(error instanceof ApiError)) return false;
  return error.code === 400 || error.code === 405 || error.code === 422;
}

/** Milliseconds that the server asked to wait, at most 2 minutes; undefined when it did not ask. */
export function askedDelay(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || error.retryAfter === undefined) return undefined;
  return Math.min(error.retryAfter, 120_000);
}

/** Whether there is no such collection, as far as the answer to a request for it can tell. */
export function isNotFoundAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404;
}

/**
 * Whether it is the API server that refuses: a right is missing, or the resource is. To start again would not mend
 * that. A page of a proxy is none.
 */
export function isRefusal(error: unknown, presence: Presence): boolean {
  if (presence === 'absent' || presence === 'otherVersion') return true;
  return error instanceof ApiError && (error.code === 403 || error.code === 404) && isStatusError(error);
}

/** @param presence what discovery says, where that was asked. */
export function problemOf(resource: Resource, error: unknown, presence: Presence): ReflectorProblem {
  const name = resourceName(resource);
  if (presence === 'absent' || presence === 'otherVersion') {
    return {
      reason: 'NotServed',
      message: `${name} (${resource.version}) is not served: ${remedy(resource, presence)}`,
    };
  }
  const failed = `${name} cannot be watched: ${messageOf(error)}`;
  if (!(error instanceof ApiError))
    return { reason: isUnreadable(error) ? 'Failed' : 'Unreachable', message: failed };
  if (error.code === 403 && isStatusError(error)) return { reason: 'Forbidden', message: failed };
  if (error.code === 401) return { reason: 'Unauthorized', message: failed };
  if (isTooManyRequests(error)) return { reason: 'Throttled', message: failed };
  return { reason: 'Failed', message: failed };
}

function remedy(resource: Resource, presence: 'absent' | 'otherVersion'): string {
  if (presence === 'otherVersion') return 'the API server has it in other versions only';
  return resource.group.includes('.')
    ? 'its CustomResourceDefinition is not installed'
    : 'unknown to the API server';
}

/** The error that an ERROR event of a watch stands for. */
export function errorOfStatus(object: Status | undefined): ApiError {
  // The type of the event says that it is one.
  const status = checkedStatus({ ...object, kind: 'Status' }) ?? {};
  const seconds = status.details?.retryAfterSeconds;
  return new ApiError(
    status.message ?? 'the watch ended with an error without a message',
    status.code ?? 500,
    status,
    seconds === undefined ? undefined : seconds * 1000,
  );
}

/** `plural.group`, or `plural` in the core group: how kubectl and CRDs name a resource. */
export function resourceName(resource: Resource<KubernetesObject>): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
