/**
 * Outcome: how a run ended, judged from its Pod. Only here is it decided what counts as the command's own
 * failure and what as a disruption from outside.
 */

import type { AtStatusOutcome } from '../../api/at.generated.ts';
import { atOutcome, atReason } from '../../api/at-constants.ts';
import { printable } from '../../kubernetes/printable.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { PodView, Stop } from '../facts/observe-pod.ts';
import { disruptedSince } from '../facts/own-pod.ts';
import { clip, maxMessageBytes } from './statement.ts';

export interface Ending {
  readonly outcome: AtStatusOutcome;
  readonly reason: string;
  readonly message: string;
  readonly exitCode: number | undefined;
  /** The command did not fail, it was disturbed: disruptionPolicy decides. */
  readonly disrupted: boolean;
}

/** status.reason of a Pod that lost its node or its place there (kubelet, scheduler, node controllers). */
const disruptionReasons =
  /^(Evicted|Preempting|NodeLost|Terminated|NodeAffinity|UnexpectedAdmissionError|OutOf.*)$/;

/**
 * How the run of a Pod ended; undefined while it has not.
 *
 * @param withOutput whether the message may quote the output of the command.
 */
export function endingOf(view: PodView, withOutput = true): Ending | undefined {
  if (view.ended === undefined) {
    return undefined;
  }
  // The cause was written before the Pod was stopped; what the Pod reports is only its consequence.
  if (view.stop !== undefined) {
    return stopEnding(view, view.stop, withOutput);
  }
  const exitCode = view.last?.exitCode;
  const isDeadlineOver = view.pod.status?.reason === atReason.deadlineExceeded && !endedBeforeDeadline(view);
  // The run ends with its main container, whatever becomes of the others.
  if (view.ended === 'Succeeded' || (exitCode === 0 && !isDeadlineOver)) {
    return ending(atOutcome.succeeded, atReason.succeeded, '', exitCode ?? 0);
  }
  const disruption = exitCode === 0 ? undefined : disruptionOf(view);
  if (disruption !== undefined) {
    const message = view.pod.status?.message ?? disruptionMessage(disruption);
    return { ...ending(atOutcome.failed, disruption, message, exitCode), disrupted: true };
  }
  if (isDeadlineOver) {
    const reason = view.started ? atReason.deadlineExceeded : atReason.pendingTimeout;
    return stoppedEnding(reason, exitCode, saidBy(view, withOutput));
  }
  return ending(atOutcome.failed, atReason.commandFailed, messageOf(view, withOutput), exitCode);
}

function stopEnding(
  view: PodView,
  { reason, exitCode = view.last?.exitCode }: Stop,
  withOutput: boolean,
): Ending {
  if (reason === atReason.succeeded) {
    return stoppedEnding(reason, exitCode);
  }
  const canceled = reason === atReason.canceled && view.started ? 'canceled while the command ran' : '';
  return stoppedEnding(reason, exitCode, saidBy(view, withOutput) || canceled);
}

const stoppedOutcomes: Readonly<Record<string, AtStatusOutcome>> = {
  [atReason.canceled]: atOutcome.canceled,
  // Containers that outlived the command were stopped.
  [atReason.succeeded]: atOutcome.succeeded,
};

/** The ending of a run that this operator ended. */
export function stoppedEnding(reason: string, exitCode: number | undefined, message = ''): Ending {
  const outcome = stoppedOutcomes[reason] ?? atOutcome.failed;
  return ending(outcome, reason, message || (stopMessages[reason] ?? ''), exitCode);
}

/** For a command that says nothing itself. */
const stopMessages: Readonly<Record<string, string>> = {
  [atReason.canceled]: 'canceled after its Pod was created',
  [atReason.deadlineExceeded]: 'the command ran longer than activeDeadlineSeconds',
  [atReason.backoffLimitExceeded]: 'the command failed more often than backoffLimit allows',
  [atReason.pendingTimeout]: 'the command did not start within pendingTimeoutSeconds',
};

/** The ending of a run whose Pod is gone. */
export const lostEnding: Ending = {
  ...ending(atOutcome.failed, atReason.podLost, 'the Pod is gone', undefined),
  disrupted: true,
};

function ending(
  outcome: AtStatusOutcome,
  reason: string,
  message: string,
  exitCode: number | undefined,
): Ending {
  return { outcome, reason, message, exitCode, disrupted: false };
}

/** Whether Kubernetes disrupts the run, or has: one that had ended before is not disrupted. */
export function isEvicted(view: PodView): boolean {
  const since = disruptedSince(view.pod);
  return since !== undefined && !hadEnded(view, since);
}

