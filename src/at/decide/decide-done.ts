/**
 * Decide, DONE: the outcome is final. What is left is to delete the At when its time to live is over, and to
 * see to it that nothing runs which the outcome does not speak of.
 */
import { atCondition, atReason } from '../../api/at-constants.ts';
import { findCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { parseTime } from '../../api/time.ts';
import type { Action, Decision, Observed } from './decision.ts';
import { observePod } from './observe-pod.ts';
import { isOurs } from './own-pod.ts';
import { updatedStatus } from './run-status.ts';
import { deletion, stopPatch, versionOf } from './stop.ts';

export function decideDone(o: Observed): Decision {
  const actions = [o.pod, o.nextPod].flatMap((pod) => (pod === undefined ? [] : stopStray(o, pod)));
  const status = updatedStatus(o, o.at.status ?? {}, {});
  const expiry = expiryOf(o);
  if (expiry === undefined || actions.length > 0) {
    return { actions, status, events: [] };
  }
  return o.now < expiry ? { actions, status, events: [], requeueAt: expiry } : expire(o);
}

/** The later of the end and of the status that told it, plus the time to live; epoch milliseconds. */
function expiryOf({ at }: Observed): number | undefined {
  const { ttlSecondsAfterFinished } = at.spec;
  // A lax CRD lets in what is no number; such an At is kept.
  if (typeof ttlSecondsAfterFinished !== 'number') {
    return undefined;
  }
  const ended = parseTime(at.status?.completionTime ?? '');
  const told = findCondition(at.status?.conditions, atCondition.complete)?.lastTransitionTime ?? '';
  // Conditions have whole seconds, the rest of which is dropped.
  const times = [ended, parseTime(told) + 999].filter((time) => !Number.isNaN(time));
  const expiry = Math.max(...times) + ttlSecondsAfterFinished * 1000;
  return Number.isFinite(expiry) ? expiry : undefined;
}

/** A fresh read first: a cached At may not show yet that somebody has lengthened its life. */
function expire(o: Observed): Decision {
  if (!o.live) {
    return { actions: [{ type: 'ReadLive', pods: false }], events: [] };
  }
  const { namespace = '', name, uid = '', resourceVersion = '' } = o.at.metadata;
  return { actions: [{ type: 'DeleteAt', namespace, name, uid, resourceVersion }], events: [] };
}

/**
 * A Pod of ours that is not the one of the outcome: a create that another replica sent, or that came through
 * late, after the At was canceled, missed or lost. It must not run on unseen.
 */
function stopStray(o: Observed, pod: Pod): Action[] {
  const view = observePod(pod);
  const isStray = isOurs(o, pod) && view.uid !== o.at.status?.podUID;
  if (!isStray || view.ended !== undefined || view.stop !== undefined || view.deletionDue !== undefined) {
    return [];
  }
  const reason = o.at.status?.reason ?? atReason.canceled;
  return view.seen ? [stopPatch(view, { reason }, o.now)] : [{ ...deletion(view), ...versionOf(view) }];
}
