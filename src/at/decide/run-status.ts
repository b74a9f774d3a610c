/**
 * Run status: the whole status of an At whose command was launched, or that ended without a launch, made from
 * the one it has. Every function here gets what was observed; none predicts.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atOutcome, atPhase, atReason } from '../../api/at-constants.ts';
import { findCondition, isConditionTrue, type NewCondition } from '../../kubernetes/conditions.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import type { PodView } from '../facts/observe-pod.ts';
import type { Attempt, Observed } from '../facts/observed.ts';
import { maxAttempts } from '../facts/own-pod.ts';
import type { Cause } from '../plan/cause.ts';
import { isExactlyOnce } from '../plan/run.ts';
import { withDefaults } from './defaults.ts';
import { currentRestarts, endTime, pastRestarts, startSeen, withEnded } from './history.ts';
import type { Ending } from './outcome.ts';
import { clip, resumed, stated } from './statement.ts';

/** RUNNING: the Pod is there, or is known to have been. Times are epoch milliseconds. */
export function runningStatus(
  o: Observed,
  launched: Pick<Attempt, 'attempt' | 'podName' | 'podUID'> & {
    readonly launchTime: number;
    readonly scheduledTime: number | undefined;
    /** By how many milliseconds the operator was late; 0 of a later attempt. */
    readonly operatorDelay: number;
    /** The attempts before this one; undefined for the first. */
    readonly history: AtStatus['history'];
    /** The condition Accepted: whether the spec is still the one that the Pod was made from. */
    readonly acceptance: readonly NewCondition[];
  },
): AtStatus {
  const {
    reason: _,
    message: __,
    startTime: ___,
    exitCode: ____,
    restarts: _____,
    ...rest
  } = o.at.status ?? {};
  const { attempt, podName, podUID, launchTime, scheduledTime } = launched;
  const history = launched.history === undefined ? {} : { history: launched.history };
  const restarts = pastRestarts({ ...rest, ...history, attempts: attempt });
  const operatorDelaySeconds = Math.floor(launched.operatorDelay / 1000);
  const first = attempt === 1;
  const status: AtStatus = {
    ...rest,
    phase: atPhase.running,
    podName,
    podUID,
    attempts: attempt,
    ...history,
    ...(restarts > 0 ? { restarts } : {}),
    launchTime: formatMilliTime(launchTime),
    ...(first && scheduledTime !== undefined
      ? {
          scheduledTime: formatMilliTime(scheduledTime),
          latenessMilliseconds: Math.max(0, Math.round(launchTime - scheduledTime)),
        }
      : {}),
    ...(operatorDelaySeconds > 0 ? { operatorDelaySeconds } : {}),
  };
  return stated(o, status, [
    ...launched.acceptance,
    { ...launchedCondition(o, podName), type: atCondition.ready },
    launchedCondition(o, podName),
    ...admitted(rest),
    ...resumed(o.at),
  ]);
}

/** What a dry run was refused with is over once the Pod exists. */
function admitted({ conditions }: AtStatus): NewCondition[] {
  const { podAdmitted } = atCondition;
  const message = 'the Pod was created';
  return findCondition(conditions, podAdmitted) === undefined
    ? []
    : [{ type: podAdmitted, status: 'True', reason: atReason.launched, message }];
}

/** Whether the launch was recorded with another spec than the one that was launched: a Pod of it would differ. */
export function isEditedTooLate(status: AtStatus): boolean {
  return isAcceptedAs(status, atReason.editedTooLate);
}

/** Whether the launch was recorded with another time than the one it was launched for. */
export function isRescheduledTooLate(status: AtStatus | undefined): boolean {
  return isAcceptedAs(status, atReason.rescheduledTooLate);
}

function isAcceptedAs(status: AtStatus | undefined, reason: string): boolean {
  return findCondition(status?.conditions, atCondition.accepted)?.reason === reason;
}

function launchedCondition({ at, tracks }: Observed, podName: string): NewCondition {
  const isUntracked = isExactlyOnce(at) && !tracks;
  const note = 'its result is lost if the Pod is deleted: the operator has no rights in the whole cluster';
  const message = `Pod ${podName} was created${isUntracked ? `; ${note}` : ''}`;
  return { type: atCondition.launched, status: 'True', reason: atReason.launched, message };
}

/**
 * RUNNING, with what the run waits for. The reason stands in the condition Launched, too: that is how a cause
 * that ends nothing differs from the cause of a stop that is under way ({@link withoutCause}).
 */
export function withCause(o: Observed, from: AtStatus, { reason, message }: Cause): AtStatus {
  // Numbers and times in such a sentence change all the time; a write for each would be noise.
  const shown =
    waitingReason(o.at.status) === reason ? (o.at.status?.message ?? clip(message)) : clip(message);
  const condition: NewCondition = { type: atCondition.launched, status: 'True', reason, message: shown };
  return stated(o, { ...from, reason, ...(shown === '' ? {} : { message: shown }) }, [condition]);
}