function disruptionOf(view: PodView): string | undefined {
  if (isEvicted(view) || disruptionReasons.test(view.pod.status?.reason ?? '')) {
    return atReason.evicted;
  }
  return isDeletedRun(view) ? atReason.podLost : undefined;
}

/** How far the clock of a node may be behind the API server's without its Pod showing that. */
const clockSlackMs = 5000;

/** terminationGracePeriodSeconds of a Pod that names none. */
export const defaultGraceSeconds = 30;

/**
 * Whether the run had ended by itself, or at its deadline, before that, epoch milliseconds: an eviction, or a finalizer,
 * meets Pods that failed long ago. Of one that is started again after a failure, the last run is no end.
 */
function hadEnded(view: PodView, time: number): boolean {
  const { spec, status } = view.pod;
  const isForGood = spec.restartPolicy === 'Never' || status?.reason === atReason.deadlineExceeded;
  const finishTime = view.finishTime ?? unstartedEnd(view);
  return isForGood && finishTime !== undefined && finishTime < time - clockSlackMs;
}

/** When a run ended whose main container never ran, epoch milliseconds, by the clock of the node. */
function unstartedEnd({ pod: { spec, status } }: PodView): number | undefined {
  if (status?.reason === atReason.deadlineExceeded) {
    return parseTime(status.startTime ?? '') + (spec.activeDeadlineSeconds ?? 0) * 1000;
  }
  const ends = (status?.initContainerStatuses ?? []).flatMap(
    ({ state }) => state?.terminated?.finishedAt ?? [],
  );
  return ends.length === 0 ? undefined : Math.max(...ends.map(parseTime));
}

/**
 * Whether the main container had ended for good before the deadline of its Pod, which other containers reached. Both are
 * told by the clock of the node.
 */
function endedBeforeDeadline({ pod, last }: PodView): boolean {
  const { activeDeadlineSeconds = 0, restartPolicy } = pod.spec;
  const deadline = parseTime(pod.status?.startTime ?? '') + activeDeadlineSeconds * 1000;
  const isOver = last?.exitCode === 0 || restartPolicy === 'Never';
  return isOver && parseTime(last?.finishedAt ?? '') < deadline;
}

/**
 * Whether the Pod was deleted while it ran. When all its containers have ended, the kubelet deletes the Pod again, with a
 * grace period of 0, and from Kubernetes 1.36 on the API server then sets deletionTimestamp to that moment. The first request
 * came at most terminationGracePeriodSeconds earlier.
 */
function isDeletedRun(view: PodView): boolean {
  const { pod, deletionDue, lastEnd } = view;
  if (deletionDue === undefined) return false;
  const { deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
  const isDatedAnew = grace === 0 && lastEnd !== undefined && Math.abs(deletionDue - lastEnd) <= clockSlackMs;
  // An eviction tells itself when it was, and that the run had ended by then.
  if (isDatedAnew && disruptedSince(pod) !== undefined) return false;
  const seconds = isDatedAnew ? (pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds) : grace;
  return !hadEnded(view, deletionDue - seconds * 1000);
}

function disruptionMessage(reason: string): string {
  return reason === atReason.podLost ? 'the Pod was deleted while it ran' : 'the Pod was evicted';
}

/** reason of a container that could not be started. */
export const startError = 'StartError';

/** A reason of an end, as far as it says more than the exit code does. */
const telling = /^(?!(?:Error|Completed)$)[A-Za-z][A-Za-z0-9]{0,127}$/;

/** The termination message of the container, after what the kernel or the runtime calls it, such as OOMKilled. */
export function saidBy({ last }: PodView, withOutput: boolean): string {
  const { reason = '', message = '' } = last ?? {};
  // Of a start that failed the runtime tells why, not the command.
  const output = withOutput || reason === startError ? printable(message).trimEnd() : '';
  if (!telling.test(reason)) {
    return output;
  }
  // The end of a long output is kept, and what stands before it, too.
  return output === '' ? reason : `${reason}: ${clip(output, maxMessageBytes - reason.length - 2)}`;
}

/** The termination message of the container, else why the Pod failed. */
function messageOf(view: PodView, withOutput: boolean): string {
  return saidBy(view, withOutput) || (view.pod.status?.message ?? failedFirst(view) ?? '');
}

/** What failed so that the command never began. */
function failedFirst({ pod, started }: PodView): string | undefined {
  const statuses = started ? [] : (pod.status?.initContainerStatuses ?? []);
  const failed = statuses.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return failed && `init container ${failed.name} ended with exit code ${failed.state?.terminated?.exitCode}`;
}
