/**
 * When: the times that people type, those of at(1) and RFC 3339, made into the schedule of an At. Strict: what is not
 * understood as a whole is refused, because a command that runs at another time than meant is worse than a question.
 */

import { instantsIn, spellingOf, timeZoneNamed } from '../../api/zone.ts';
import { resolveSchedule } from '../../at/plan/schedule.ts';
import { formatTime, lastInstant, parseTime } from '../../kubernetes/time.ts';
import {
  dateOf,
  day,
  isoOf,
  localTime,
  midnightOf,
  monthOf,
  sayDistance,
  sayLocal,
  sayTimeOfDay,
} from './local.ts';
import type { Span } from './span.ts';
import { type Clock, dayOf, readWords, type Words } from './words.ts';

/** What was asked for, as an At says it. */
export interface When {
  readonly ok: true;
  /** Epoch ms. */
  readonly instant: number;
  readonly schedule: string;
  /** Of a schedule that is a local time. */
  readonly timeZone?: string;
  /** A sentence where the clocks of the zone make something else of the text than it says. */
  readonly note?: string;
}

export type ReadWhen = When | { readonly ok: false; readonly message: string };

export interface WhenOptions {
  /** Epoch ms. */
  readonly now: number;
  /** Name of the zone in which local times are meant. */
  readonly zone: string;
}

const timestamp = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?$/;

/** For the sentence that refuses. */
const examples =
  'now+10m, "tomorrow 9:00", noon, 9am, "mon 18:30", "2026-12-01 09:00" or 2026-12-01T09:00:00+01:00';

export function readWhen(text: string, { now, zone: named }: WhenOptions): ReadWhen {
  const zone = spellingOf(named);
  if (zone === undefined || timeZoneNamed(zone) === undefined) {
    return refuse(`"${named}" is no time zone: say the name of one, such as Europe/Berlin or UTC`);
  }
  const typed = text.trim();
  const written = timestamp.exec(typed);
  if (written !== null) return absolute(writtenSchedule(written), { now, zone });
  const words = readWords(typed);
  if (typeof words === 'string') return refuse(`${words}: say ${examples}`);
  return read(words, { now, zone: words.zone ?? zone });
}

function refuse(message: string): ReadWhen {
  return { ok: false, message };
}

interface Written {
  readonly schedule: string;
  readonly hasOffset: boolean;
}

function writtenSchedule([
  ,
  date,
  time,
  seconds = ':00',
  fraction = '',
  offset = '',
]: RegExpExecArray): Written {
  const schedule = `${date}T${time}${seconds}${fraction}${offset.toUpperCase()}`;
  return { schedule, hasOffset: offset !== '' };
}

function read(words: Words, options: WhenOptions): ReadWhen {
  if (words.time === 'now') return relative(words.span, options);
  const local = dayOf(words, words.time, localClock(options));
  if (typeof local === 'string') return refuse(`${local}: say ${examples}`);
  const later = words.span === undefined ? local : addDays(local, words.span);
  if (!(later <= lastInstant)) return refuse('that is after the year 9999');
  const when = absolute({ schedule: isoOf(later), hasOffset: false }, options);
  const ms = words.span?.ms ?? 0;
  if (!when.ok || ms === 0) return when;
  return inUtc(when.instant + ms);
}

/** `now`, or some time from it. A part of a second is rounded up, so that a wait is never shorter than asked for. */
function relative(span: Span | undefined, { now, zone }: WhenOptions): ReadWhen {
  if (span === undefined) return inUtc(now - (now % 1000));
  const timeZone = timeZoneNamed(zone);
  const local = localTime(now, zone);
  const later = addDays(local, span);
  const base = later === local || timeZone === undefined ? now : instantsIn(timeZone, later, later)(later);
  return inUtc(Math.ceil((base + span.ms) / 1000) * 1000);
}

function inUtc(instant: number): ReadWhen {
  if (!(instant <= lastInstant)) return refuse('that is after the year 9999');
  return { ok: true, instant, schedule: formatTime(instant) };
}

/** A date and a time of day that are to come. */
function absolute({ schedule, hasOffset }: Written, { now, zone }: WhenOptions): ReadWhen {
  const isUtc = !hasOffset && zone === 'UTC';
  const timeZone = hasOffset || isUtc ? undefined : zone;
  const full = isUtc ? `${schedule}Z` : schedule;
  const instant = resolveSchedule(full, timeZone);
  if (typeof instant !== 'number') {
    return refuse(instant.message.replace(/^schedule/, `"${schedule.replace('T', ' ')}"`));
  }
  if (instant <= now) {
    const shown = `${sayLocal(localTime(instant, zone))} (${zone})`;
    return refuse(`${shown} has passed, ${sayDistance(instant - now)}: say now to run it at once`);
  }
  if (timeZone === undefined) return { ok: true, instant, schedule: full };
  const note = clockChange(schedule, instant, timeZone);
  return { ok: true, instant, schedule, timeZone, ...(note !== undefined && { note }) };
}

/** What a change of the clocks makes of a local time. */
function clockChange(schedule: string, instant: number, zone: string): string | undefined {
  const typed = parseTime(`${schedule.slice(0, 19)}Z`);
  const shown = localTime(instant, zone);
  const where = `that day in ${zone}`;
  if (Math.floor(shown / 1000) * 1000 > typed) {
    return `${sayTimeOfDay(typed)} is skipped by the clocks ${where}: it runs at ${sayTimeOfDay(shown)}`;
  }
  const back = shown - instant - (localTime(instant + day, zone) - instant - day);
  const isTwice = back > 0 && localTime(instant + back, zone) === shown;
  return isTwice ? `${sayTimeOfDay(typed)} happens twice ${where}: it runs the first time` : undefined;
}

function localClock({ now, zone }: WhenOptions): Clock {
  const timeZone = timeZoneNamed(zone);
  return {
    now: localTime(now, zone),
    hasPassed: (local) => timeZone !== undefined && instantsIn(timeZone, local, local)(local) <= now,
  };
}

/** Whole days and months later at the same time of day; of a month that is too short the last day. */
function addDays(local: number, { months, days }: Span): number {
  const [year, month, dayOfMonth] = monthOf(local);
  const first = firstOfMonth(year, month + months);
  const length = (firstOfMonth(year, month + months + 1) - first) / day;
  return first + (Math.min(dayOfMonth, length) - 1 + days) * day + (local - midnightOf(local));
}

/** @param month from 1; those over 12 are of later years. */
function firstOfMonth(year: number, month: number): number {
  return dateOf(year + Math.floor((month - 1) / 12), ((month - 1) % 12) + 1, 1) ?? Number.NaN;
}
