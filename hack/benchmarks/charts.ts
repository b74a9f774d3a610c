/** Which figures of the benchmarks are drawn, and beside which. Pure. */
import type { Figure, MeasuredTable, Results, Target } from './results.ts';

export interface Chart {
  /** In docs/benchmarks, without .svg. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** Where the figures differ by powers of ten. */
  readonly isLogarithmic?: boolean;
  readonly rows: readonly ChartRow[];
}

export interface ChartRow {
  readonly label: string;
  /** Title of the table, whose numbers are those of its options. */
  readonly table: RegExp;
  readonly what: string;
  /** Not the operator's: it shows what the API server or another client takes. */
  readonly isComparison?: boolean;
}

export interface Bar {
  readonly label: string;
  readonly version: string;
  readonly value: number;
  readonly isComparison: boolean;
  readonly target?: Target;
}

const rate = /^20 Ats a second for /;
const edits = /^\d+ edits, one by one$/;
const lateness = (label: string): ChartRow => ({ label, table: rate, what: `lateness, ${label}` });
const burst = (count: number): ChartRow[] => [
  {
    label: `${count} at once`,
    table: new RegExp(`^${count} Ats due in`),
    what: 'operator, in turns with it: last Pod',
  },
  {
    label: `${count}, null loader`,
    table: new RegExp(`^${count} Ats due in`),
    what: 'null loader: last Pod',
    isComparison: true,
  },
];
const decoding = (label: string, table: RegExp): ChartRow => ({
  label,
  table,
  what: 'lines, JSON, cached objects',
});

export const charts: readonly Chart[] = [
  {
    name: 'lateness',
    title: 'From the schedule of an At to the creation of its Pod, 20 a second',
    unit: 'ms',
    isLogarithmic: true,
    rows: ['smallest', 'p50', 'p90', 'p99', 'p99.9', 'largest'].map(lateness),
  },
  {
    name: 'throughput',
    title: 'Ats due in the same second: until the last Pod is created',
    unit: 's',
    rows: [1000, 5000, 10_000].flatMap(burst),
  },
  {
    name: 'edit-to-eviction',
    title: 'From the edit of a ConfigMap to the eviction of its Pod',
    unit: 'ms',
    rows: [
      { label: 'p50', table: edits, what: 'operator: edit → first eviction, p50' },
      {
        label: 'p50, null loader',
        table: edits,
        what: 'null loader, the same requests: edit → eviction, p50',
        isComparison: true,
      },
      { label: 'p99', table: edits, what: 'operator, p99' },
      { label: 'p99, null loader', table: edits, what: 'null loader, p99', isComparison: true },
    ],
  },
  {
    name: 'memory',
    title: 'Memory of the operator',
    unit: 'MB',
    rows: [
      { label: '10 000 waiting Ats', table: /^10000 waiting Ats$/, what: 'RSS' },
      { label: '100 000 waiting Ats', table: /^100000 waiting Ats$/, what: 'RSS' },
      { label: '5000 big ConfigMaps', table: /^5000 unrelated ConfigMaps/, what: 'RSS with them' },
      { label: 'without any', table: /^5000 unrelated ConfigMaps/, what: 'RSS without them' },
    ],
  },
  {
    name: 'memory-per-object',
    title: 'Heap for each object in the store',
    unit: 'bytes',
    rows: [
      { label: 'ConfigMap, metadata', table: /^store: .* ConfigMaps/, what: 'heap per object' },
      { label: 'waiting At', table: /^store: .* waiting Ats/, what: 'heap per object' },
    ],
  },
  {
    name: 'decoding',
    title: 'From the bytes of a watch to cached objects',
    unit: 'MB/s per core',
    rows: [
      decoding('waiting Ats', /^decoding: waiting Ats/),
      decoding('ConfigMaps of 100 KB', /^decoding: ConfigMaps/),
    ],
  },
];

/** What a chart shows, row by row, in each row the versions in their order. A figure that nobody measured is left out. */
export function barsOf({ rows }: Chart, results: Results): readonly Bar[] {
  return rows.flatMap(({ label, table, what, isComparison = false }) =>
    results.flatMap(({ version, tables }): Bar[] => {
      const figure = newestFigure(
        tables.filter(({ title }) => table.test(title)),
        what,
      );
      if (figure === undefined) return [];
      const { value, target } = figure;
      return [{ label, version, value, isComparison, ...(target === undefined ? {} : { target }) }];
    }),
  );
}

function newestFigure(tables: readonly MeasuredTable[], what: string): Figure | undefined {
  return tables
    .toSorted((one, other) => other.date.localeCompare(one.date))
    .flatMap(({ figures }) => figures)
    .find((figure) => figure.what === what);
}
