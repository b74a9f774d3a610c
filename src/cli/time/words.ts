/**
 * Words: the grammar of at(1): a time of day, a day, and a span that is added, in any order that people say them in.
 */
import {
  dateOf,
  day,
  midnightOf,
  monthOf,
  months,
  sayDate,
  sayWeekday,
  weekdayOf,
  weekdays,
} from './local.ts';
import { parseSpan, type Span } from './span.ts';

/** A day as it was typed; without a year the next such day is meant. */
interface TypedDate {
  readonly year?: number;
  readonly month: number;
  readonly dayOfMonth: number;
}

export interface Words {
  /** Milliseconds from midnight. */
  readonly time: number | 'now';
  readonly date?: TypedDate;
  /** From today. */
  readonly inDays?: number;
  /** 0 is Sunday. */
  readonly weekday?: number;
  readonly span?: Span;
  readonly zone?: 'UTC';
}

/** The clock that the words are compared with; all times are local ones. */
export interface Clock {
  readonly now: number;
  hasPassed(local: number): boolean;
}

type Draft = { -readonly [Field in keyof Words]?: Words[Field] };
/** What the first of these words say, and how many words that are. */
type Reading = { readonly says: Draft; readonly length: number };

const minute = 60_000;
const hour = 60 * minute;

const timesOfDay: Readonly<Record<string, number | 'now'>> = {
  now: 'now',
  midnight: 0,
  noon: 12 * hour,
  teatime: 16 * hour,
};
const fillers = ['at', 'on'];

/** @returns a part of a sentence that says why not, for a text that is not understood. */
export function readWords(text: string): Words | string {
  const [, before = '', , after] = /^([^+]*)(\+(.*))?$/.exec(text.toLowerCase()) ?? [];
  const distance = /^in\s+(.*)$/.exec(before.trim())?.[1];
  const added = after ?? distance;
  const span = added === undefined ? undefined : parseSpan(added);
  const isBare = distance !== undefined || before.trim() === '';
  if ((added !== undefined && span === undefined) || (isBare && span === undefined))
    return misunderstood(text);
  const words = isBare ? { time: 'now' as const } : readClock(before, text);
  return typeof words === 'string' || span === undefined ? words : { ...words, span };
}

function misunderstood(text: string): string {
  return text.trim() === '' ? 'the time is missing' : `"${text.trim()}" is not understood as a time`;
}

/** A time of day, and perhaps a day. */
function readClock(typed: string, text: string): Words | string {
  const words = typed
    .replace(/(\d)\s+(am|pm)\b/g, '$1$2')
    .replaceAll(',', ' ')
    .split(/\s+/)
    .filter((word) => word !== '' && !fillers.includes(word));
  const draft: Draft = {};
  for (let next = 0; next < words.length; ) {
    const reading = readNext(words.slice(next));
    if (reading === undefined) return misunderstood(text);
    for (const field of Object.keys(reading.says)) if (field in draft) return misunderstood(text);
    Object.assign(draft, reading.says);
    next += reading.length;
  }
  const { time, ...rest } = draft;
  if (time === undefined) return `"${text.trim()}" names no time of day`;
  if (time === 'now' && Object.keys(rest).length > 0) return misunderstood(text);
  if (rest.inDays !== undefined && (rest.date ?? rest.weekday) !== undefined) return misunderstood(text);
  return { ...rest, time };
}

function readNext(words: readonly string[]): Reading | undefined {
  const [word = ''] = words;
  const date = readDate(words);
  if (date !== undefined) return date;
  const time = timesOfDay[word] ?? readTime(word);
  if (time !== undefined) return { says: { time }, length: 1 };
  if (word === 'today' || word === 'tomorrow')
    return { says: { inDays: word === 'today' ? 0 : 1 }, length: 1 };
  if (word === 'utc') return { says: { zone: 'UTC' }, length: 1 };
  const weekday = indexOf(weekdays, word);
  return weekday === undefined ? undefined : { says: { weekday }, length: 1 };
}

