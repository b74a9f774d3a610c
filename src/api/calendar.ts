/**
 * Calendar: the Gregorian calendar in both directions, also before 1582, without zones. Arithmetic alone: a
 * date library takes a hundred times as long, which with ten thousand Ats is what a start consists of.
 */

export interface CalendarDay {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

/** Days of 400 years, after which the calendar repeats itself. */
const daysOfCycle = 146_097;
/** Days from 0000-03-01 to 1970-01-01: a year that begins in March ends with its leap day. */
const daysToEpoch = 719_468;

/** Days since 1970-01-01; undefined when the calendar has no such day. */
export function dayNumber({ year, month, day }: CalendarDay): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) {
    return undefined;
  }
  const marchYear = month > 2 ? year : year - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return 365 * marchYear + leapDays + daysBefore((month + 9) % 12) + day - 1 - daysToEpoch;
}

/** The inverse of {@link dayNumber}. */
export function calendarDay(days: number): CalendarDay {
  const since = days + daysToEpoch;
  const cycle = Math.floor(since / daysOfCycle);
  const dayOfCycle = since - cycle * daysOfCycle;
  const leapDays =
    Math.floor(dayOfCycle / 1460) - Math.floor(dayOfCycle / 36_524) + Math.floor(dayOfCycle / 146_096);
  const yearOfCycle = Math.floor((dayOfCycle - leapDays) / 365);
  const dayOfYear =
    dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const marchYear = cycle * 400 + yearOfCycle;
  return {
    year: month > 2 ? marchYear : marchYear + 1,
    month,
    day: dayOfYear - daysBefore(marchMonth) + 1,
  };
}

/** Of a year that begins in March, the days before its month 0 to 11: five months have 153 days. */
function daysBefore(marchMonth: number): number {
  return Math.floor((153 * marchMonth + 2) / 5);
}

function daysOfMonth(year: number, month: number): number {
  if (month === 2) {
    return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  }
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
