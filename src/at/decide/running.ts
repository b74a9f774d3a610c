/**
 * Running: a run whose Pod is there, with what its decisions are made from, and the status it has as long as
 * nothing happens.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atReason } from '../../api/at-constants.ts';
import { formatMilliTime, parseTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { type PodView, waitingCause } from '../facts/observe-pod.ts';
import type { Attempt, Observed } from '../facts/observed.ts';
import { isGated } from '../facts/own-pod.ts';
import type { Run } from '../plan/run.ts';
import { configError, configErrorLimitMs, failingStatus } from './failing.ts';
import { startSeen } from './history.ts';
import { defaultGraceSeconds, type Ending, stoppedEnding } from './outcome.ts';
import { updatedStatus, waitingReason, withCause } from './run-status.ts';

/**
 * A start that comes so late after the launch is worth a status write of its own, and so is
 * what keeps it from coming: before that, nodes that are added or images that are there again mend it.
 */
const slowStartMs = 10_000;

/** A start that is dated further ahead than this comes from a node whose clock is, in milliseconds. */
const aheadMs = 2000;

export interface Running {
  readonly launch: Attempt;
  readonly view: PodView;
  readonly run: Run;
  /** Status with this launch in it. */
  readonly status: AtStatus;
  /** Events of this launch, if status did not show it. */
  readonly events: readonly EventRecord[];
}

/** The first start of this attempt, epoch milliseconds; undefined before it. */
export function startOf(o: Observed, { status, view }: Running): number | undefined {
  const recorded = parseTime(status.startTime ?? '');
  return Number.isNaN(recorded) ? startSeen(o, view) : recorded;
}

/**
 * Since when the run waits for its start, epoch milliseconds; undefined while it does not. Of a Pod of ExactlyOnce, what
 * it waited for its release does not count, and of none the time in which its init containers ran.
 */
export function waitingSince({ now }: Observed, { run, status, view }: Running): number | undefined {
  const { started, init, createdAt, pod } = view;
  if (started || init.isUnderWay) return undefined;
  if (isGated(pod)) return now;
  const released = parseTime(status.launchTime ?? '');
  const isReleased = run.generation !== undefined && !Number.isNaN(released);
  return init.doneMs + (isReleased ? Math.max(createdAt, released) : createdAt);
}

/** RUNNING as it is, with the start where a restarted operator has to know it, too. */
export function steadyStatus(o: Observed, { view, run, status }: Running): AtStatus {
  const startTime = startSeen(o, view);
  const launchTime = Math.max(view.createdAt, parseTime(status.launchTime ?? '') || 0);
  const isWorthAWrite =
    startTime !== undefined &&
    status.startTime === undefined &&
    (run.activeDeadlineSeconds !== undefined ||
      startTime > launchTime + slowStartMs ||
      // Nothing but the first look tells how early it really was.
      (view.startTime ?? 0) > o.now + aheadMs);
  return updatedStatus(o, status, isWorthAWrite ? { startTime: formatMilliTime(startTime) } : {});
}

/** {@link steadyStatus} of a run that is not being stopped, with what keeps it from starting. */
export function aliveStatus(o: Observed, running: Running): AtStatus {
  const steady = steadyStatus(o, running);
  // It was on its way out when that was noted, and no Pod comes back from there: this is an older view of it.
  if (steady.reason === atReason.evicted) return steady;
  // A cause is there when the Pod came to life after all, between its note and the stop.
  const { reason: _, message: __, ...status } = steady;
  const { view } = running;
  const cause = waitingCause(view);
  if (cause !== undefined && (view.started || o.now >= view.createdAt + slowStartMs)) {
    return withCause(o, status, cause);
  }
  const isFailing = view.commandFailures > 0 && view.pod.spec.restartPolicy !== 'Never';
  return isFailing ? failingStatus(o, view, status) : status;
}

/**
 * A Pod that reaches its deadline without a start has waited for what status tells. Where that deadline is one of the
 * template, it has not waited for as long as pendingTimeoutSeconds allows.
 */
export function ofWait({ at: { status } }: Observed, { view, run }: Running, end: Ending): Ending {
  if (view.started || end.reason !== atReason.pendingTimeout) return end;
  const reason = waitingReason(status);
  if (reason !== undefined) return stoppedEnding(reason, end.exitCode, status?.message);
  const waitedMs = (view.pod.spec.activeDeadlineSeconds ?? 0) * 1000 - view.init.doneMs;
  const limitMs = run.pendingTimeoutSeconds * 1000;
  const isOfWait = view.stop !== undefined || (limitMs > 0 && waitedMs >= limitMs);
  const message = 'the Pod reached its activeDeadlineSeconds before the command started';
  return isOfWait ? end : stoppedEnding(atReason.deadlineExceeded, end.exitCode, message);
}

/** When the run has used up its activeDeadlineSeconds, epoch milliseconds; undefined before its start, and without any. */
export function deadlineOf(o: Observed, running: Running): number | undefined {
  const { activeDeadlineSeconds } = running.run;
  const start = startOf(o, running);
  return start === undefined || activeDeadlineSeconds === undefined
    ? undefined
    : start + activeDeadlineSeconds * 1000;
}

export function isPastDeadline(o: Observed, running: Running): boolean {
  return o.now >= (deadlineOf(o, running) ?? Number.POSITIVE_INFINITY);
}

/** How long after its grace period a Pod may take to end. */
const endSlackMs = 10_000;

/** When a Pod should have ended that has begun to since then, epoch milliseconds. */
export function endDue({ pod }: PodView, since: number): number {
  const grace = pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  return since + grace * 1000 + endSlackMs;
}

/** When the native sidecars of a command that is over should have ended, epoch milliseconds: their kubelet may be dead. */
export function sidecarsDue(view: PodView): number {
  return endDue(view, Math.max(view.createdAt, parseTime(view.last?.finishedAt ?? '') || 0));
}

/** When a deadline passes or status has to show the cause of a wait, unless something happens before. */
export function nextDeadline(o: Observed, running: Running): { readonly requeueAt?: number } {
  const { now } = o;
  const { run, view } = running;
  if (view.isOver) return { requeueAt: sidecarsDue(view) };
  const { pendingTimeoutSeconds } = run;
  const deadline = deadlineOf(o, running);
  const causeShownAt = view.createdAt + slowStartMs;
  const mayWait = !view.started;
  const since = waitingSince(o, running);
  const configAge = waitingCause(view)?.reason === configError ? o.configErrorAge : undefined;
  const times = [
    // The age has fractions of a millisecond, of which no timer knows.
    ...(configAge === undefined ? [] : [now + Math.max(0, Math.ceil(configErrorLimitMs - configAge))]),
    ...(mayWait && now < causeShownAt && waitingCause(view) !== undefined ? [causeShownAt] : []),
    ...(since !== undefined && pendingTimeoutSeconds > 0 ? [since + pendingTimeoutSeconds * 1000] : []),
    ...(deadline === undefined ? [] : [deadline]),
  ];
  return times.length === 0 ? {} : { requeueAt: Math.min(...times) };
}