/** `9:00`, `09:00:30`, `9am`, `9:30pm`, `0900`. */
function readTime(word: string): number | undefined {
  const [, hours, minutes, seconds = '0', half] =
    /^(\d{1,2}):(\d{2})(?::(\d{2}))?(am|pm)?$/.exec(word) ??
    /^(\d{2})(\d{2})$/.exec(word) ??
    /^(\d{1,2})()()(am|pm)$/.exec(word) ??
    [];
  if (hours === undefined) return undefined;
  const [hourShown, minuteShown, secondShown] = [
    Number(hours),
    Number(minutes || '0'),
    Number(seconds || '0'),
  ];
  const isHour = half === undefined ? hourShown <= 23 : hourShown >= 1 && hourShown <= 12;
  if (!isHour || minuteShown > 59 || secondShown > 59) return undefined;
  const full = half === undefined ? hourShown : (hourShown % 12) + (half === 'pm' ? 12 : 0);
  return full * hour + minuteShown * minute + secondShown * 1000;
}

/** `2026-12-01`, `01.12.2026`, `12/01/2026` (at(1): the month first), `dec 1 2026`, `1 dec`. */
function readDate([first = '', second = '', third = '']: readonly string[]): Reading | undefined {
  const [iso, dotted, slashed] = [
    /^(\d{4})-(\d{2})-(\d{2})$/.exec(first),
    /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(first),
    /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(first),
  ];
  if (iso !== null) return written(iso[1], iso[2], iso[3], 1);
  if (dotted !== null) return written(dotted[3], dotted[2], dotted[1], 1);
  if (slashed !== null) return written(slashed[3], slashed[1], slashed[2], 1);
  const isDay = (word: string) => /^\d{1,2}$/.test(word);
  const [name, number] = isDay(first) ? [second, first] : [first, second];
  const month = indexOf(months, name);
  if (month === undefined || !isDay(number)) return undefined;
  const hasYear = /^\d{4}$/.test(third);
  return written(hasYear ? third : undefined, String(month + 1), number, hasYear ? 3 : 2);
}

function written(year: string | undefined, month = '', dayOfMonth = '', length: number): Reading {
  const date = { month: Number(month), dayOfMonth: Number(dayOfMonth) };
  return { says: { date: year === undefined ? date : { ...date, year: Number(year) } }, length };
}

/** Of names that may be cut to three letters and more. */
function indexOf(names: readonly string[], word: string): number | undefined {
  const index = word.length < 3 ? -1 : names.findIndex((name) => name.startsWith(word));
  return index === -1 ? undefined : index;
}

/**
 * The day that is meant, with its time of day: without a day the next time that the clocks show it.
 *
 * @returns a part of a sentence for a day that does not exist.
 */
export function dayOf({ date, inDays, weekday }: Words, time: number, clock: Clock): number | string {
  const today = midnightOf(clock.now);
  if (date !== undefined) return onDate(date, weekday, time, clock);
  if (inDays !== undefined) return today + inDays * day + time;
  const ahead = weekday === undefined ? 0 : (weekday - weekdayOf(today) + 7) % 7;
  const next = today + ahead * day + time;
  if (!clock.hasPassed(next)) return next;
  return next + (weekday === undefined ? day : 7 * day);
}

function onDate(date: TypedDate, weekday: number | undefined, time: number, clock: Clock): number | string {
  const midnight = nextDate(date, time, clock);
  if (midnight === undefined) return 'that day does not exist in the calendar';
  if (weekday === undefined || weekdayOf(midnight) === weekday) return midnight + time;
  return `${sayDate(midnight)} is a ${sayWeekday(midnight)}`;
}

/** Midnight of the day. Without a year it is the next one; 29 February comes after eight years at the latest. */
function nextDate({ year, month, dayOfMonth }: TypedDate, time: number, clock: Clock): number | undefined {
  if (year !== undefined) return dateOf(year, month, dayOfMonth);
  const [thisYear] = monthOf(clock.now);
  for (let tried = thisYear; tried <= thisYear + 8; tried++) {
    const midnight = dateOf(tried, month, dayOfMonth);
    if (midnight !== undefined && !clock.hasPassed(midnight + time)) return midnight;
  }
  return undefined;
}
