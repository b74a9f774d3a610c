/** Workloads that ask for restarts: what a test does not name is the usual case. */

import {
  type Action,
  type Decision,
  decide,
  type Found,
} from '../../src/annotated-workloads/decide/decide.ts';
import type { PresentSources } from '../../src/annotated-workloads/plan/reloader.ts';
import type { Annotations, Workload } from '../../src/annotated-workloads/plan/workload.ts';
import type { ConfigWatcher, ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import type { PodSpec } from '../../src/kubernetes/objects.ts';

export const deployments = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};

export const uid = 'workload-uid';

/** One container that takes ConfigMap `config` and Secret `password` whole. */
export const usual: PodSpec = {
  containers: [
    { name: 'app', envFrom: [{ configMapRef: { name: 'config' } }, { secretRef: { name: 'password' } }] },
  ],
};

export interface WorkloadParts {
  readonly annotations?: Annotations;
  readonly templateAnnotations?: Annotations;
  readonly podSpec?: PodSpec;
  readonly labels?: Annotations;
  readonly selector?: NonNullable<Workload['spec']>['selector'];
  readonly paused?: boolean;
  readonly deletionTimestamp?: string;
  readonly name?: string;
}

export function workload({
  annotations = {},
  templateAnnotations = {},
  podSpec = usual,
  labels = { app: 'web' },
  selector = { matchLabels: { app: 'web' } },
  paused = false,
  deletionTimestamp,
  name = 'web',
}: WorkloadParts = {}): Workload {
  return {
    metadata: { namespace: 'shop', name, uid, annotations, ...(deletionTimestamp && { deletionTimestamp }) },
    spec: {
      paused,
      selector,
      template: { metadata: { labels, annotations: templateAnnotations }, spec: podSpec },
    },
  };
}

type Present = Readonly<Record<string, { readonly match?: boolean; readonly ignore?: boolean }>>;

/** By `ConfigMap/name` and `Secret/name`. */
export function presentSources(sources: Present): PresentSources {
  return {
    find(kind, name) {
      const { match = false, ignore = false } = sources[`${kind}/${name}`] ?? {};
      return sources[`${kind}/${name}`] && { match, ignore };
    },
    names: (kind) =>
      Object.keys(sources)
        .filter((key) => key.startsWith(`${kind}/`))
        .map((key) => key.slice(kind.length + 1)),
  };
}

export interface FoundParts extends Partial<Omit<Found, 'watcher' | 'present'>> {
  readonly watcher?: ConfigWatcher | undefined;
  readonly present?: Present;
}

export function found({ watcher, present = {}, ...more }: FoundParts = {}): Found {
  return {
    resource: deployments,
    watcher,
    ...{
      present: presentSources(present),
      secretAccess: true,
      reloaderAnnotations: false,
      autoReloadAll: false,
    },
    ...more,
  };
}

/** The action of a decision. */
export function actionOf({ action }: Decision): Action {
  if (action === undefined) throw new Error('no action');
  return action;
}

/** The spec that a workload gets. */
export function specFor(parts: WorkloadParts, more: FoundParts = {}): ConfigWatcherSpec {
  return actionOf(decide(workload(parts), found(more))).watcher.spec;
}

/** `ConfigMap/config[a b]?`: keys in brackets, a question mark where it is optional. */
export function sourcesText({ sources = [] }: ConfigWatcherSpec): string {
  return sources
    .map(
      ({ kind, name, keys, optional }) =>
        `${kind}/${name}${keys ? `[${keys.join(' ')}]` : ''}${optional ? '?' : ''}`,
    )
    .join(', ');
}
