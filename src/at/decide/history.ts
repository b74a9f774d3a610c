/** History: the attempts of a run that have ended, once one was lost. */

import type { AtStatus, AtStatusHistory } from '../../api/at.generated.ts';
import { atEvent } from '../../api/at-constants.ts';
import { formatMilliTime, parseTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { PodView } from '../facts/observe-pod.ts';
import type { Observed } from '../facts/observed.ts';
import type { Ending } from './outcome.ts';

/** Between the launches of a second and a third attempt, and the most between any. */
const firstRetryDelayMs = 10_000;
const maxRetryDelayMs = 360_000;

/** Restarts in the attempts before the current one. */
export function pastRestarts({ history = [], attempts = 1 }: AtStatus): number {
  return history.reduce((sum, one) => sum + (one.attempt < attempts ? one.restarts : 0), 0);
}

/** Restarts in the current attempt, as far as they are known. */
export function currentRestarts(status: AtStatus, view: PodView | undefined): number {
  const known = view?.restarts ?? endOf(status)?.restarts;
  return known ?? Math.max(0, (status.restarts ?? 0) - pastRestarts(status));
}

/** The end of the current attempt in the history: it is recorded when the attempt ends, and never changes. */
export function endOf({ history = [], attempts = 1 }: AtStatus): AtStatusHistory | undefined {
  return history.find(({ attempt }) => attempt === attempts);
}

/**
 * When the Pod started, epoch milliseconds. The clock of a node may be ahead: what is seen has started. What is known of the
 * time now may be too early, for a moment after the machine was suspended: no Pod starts before it is there.
 */
export function startSeen({ now }: Observed, view: PodView | undefined): number | undefined {
  return view?.startTime && Math.max(view.createdAt, Math.min(view.startTime, now));
}

/** When the command ended, or was found to have, by the same rule: not before its start. */
export function endTime(o: Observed, view: PodView | undefined): string {
  const earliest = startSeen(o, view) ?? view?.createdAt ?? Number.NEGATIVE_INFINITY;
  return formatMilliTime(Math.max(earliest, Math.min(view?.finishTime ?? o.now, o.now)));
}

/** The history with the end of the current attempt. */
export function withEnded(
  o: Observed,
  status: AtStatus,
  { reason, exitCode }: Pick<Ending, 'reason' | 'exitCode'>,
  view: PodView | undefined,
): readonly AtStatusHistory[] {
  const { history = [], attempts = 1, podName = '', podUID = '' } = status;
  if (endOf(status) !== undefined) return history;
  const started = startSeen(o, view);
  const startTime = status.startTime ?? (started === undefined ? undefined : formatMilliTime(started));
  const code = exitCode ?? status.exitCode;
  const entry: AtStatusHistory = {
    attempt: attempts,
    podName,
    podUID,
    launchTime: status.launchTime ?? formatMilliTime(view?.createdAt ?? o.now),
    ...(startTime === undefined ? {} : { startTime }),
    completionTime: endTime(o, view),
    reason,
    ...(code === undefined ? {} : { exitCode: code }),
    restarts: currentRestarts(status, view),
  };
  return [...history.filter(({ attempt }) => attempt < attempts), entry];
}

/** The Event of the attempt that was lost last, unless the previous status showed it already. */
export function disruptedEvents(before: AtStatus, history: AtStatus['history']): readonly EventRecord[] {
  const [last] = history?.slice(-1) ?? [];
  if (last === undefined || endOf(before) !== undefined) return [];
  const note = `attempt ${last.attempt}, Pod ${last.podName}, was lost: ${last.reason}`;
  return [{ type: 'Warning', reason: atEvent.disrupted, action: 'FollowPod', note }];
}

/**
 * When the attempt after the current one may begin, epoch milliseconds. The second begins at once. From then on a node that
 * turns every Pod away must not use up all attempts in seconds, and they wait as those of a Job do: 10 s after the
 * launch before, doubling to 6 minutes. Status tells that launch also when its Pod is gone.
 */
export function earliestAfter(
  { attempts = 1, launchTime = '' }: AtStatus,
  view: PodView | undefined,
): number {
  const launched = Math.max(parseTime(launchTime) || 0, view?.createdAt ?? 0);
  const wait = Math.min(maxRetryDelayMs, firstRetryDelayMs * 2 ** (attempts - 2));
  return attempts < 2 ? 0 : launched + wait;
}
