/** Watcher: name and selector of the ConfigWatcher that a workload gets. Pure. */
import { createHash } from 'node:crypto';
import {
  type ConfigWatcherSpec,
  type ConfigWatcherSpecPodSelectorExpression,
  configWatcherSchema,
} from '../../api/configwatcher.generated.ts';
import type { Workload } from './workload.ts';

/** The longest name of an object. */
const maxName = 253;

/** `deployment-web`. Of one that is too long the beginning, and a hash of the whole. */
export function watcherName(kind: string, name: string): string {
  const whole = `${kind.toLowerCase()}-${name}`;
  if (whole.length <= maxName) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${whole.slice(0, maxName - hash.length - 1).replace(/[-.]+$/, '')}-${hash}`;
}

type WatcherSelector = Pick<ConfigWatcherSpec, 'podSelector' | 'podSelectorExpressions'>;

/**
 * The selector of the workload. A podSelector needs a label, and a selector may have expressions alone: then it is made
 * of the labels that the Pod template has for their keys, beside the expressions. Undefined: the template has no label.
 */
export function watcherSelector({
  spec: { selector = {}, template } = {},
}: Workload): WatcherSelector | undefined {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const podSelector =
    Object.keys(matchLabels).length > 0 ? matchLabels : labelsFor(matchExpressions, template);
  if (Object.keys(podSelector).length === 0) return undefined;
  // The API server has checked the operators of the workload.
  const podSelectorExpressions = matchExpressions as readonly ConfigWatcherSpecPodSelectorExpression[];
  return { podSelector, ...(matchExpressions.length > 0 && { podSelectorExpressions }) };
}

type Expressions = readonly { readonly key: string; readonly operator: string }[];

/** Labels that each Pod has which the expressions select; where these ask for none, all of the template. */
function labelsFor(
  expressions: Expressions,
  template: NonNullable<Workload['spec']>['template'],
): Readonly<Record<string, string>> {
  const labels = template?.metadata?.labels ?? {};
  const asked = new Set(
    expressions.filter(({ operator }) => operator === 'In' || operator === 'Exists').map(({ key }) => key),
  );
  const found = Object.entries(labels).filter(([key]) => asked.has(key));
  return found.length > 0 ? Object.fromEntries(found) : labels;
}

/** How many sources a ConfigWatcher may have, as its CRD says. */
export const maxSources = maxItems(configWatcherSchema, ['spec', 'sources']);

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly maxItems?: number;
}

function maxItems(schema: Schema, path: readonly string[]): number {
  const found = path.reduce<Schema | undefined>((at, name) => at?.properties?.[name], schema);
  if (found?.maxItems === undefined) throw new Error(`the CRD does not limit ${path.join('.')}`);
  return found.maxItems;
}
