/**
 * Local: dates and times of day of a zone, as numbers and as text. A local time is a number here: the milliseconds
 * that the wall clock would show as an instant in UTC.
 */

import { timeZoneNamed } from '../../api/zone.ts';
import { type DateAndTime, formatTime, utcMilliseconds } from '../../kubernetes/time.ts';
import { saySpan } from './span.ts';

const minute = 60_000;
export const day = 24 * 60 * minute;
/** Nearer than this, a time is said as a distance. */
const near = 12 * 60 * minute;

export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
export const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];

/** What the clocks of the zone show at the instant. @param zone name of a zone. */
export function localTime(instant: number, zone: string): number {
  return instant + (timeZoneNamed(zone)?.offset(instant) ?? 0);
}

/** Midnight of a day; undefined for a day that does not exist. @param month from 1. */
export function dateOf(year: number, month: number, dayOfMonth: number): number | undefined {
  const fields: DateAndTime = [year, month, dayOfMonth, 0, 0, 0];
  const midnight = month >= 1 && month <= 12 ? utcMilliseconds(fields) : Number.NaN;
  return Number.isNaN(midnight) ? undefined : midnight;
}

/** The midnight at which the day of a local time begins. */
export function midnightOf(local: number): number {
  return Math.floor(local / day) * day;
}

/** 0 is Sunday. */
export function weekdayOf(local: number): number {
  return (Math.floor(local / day) + 4) % 7;
}

/** Year and month (from 1). */
export function monthOf(local: number): readonly [year: number, month: number, dayOfMonth: number] {
  const [year = 0, month = 0, dayOfMonth = 0] = isoOf(local).slice(0, 10).split('-').map(Number);
  return [year, month, dayOfMonth];
}

/** `2026-12-01T09:00:00` */
export function isoOf(local: number): string {
  return formatTime(local).slice(0, 19);
}

/** `1 Dec 2026` */
export function sayDate(local: number): string {
  const [year, month, dayOfMonth] = monthOf(local);
  return `${dayOfMonth} ${short(months[month - 1])} ${year}`;
}

/** `09:00` */
export function sayTimeOfDay(local: number): string {
  return isoOf(local).slice(11, 16);
}

/** `Tue 1 Dec 2026 09:00:00` */
export function sayLocal(local: number): string {
  return `${sayWeekday(local)} ${sayDate(local)} ${isoOf(local).slice(11)}`;
}

/** `+01:00`, of the zone at the instant. */
export function sayOffset(instant: number, zone: string): string {
  const minutes = Math.round((localTime(instant, zone) - instant) / minute);
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export interface Viewpoint {
  /** Epoch ms. */
  readonly now: number;
  /** Name of the zone in which times of day are said. */
  readonly zone: string;
}

/** As people say it: `in 9m48s`, `3m20s ago`, `tomorrow 09:00`, `Tue 09:00`, `1 Dec 2026 09:00`. */
export function sayWhen(instant: number, { now, zone }: Viewpoint): string {
  const ahead = instant - now;
  if (Math.abs(ahead) < near) return sayDistance(ahead);
  const local = localTime(instant, zone);
  const days = (midnightOf(local) - midnightOf(localTime(now, zone))) / day;
  const names: Readonly<Record<number, string>> = { 0: 'today', 1: 'tomorrow', [-1]: 'yesterday' };
  const date = names[days] ?? (Math.abs(days) < 7 ? sayWeekday(local) : sayDate(local));
  return `${date} ${sayTimeOfDay(local)}`;
}

/** `in 9m48s`, `3m20s ago`, `now`. @param ahead milliseconds. */
export function sayDistance(ahead: number): string {
  const size = saySpan(Math.abs(ahead));
  if (size === '0s') return 'now';
  return ahead > 0 ? `in ${size}` : `${size} ago`;
}

/** `Tue` */
export function sayWeekday(local: number): string {
  return short(weekdays[weekdayOf(local)]);
}

function short(name = ''): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1, 3);
}
