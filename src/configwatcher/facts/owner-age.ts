/** Owner age: for how long what was read of an owner is good. */
import type { Resource } from '../../kubernetes/objects.ts';
import { isBehind, replicaSets, type Workload } from './workload.ts';

/** How long an earlier answer is good for, by the number of owners asked for, or in the middle of a restart. */
const minAgeMs = 2000;
const ageMsPerOwner = 50;
export const maxAgeMs = 30_000;
const behindAgeMsPerPlace = 10;

/** So that a restart of very many owners asks for so many of them a second, and not for all of them. */
export function goodFor(owners: number): number {
  return Math.min(maxAgeMs, Math.max(minAgeMs, owners * ageMsPerOwner));
}

/**
 * The same for an owner in the middle of its restart whose controller has not seen its newest spec, or has another count of
 * its Pods: nothing is done to it until then, and each pass for one of the others would read it again. One that is alone
 * has no such passes.
 */
export function behindGoodFor(places: number): number {
  return (places - 1) * behindAgeMsPerPlace;
}

export function isRecent(readAt: number, now: number, maxAge: number): boolean {
  return readAt <= now && now - readAt < maxAge;
}

/** Milliseconds for which what was read of an owner is good. Of a ReplicaSet it does not matter what it has seen. */
export function ageOf(
  resource: Resource,
  known: Workload | undefined,
  { maxAge, places }: { readonly maxAge: number; readonly places: readonly { readonly uid: string }[] },
): number {
  if (resource === replicaSets || !known || !isBehind(known)) return maxAge;
  return places.some(({ uid }) => uid === known.metadata.uid) ? behindGoodFor(places.length) : 0;
}
