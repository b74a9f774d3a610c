/** Failing: the status of a command that fails and is started again, and of one that can never start. */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atEvent, atReason } from '../../api/at-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { type PodView, waitingCause } from '../facts/observe-pod.ts';
import type { Observed } from '../facts/observed.ts';
import { effective, withDefaults } from './defaults.ts';
import { pastRestarts } from './history.ts';
import { saidBy, startError } from './outcome.ts';
import { waitingReason } from './run-status.ts';
import { clip, stated } from './statement.ts';

/** So long a ConfigMap or Secret may be missing that a container needs. */
export const configErrorLimitMs = 30_000;

export const configError = 'CreateContainerConfigError';

/** What a runtime says of a program that is not there, or must not be executed; of a mount it says the same without `exec`. */
const missingProgram =
  /executable file (?:`[^`]*` )?not found|\bexec:? ["/].*(?:no such file or directory|permission denied)/i;

/** Whether status may tell the output of the command. */
export function tellsOutput(o: Observed): boolean {
  return effective(o, 'outputInStatus') ?? true;
}

/** RUNNING, with the last failure of a command that is started again: one write for each failure. */
export function failingStatus(o: Observed, view: PodView, status: AtStatus): AtStatus {
  const reason = atReason.commandFailing;
  const restarts = pastRestarts(status) + view.commandFailures - 1;
  const before = toldOf(o, status);
  const isTold = waitingReason(before) === reason && (before.restarts ?? 0) >= restarts;
  const exitCode = isTold ? before.exitCode : view.last?.exitCode;
  const message = isTold ? (before.message ?? '') : clip(saidBy(view, tellsOutput(o)));
  const failing: AtStatus = {
    ...status,
    reason,
    restarts: isTold ? (before.restarts ?? 0) : restarts,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(message === '' ? {} : { message }),
  };
  const shownText = isTold ? findCondition(before.conditions, atCondition.launched)?.message : undefined;
  const text = shownText ?? failureText(view, exitCode);
  const shown = withDefaults(o, failing, ['outputInStatus']);
  return stated(o, shown, [{ type: atCondition.launched, status: 'True', reason, message: text }]);
}

/** Without the words of the command: Events tell it, too. */
function failureText({ last }: PodView, exitCode: number | undefined): string {
  if (last?.reason === startError) {
    const isMissing = missingProgram.test(last.message ?? '');
    const why = isMissing ? ': its program is missing or not executable' : '';
    return `the container cannot start${why}; it is tried again`;
  }
  return `the command failed${exitCode === undefined ? '' : ` with exit code ${exitCode}`} and is started again`;
}

/** Tells the first failure of an attempt, whatever the run has waited for since. */
export function failingEvents(o: Observed, status: AtStatus): readonly EventRecord[] {
  const before = toldOf(o, status);
  const isTold = waitingReason(before) === atReason.commandFailing || before.exitCode !== undefined;
  const isFirst = waitingReason(status) === atReason.commandFailing && !isTold;
  const note = findCondition(status.conditions, atCondition.launched)?.message ?? '';
  return isFirst ? [{ type: 'Warning', reason: atEvent.commandFailing, action: 'FollowPod', note }] : [];
}

/** What status tells already of the attempt that the new status is about. */
function toldOf({ at: { status = {} } }: Observed, { attempts }: AtStatus): AtStatus {
  return status.attempts === attempts ? status : {};
}

/** Why the command can never start, so that it is of no use to wait; undefined while it may. */
export function cannotStart(
  o: Observed,
  view: PodView,
): { readonly message: string; readonly exitCode?: number } | undefined {
  const cause = waitingCause(view);
  const isLasting = cause?.reason === configError && (o.configErrorAge ?? 0) >= configErrorLimitMs;
  if (cause !== undefined && (cause.reason === 'InvalidImageName' || isLasting)) {
    return { message: `${cause.reason}: ${cause.message}` };
  }
  const { last, commandFailures } = view;
  const isMissing = last?.reason === startError && missingProgram.test(last.message ?? '');
  return isMissing && commandFailures > 1 && tellsStartBefore(o, commandFailures)
    ? { message: saidBy(view, true), exitCode: last.exitCode }
    : undefined;
}

/** Whether status tells of the failure before this one, and not of this one, that it was a start: twice in a row. */
function tellsStartBefore({ at: { status = {} } }: Observed, commandFailures: number): boolean {
  const { reason, message = '', restarts = 0 } = status;
  const isBefore = restarts === pastRestarts(status) + commandFailures - 2;
  // Once that has been found and noted, a further start changes nothing.
  return message.startsWith(startError) && (isBefore || reason === atReason.cannotStart);
}
