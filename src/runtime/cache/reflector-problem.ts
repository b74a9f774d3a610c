/**
 * Reflector problem: why a reflector is not following its resource right now, in words for people and with
 * a reason to act on. None of these ends a reflector; they differ in how soon and how it tries again.
 */
import type { KubernetesObject, Resource } from '../../api/kubernetes.ts';
import { ApiError, isExpired, isTooManyRequests } from '../client/api-error.ts';
import type { Status } from '../client/client.ts';
import { InitialEventsError } from './watch-session.ts';

export interface ReflectorProblem {
  /**
   * NotServed: the API server does not know the resource, so its CRD is not installed (or was removed).
   * Forbidden: a right is missing. Unreachable: there was no answer. Failed: any other answer.
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

/** The server cannot begin a watch with the whole collection (feature off, older than 1.27, or a proxy). */
export function isWatchListRefused(error: unknown): boolean {
  if (error instanceof InitialEventsError) return true;
  if (!(error instanceof ApiError)) return false;
  return error.code === 400 || error.code === 405 || error.code === 422;
}

/** Milliseconds that the server asked to wait, at most 2 minutes; undefined when it did not ask. */
export function askedDelay(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || error.retryAfter === undefined) return undefined;
  return Number.isFinite(error.retryAfter) ? Math.min(Math.max(error.retryAfter, 0), 120_000) : undefined;
}

/** Whether the error is an answer of the API server, rather than of nobody or of a broken server. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.code < 500 && error.code !== 401;
}

export function problemOf(resource: Resource, error: unknown): ReflectorProblem {
  const name = resourceName(resource);
  if (!(error instanceof ApiError)) {
    return { reason: 'Unreachable', message: `${name} cannot be watched: ${messageOf(error)}` };
  }
  const failed = `${name} cannot be watched: ${error.message}`;
  if (error.code === 404) {
    return {
      reason: 'NotServed',
      message: `${name} (${resource.version}) is not served: ${remedy(resource)}`,
    };
  }
  if (error.code === 403) return { reason: 'Forbidden', message: failed };
  if (error.code === 401) return { reason: 'Unauthorized', message: failed };
  if (isTooManyRequests(error)) return { reason: 'Throttled', message: failed };
  return { reason: 'Failed', message: failed };
}

function remedy(resource: Resource): string {
  return resource.group.includes('.')
    ? 'its CustomResourceDefinition is not installed'
    : 'unknown to the API server';
}

/** The error that an ERROR event of a watch stands for. */
export function errorOfStatus(status: Status | undefined): ApiError {
  const seconds = status?.details?.retryAfterSeconds;
  return new ApiError(
    status?.message ?? 'the watch ended with an error without a message',
    status?.code ?? 500,
    status ?? {},
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
