/**
 * Owner progress: how far the Pods of one owner have come, and whether they have not got further for too
 * long. Time in which an owner waits for its turn does not count.
 */

import type { PodFacts } from '../facts/pod-facts.ts';
import type { OwnerProgress } from '../facts/restart-memory.ts';

/** The progress after a look at the owner's Pods. */
export function progressOf(
  { left, ready }: Pick<OwnerProgress, 'left' | 'ready'>,
  before: OwnerProgress | undefined,
  now: number,
): OwnerProgress {
  if (!before || before.waits || left < before.left) return { left, ready, since: now };
  if (ready > before.ready) return { left: before.left, ready, since: now };
  return before;
}

/**
 * When an owner that gets no further is late, epoch ms: not while Pods of it end within their grace periods.
 *
 * @param deadline ms without a step forward.
 */
export function lateAt(
  { since }: OwnerProgress,
  terminating: readonly Pick<PodFacts, 'goneBy'>[],
  deadline: number,
): number {
  return Math.max(since + deadline, ...terminating.map(({ goneBy = 0 }) => goneBy));
}
