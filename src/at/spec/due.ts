/** Due: whether the instant of an At has come while nothing but its launch is missing. */

import type { At } from '../../api/at.generated.ts';
import { atPhase } from '../../api/at-constants.ts';
import { parseTime } from '../../api/time.ts';
import { isEdited, phaseOf } from './phase.ts';
import { resolveSchedule } from './schedule.ts';

/**
 * Whether the At waits for nothing but the creation of its Pod. Cheap where status tells the instant.
 *
 * @param now epoch milliseconds
 */
export function isDue(at: At, now: number): boolean {
  const { spec, status } = at;
  if (phaseOf(at) !== atPhase.pending || spec.suspend === true || spec.cancel === true) {
    return false;
  }
  if (!isEdited(at)) {
    return status?.scheduledTime !== undefined && parseTime(status.scheduledTime) <= now;
  }
  const due = resolveSchedule(spec.schedule, spec.timeZone);
  return due.ok && due.instant <= now;
}
