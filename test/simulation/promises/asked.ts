/** L10: what workloads ask for by their annotations. */
import type { ConfigWatcher, ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import { controllerOf, type KubernetesObject, type Pod } from '../../../src/kubernetes/objects.ts';
import { among, kept, type NamedPromise } from '../history.ts';
import { sourcesOf } from '../selector.ts';
import { hasWorked, settling } from './liveness.ts';

/** A create that has failed for long is tried again within a minute, in milliseconds. */
const retriedWithin = 90_000;

interface Asking extends KubernetesObject {
  readonly spec?: {
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template?: Pick<Pod, 'spec'>;
  };
}

/** What it asks for, as text: who is watched, and what. */
function askedBy({ metadata, spec = {} }: Asking): string | undefined {
  const value = metadata.annotations?.['k8spatterns.io/restart-on-change'];
  if (value === undefined) return undefined;
  const references = (spec.template?.spec.containers ?? []).flatMap(({ envFrom = [] }) =>
    envFrom.map(({ configMapRef, secretRef }) =>
      configMapRef ? `ConfigMap/${configMapRef.name}` : `Secret/${secretRef?.name}`,
    ),
  );
  const listed = value.split(', ').map((source) => source.replace('configmap', 'ConfigMap'));
  const sources = value === 'referenced' ? references : listed;
  return sources.length === 0 ? undefined : textOf(spec.selector?.matchLabels, sources);
}

function givenBy(spec: ConfigWatcherSpec): string {
  return textOf(
    spec.podSelector,
    sourcesOf(spec).map(({ kind, name }) => `${kind}/${name}`),
  );
}

/** Whether it has the options that are asked for; the API server has filled in the rest. */
function hasOptions({ spec }: ConfigWatcher, { metadata: { annotations = {} } }: Asking): boolean {
  const options = JSON.parse(annotations['k8spatterns.io/restart-options'] ?? '{}') as ConfigWatcherSpec;
  return contains(spec, options) && (spec.suspend ?? false) === (options.suspend ?? false);
}

function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part;
  const all = (whole ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(part).every(([name, value]) => contains(all[name], value));
}

function textOf(labels: Readonly<Record<string, string>> = {}, sources: readonly string[]): string {
  return JSON.stringify([Object.entries(labels).sort(), [...new Set(sources)].sort()]);
}

const kinds = { deployments: 'deployment', statefulsets: 'statefulset', daemonsets: 'daemonset' } as const;

export const askedIsGiven: NamedPromise = {
  name: 'L10',
  sentence:
    'a workload that asks for a ConfigWatcher has the one that it asks for, and one that asks no more has none',
  start(history) {
    const look = (workload: Asking, kind: string) => {
      const { namespace = '', name, uid, deletionTimestamp } = workload.metadata;
      if (deletionTimestamp !== undefined) return undefined;
      const watcher = history.objects.get<ConfigWatcher>('configwatchers', namespace, `${kind}-${name}`);
      const isOwn = watcher !== undefined && controllerOf(watcher)?.uid === uid;
      const given = isOwn ? givenBy(watcher.spec) : undefined;
      const asked = askedBy(workload);
      if (asked !== given) {
        const text = `${kind} ${name} asks for ${asked ?? 'nothing'} and has ${given ?? 'nothing'}`;
        return { text, clue: kind };
      }
      if (!isOwn) return undefined;
      return hasOptions(watcher, workload) ? kept : { text: `${kind} ${name} has other options`, clue: kind };
    };
    const isOther = ({ metadata }: ConfigWatcher, workloads: ReadonlyMap<string, string>) => {
      const name = workloads.get(controllerOf({ metadata })?.uid ?? '');
      return name !== undefined && name !== metadata.name;
    };
    return {
      calm() {
        const isQuiet = history.time - history.disturbedAt >= settling;
        if (!isQuiet || !hasWorked(history, retriedWithin)) return undefined;
        const all = Object.entries(kinds).flatMap(([plural, kind]) =>
          history.objects.list<Asking>(plural).map((workload) => ({ workload, kind })),
        );
        const names = new Map(
          all.map(({ workload: { metadata }, kind }) => [metadata.uid ?? '', `${kind}-${metadata.name}`]),
        );
        const other = history.objects
          .list<ConfigWatcher>('configwatchers')
          .find((watcher) => isOther(watcher, names));
        return other === undefined
          ? among(all, ({ workload, kind }) => look(workload, kind))
          : { text: `${other.metadata.name} is of a workload that has another one`, clue: 'other' };
      },
    };
  },
};
