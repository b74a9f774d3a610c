/**
 * Instants as the Kubernetes API writes them: RFC 3339 in UTC with `Z`. metav1.Time has whole seconds,
 * metav1.MicroTime exactly six fraction digits. In the program an instant is a number, epoch milliseconds.
 */
const second = 1000;
const minute = 60 * second;
/** From 0000-03-01 to 1970-01-01. */
const daysToEpoch = 719_468;
/** Days from the first of March to the first of each month from 1 to 13, which is January of the next year. */
const daysSinceMarch = [Number.NaN, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306];

/** Character code of the digit. */
const zero = 0x30;

const instant =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * The first instant of the years 0001 to 9999 in UTC, those of Go's time and of the API server's date-time format.
 * Epoch ms.
 */
export const firstInstant = parseTime('0001-01-01T00:00:00Z');
/** The last instant of the years 0001 to 9999 in UTC. Epoch ms. */
export const lastInstant = parseTime('9999-12-31T23:59:59.999Z');

/**
 * `2030-01-31T09:00:00Z`, for metav1.Time. A part of a second is dropped.
 *
 * @throws {RangeError} for an instant outside the years 0001 to 9999, which the API cannot express.
 */
export function formatTime(epochMs: number): string {
  return `${iso(epochMs).slice(0, 19)}Z`;
}

/**
 * `2030-01-31T09:00:00.250Z`, for fields of format date-time that count milliseconds.
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

/**
 * Reads an instant that the API server wrote. Digits finer than a millisecond are dropped. User input is not
 * for this function: an At's schedule has a parser of its own.
 *
 * @returns epoch milliseconds, or NaN when the text is no instant (a status edited by hand).
 */
export function parseTime(text: string): number {
  const usual = parseUsualForm(text);
  return Number.isNaN(usual) ? parseAnyForm(text) : usual;
}

/**
 * The forms of almost all instants, `2030-01-31T09:00:00Z` and `2030-01-31T09:00:00.250Z`, without a regular expression;
 * NaN for every other.
 */
function parseUsualForm(text: string): number {
  const hasMilliseconds = text.length === 24 && text[19] === '.' && text[23] === 'Z';
  const isInForm = (hasMilliseconds || (text.length === 20 && text[19] === 'Z')) && text[10] === 'T';
  const isSeparated = isInForm && text[4] === '-' && text[7] === '-' && text[13] === ':' && text[16] === ':';
  if (!isSeparated) return Number.NaN;
  const hour = twoDigits(text, 11);
  const minutes = twoDigits(text, 14);
  const seconds = twoDigits(text, 17);
  if (!(hour < 24 && minutes < 60 && seconds < 60)) return Number.NaN;
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  const whole = utcMilliseconds([year, twoDigits(text, 5), twoDigits(text, 8), hour, minutes, seconds]);
  return hasMilliseconds ? whole + 10 * twoDigits(text, 20) + (twoDigits(text, 21) % 10) : whole;
}

/** NaN for what are no digits. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - zero;
  const ones = text.charCodeAt(at + 1) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}

function parseAnyForm(text: string): number {
  const fields = instant.exec(text);
  if (fields === null) {
    return Number.NaN;
  }
  const [, year, month, day, hour, minutes, seconds, fraction, sign, offsetHours, offsetMinutes] = fields;
  const date = [Number(year), Number(month), Number(day)] as const;
  const whole = utcMilliseconds([...date, Number(hour), Number(minutes), Number(seconds)]);
  const milliseconds = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  if (sign === undefined) return whole + milliseconds;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * minute;
  return whole + milliseconds + (sign === '-' ? offset : -offset);
}

/** The earliest of the instants, or the shortest of the waits, that are known; undefined for none. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** A date and a time of day as people count them: months and days from 1. */
export type DateAndTime = readonly [
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
];

/** Epoch milliseconds of a date and time in UTC; NaN for a day that does not exist. */
export function utcMilliseconds([year, month, dayOfMonth, hour, minutes, seconds]: DateAndTime): number {
  const day = dayNumber(year, month, dayOfMonth);
  const isInMonth = dayOfMonth >= 1 && (dayOfMonth <= 28 || day < dayNumber(year, month + 1, 1));
  const exists = month >= 1 && month <= 12 && isInMonth;
  return exists ? ((day * 24 + hour) * 60 + minutes) * minute + seconds * second : Number.NaN;
}

/**
 * Days since 1970-01-01, by arithmetic: Date.UTC costs twice as much, and takes the years 0 to 99 for 1900 to 1999.
 * Counted in years that begin with March, so that a leap day is the last one.
 */
function dayNumber(year: number, month: number, dayOfMonth: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return 365 * marchYear + leapDays + (daysSinceMarch[month] ?? Number.NaN) + dayOfMonth - 1 - daysToEpoch;
}

/** `2030-01-31T09:00:00.250Z` */
function iso(epochMs: number): string {
  if (!(epochMs >= firstInstant && epochMs <= lastInstant)) {
    throw new RangeError(`${epochMs} ms is not in the years 0001 to 9999`);
  }
  return new Date(Math.floor(epochMs)).toISOString();
}
