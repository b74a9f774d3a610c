/** Scaling of a Deployment: how many Pods each of its ReplicaSets shall have. Pure arithmetic. */
import type { Deployment, ReplicaSet } from '../workloads.ts';
import {
  all,
  byAge,
  desiredAnnotation,
  fenceposts,
  isRolling,
  maxAnnotation,
  maxUnavailableOf,
  type Rollout,
  replicasOf,
  sum,
} from './deployment-facts.ts';

/** ReplicaSets with the size that each shall have; one whose size stays may still need new annotations. */
export type Sizes = readonly { readonly replicaSet: ReplicaSet; readonly replicas: number }[];

/** Whether `spec.replicas` has changed since its ReplicaSets were scaled. */
export function isScalingEvent({ deployment, newest, old }: Rollout): boolean {
  return [...old, ...(newest ? [newest] : [])]
    .filter((replicaSet) => replicasOf(replicaSet) > 0)
    .some(({ metadata }) => {
      const desired = metadata.annotations?.[desiredAnnotation];
      return desired !== undefined && Number(desired) !== replicasOf(deployment);
    });
}

/** What the new ReplicaSet may have now, within the surge. */
export function newReplicasOf({ deployment, newest, old }: Rollout): number {
  const wanted = replicasOf(deployment);
  if (!isRolling(deployment)) return wanted;
  const present = newest === undefined ? 0 : replicasOf(newest);
  const total = sum(old, replicasOf) + present;
  const most = wanted + fenceposts(deployment).surge;
  if (total >= most) return present;
  return present + Math.min(most - total, wanted - present);
}

/** The old ReplicaSets that may shrink now: first Pods that are not available, then what availability allows. */
export function shrunkOld({ deployment, newest, old }: Rollout): Sizes {
  if (newest === undefined || sum(old, replicasOf) === 0) return [];
  const replicaSets = [...old, newest];
  const floor = replicasOf(deployment) - maxUnavailableOf(deployment);
  const newUnavailable = replicasOf(newest) - availableOf(newest);
  const most = sum(replicaSets, replicasOf) - floor - newUnavailable;
  if (most <= 0) return [];
  const sizes = new Map(old.map((replicaSet) => [replicaSet, replicasOf(replicaSet)]));
  shrink(sizes, most, (replicaSet) => replicasOf(replicaSet) - availableOf(replicaSet));
  shrink(sizes, sum(replicaSets, availableOf) - floor, () => Number.POSITIVE_INFINITY);
  return [...sizes]
    .map(([replicaSet, replicas]) => ({ replicaSet, replicas }))
    .filter(({ replicaSet, replicas }) => replicas !== replicasOf(replicaSet));
}

/** Takes away up to `most` Pods, of the oldest ReplicaSet first, of each at most what `limit` says. */
function shrink(
  sizes: Map<ReplicaSet, number>,
  most: number,
  limit: (replicaSet: ReplicaSet) => number,
): void {
  let left = most;
  for (const [replicaSet, replicas] of sizes) {
    if (left <= 0) return;
    const taken = Math.max(0, Math.min(replicas, left, limit(replicaSet)));
    sizes.set(replicaSet, replicas - taken);
    left -= taken;
  }
}

/** After a change of `spec.replicas`, or while paused: the sizes in proportion. */
export function rescaled(rollout: Rollout): Sizes {
  const { deployment, newest, old } = rollout;
  const replicas = replicasOf(deployment);
  const active = all(rollout).filter((replicaSet) => replicasOf(replicaSet) > 0);
  if (active.length <= 1) {
    const only = active[0] ?? newest ?? old.at(-1);
    return only === undefined || replicasOf(only) === replicas ? [] : [{ replicaSet: only, replicas }];
  }
  if (newest !== undefined && isSaturated(newest, replicas)) {
    return old.filter((one) => replicasOf(one) > 0).map((replicaSet) => ({ replicaSet, replicas: 0 }));
  }
  return isRolling(deployment) ? inProportion(deployment, active) : [];
}

function inProportion(deployment: Deployment, active: readonly ReplicaSet[]): Sizes {
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + fenceposts(deployment).surge : 0;
  const toAdd = allowed - sum(active, replicasOf);
  const sorted = bySize(active, toAdd > 0);
  let added = 0;
  const sizes = sorted.map((replicaSet) => {
    const share = shareOf(replicaSet, deployment, toAdd, added);
    added += share;
    return { replicaSet, replicas: replicasOf(replicaSet) + share };
  });
  const [first, ...rest] = sizes;
  if (first === undefined) return [];
  return [{ ...first, replicas: Math.max(0, first.replicas + toAdd - added) }, ...rest];
}

/** Largest first; of two alike the newer first when Pods are added, the older when some are taken. */
function bySize(active: readonly ReplicaSet[], newerFirst: boolean): readonly ReplicaSet[] {
  const byTime = newerFirst ? [...byAge(active)].reverse() : byAge(active);
  return [...byTime].sort((a, b) => replicasOf(b) - replicasOf(a));
}

function shareOf(replicaSet: ReplicaSet, deployment: Deployment, toAdd: number, added: number): number {
  const size = replicasOf(replicaSet);
  if (size === 0 || toAdd === 0 || toAdd === added) return 0;
  const allowed = toAdd - added;
  const fraction = fractionOf(replicaSet, deployment);
  return toAdd > 0 ? Math.min(fraction, allowed) : Math.max(fraction, allowed);
}

function fractionOf(replicaSet: ReplicaSet, deployment: Deployment): number {
  const size = replicasOf(replicaSet);
  if (replicasOf(deployment) === 0) return -size;
  const most = replicasOf(deployment) + fenceposts(deployment).surge;
  const before =
    Number(replicaSet.metadata.annotations?.[maxAnnotation]) || deployment.status?.replicas || most;
  return Math.round((size * most) / before) - size;
}

function isSaturated(newest: ReplicaSet, replicas: number): boolean {
  return (
    replicasOf(newest) === replicas &&
    Number(newest.metadata.annotations?.[desiredAnnotation]) === replicas &&
    availableOf(newest) === replicas
  );
}

export function availableOf({ status }: ReplicaSet): number {
  return status?.availableReplicas ?? 0;
}
