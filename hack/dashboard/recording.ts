/** Recording: what Prometheus answered to the queries of the dashboard, over one run. Pure. */

/** A panel of config/prometheus/dashboard.json, as far as it is drawn. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string;
      readonly thresholds?: { readonly steps: readonly Threshold[] };
      readonly custom?: { readonly thresholdsStyle?: { readonly mode: string } };
    };
  };
}

export interface Threshold {
  readonly color: string;
  /** From here on; null for the lowest. */
  readonly value: number | null;
}

export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Series {
  readonly name: string;
  /** One for each step, separated by spaces; `-` where there was none. */
  readonly values: string;
}

export interface Recording {
  /** As in 3.13.1. */
  readonly prometheus: string;
  readonly kubernetes: string;
  readonly stepSeconds: number;
  /** By the panels' ids. */
  readonly panels: Readonly<Record<string, readonly Series[]>>;
}

/** An answer of Prometheus to a range query. */
export interface Matrix {
  readonly metric: Readonly<Record<string, string>>;
  /** Seconds and value. */
  readonly values: readonly (readonly [number, string])[];
}

/** The query as Grafana sends it. */
export function queryOf(expr: string, rateInterval: string): string {
  return expr.replaceAll('$namespace', '.*').replaceAll('$__rate_interval', rateInterval);
}

export function seriesOf(matrix: Matrix, legend: string, times: readonly number[]): Series {
  const found = new Map(matrix.values.map(([time, value]) => [Math.round(time), Number(value)]));
  const values = times.map((time) => {
    const value = found.get(Math.round(time));
    return value === undefined || !Number.isFinite(value) ? '-' : `${Number(value.toPrecision(3))}`;
  });
  const name = legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => matrix.metric[label] ?? '').trim();
  return { name, values: values.join(' ') };
}

/** The values of a series, undefined where there was none. */
export function valuesOf({ values }: Series): (number | undefined)[] {
  return values.split(' ').map((value) => (value === '-' ? undefined : Number(value)));
}
