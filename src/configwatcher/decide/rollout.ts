/**
 * Rollout: restarts through the rollout of a workload itself. One annotation in its Pod template changes,
 * and its controller replaces the Pods at its own pace, with its own limits.
 */
import { createHash } from 'node:crypto';
import type { PodFacts } from './pod-facts.ts';

/** Why the rollout of a workload would not begin, or not go on. */
export type RolloutHold = 'Paused' | 'OnDelete' | 'Reverted';

/** What is known of a workload that has rollouts. */
export interface RolloutFacts {
  /** It rolls nothing out as it is configured. */
  readonly held?: 'Paused' | 'OnDelete';
  /** Value of the annotation in its template. */
  readonly restartedFor?: string;
  /** resourceVersion of what was read: a change that was decided on it is made to it or not at all. */
  readonly version?: string;
  /** How many Pods its controller counts, whatever their labels and revision. */
  readonly pods?: number;
  /** Its controller has not seen its newest spec, so it is not known yet which Pods it is about to replace. */
  readonly isBehind?: true;
  /**
   * The template that its controller replaces Pods for. Present where that replaces Pods of older revisions by
   * RollingUpdate, and has observed the newest template.
   */
  readonly target?: {
    /** Of a Deployment and a DaemonSet a number, of a StatefulSet a hash. */
    readonly revision: string;
    /** Of a StatefulSet: Pods with a lower ordinal keep their revision. */
    readonly partition: number;
  };
}

/** An annotation's name has 63 characters at most, 14 of which are taken. */
const maxNameLength = 49;
const keptOfName = 40;

/**
 * The annotation in the Pod template. Its value names the change, so writing it twice is writing it once,
 * and two operators write the same.
 *
 * @param group API group of the watcher.
 */
export function rolloutAnnotation(group: string, watcher: string): string {
  const suffix = createHash('sha256').update(watcher).digest('hex').slice(0, 8);
  const name = watcher.length > maxNameLength ? `${watcher.slice(0, keptOfName)}-${suffix}` : watcher;
  return `${group}/restarted-for.${name}`;
}

/**
 * What comes next in the rollout of an owner. `Patch`: the template has to be changed. `Wait`: its controller is at work.
 *
 * @param change id of the change.
 * @param patched this process has written the annotation for this change before.
 */
export function rolloutTurn(
  facts: RolloutFacts,
  change: string,
  patched: boolean,
): 'Patch' | 'Wait' | RolloutHold {
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
