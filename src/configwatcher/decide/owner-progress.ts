/**
 * Owner progress: how far the Pods of one owner have come, and whether they have not got further for too
 * long. Time in which an owner waits for its turn does not count.
 */

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

/** @param deadline ms without a step forward. */
export function isLate({ since }: OwnerProgress, now: number, deadline: number): boolean {
  return now - since >= deadline;
}
