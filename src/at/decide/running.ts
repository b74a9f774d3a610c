/**
 * Running: a run whose Pod is there, with what its decisions are made from, and the status it has as long as
 * nothing happens.
 */
import type { AtStatus } from '../../api/at.generated.ts';
import { formatMilliTime, parseTime } from '../../api/time.ts';
import type { Run } from '../spec/run.ts';
import type { AtEvent, Observed } from './decision.ts';
import type { PodView } from './observe-pod.ts';
import type { CurrentLaunch } from './own-pod.ts';
import { updatedStatus } from './run-status.ts';

/** A start that comes so late after the launch is worth a status write of its own, in milliseconds. */
const slowStart = 10_000;

export interface Running {
  readonly launch: CurrentLaunch;
  readonly view: PodView;
  readonly run: Run;
  /** Status with this launch in it. */
  readonly status: AtStatus;
  /** Events of this launch, if status did not show it. */
  readonly events: readonly AtEvent[];
}

/** The first start of this attempt, epoch milliseconds; undefined before it. */
export function startOf({ status, view }: Running): number | undefined {
  const recorded = parseTime(status.startTime ?? '');
  return Number.isNaN(recorded) ? view.startTime : recorded;
}

/** RUNNING as it is, with the start where a restarted operator has to know it, too. */
export function steadyStatus(o: Observed, { launch, view, run, status }: Running): AtStatus {
  const { startTime } = view;
  const launchTime = launch.attempt === 1 ? parseTime(status.launchTime ?? '') : view.createdAt;
  const isWorthAWrite =
    startTime !== undefined &&
    status.startTime === undefined &&
    (run.activeDeadlineSeconds !== undefined || startTime > launchTime + slowStart);
  return updatedStatus(o, status, isWorthAWrite ? { startTime: formatMilliTime(startTime) } : {});
}

/** When a deadline has to be looked at, unless something happens before. */
export function nextDeadline(running: Running): { readonly requeueAt?: number } {
  const { activeDeadlineSeconds, pendingTimeoutSeconds } = running.run;
  if (!running.view.started && pendingTimeoutSeconds > 0) {
    return { requeueAt: running.view.createdAt + pendingTimeoutSeconds * 1000 };
  }
  const start = startOf(running);
  return start !== undefined && activeDeadlineSeconds !== undefined
    ? { requeueAt: start + activeDeadlineSeconds * 1000 }
    : {};
}
