/** Queue priority: in which order Ats are looked at. */
import type { At } from '../../api/at.generated.ts';
import { initialListPriority } from '../../runtime/controller/source.ts';
import { dueTime } from '../plan/due.ts';
import { isEdited, isRefused } from '../plan/phase.ts';

/**
 * Queue priority of an At whose command is due: Pods are created before any status is written. So far above
 * everything else that a flood may last ten minutes before what waits behind it goes first.
 */
export const launchPriority = 600;

/**
 * Queue priority of an At that is due and was refused: thousands that will be refused again must hold up neither
 * another's launch nor its status, nor the initial list. In an idle queue it changes nothing.
 */
export const retryPriority = -150;

/** Queue priority of trying Pods long before they are due: whatever else there is goes first. */
export const dryRunPriority = -50;

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
