/**
 * Duration: spans of time as people write them in a spec, in the notation of Go's `time.ParseDuration`:
 * `90s`, `1m30s`, `1.5h`, `0`.
 */

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** The longest span that is taken, as in Go: about 292 years. */
const longest = 2_562_047 * 3_600_000;

/**
 * Milliseconds, rounded up, so that a wait is never shorter than asked for.
 *
 * @returns undefined when the text is no duration, is negative, or is longer than 2562047h.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^([0-9]+(\.[0-9]*)?(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/([0-9.]+)([^0-9.]+)/g)) {
    total += Number(count) * (units[unit ?? ''] ?? Number.NaN);
  }
  // The tiny subtraction keeps 0.1s + 0.2s at 300 ms: binary fractions must not round up to 301.
  return total <= longest ? Math.max(0, Math.ceil(total - 1e-7)) : undefined;
}

/** `90 000` → `1m30s`; below a second `250ms`; seconds are rounded. For messages. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join('');
}
