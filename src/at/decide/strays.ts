/**
 * Strays: Pods of an At that are not the one its run is in, or was. A create that a stale replica sent, or that
 * came through late, may bring one into being under a name whose Pod had been deleted, or after the At was
 * canceled, missed or lost. No status speaks of it, so it must not run on.
 */
import { atReason } from '../../api/at-constants.ts';
import { observePod, type PodView } from '../facts/observe-pod.ts';
import { isOurs } from '../facts/own-pod.ts';
import type { Decision, DeletePod, Observed, PatchPod } from './decision.ts';
import { deletion, stopOverdue, stopPatch, versionOf } from './stop.ts';

/**
 * The decision, and the end of every Pod but the one with this uid, by the rules of any stop. However old what
 * was observed is: an attempt that was recorded, or followed by another one, has no second Pod.
 */
export function withoutStrays(o: Observed, uid: string | undefined, decision: Decision): Decision {
  const views = [o.pod, o.nextPod, ...o.earlierPods]
    .filter((pod) => pod !== undefined && isOurs(o, pod) && pod.metadata.uid !== uid)
    .map((pod) => observePod(pod as NonNullable<typeof pod>))
    .filter(({ ended, deletionDue }) => ended === undefined && deletionDue === undefined);
  if (views.length === 0 || isDecidedAgain(decision)) {
    return decision;
  }
  const steps = views.map((view) => stepFor(o, view));
  const actions = steps.filter((step) => typeof step !== 'number');
  const times = steps.filter((step) => typeof step === 'number');
  const requeueAt = Math.min(...times, decision.requeueAt ?? Number.POSITIVE_INFINITY);
  return {
    ...decision,
    // First: another attempt would run beside them.
    actions: [...actions, ...decision.actions],
    ...(Number.isFinite(requeueAt) ? { requeueAt } : {}),
  };
}

/** In the same pass, with the same Pods: what is to be done about strays is done then. */
function isDecidedAgain({ again = false, actions }: Decision): boolean {
  return again || actions.some(({ type }) => type === 'ReadLive');
}

/** What to do about a stray now, or when to look at it again, epoch milliseconds. */
function stepFor(o: Observed, view: PodView): PatchPod | DeletePod | number {
  if (!view.seen) {
    return { ...deletion(view), ...versionOf(view) };
  }
  const overdue = stopOverdue(view);
  if (overdue === undefined) {
    return stopPatch(view, { reason: reasonOf(o) }, o.now);
  }
  return o.now >= overdue ? deletion(view) : overdue;
}

/** Why it is stopped: what ended an At that has no Pod of its own, or that another Pod is the one of the run. */
function reasonOf({ at: { status } }: Observed): string {
  return status?.podUID === undefined && status?.reason !== undefined ? status.reason : atReason.superseded;
}
