/** L10: what workloads ask for by their annotations. */
import type { ConfigWatcher, ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import { controllerOf, type KubernetesObject, type Pod } from '../../../src/kubernetes/objects.ts';
import { among, kept, type NamedPromise } from '../history.ts';
import { sourcesOf } from '../selector.ts';
import { hasWorked } from './liveness.ts';

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
      if (asked === given) return asked === undefined ? undefined : kept;
      return {
        text: `${kind} ${name} asks for ${asked ?? 'nothing'} and has ${given ?? 'nothing'}`,
        clue: kind,
      };
    };
    return {
      calm() {
        if (!hasWorked(history, retriedWithin)) return undefined;
        const all = Object.entries(kinds).flatMap(([plural, kind]) =>
          history.objects.list<Asking>(plural).map((workload) => ({ workload, kind })),
        );
        return among(all, ({ workload, kind }) => look(workload, kind));
      },
    };
  },
};
