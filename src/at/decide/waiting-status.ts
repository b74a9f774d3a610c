/**
 * Waiting status: the whole status of an At that is PENDING, made from the one it has. Every function here
 * gets what was observed; none predicts.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atPhase, atReason } from '../../api/at-constants.ts';
import { findCondition, type NewCondition, removeCondition } from '../../kubernetes/conditions.ts';
import type { Condition } from '../../kubernetes/objects.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import type { Observed } from '../facts/observed.ts';
import { type Cause, isCause } from '../plan/cause.ts';
import { isEdited } from '../plan/phase.ts';
import type { Plan } from '../plan/plan.ts';
import { operatorNote } from './spec-events.ts';
import { accepted, clip, resumed, stated } from './statement.ts';

/** PENDING, waiting for its time. Forgets what an earlier try to launch has left behind. */
export function armedStatus(o: Observed, plan: Plan): AtStatus {
  const admission = admissionOf(o);
  const isRejected = admission?.status === 'False';
  const waiting = waitingStatus(o, plan);
  const { reason, message } = admission ?? { reason: '', message: '' };
  // Where there is time to mend it, status tells more than an Event does.
  const armed = { reason: atReason.armed, ...(plan.hasOperator ? { message: operatorNote } : {}) };
  const status = { ...waiting, ...(isRejected ? { reason, message } : armed) };
  return stated(o, { ...status, conditions: without(waiting, atCondition.launched) }, [
    ...accepted,
    { type: atCondition.ready, status: 'True', reason: atReason.armed, message: 'waits for its time' },
    ...(admission === undefined ? [] : [admission]),
    ...resumed(o.at),
  ]);
}

/** What dry runs of the Pod of this very spec have come to; no condition shows it as long as they pass. */
function admissionOf({ at, preflight }: Observed): NewCondition | undefined {
  const type = atCondition.podAdmitted;
  if (preflight?.rejection !== undefined) {
    const { reason, message } = preflight.rejection;
    return { type, status: 'False', reason, message: clip(message) };
  }
  const shown = isEdited(at) ? undefined : findCondition(at.status?.conditions, type);
  if (shown === undefined) return undefined;
  return preflight === undefined || shown.status === 'True'
    ? { type, status: shown.status, reason: shown.reason, message: shown.message }
    : { type, status: 'True', reason: atReason.armed, message: 'a dry run of the Pod passed' };
}

/** PENDING for as long as spec.suspend is true. */
export function suspendedStatus(o: Observed, plan: Plan): AtStatus {
  const message = 'nothing is started while spec.suspend is true';
  const due = `suspended; due ${formatMilliTime(plan.dueAt)}`;
  const status = { ...waitingStatus(o, plan), reason: atReason.suspended, message: due };
  return stated(o, { ...status, conditions: without(status, atCondition.launched) }, [
    ...accepted,
    { type: atCondition.ready, status: 'True', reason: atReason.suspended, message },
    { type: atCondition.suspended, status: 'True', reason: atReason.suspended, message },
  ]);
}

/** PENDING with a spec that cannot run. */
export function invalidStatus(o: Observed, { reason, message }: Cause): AtStatus {
  const { scheduledTime: _, podName: __, ...rest } = statusOf(o);
  const status = { ...rest, phase: atPhase.pending, reason, message };
  return stated(o, { ...status, conditions: without(status, atCondition.launched) }, [
    { type: atCondition.accepted, status: 'False', reason, message },
    { type: atCondition.ready, status: 'False', reason, message },
    { type: atCondition.stalled, status: 'True', reason, message },
    ...(refusedTemplate(o) !== undefined
      ? [{ type: atCondition.podAdmitted, status: 'False', reason, message } as const]
      : []),
    // A new suspension is shown once the spec could run.
    ...(o.at.spec.suspend === true ? [] : resumed(o.at)),
  ]);
}

/**
 * Why the API server finds the Pod of this very spec not valid: just now, or before, which status tells by a condition
 * of its own. No later try can come to anything else.
 */
export function refusedTemplate({ at, preflight, refusal }: Observed): Cause | undefined {
  for (const found of [refusal, preflight?.rejection]) {
    if (found?.reason === atReason.invalidTemplate) {
      return { reason: found.reason, message: clip(found.message) };
    }
  }
  const shown = isEdited(at) ? undefined : findCondition(at.status?.conditions, atCondition.podAdmitted);
  return shown?.status === 'False' && shown.reason === atReason.invalidTemplate
    ? { reason: shown.reason, message: shown.message }
    : undefined;
}

/** PENDING and due, but the API server does not take the Pod. */
export function heldStatus(o: Observed, plan: Plan, reason: string, message: string): AtStatus {
  const status: AtStatus = {
    ...statusOf(o),
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
export function unlaunchedStatus(o: Observed, plan: Plan | Cause): AtStatus {
  return isCause(plan) ? invalidStatus(o, plan) : stated(o, waitingStatus(o, plan), accepted);
}

/** The part that all statuses of a waiting At with a good spec share. */
export function waitingStatus(o: Observed, plan: Plan): AtStatus {
  const { reason: _, message: __, podName: ___, ...rest } = statusOf(o);
  return { ...rest, phase: atPhase.pending, scheduledTime: formatMilliTime(plan.dueAt) };
}

/** The status that there is, without what dry runs of an older spec have come to. */
function statusOf({ at }: Observed): AtStatus {
  const { status = {} } = at;
  const isOutdated = isEdited(at) && findCondition(status.conditions, atCondition.podAdmitted) !== undefined;
  return isOutdated ? { ...status, conditions: without(status, atCondition.podAdmitted) } : status;
}

function without(status: AtStatus, type: string): readonly Condition[] {
  return removeCondition(status.conditions, type);
}
