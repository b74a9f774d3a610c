/** What a workload controller looks at in a Pod. */
import { parseTime } from '../kubernetes/time.ts';
import type { Pod } from './objects.ts';

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Succeeded or Failed. */
export function isTerminal({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Neither ended nor about to be deleted. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod);
}

export function conditionOf(pod: Pod, type: string) {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True';
}

/** When it became ready, epoch ms; undefined while it is not. */
export function readySince(pod: Pod): number | undefined {
  const condition = conditionOf(pod, 'Ready');
  return condition?.status === 'True' ? parseTime(condition.lastTransitionTime ?? '') : undefined;
}

/** How long until the Pod has been ready for so long, in ms: 0 is available, undefined not ready. */
export function availableIn(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const since = readySince(pod);
  if (since === undefined) return undefined;
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - now);
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  return availableIn(pod, minReadySeconds, now) === 0;
}

/** When to look again for the next Pod that becomes available by time alone, in ms; undefined: none does. */
export function nextAvailability(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  const waits = pods
    .map((pod) => availableIn(pod, minReadySeconds, now))
    .filter((wait) => wait !== undefined && wait > 0);
  return waits.length === 0 ? undefined : Math.min(...(waits as number[]));
}

export function restartsOf({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

export function createdAt({ metadata }: Pick<Pod, 'metadata'>): number {
  return parseTime(metadata.creationTimestamp ?? '');
}
