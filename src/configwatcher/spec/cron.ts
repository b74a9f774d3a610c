/**
 * Cron: schedules of five fields (minute, hour, day of month, month, day of week), as crontab(5) and
 * CronJob know them: numbers, names of months and days, ranges, lists and steps. Of the two days either
 * suffices when both are restricted.
 *
 * A local time that a zone skips moves forward; one that happens twice means the first.
 */
import { calendarDay, dayNumber } from '../../api/calendar.ts';
import { instantsIn, type TimeZone } from '../../api/time-zone.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The values of each field that match. */
export interface CronSchedule {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** Both days are restricted, so either suffices. */
  readonly eitherDay: boolean;
}

interface Field {
  readonly lowest: number;
  readonly highest: number;
  readonly names: readonly string[];
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const fieldKinds: readonly Field[] = [
  { lowest: 0, highest: 59, names: [] },
  { lowest: 0, highest: 23, names: [] },
  { lowest: 1, highest: 31, names: [] },
  { lowest: 1, highest: 12, names: monthNames },
  { lowest: 0, highest: 7, names: dayNames },
];

/** Leap days are eight years apart at most. */
const farthestDays = 8 * 366 + 1;
const leapYear = 2000;

function numberOf(text: string, { lowest, highest, names }: Field): number | undefined {
  const index = names.indexOf(text.toLowerCase());
  if (index >= 0) return lowest + index;
  const value = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= lowest && value <= highest ? value : undefined;
}

/** The values of one item of a list, such as `1-10/2`; undefined when it is none. */
function valuesOf(item: string, field: Field): number[] | undefined {
  const [range = '', stepText, ...rest] = item.split('/');
  const step = stepText === undefined ? 1 : Number(stepText);
  if (rest.length > 0 || !(Number.isInteger(step) && step >= 1)) return undefined;
  const [fromText = '', toText, ...more] = range.split('-');
  if (more.length > 0) return undefined;
  const every = range === '*';
  const from = every ? field.lowest : numberOf(fromText, field);
  // A single number with a step counts from there to the end, as in CronJob.
  const single = toText === undefined && stepText === undefined ? from : field.highest;
  const to = every || toText === undefined ? (every ? field.highest : single) : numberOf(toText, field);
  if (from === undefined || to === undefined || from > to) return undefined;
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
}

function parseField(text: string, field: Field): ReadonlySet<number> | undefined {
  const items = text.split(',').map((item) => valuesOf(item, field));
  if (items.some((values) => values === undefined)) return undefined;
  return new Set(items.flatMap((values) => values ?? []));
}

function sorted(values: ReadonlySet<number>): number[] {
  return [...values].sort((left, right) => left - right);
}

/** @returns undefined when the text is no such schedule. */
export function parseCron(text: string): CronSchedule | undefined {
  const words = text.trim().split(/\s+/);
  if (words.length !== fieldKinds.length) return undefined;
  const parsed = fieldKinds.map((field, index) => parseField(words[index] ?? '', field));
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = parsed;
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek) return undefined;
  return {
    minutes: sorted(minutes),
    hours: sorted(hours),
    daysOfMonth,
    months,
    daysOfWeek: new Set([...daysOfWeek].map((day) => day % 7)),
    eitherDay: !words[2]?.startsWith('*') && !words[4]?.startsWith('*'),
  };
}

/** Whether there is any such day: there is no 30th of February. */
export function isPossible({ daysOfMonth, months, eitherDay }: CronSchedule): boolean {
  const day = Math.min(...daysOfMonth);
  const isThere = (month: number) => dayNumber({ year: leapYear, month, day }) !== undefined;
  return eitherDay || [...months].some(isThere);
}

/** @param localDay days since 1970-01-01, which was a Thursday. */
function isOnDay(schedule: CronSchedule, localDay: number): boolean {
  const date = calendarDay(localDay);
  if (!schedule.months.has(date.month)) return false;
  const ofMonth = schedule.daysOfMonth.has(date.day);
  const ofWeek = schedule.daysOfWeek.has((localDay + 4) % 7);
  return schedule.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** The instants of one local day, in order, epoch ms. */
function instantsOf(schedule: CronSchedule, zone: TimeZone, localDay: number): number[] {
  if (!isOnDay(schedule, localDay)) return [];
  const midnight = localDay * day;
  const instantOf = instantsIn(zone, midnight, midnight + day);
  return schedule.hours
    .flatMap((hours) => schedule.minutes.map((minutes) => midnight + hours * hour + minutes * minute))
    .map(instantOf)
    .sort((left, right) => left - right);
}

function localDayOf(time: number, zone: TimeZone): number {
  return Math.floor((time + zone.offset(time)) / day);
}

/** The first instant after `time`; undefined when there is none in eight years. Epoch ms. */
export function nextInstant(schedule: CronSchedule, zone: TimeZone, time: number): number | undefined {
  const today = localDayOf(time, zone);
  for (let count = 0; count < farthestDays; count++) {
    const found = instantsOf(schedule, zone, today + count).find((instant) => instant > time);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The last instant at or before `time`, but after `earliest`; undefined when there is none. Epoch ms. */
export function lastInstant(
  schedule: CronSchedule,
  zone: TimeZone,
  time: number,
  earliest: number,
): number | undefined {
  const today = localDayOf(time, zone);
  for (let count = 0; count < farthestDays; count++) {
    const found = instantsOf(schedule, zone, today - count).findLast((instant) => instant <= time);
    if (found !== undefined) return found > earliest ? found : undefined;
    // That local day is over by then in any zone.
    if ((today - count + 2) * day < earliest) return undefined;
  }
  return undefined;
}
