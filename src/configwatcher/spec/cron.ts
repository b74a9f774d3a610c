/**
 * Cron: schedules of five fields (minute, hour, day of month, month, day of week), as crontab(5) and
 * CronJob know them: numbers, names of months and days, ranges, lists and steps. Of the two days either
 * suffices when both are restricted.
 *
 * A local time that a zone skips moves forward; one that happens twice means the first.
 */
import { DateTime } from 'luxon';

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

/** Leap days are eight years apart at most: what does not happen in that time never does. */
const farthestDays = 8 * 366 + 1;

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

function isOnDay(schedule: CronSchedule, day: DateTime): boolean {
  if (!schedule.months.has(day.month)) return false;
  const ofMonth = schedule.daysOfMonth.has(day.day);
  const ofWeek = schedule.daysOfWeek.has(day.weekday % 7);
  return schedule.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** Of a local time that happens twice, the first instant. */
function firstOf(local: DateTime): number {
  return Math.min(...local.getPossibleOffsets().map((one) => one.toMillis()));
}

/** The instants of one local day, in order, epoch ms. */
function instantsOf(schedule: CronSchedule, day: DateTime): number[] {
  if (!isOnDay(schedule, day)) return [];
  return schedule.hours
    .flatMap((hour) => schedule.minutes.map((minute) => firstOf(day.set({ hour, minute }))))
    .sort((left, right) => left - right);
}

/** Noon exists on every day in every zone. */
function noonOf(time: number, timeZone: string): DateTime {
  return DateTime.fromMillis(time, { zone: timeZone }).set({
    hour: 12,
    minute: 0,
    second: 0,
    millisecond: 0,
  });
}

/** The first instant after `time`; undefined when there is none, ever. Epoch ms. */
export function nextInstant(schedule: CronSchedule, timeZone: string, time: number): number | undefined {
  let day = noonOf(time, timeZone);
  for (let count = 0; count < farthestDays; count++, day = day.plus({ days: 1 })) {
    const found = instantsOf(schedule, day).find((instant) => instant > time);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The last instant at or before `time`, but after `earliest`; undefined when there is none. Epoch ms. */
export function lastInstant(
  schedule: CronSchedule,
  timeZone: string,
  time: number,
  earliest: number,
): number | undefined {
  let day = noonOf(time, timeZone);
  for (let count = 0; count < farthestDays; count++, day = day.minus({ days: 1 })) {
    const instants = instantsOf(schedule, day).filter((instant) => instant <= time);
    const found = instants.at(-1);
    if (found !== undefined) return found > earliest ? found : undefined;
    if (day.endOf('day').toMillis() < earliest) return undefined;
  }
  return undefined;
}
