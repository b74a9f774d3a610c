/**
 * Table: what a benchmark prints. Markdown, so that it can go into docs/benchmarks.md as it is.
 */

/** What the figure is held against. Neither: it is there for comparison. */
export interface Target {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: Target;
}

export function markdownTable(title: string, rows: readonly Row[]): string {
  const cells = rows.map(({ what, value, unit, target }) => [
    what,
    `${format(value)} ${unit}`.trimEnd(),
    target === undefined ? '–' : `${describeTarget(target)} ${isMet(value, target) ? 'met' : '**missed**'}`,
  ]);
  const lines = [[title, 'result', 'target'], ['---', '---:', '---:'], ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

export function printTable(title: string, rows: readonly Row[]): void {
  console.log(`\n${markdownTable(title, rows)}`);
}

/** Three significant digits; whole numbers stay whole. */
function format(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function describeTarget({ atLeast, atMost }: Target): string {
  return [
    ...(atLeast === undefined ? [] : [`≥ ${format(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${format(atMost)}`]),
  ].join(', ');
}

function isMet(value: number, { atLeast = -Infinity, atMost = Infinity }: Target): boolean {
  return value >= atLeast && value <= atMost;
}