/** Why the run waits, as status says it. */
export function waitingReason(status: AtStatus | undefined): string | undefined {
  const launched = findCondition(status?.conditions, atCondition.launched);
  return status?.reason !== undefined && launched?.status === 'True' && launched.reason === status.reason
    ? status.reason
    : undefined;
}

/** The same status, as if the run had never waited, and without what {@link withAttempt} and {@link stuckStatus} add. */
export function withoutCause(o: Observed, status: AtStatus): AtStatus {
  const { reason, message, ...rest } = status;
  const launched = findCondition(status.conditions, atCondition.launched);
  const isStuck = launched?.reason === atReason.podUnreachable;
  if (reason === undefined) {
    return rest;
  }
  const isOfStop = waitingReason(status) === undefined;
  if (isOfStop && !isStuck) {
    return status;
  }
  const said = message === undefined || message === launched?.message ? {} : { message };
  const cause = isOfStop ? { reason, ...said } : {};
  return stated(o, { ...rest, ...cause }, [launchedCondition(o, status.podName ?? '')]);
}

/** The status of a later attempt that says so where there is nothing else to tell. */
export function withAttempt(status: AtStatus): AtStatus {
  const { phase, attempts = 1, reason } = status;
  return phase === atPhase.running && attempts > 1 && reason === undefined
    ? { ...status, message: attemptText(attempts) }
    : status;
}

export function attemptText(attempt: number): string {
  return `attempt ${attempt} of ${maxAttempts}`;
}

/** DONE, from the status of the launch or, without a Pod, from the one there is. */
export function doneStatus(o: Observed, from: AtStatus, ending: Ending, view?: PodView): AtStatus {
  const { reason: _, message: __, ...rest } = from;
  const { outcome, reason, exitCode } = ending;
  const startTime = startSeen(o, view);
  const restarts = pastRestarts(from) + currentRestarts(from, view);
  // Once an attempt was lost, the last one is recorded like those before it.
  const history = from.history === undefined ? {} : { history: withEnded(o, from, ending, view) };
  const code = exitCode ?? from.exitCode;
  const status: AtStatus = {
    ...rest,
    phase: atPhase.done,
    outcome,
    reason,
    ...(ending.message === '' ? {} : { message: clip(ending.message) }),
    ...(startTime === undefined || from.startTime !== undefined
      ? {}
      : { startTime: formatMilliTime(startTime) }),
    completionTime: endTime(o, view),
    ...(code === undefined ? {} : { exitCode: code }),
    ...(from.podUID === undefined ? {} : { restarts }),
    ...history,
  };
  return stated(o, withEndDefaults(o, status), endConditions(from, ending));
}

/** With the defaults that the end came by, and by which the At goes away. */
function withEndDefaults(o: Observed, status: AtStatus): AtStatus {
  return withDefaults(o, status, [
    ...(status.reason === atReason.missedDeadline ? (['startingDeadlineSeconds'] as const) : []),
    ...(status.podUID === undefined ? [] : (['outputInStatus'] as const)),
    'ttlSecondsAfterFinished',
  ]);
}

function endConditions(from: AtStatus, { outcome, reason }: Ending): NewCondition[] {
  const { complete, failed, launched, ready, stalled, suspended } = atCondition;
  const bad = outcome === atOutcome.failed || outcome === atOutcome.missed;
  const refused = findCondition(from.conditions, atCondition.accepted)?.status === 'False';
  const message = `the outcome is ${outcome}`;
  const is = (type: string, holds: boolean): NewCondition => ({
    type,
    status: holds ? 'True' : 'False',
    reason,
    message,
  });
  return [
    ...(refused ? [] : [is(ready, !bad)]),
    ...(bad && !refused ? [is(stalled, true)] : []),
    ...(from.podUID === undefined ? [is(launched, false)] : []),
    is(complete, outcome === atOutcome.succeeded),
    is(failed, bad),
    ...(isConditionTrue(from.conditions, suspended) ? [is(suspended, false)] : []),
  ];
}

/** The same status with changed fields, as seen in this generation of the spec. */
export function updatedStatus(o: Observed, from: AtStatus, fields: Partial<AtStatus>): AtStatus {
  return stated(o, { ...from, ...fields }, []);
}

/** RUNNING, with a Pod that should have been gone by now. A cause that status names already stays. */
export function stuckStatus(o: Observed, from: AtStatus, message: string): AtStatus {
  const reason = atReason.podUnreachable;
  const status: AtStatus = { ...from, reason: from.reason ?? reason, message: from.message ?? message };
  return stated(o, status, [{ type: atCondition.launched, status: 'True', reason, message }]);
}
