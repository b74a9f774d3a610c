/** Queries: what config/prometheus asks Prometheus, in alerts and on the dashboard. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

export const ruleManifest = 'config/prometheus/prometheus_rule.yaml';

/** The rules as Prometheus itself takes them. */
export async function readRules(): Promise<RuleFile> {
  return parse(await readFile(ruleManifest, 'utf8')).spec;
}

export async function alerts(): Promise<Alert[]> {
  return (await readRules()).groups.flatMap(({ rules }) => rules);
}

export interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly {
    readonly expr: string;
    readonly legendFormat: string;
    readonly instant?: boolean;
  }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly thresholds?: { readonly steps: readonly object[] };
      readonly links?: readonly { readonly url: string }[];
    };
  };
  readonly links?: readonly { readonly url: string }[];
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly type: string; readonly query: string }[] };
  readonly panels: readonly Panel[];
}

export async function dashboard(): Promise<Dashboard> {
  return JSON.parse(await readFile('config/prometheus/dashboard.json', 'utf8'));
}

/** A query of the dashboard as Grafana sends it. */
export function asSent(expr: string): string {
  return expr.replaceAll('$__rate_interval', '2m').replaceAll('$namespace', '.*');
}

/** All queries, with Grafana's variables put in. */
export async function allQueries(): Promise<string[]> {
  const { panels, templating } = await dashboard();
  const variables = templating.list
    .filter(({ type }) => type === 'query')
    .map(({ query }) => /^label_values\((.*), (\w+)\)$/.exec(query) ?? [])
    // The values of a label are what a metric is grouped by.
    .map(([, metric = '', label = '']) => `count by (${label}) (${metric})`);
  return [
    ...(await alerts()).map(({ expr }) => expr),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => asSent(expr))),
    ...variables,
  ];
}
