/**
 * Spec Events: the Events of an edit, recorded once, with the first status that has seen it. `kubectl describe`
 * shows what was requested before what came of it, also when the edit makes the At due at once.
 */

import { atCondition, atEvent } from '../../api/at-constants.ts';
import { findCondition, isConditionTrue } from '../../kubernetes/conditions.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Observed } from '../facts/observed.ts';
import { isEdited } from '../plan/phase.ts';

/** @param dueAt when the command runs, or ran, epoch milliseconds; undefined when it is unknown. */
export function specEvents(
  o: Observed,
  { dueAt, hasOperator }: { readonly dueAt: number | undefined; readonly hasOperator: boolean },
): EventRecord[] {
  return [
    ...resumedEvent(o),
    ...timeEvent(o, dueAt),
    ...(hasOperator ? operatorWarning(o) : []),
    ...deprecationWarning(o),
  ];
}

export function resumedEvent({ at }: Observed): EventRecord[] {
  return isResumed(at) ? [event(atEvent.resumed, 'spec.suspend is false')] : [];
}

function isResumed({ spec, status }: Observed['at']): boolean {
  return spec.suspend !== true && isConditionTrue(status?.conditions, atCondition.suspended);
}

/** The time that an edit or a resume has given the At. A new one has it in its schedule for all to see. */
function timeEvent({ at, now }: Observed, dueAt: number | undefined): EventRecord[] {
  if (dueAt === undefined) {
    return [];
  }
  const time = formatMilliTime(dueAt);
  const note = `runs at ${time}`;
  if (isResumed(at)) {
    // An At that is due by now is launched, and the Event of the launch follows.
    return dueAt > now ? [event(atEvent.scheduled, note)] : [];
  }
  const isKnown = findCondition(at.status?.conditions, atCondition.accepted) !== undefined;
  const isMoved = isKnown && isEdited(at) && at.status?.scheduledTime !== time;
  return isMoved ? [event(atEvent.rescheduled, note)] : [];
}

function event(reason: string, note: string): EventRecord {
  return { type: 'Normal', reason, action: 'Schedule', note };
}

export const operatorNote =
  'command holds a shell operator such as | or &&, or a second line, which means nothing without spec.shell';

/** The command is run as it is written all the same: to guess would be worse. */
function operatorWarning({ at }: Observed): EventRecord[] {
  return isEdited(at)
    ? [{ type: 'Warning', reason: atEvent.shellOperator, action: 'ReadSpec', note: operatorNote }]
    : [];
}

function deprecationWarning({ at }: Observed): EventRecord[] {
  const note =
    'launchGuarantee AtMostOnce is deprecated: it means ExactlyOnce, under which nothing is lost either';
  return isEdited(at) && at.spec.launchGuarantee === 'AtMostOnce'
    ? [{ type: 'Warning', reason: atEvent.deprecatedValue, action: 'ReadSpec', note }]
    : [];
}
