/**
 * Node times: when a run started and ended, from what its node says of it, as far as can be seen by the API server's clock.
 * Nothing of a Pod happens before its creation, and none of it starts before the API server has bound it to the node, so
 * what the node dates before that shows by how much its clock is behind at least.
 */
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';

/** Epoch milliseconds; a container that could not be started reports the start of 1970, which is none. */
export function instant(text: string | null | undefined): number | undefined {
  const time = typeof text === 'string' ? parseTime(text) : Number.NaN;
  return time > 0 ? time : undefined;
}

/** The main container's first start, epoch milliseconds. */
export function startTimeOf(pod: Pod, main: ContainerStatus | undefined): number | undefined {
  return notBefore(takenSince(pod), firstStart(main) ?? instant(pod.status?.startTime));
}

/** By a node whose clock is minutes behind, a run that was deleted seems to have ended before it. */
export function finishTimeOf(pod: Pod, last: ContainerStateTerminated | undefined): number | undefined {
  const finishedAt = instant(last?.finishedAt);
  return notBefore(takenSince(pod), finishedAt && finishedAt + behindMs(pod, last));
}

/** When the last of its containers ended, epoch milliseconds, likewise. */
export function lastEndOf(pod: Pod, last: ContainerStateTerminated | undefined): number | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const ends = [...initContainerStatuses, ...containerStatuses].flatMap(
    ({ state }) => instant(state?.terminated?.finishedAt) ?? [],
  );
  return ends.length === 0 ? undefined : Math.max(...ends) + behindMs(pod, last);
}

/** By how much the clock of the node is behind at least. */
function behindMs(pod: Pod, last: ContainerStateTerminated | undefined): number {
  const since = takenSince(pod);
  const seenAt = instant(pod.status?.startTime) ?? since;
  return Math.max(0, since - Math.min(seenAt, instant(last?.startedAt) ?? since));
}

/** Since when a node may have run the Pod, epoch milliseconds, by the API server's clock. */
function takenSince({ metadata, status }: Pod): number {
  const bound = status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'True');
  return Math.max(instant(metadata.creationTimestamp) ?? 0, instant(bound?.lastTransitionTime) ?? 0);
}

function notBefore(since: number, time: number | undefined): number | undefined {
  return time && Math.max(time, since);
}

/** A container's status goes back one run only, so that the first start is known for two runs. */
function firstStart(main: ContainerStatus | undefined): number | undefined {
  const { state, lastState, restartCount = 0 } = main ?? {};
  const current = state?.running?.startedAt ?? state?.terminated?.startedAt;
  const previous = lastState?.terminated?.startedAt;
  // While it waits for its next start, the last run is the current one.
  const runs = current === undefined ? [previous] : [current, previous];
  return restartCount < runs.length ? instant(runs[restartCount]) : undefined;
}
