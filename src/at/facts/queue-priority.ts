/** Queue priority: in which order Ats are looked at, by what the cache shows of them. */
import type { At } from '../../api/at.generated.ts';
import { initialListPriority } from '../../runtime/controller/source.ts';
import { launchPriority, retryPriority } from '../decide/decision.ts';
import { dueTime } from '../plan/due.ts';
import { isEdited, isRefused } from '../plan/phase.ts';

/**
 * An At that will be due so soon, in milliseconds, takes its place among those that are: it has to be armed before
 * its time, or its turn comes after all that are due by then. Longer than the queue ever is, or, where arming begins
 * with a status write that takes from the launches, so little that its Pod could not be tried any more either.
 */
const soon = { accepted: 120_000, edited: 10_000 };

/**
 * When thousands are due together, or found due at the start, their Pods come before any status.
 *
 * @param now epoch milliseconds
 * @param initial true for one of the first list, and for an event that brings nothing new
 */
export function queuePriority(at: At, now: number, initial: boolean): number {
  if (isRefused(at)) {
    return retryPriority;
  }
  const wait = dueTime(at) - now;
  if (wait <= (isEdited(at) ? soon.edited : soon.accepted)) {
    return launchPriority;
  }
  return initial ? initialListPriority : 0;
}
