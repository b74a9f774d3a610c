/**
 * Annotated ConfigMap: a ConfigMap that says itself which Pods to delete when its content changes, by an
 * annotation with a label selector. It is seen as a ConfigWatcher with defaults and strategy Delete, whose
 * status is kept in another annotation of the ConfigMap; so one engine does the work for both.
 */
import { crc32 } from 'node:zlib';
import type {
  ConfigWatcher,
  ConfigWatcherSpec,
  ConfigWatcherSpecPodSelectorExpression,
  ConfigWatcherStatus,
} from '../../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../../api/configwatcher-constants.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { InvalidSpec } from '../plan/spec.ts';
import { presentSpec } from './watched-objects.ts';

/** Name of the index that finds the annotated ConfigMaps of a namespace. */
export const annotatedIndex = 'configwatcher/annotated';

const { podDeleteSelector, podDeleteSelectorCom, observed } = watcherAnnotation;

/** The selector as it stands there; undefined without the annotation. The first group's key wins. */
function selectorText({ metadata: { annotations = {} } }: KubernetesObject): string | undefined {
  return annotations[podDeleteSelector] ?? annotations[podDeleteSelectorCom];
}

/** Index values of a ConfigMap: its namespace, if it has the annotation. */
export function annotatedIn(configMap: KubernetesObject): readonly string[] {
  return selectorText(configMap) === undefined ? [] : [configMap.metadata.namespace ?? ''];
}

const equality = /^([^\s!=(),]+)\s*==?\s*([^\s!=(),]*)$/;
const inequality = /^([^\s!=(),]+)\s*!=\s*([^\s!=(),]*)$/;
const membership = /^([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const existence = /^(!?)\s*([^\s!=(),]+)$/;

function requirementOf(text: string): ConfigWatcherSpecPodSelectorExpression | undefined {
  const [, unequalKey, value = ''] = inequality.exec(text) ?? [];
  if (unequalKey !== undefined) return { key: unequalKey, operator: 'NotIn', values: [value] };
  const [, memberKey, operator, list = ''] = membership.exec(text) ?? [];
  if (memberKey !== undefined) {
    const values = list.split(',').map((member) => member.trim());
    return { key: memberKey, operator: operator === 'in' ? 'In' : 'NotIn', values };
  }
  const [, negation, key] = existence.exec(text) ?? [];
  return key === undefined ? undefined : { key, operator: negation ? 'DoesNotExist' : 'Exists' };
}

/**
 * The parts of a spec that say the same as a label selector in the API's string form; undefined where it is
 * none. Whether keys and values are legal is checked with the rest of the spec.
 */
export function selectorSpec(
  text: string,
): Pick<ConfigWatcherSpec, 'podSelector' | 'podSelectorExpressions'> | undefined {
  const labels = new Map<string, string>();
  const expressions: ConfigWatcherSpecPodSelectorExpression[] = [];
  for (const part of text.split(/,(?![^(]*\))/).map((one) => one.trim())) {
    const [, key, value = ''] = equality.exec(part) ?? [];
    const requirement = requirementOf(part);
    if (key !== undefined && !labels.has(key)) labels.set(key, value);
    else if (key !== undefined) expressions.push({ key, operator: 'In', values: [value] });
    else if (requirement) expressions.push(requirement);
    else return undefined;
  }
  // Whatever a key is called, the object has it as a property of its own.
  const podSelector = Object.fromEntries(labels);
  return { podSelector, ...(expressions.length > 0 && { podSelectorExpressions: expressions }) };
}

const invalid: InvalidSpec = {
  invalid: `the annotation ${podDeleteSelector} must be a label selector with at least one key=value, such as app=webapp`,
};

function statusOf({ metadata: { annotations = {} } }: KubernetesObject): ConfigWatcherStatus {
  try {
    const status: unknown = JSON.parse(annotations[observed] ?? '');
    return typeof status === 'object' && status !== null && !Array.isArray(status) ? status : {};
  } catch {
    // No state yet, or a text of another author: the source is seen for the first time.
    return {};
  }
}

const seen = new WeakMap<KubernetesObject, ConfigWatcher>();

/** The ConfigMap as a watcher of itself; undefined without the annotation. */
export function watcherOf(configMap: KubernetesObject): ConfigWatcher | undefined {
  const text = selectorText(configMap);
  if (text === undefined) return undefined;
  const known = seen.get(configMap);
  if (known) return known;
  const { annotations, ...metadata } = configMap.metadata;
  const selector = selectorSpec(text);
  const watcher: ConfigWatcher = {
    // A ConfigMap has none. An edit of the selector is one of the spec.
    metadata: { ...metadata, generation: crc32(text) },
    spec: { configMap: metadata.name, podSelector: {}, ...selector, strategy: { type: 'Delete' } },
    status: statusOf(configMap),
  };
  presentSpec(watcher, invalid);
  seen.set(configMap, watcher);
  return watcher;
}

/** The annotated ConfigMaps of a store, as watchers. The store needs {@link annotatedIndex}. */
export class AnnotatedConfigMaps implements Lister<ConfigWatcher> {
  readonly #configMaps: Lister<KubernetesObject>;

  constructor(configMaps: Lister<KubernetesObject>) {
    this.#configMaps = configMaps;
  }

  get(namespace: string, name: string): ConfigWatcher | undefined {
    const configMap = this.#configMaps.get(namespace, name);
    return configMap && watcherOf(configMap);
  }

  list(namespace?: string): ConfigWatcher[] {
    const found =
      namespace === undefined ? this.#configMaps.list() : this.#configMaps.byIndex(annotatedIndex, namespace);
    return found.flatMap((configMap) => watcherOf(configMap) ?? []);
  }

  /** Watchers are not indexed. */
  byIndex(): ConfigWatcher[] {
    return [];
  }

  get size(): number {
    return this.list().length;
  }
}
