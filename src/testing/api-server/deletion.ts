/**
 * Deletion: preconditions, grace periods and finalizers of a delete, and what it makes of an object that it does not
 * remove at once.
 */
import type { ObjectMeta } from '../../kubernetes/objects.ts';
import { conflict } from './failure.ts';
import type { Target } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import type { AnyObject } from './strategy.ts';
import { rfc3339 } from './timestamp.ts';

/** metav1.DeleteOptions. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly dryRun?: readonly string[];
}

/** @throws Failure 409 */
export function assertPreconditions(
  { resource, name }: Target,
  current: AnyObject,
  { preconditions = {} }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions;
  const byKind = { group: resource.group, plural: resource.kind };
  if (uid && uid !== current.metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${current.metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(byKind, name, why);
  }
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.metadata.resourceVersion}). The object might have been modified`;
    throw conflict(byKind, name, why);
  }
}

/**
 * Seconds that a delete leaves; undefined without graceful deletion, `pending` when one is under way that is not
 * to be shortened.
 */
export function graceOf(
  { resource }: Target,
  current: AnyObject,
  { gracePeriodSeconds }: DeleteOptions,
): number | 'pending' | undefined {
  const gracePeriod = resource.strategy?.gracePeriod;
  if (gracePeriod === undefined) return undefined;
  // The API server takes a negative period for a second.
  const requested = gracePeriodSeconds === undefined || gracePeriodSeconds >= 0 ? gracePeriodSeconds : 1;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata;
  if (deletionTimestamp === undefined) return gracePeriod(current, requested);
  if (deletionGracePeriodSeconds === 0) return undefined;
  return requested === undefined || requested >= deletionGracePeriodSeconds ? 'pending' : requested;
}

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

/** The finalizers of an object, with those of the garbage collector as the policy wants them. */
export function finalizersFor(finalizers: readonly string[], policy: string | undefined): readonly string[] {
  if (policy === undefined) return finalizers;
  const others = finalizers.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  if (policy === 'Orphan') return [...others, orphan];
  return policy === 'Foreground' ? [...others, foreground] : others;
}

/** The object as it is stored from now on: it has a deletionTimestamp. */
export function terminating(
  resource: ServedResource,
  current: AnyObject,
  deletion: {
    readonly grace: number | undefined;
    readonly finalizers: readonly string[];
    readonly now: number;
  },
): AnyObject {
  const { finalizers: _, generation, ...rest } = current.metadata;
  const { grace, finalizers, now } = deletion;
  const isFirst = rest.deletionTimestamp === undefined;
  const metadata = {
    ...rest,
    ...(finalizers.length > 0 && { finalizers }),
    ...(generation !== undefined && { generation: isFirst ? generation + 1 : generation }),
    ...deadline(current, grace, now),
  };
  const marked = { ...current, metadata };
  return isFirst ? (resource.strategy?.terminating?.(marked) ?? marked) : marked;
}

/** When an object that is being deleted is to be gone. */
function deadline(
  { metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }: AnyObject,
  grace: number | undefined,
  now: number,
): Pick<ObjectMeta, 'deletionTimestamp' | 'deletionGracePeriodSeconds'> {
  if (deletionTimestamp === undefined) {
    const seconds = grace ?? 0;
    return { deletionTimestamp: rfc3339(now + seconds * 1000), deletionGracePeriodSeconds: seconds };
  }
  if (grace === undefined) return { deletionTimestamp, deletionGracePeriodSeconds };
  // A shorter period counts from the delete that began it.
  const end = Date.parse(deletionTimestamp) + (grace - deletionGracePeriodSeconds) * 1000;
  if (end >= now || grace === 0) {
    return { deletionTimestamp: rfc3339(Math.max(end, now)), deletionGracePeriodSeconds: grace };
  }
  return { deletionTimestamp: rfc3339(now), deletionGracePeriodSeconds: 1 };
}

/** Whether an update has taken away the last thing that held an object which is being deleted. */
export function isReleased({ resource }: Target, current: AnyObject, next: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds > 0) return false;
  return (next.metadata.finalizers ?? []).length === 0 && resource.strategy?.isHeld?.(next) !== true;
}
