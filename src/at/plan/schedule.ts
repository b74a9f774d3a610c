/**
 * Schedule: the instant at which an At is due. This is the only parser that decides it: strict, so that its
 * verdict is that of the CRD's validation rules, and without any default zone.
 */

import { atReason } from '../../api/at-constants.ts';
import { instantsIn, timeZoneNamed } from '../../api/zone.ts';
import { type DateAndTime, firstInstant, lastInstant, utcMilliseconds } from '../../kubernetes/time.ts';
import type { Cause } from './cause.ts';

const timestamp =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(Z|([+-])([01]\d|2[0-3]):([0-5]\d))?$/;
const minute = 60_000;

/**
 * Resolves `schedule`, in `timeZone` when it has no offset of its own. A fraction finer than a millisecond
 * rounds up. A local time that a clock change skips moves forward by the gap; one that happens twice means
 * the first. Zone rules are looked up on each call, because they change during an At's life.
 *
 * @returns epoch milliseconds, never before the written instant; or why there is no instant.
 */
export function resolveSchedule(schedule: unknown, timeZone?: unknown): number | Cause {
  // A lax CRD lets anything in, even what cannot be made a text of.
  const fields = typeof schedule === 'string' ? timestamp.exec(schedule) : null;
  if (fields === null) {
    return invalid(
      'schedule must be an RFC 3339 timestamp such as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+02:00',
    );
  }
  const local = localSecond(fields);
  if (local === undefined) {
    return invalid('schedule names a day that does not exist in the calendar, or the year 0000');
  }
  const whole = toInstant(local, fields, timeZone);
  if (typeof whole !== 'number') {
    return whole;
  }
  if (whole < firstInstant || whole > lastInstant) {
    return invalid('schedule must lie in the years 0001 to 9999, also when converted to UTC');
  }
  // Rounding up must not leave the years that can be written: the last millisecond stands for its own rest.
  return Math.min(whole + millisecondsUp(fields[7]), lastInstant);
}

function invalid(message: string): Cause {
  return { reason: atReason.invalidSchedule, message };
}

/** The written date and time read as UTC, epoch ms; undefined for 30 February and the year 0. */
function localSecond(fields: RegExpExecArray): number | undefined {
  const written = fields.slice(1, 7).map(Number) as unknown as DateAndTime;
  const utc = utcMilliseconds(written);
  return written[0] === 0 || Number.isNaN(utc) ? undefined : utc;
}

function toInstant(local: number, fields: RegExpExecArray, timeZone: unknown): number | Cause {
  const [, , , , , , , , offset, sign, hours, minutes] = fields;
  if (offset === undefined) {
    return timeZone === undefined
      ? invalid('schedule has no UTC offset: append Z or an offset such as +02:00, or set timeZone')
      : inZone(local, timeZone);
  }
  if (timeZone !== undefined) {
    return invalid('timeZone must not be set when schedule has a UTC offset');
  }
  if (offset === 'Z') {
    return local;
  }
  const shift = (Number(hours) * 60 + Number(minutes)) * minute;
  return sign === '+' ? local - shift : local + shift;
}

function inZone(local: number, timeZone: unknown): number | Cause {
  const zone = timeZoneNamed(timeZone);
  if (zone === undefined) {
    const message = 'timeZone must be the name of an IANA time zone such as Europe/Berlin';
    return { reason: atReason.invalidTimeZone, message };
  }
  return instantsIn(zone, local, local)(local);
}

function millisecondsUp(fraction: string | undefined): number {
  return fraction === undefined ? 0 : Math.ceil(Number(fraction.padEnd(9, '0')) / 1_000_000);
}
