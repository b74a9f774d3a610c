/**
 * Owner progress: how far the Pods of one owner have come, and whether they have not got further for too
 * long. Time in which an owner waits for its turn does not count.
 */

import type { PodFacts } from '../facts/pod-facts.ts';
import type { OwnerProgress } from '../facts/restart-memory.ts';

/**
 * The progress after a look at the owner's Pods. That its template was changed at last is a step forward, also where the
 * change was not answered: the new Pods have the whole deadline.
 */
export function progressOf(
  { left, reached, rolls }: Pick<OwnerProgress, 'left' | 'reached'> & { readonly rolls: boolean },
  before: OwnerProgress | undefined,
  now: number,
): OwnerProgress {
  const isBegun = rolls && !before?.rolls;
  const next = { left, reached, since: now, ...(rolls && { rolls }) };
  if (!before || before.waits || isBegun || left < before.left) return next;
  return reached > before.reached ? { ...next, left: before.left } : before;
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
