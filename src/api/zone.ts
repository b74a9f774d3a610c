/**
 * Time zone: the IANA zones by their names, and the instants of local times in them. Local times are numbers
 * here: the milliseconds that the wall clock would show as an instant in UTC.
 */
import { IANAZone } from 'luxon';

const day = 24 * 60 * 60 * 1000;

export interface TimeZone {
  /** Milliseconds that the local time is ahead of UTC, at an instant. Looked up again on each call. */
  offset(instant: number): number;
}

const names = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;

/**
 * What names stand for; undefined for none. A zone may be written in many ways, `europe/BERLIN` among them,
 * and what luxon keeps for every spelling, for good, are 65 KB. So it gets to see one of each zone only.
 */
const known = new Map<string, TimeZone | undefined>();
const maxKnown = 1000;

/** @returns undefined for what is no name of a zone. */
export function timeZoneNamed(name: unknown): TimeZone | undefined {
  // Intl also takes offsets such as +02:00 for zones; they name no place whose rules could be looked up.
  if (typeof name !== 'string' || !names.test(name)) return undefined;
  if (known.has(name)) return known.get(name);
  if (known.size >= maxKnown) known.clear();
  const zone = zoneOf(name);
  known.set(name, zone);
  return zone;
}

function zoneOf(name: string): TimeZone | undefined {
  const spelling = spellingOf(name);
  if (spelling === undefined) return undefined;
  const zone = IANAZone.create(spelling);
  return { offset: (instant) => zone.offset(instant) * 60_000 };
}

/** The one spelling of a zone that counts; undefined for what is no zone. */
export function spellingOf(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/**
 * How local times from `first` to `last`, a day apart at most, become instants. One that the clocks skip moves
 * forward by as much as they do; one that happens twice means the first. Two offsets, a day before and a day
 * after, are all there is to try: no zone changes its clocks twice in three days.
 */
export function instantsIn(zone: TimeZone, first: number, last: number): (local: number) => number {
  const before = zone.offset(first - day);
  const after = zone.offset(last + day);
  if (before === after) return (local) => local - before;
  const change = changeOf(zone, before, first - day, last + day);
  return (local) => (local - before < change || local - after < change ? local - before : local - after);
}

/** The first instant after `early` at which the offset is not `before` any more. */
function changeOf(zone: TimeZone, before: number, early: number, late: number): number {
  let [from, to] = [early, late];
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    if (zone.offset(middle) === before) from = middle;
    else to = middle;
  }
  return to;
}
