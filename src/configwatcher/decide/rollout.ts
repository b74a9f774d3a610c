/**
 * Rollout: restarts through the rollout of a workload itself. One annotation in its Pod template changes,
 * and its controller replaces the Pods at its own pace, with its own limits.
 */
import type { PodFacts } from '../facts/pod-facts.ts';
import type { RolloutFacts } from '../facts/workload.ts';

/**
 * What comes next in the rollout of an owner. `Patch`: the template has to be changed. `Wait`: its controller is at work.
 * Otherwise why it does not begin, or not go on.
 *
 * @param change id of the change.
 * @param patched this process has written the annotation for this change before.
 */
export function rolloutTurn(facts: RolloutFacts, change: string, patched: boolean) {
  if (facts.restartedFor === change) return facts.held ?? 'Wait';
  // A user removed the annotation while the restart runs: that is a decision, which the operator respects.
  if (patched) return 'Reverted';
  return facts.held ?? 'Patch';
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
