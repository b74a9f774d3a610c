/**
 * Instants as the Kubernetes API writes them: RFC 3339 in UTC with `Z`. metav1.Time has whole seconds,
 * metav1.MicroTime exactly six fraction digits. In the program an instant is a number, epoch milliseconds.
 */
import { DateTime } from 'luxon';

const earliest = DateTime.utc(1, 1, 1).toMillis();
const latest = DateTime.utc(9999, 12, 31, 23, 59, 59, 999).toMillis();

/**
 * `2030-01-31T09:00:00Z`, for metav1.Time. A part of a second is dropped.
 *
 * @throws {RangeError} for an instant outside the years 0001 to 9999, which the API cannot express.
 */
export function formatTime(epochMs: number): string {
  return `${iso(epochMs).slice(0, 19)}Z`;
}

/**
 * `2030-01-31T09:00:00.250Z`, for our own fields of format date-time.
 *
 * @throws {RangeError} as {@link formatTime}
 */
export function formatMilliTime(epochMs: number): string {
  return iso(epochMs);
}

/**
 * `2030-01-31T09:00:00.250000Z`, for metav1.MicroTime: Leases and Events refuse any other number of digits.
 *
 * @throws {RangeError} as {@link formatTime}
 */
export function formatMicroTime(epochMs: number): string {
  return `${iso(epochMs).slice(0, 23)}000Z`;
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Reads an instant that the API server wrote. Digits finer than a millisecond are dropped. User input is not
 * for this function: an At's schedule has a parser of its own.
 *
 * @returns epoch milliseconds, or NaN when the text is no instant (a status edited by hand).
 */
export function parseTime(text: string): number {
  return instant.test(text) ? DateTime.fromISO(text).toMillis() : Number.NaN;
}

function iso(epochMs: number): string {
  if (!(epochMs >= earliest && epochMs <= latest)) {
    throw new RangeError(`${epochMs} ms is not in the years 0001 to 9999`);
  }
  return DateTime.fromMillis(Math.floor(epochMs), { zone: 'utc' }).toISO() ?? '';
}
