/**
 * Span: a length of time as people type it: `10m`, `2 hours`, `1h30m`, `7d`. Days, weeks, months and years are
 * lengths of the calendar: they keep the time of day over a clock change.
 */

export interface Span {
  readonly months: number;
  readonly days: number;
  readonly ms: number;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

interface Unit {
  readonly names: readonly string[];
  readonly part: keyof Span;
  readonly size: number;
}

const units: readonly Unit[] = [
  { names: ['s', 'sec', 'secs', 'second', 'seconds'], part: 'ms', size: second },
  { names: ['m', 'min', 'mins', 'minute', 'minutes'], part: 'ms', size: minute },
  { names: ['h', 'hr', 'hrs', 'hour', 'hours'], part: 'ms', size: hour },
  { names: ['d', 'day', 'days'], part: 'days', size: 1 },
  { names: ['w', 'week', 'weeks'], part: 'days', size: 7 },
  { names: ['month', 'months'], part: 'months', size: 1 },
  { names: ['y', 'year', 'years'], part: 'months', size: 12 },
];

/** More digits are a slip of the finger. */
const whole = /^(?:\d{1,6}\s*[a-z]+\s*)+$/;

/** @returns undefined for a text that is no span. */
export function parseSpan(text: string): Span | undefined {
  const typed = text.trim().toLowerCase();
  if (!whole.test(typed)) return undefined;
  const total = { months: 0, days: 0, ms: 0 };
  for (const [, count, name = ''] of typed.matchAll(/(\d+)\s*([a-z]+)/g)) {
    const unit = units.find(({ names }) => names.includes(name));
    if (unit === undefined) return undefined;
    total[unit.part] += Number(count) * unit.size;
  }
  return total;
}

/**
 * A span as a fixed length in milliseconds, a day being 24 hours.
 *
 * @returns undefined for a text that is no span, or one with months or years, which have no fixed length.
 */
export function parseLength(text: string): number | undefined {
  const span = parseSpan(text);
  return span === undefined || span.months > 0 ? undefined : span.days * day + span.ms;
}

/** `9m48s`, `3h20m`, `2d4h`, `12d`: two units at most, as kubectl writes ages. @param ms ≥ 0. */
export function saySpan(ms: number): string {
  const seconds = Math.floor(ms / second);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0s';
  // Beside ten of a unit the next smaller one says nothing.
  const isLong = (parts[first]?.[0] ?? 0) >= 10;
  return parts
    .slice(first, first + (isLong ? 1 : 2))
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join('');
}
