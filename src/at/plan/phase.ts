/** Phase: where an At stands, and whether its status speaks of the spec that it has now. */

import type { At, AtStatusPhase } from '../../api/at.generated.ts';
import { atCondition, atPhase } from '../../api/at-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';

export function phaseOf(at: At): AtStatusPhase {
  return at.status?.phase ?? atPhase.pending;
}

/** Whether the At is being deleted. A finalizer keeps it there until then: another controller's, or the garbage collector's. */
export function isTerminating({ metadata }: At): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether the garbage collector deletes its Pods before the At goes: that a Pod is lost is no failure then. */
export function takesPodsAlong(at: At): boolean {
  return isTerminating(at) && at.metadata.finalizers?.includes('foregroundDeletion') === true;
}

/** Whether the spec is newer than the one that status was written for. */
export function isEdited({ metadata, status }: At): boolean {
  return (metadata.generation ?? 0) > (status?.observedGeneration ?? -1);
}

/** Whether it was edited, and no status has shown that yet: that was just now. A new At was never edited. */
export function isJustEdited({ metadata: { generation = 1 }, status }: At): boolean {
  return generation > Math.max(1, status?.observedGeneration ?? 1);
}

/** Whether it waits because the API server does not take the Pod of this very spec, by what status says. */
export function isRefused(at: At): boolean {
  const mayWait = phaseOf(at) === atPhase.pending && !isEdited(at);
  return mayWait && findCondition(at.status?.conditions, atCondition.launched)?.status === 'False';
}

/** Whether it waits so, and status names this reason. */
export function isRefusedFor(at: At, reason: string | undefined): boolean {
  return isRefused(at) && at.status?.reason === reason;
}

/** Whether status says that this very spec can be run. */
export function isAccepted(at: At): boolean {
  return !isEdited(at) && findCondition(at.status?.conditions, atCondition.accepted)?.status === 'True';
}
