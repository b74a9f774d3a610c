/**
 * Cron: schedules of five fields (minute, hour, day of month, month, day of week), as crontab(5) and
 * CronJob know them: numbers, names of months and days, ranges, lists and steps. When both days are
 * restricted, either suffices.
 *
 * croner finds the instants. A local time that a zone skips is the end of the gap; a time that happens twice means the
 * first, unless the schedule repeats every hour.
 */
import { Cron } from 'croner';
import { formatMilliTime } from '../../kubernetes/time.ts';

const number = '[0-9]{1,2}';
const value = `(${number}|[a-z]{3})`;
const item = `([*]|${value}(-${value})?)(/${number})?`;
const field = `${item}(,${item})*`;
const fiveFields = new RegExp(`^${field}( +${field}){4}$`, 'i');

/** Where a step after a single number ends: of minutes, hours, days, months and days of the week. */
const highest = [59, 23, 31, 12, 7];

/**
 * @param timeZone name of an IANA zone.
 * @returns undefined when the text is no such schedule.
 */
export function parseCron(text: string, timeZone: string): Cron | undefined {
  if (!fiveFields.test(text.trim())) return undefined;
  const fields = text.trim().split(/ +/);
  // croner refuses a single number with a step, which for CronJob is the range from there to the end.
  const ranges = fields.map((words, index) =>
    words.replaceAll(/(?<![-*\w])(\w+)\//g, `$1-${highest[index]}/`),
  );
  try {
    return new Cron(ranges.join(' '), { timezone: timeZone, mode: '5-part', paused: true });
  } catch {
    return undefined;
  }
}

/** The first instant after `time`; undefined when there is none. Epoch ms. */
export function nextInstant(schedule: Cron, time: number): number | undefined {
  return schedule.nextRun(formatMilliTime(time))?.getTime();
}

/** The last instant at or before `time`; undefined when there is none. Epoch ms. */
export function lastInstant(schedule: Cron, time: number): number | undefined {
  return schedule.previousRuns(1, formatMilliTime(time + 1))[0]?.getTime();
}
