/** When an At is due, by a reading of its spec that shares nothing with the operator's own. */
import { DateTime } from 'luxon';
import type { AtSpec } from '../../src/api/at.generated.ts';

const parts = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})?$/;
const hour = 3_600_000;

/** Epoch milliseconds; NaN for a schedule that is none. */
export function dueTimeOf(spec: Pick<AtSpec, 'schedule' | 'timeZone'>): number {
  let due = known.get(spec);
  if (due === undefined) {
    due = dueTime(spec);
    known.set(spec, due);
  }
  return due;
}

/** Objects of a history never change. */
const known = new WeakMap<object, number>();

function dueTime({ schedule, timeZone }: Pick<AtSpec, 'schedule' | 'timeZone'>): number {
  const [, seconds = '', fraction = '', offset] = parts.exec(schedule) ?? [];
  const ms = Math.ceil(Number(`0.${fraction || '0'}`) * 1000 - 1e-9);
  if (offset !== undefined) return Date.parse(`${seconds}${offset}`) + ms;
  const local = DateTime.fromISO(seconds, { zone: timeZone ?? 'utc' });
  // Of a local time that happens twice the first counts.
  const earlier = local.minus(hour);
  const isRepeated = local.toFormat('HH:mm:ss') === earlier.toFormat('HH:mm:ss');
  return (isRepeated ? earlier : local).toMillis() + ms;
}
