/**
 * Stop: ends a running Pod from outside and keeps it, with its log, where that is possible. One patch lowers
 * its deadline, which makes the kubelet stop it, and writes the cause on it, so that the cause survives a
 * crash. A Pod that no kubelet has taken cannot be stopped, only deleted; then the cause goes into the status
 * of the At first.
 */
import type { AtStatus } from '../../api/at.generated.ts';
import { atAnnotation, atReason } from '../../api/at-constants.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import { type PodView, type Stop, stopTimeAnnotation, waitingCause } from '../facts/observe-pod.ts';
import type { Observed } from '../facts/observed.ts';
import type { Action, StatusFirst, Steps } from './decision.ts';
import { cannotStart } from './failing.ts';
import { updatedStatus } from './run-status.ts';
import { endDue, isPastDeadline, type Running, sidecarsDue, steadyStatus, waitingSince } from './running.ts';
import { clip } from './statement.ts';

/** The end of the command, where its Pod has not ended yet. */
export function commandEnd({ isOver, last }: PodView): Stop | undefined {
  const exitCode = last?.exitCode;
  const reason = exitCode === 0 ? atReason.succeeded : atReason.commandFailed;
  return isOver ? { reason, exitCode } : undefined;
}

/** Why the Pod has to be stopped now; undefined while it may go on. */
export function stopCause(o: Observed, running: Running): Stop | undefined {
  const { view, run } = running;
  if (view.isOver) {
    // What comes now is no end of the command, and the kubelet ends its native sidecars.
    return view.isOutlived || o.now >= sidecarsDue(view) ? commandEnd(view) : undefined;
  }
  if (o.at.spec.cancel === true) {
    return { reason: atReason.canceled };
  }
  const noted = notedStop(o, running);
  if (noted !== undefined) {
    return noted;
  }
  const unstartable = cannotStart(o, view);
  if (unstartable !== undefined) {
    return { reason: atReason.cannotStart, ...unstartable };
  }
  if (isPastDeadline(o, running)) {
    return { reason: atReason.deadlineExceeded };
  }
  // With restartPolicy Never nothing starts again, and the Pod ends when its other containers do.
  if (view.pod.spec.restartPolicy !== 'Never' && view.failedStarts > run.backoffLimit) {
    return { reason: atReason.backoffLimitExceeded, exitCode: view.last?.exitCode, ...helperMessage(view) };
  }
  if (hasWaited(o, running, 0)) {
    return waitingCause(view) ?? { reason: atReason.pendingTimeout, message: '' };
  }
  return undefined;
}

/** By so much the API server's time may differ between two replicas, in milliseconds, with room to spare. */
const clockSlackMs = 5000;

/**
 * The stop that status names, which holds although a cancel was taken back, or the time here is behind: the process that
 * has noted it deletes the Pod, which is an end and no disruption.
 */
function notedStop(o: Observed, running: Running): Stop | undefined {
  const { view, status } = running;
  const { reason, message = '' } = status;
  if (reason === undefined || reason === atReason.canceled) {
    return reason && { reason };
  }
  const cause = view.started ? undefined : waitingCause(view);
  if (reason === atReason.cannotStart) {
    return cause && { reason, message };
  }
  const isOfWait = reason === atReason.pendingTimeout || reason === cause?.reason;
  if (!isOfWait || !hasWaited(o, running, clockSlackMs)) {
    return undefined;
  }
  // What it waits for may be shown only now.
  return reason === atReason.pendingTimeout && cause !== undefined ? cause : { reason, message };
}

/** Whether the Pod has waited for its start for as long as it may, but for so many milliseconds. */
function hasWaited(o: Observed, running: Running, slackMs: number): boolean {
  const { pendingTimeoutSeconds } = running.run;
  const since = waitingSince(o, running);
  return (
    since !== undefined &&
    pendingTimeoutSeconds > 0 &&
    o.now + slackMs >= since + pendingTimeoutSeconds * 1000
  );
}

