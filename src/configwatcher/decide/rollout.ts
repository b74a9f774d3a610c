/**
 * Rollout: restarts through the rollout of a workload itself. One annotation in its Pod template changes,
 * and its controller replaces the Pods at its own pace, with its own limits.
 */
import type { OwnerFacts } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { RolloutFacts } from '../facts/workload.ts';

/**
 * What comes next in the rollout of an owner. `Patch`: the template has to be changed. `Wait`: its controller is at work.
 * Otherwise why it does not begin, or not go on.
 *
 * @param change id of the change.
 * @param reverted the annotation has been there for this change, and a user has removed it.
 */
export function rolloutTurn(facts: RolloutFacts, change: string, reverted: boolean) {
  if (facts.restartedFor === change) return facts.held ?? 'Wait';
  // That is a decision, which the operator respects.
  if (reverted) return 'Reverted';
  return facts.held ?? 'Patch';
}

/**
 * Whether all its Pods may crash before the first one is noticed: a Pod that does is Ready for a moment each time, and
 * nothing checks its readiness.
 */
export function isAtRisk({ wanted = 0, rollout }: OwnerFacts): boolean {
  return rollout?.isUnchecked === true && wanted > 1;
}

/**
 * Whether the owner's own rollout replaces this Pod.
 *
 * @param kind of the owner.
 * @param revision of the Pod's own ReplicaSet, where it has one.
 */
export function isOutdated(
  { name, revision: ofPod }: Pick<PodFacts, 'name' | 'revision'>,
  kind: string,
  target: RolloutFacts['target'],
  revision: string | undefined,
): boolean {
  if (!target) return false;
  switch (kind) {
    case 'Deployment':
      return Number(revision) < Number(target.revision);
    case 'StatefulSet':
      return ofPod !== undefined && ofPod !== target.revision && ordinalOf(name) >= target.partition;
    default:
      return Number(ofPod) < Number(target.revision);
  }
}

/** Of a Pod of a StatefulSet. */
export function ordinalOf(pod: string): number {
  return Number(pod.slice(pod.lastIndexOf('-') + 1));
}
