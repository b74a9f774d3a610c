/** What the benchmarks measured, version by version: docs/benchmarks/results.json, and what is printed of it. Pure. */

/** What a figure is held against. Neither: it is there for comparison. */
export interface Target {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: Target;
  /** What `value` is the median of. */
  readonly samples?: readonly number[];
}

export interface MeasuredTable {
  readonly title: string;
  /** As in 2026-11-22. */
  readonly date: string;
  readonly machine: string;
  /** What has to be known about how it was recorded. */
  readonly note?: string;
  readonly figures: readonly Figure[];
}

export interface VersionResults {
  /** As in 0.1.0. */
  readonly version: string;
  readonly tables: readonly MeasuredTable[];
}

/** The newest version last. */
export type Results = readonly VersionResults[];

/** With a table in the place of an older one of the same version and title. */
export function withTable(results: Results, version: string, table: MeasuredTable): Results {
  const known = results.find((one) => one.version === version)?.tables ?? [];
  const isKnown = known.some(({ title }) => title === table.title);
  const tables = isKnown ? known.map((one) => (one.title === table.title ? table : one)) : [...known, table];
  const others = results.filter((one) => one.version !== version);
  return [...others, { version, tables }].toSorted((one, other) =>
    one.version.localeCompare(other.version, 'en', { numeric: true }),
  );
}

/** Of an even number of values the mean of the two in the middle; the values need not be in order. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** Markdown, as it stands in docs/benchmarks.md. */
export function markdownTable(title: string, figures: readonly Figure[]): string {
  const cells = figures.map(({ what, value, unit, target, samples = [] }) => [
    samples.length === 0 ? what : `${what}, median of ${samples.map((one) => one.toFixed(2)).join(', ')}`,
    `${format(value)} ${unit}`.trimEnd(),
    target === undefined ? '–' : `${describeTarget(target)} ${isMet(value, target) ? 'met' : '**missed**'}`,
  ]);
  const lines = [[title, 'result', 'target'], ['---', '---:', '---:'], ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** Three significant digits; whole numbers stay whole. */
export function format(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

export function describeTarget({ atLeast, atMost }: Target): string {
  return [
    ...(atLeast === undefined ? [] : [`≥ ${format(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${format(atMost)}`]),
  ].join(', ');
}

function isMet(value: number, { atLeast = -Infinity, atMost = Infinity }: Target): boolean {
  return value >= atLeast && value <= atMost;
}

/** The figures of a title in the newest version that has it. */
export function newestTable(results: Results, title: string): MeasuredTable | undefined {
  return results
    .toReversed()
    .flatMap(({ tables }) => tables)
    .find((table) => table.title === title);
}

/**
 * The page docs/benchmarks.md with the newest figures in its tables.
 *
 * @throws {Error} when a table of the page was never recorded.
 */
export function withNewestTables(page: string, results: Results): string {
  return page.replaceAll(/^\| (.+) \| result \| target \|\n(?:\|.*\n)+/gm, (_, title: string) => {
    const table = newestTable(results, title);
    if (table === undefined) throw new Error(`no figures of "${title}" are recorded`);
    return `${markdownTable(title, table.figures)}\n`;
  });
}