/** Which container has failed, where it is not the command alone. */
function helperMessage({ failedHelper }: PodView): { readonly message?: string } {
  if (failedHelper === undefined) {
    return {};
  }
  const { name, failedStarts } = failedHelper;
  const times = failedStarts === 1 ? 'once' : `${failedStarts} times`;
  return { message: `container ${name} failed ${times}; backoffLimit counts the failures of all containers` };
}

/** Starts the stop for this cause. */
export function stop(o: Observed, running: Running, cause: Stop): StatusFirst | Steps {
  const { view, events } = running;
  if (!view.seen) {
    // Its resourceVersion: a kubelet that takes the Pod meanwhile makes this a Pod to be stopped.
    return erase(o, running, cause, deletion(view));
  }
  if (cause.message !== undefined && !isNoted(running, cause)) {
    return note(o, running, cause);
  }
  const status = notedStatus(o, running, cause);
  return { actions: [{ ...stopPatch(view, cause, o.now), ifRefused: status }], status, events };
}

/** Follows a stop that has been started: a Pod that does not end in time is deleted. */
export function followStop(o: Observed, running: Running, started: Stop): StatusFirst | Steps {
  const { view, events } = running;
  // Deleted by others before it ends, the Pod takes its annotations with it: what was stopped is never retried.
  const status = notedStatus(o, running, started);
  const overdue = stopOverdue(view);
  if (overdue === undefined) {
    return { actions: [stopPatch(view, started, o.now)], status, events };
  }
  return o.now >= overdue
    ? erase(o, running, started, deletion(view))
    : { actions: [], status, events, requeueAt: overdue };
}

/**
 * When a stopped Pod should have ended, epoch milliseconds: from then on it is to be deleted. Undefined when
 * it was not stopped, or when the time of the stop is unknown.
 */
export function stopOverdue(view: PodView): number | undefined {
  const { stop } = view;
  return stop?.time === undefined ? undefined : endDue(view, stop.time);
}

/** No event follows the end of a Pod that the watch has never shown: it is looked for again after so many milliseconds. */
const goneWithinMs = 10_000;

/** Deletes the Pod once status names the cause, which else would be gone with it. */
function erase(o: Observed, running: Running, cause: Stop, action: Action): StatusFirst | Steps {
  return isNoted(running, cause)
    ? {
        actions: [action],
        status: steadyStatus(o, running),
        events: running.events,
        requeueAt: o.now + goneWithinMs,
      }
    : note(o, running, cause);
}

function isNoted({ status }: Running, cause: Stop): boolean {
  return status.reason === cause.reason;
}

function note(o: Observed, running: Running, cause: Stop): StatusFirst {
  return { first: notedStatus(o, running, cause), events: running.events };
}

/** RUNNING, with the cause of the stop. */
export function notedStatus(o: Observed, running: Running, cause: Stop): AtStatus {
  const steady = steadyStatus(o, running);
  if (isNoted(running, cause)) {
    return steady;
  }
  const { reason, message, exitCode } = cause;
  return updatedStatus(o, steady, {
    reason,
    ...(message === undefined || message === '' ? {} : { message: clip(message) }),
    ...(exitCode === undefined ? {} : { exitCode }),
  });
}

/** Deletes exactly this Pod as it was seen: a user may have taken it from its At since. */
export function deletion({ pod, name, uid }: PodView): Action {
  const { namespace = '', resourceVersion } = pod.metadata;
  const precondition = resourceVersion === undefined ? {} : { resourceVersion };
  return { type: 'DeletePod', namespace, name, uid, ...precondition };
}

/** Meets the Pod only in the version that was seen, so that a stop is never written on a Pod that has ended. */
export function stopPatch(
  { pod, name, uid }: PodView,
  { reason, exitCode }: Stop,
  now: number,
): Action & { readonly type: 'PatchPod' } {
  const annotations = {
    [atAnnotation.stopReason]: reason,
    ...(exitCode === undefined ? {} : { [atAnnotation.exitCode]: String(exitCode) }),
    [stopTimeAnnotation]: formatMilliTime(now),
  };
  const { namespace = '', resourceVersion } = pod.metadata;
  const body = { metadata: { uid, resourceVersion, annotations }, spec: { activeDeadlineSeconds: 1 } };
  return { type: 'PatchPod', namespace, name, body };
}
