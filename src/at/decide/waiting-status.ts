/**
 * Waiting status: the whole status of an At that is PENDING, made from the one it has. Every function here is
 * told what was observed; none foresees.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atPhase, atReason } from '../../api/at-constants.ts';
import { findCondition, removeCondition } from '../../kubernetes/conditions.ts';
import type { Condition } from '../../kubernetes/objects.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import { isEdited } from '../plan/phase.ts';
import { type InvalidPlan, isInvalid, type Plan } from '../plan/plan.ts';
import type { Observed } from './decision.ts';
import { accepted, clip, resumed, stated } from './statement.ts';

/** PENDING, waiting for its time. Forgets what an earlier try to launch has left behind. */
export function armedStatus(o: Observed, plan: Plan): AtStatus {
  const rejection = rejectionOf(o);
  const said = { reason: atReason.podRejected, message: clip(rejection ?? '') };
  const waiting = waitingStatus(o, plan);
  const kept = removeCondition(without(waiting, atCondition.launched), atCondition.podAdmitted);
  const status = { ...waiting, ...(rejection === undefined ? { reason: atReason.armed } : said) };
  return stated(
    o,
    { ...status, conditions: rejection === undefined ? kept : without(waiting, atCondition.launched) },
    [
      ...accepted,
      { type: atCondition.ready, status: 'True', reason: atReason.armed, message: 'waits for its time' },
      ...(rejection === undefined
        ? []
        : [{ type: atCondition.podAdmitted, status: 'False', ...said } as const]),
      ...resumed(o.at),
    ],
  );
}

/** What a dry run of the Pod of this very spec was refused with, now or before. */
function rejectionOf({ at, rejection }: Observed): string | undefined {
  const told = isEdited(at) ? undefined : findCondition(at.status?.conditions, atCondition.podAdmitted);
  return rejection ?? (told?.status === 'False' ? told.message : undefined);
}

/** PENDING for as long as spec.suspend is true. */
export function suspendedStatus(o: Observed, plan: Plan): AtStatus {
  const message = 'nothing is started while spec.suspend is true';
  const status = { ...waitingStatus(o, plan), reason: atReason.suspended };
  return stated(o, { ...status, conditions: without(status, atCondition.launched) }, [
    ...accepted,
    { type: atCondition.ready, status: 'True', reason: atReason.suspended, message },
    { type: atCondition.suspended, status: 'True', reason: atReason.suspended, message },
  ]);
}

/** PENDING with a spec that nobody can run. */
export function invalidStatus(o: Observed, { reason, message }: InvalidPlan): AtStatus {
  const { scheduledTime: _, podName: __, ...rest } = o.at.status ?? {};
  const status = { ...rest, phase: atPhase.pending, reason, message };
  return stated(o, { ...status, conditions: without(status, atCondition.launched) }, [
    { type: atCondition.accepted, status: 'False', reason, message },
    { type: atCondition.ready, status: 'False', reason, message },
    { type: atCondition.stalled, status: 'True', reason, message },
    // Suspended anew is told when there is something that could run.
    ...(o.at.spec.suspend === true ? [] : resumed(o.at)),
  ]);
}

/** PENDING and due, but the API server does not take the Pod. */
export function heldStatus(o: Observed, plan: Plan, reason: string, message: string): AtStatus {
  const status: AtStatus = {
    ...o.at.status,
    phase: atPhase.pending,
    reason,
    message: clip(message),
    scheduledTime: formatMilliTime(plan.dueAt),
  };
  return stated(o, status, [
    ...accepted,
    { type: atCondition.ready, status: 'True', reason: atReason.armed, message: 'the launch is tried again' },
    { type: atCondition.launched, status: 'False', reason, message: clip(message) },
    ...resumed(o.at),
  ]);
}

/** What there is to say of this spec when nothing comes of it any more: what it asks for, and whether it could be run. */
export function unlaunchedStatus(o: Observed, plan: Plan | InvalidPlan): AtStatus {
  return isInvalid(plan) ? invalidStatus(o, plan) : stated(o, waitingStatus(o, plan), accepted);
}

/** The part that all statuses of a waiting At with a good spec share. */
export function waitingStatus(o: Observed, plan: Plan): AtStatus {
  const { reason: _, message: __, podName: ___, ...rest } = o.at.status ?? {};
  return { ...rest, phase: atPhase.pending, scheduledTime: formatMilliTime(plan.dueAt) };
}

function without(status: AtStatus, type: string): readonly Condition[] {
  return removeCondition(status.conditions, type);
}
