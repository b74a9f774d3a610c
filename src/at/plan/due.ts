/** Due: whether the instant of an At has come while nothing but its launch is missing. */

import type { At } from '../../api/at.generated.ts';
import { atPhase } from '../../api/at-constants.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { isCause } from './cause.ts';
import { isEdited, isTerminating, phaseOf } from './phase.ts';
import { planOf } from './plan.ts';

/** Whether the At waits for nothing but the creation of its Pod. */
export function isDue(at: At, now: number): boolean {
  return dueTime(at) <= now;
}

/**
 * The instant at which the At is to be launched, in epoch milliseconds; infinity when it will not be as things are. Cheap
 * where status tells the instant. A spec that cannot run is never due: reporting that must not go before a launch.
 */
export function dueTime(at: At): number {
  const { spec, status } = at;
  const isHeld = spec.suspend === true || spec.cancel === true || isTerminating(at);
  if (phaseOf(at) !== atPhase.pending || isHeld) {
    return Number.POSITIVE_INFINITY;
  }
  if (!isEdited(at)) {
    const instant = parseTime(status?.scheduledTime ?? '');
    return Number.isNaN(instant) ? Number.POSITIVE_INFINITY : instant;
  }
  const plan = planOf(at);
  return isCause(plan) ? Number.POSITIVE_INFINITY : plan.dueAt;
}
