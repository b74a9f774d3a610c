/**
 * Watched workloads: what is kept of the workloads of a cluster, and which of them an event is for. One queue serves all
 * kinds, so the name of a request is `Kind/name`.
 */
import type { ConfigWatcher, ConfigWatcherSpecSourceKind } from '../../api/configwatcher.generated.ts';
import { reloaderSourceAnnotation } from '../../api/configwatcher-constants.ts';
import { daemonSets, deployments, statefulSets } from '../../configwatcher/facts/workload.ts';
import { controllerOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { ObjectEvent } from '../../runtime/controller/event-handler.ts';
import type { Request } from '../../runtime/controller/reconciler.ts';
import { concerns, type PresentSources } from '../plan/reloader.ts';
import { hasReloaderAnnotation, type Workload } from '../plan/workload.ts';

function workload({ plural, kind }: Resource): Resource<Workload> {
  return { group: 'apps', version: 'v1', plural, kind, namespaced: true };
}

/** Kinds that may have a ConfigWatcher of their own. */
export const workloads: readonly Resource<Workload>[] = [deployments, statefulSets, daemonSets].map(workload);

function batch(plural: string, kind: string): Resource {
  return { group: 'batch', version: 'v1', plural, kind, namespaced: true };
}

/** Kinds that Reloader knows and that get no ConfigWatcher. */
export const batchKinds: readonly Resource[] = [batch('cronjobs', 'CronJob'), batch('jobs', 'Job')];
export const rollouts: Resource = {
  ...{ group: 'argoproj.io', version: 'v1alpha1', plural: 'rollouts', kind: 'Rollout', namespaced: true },
};

/** Of a kind that gets no ConfigWatcher: which object it is, and Reloader's annotations of it. */
export function transformOther(object: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion, annotations = {} } = object.metadata;
  // Of a Job that a CronJob has made, the CronJob speaks.
  const isMade = controllerOf(object)?.kind === 'CronJob';
  const kept = Object.entries(annotations).filter(
    ([key, value]) => !isMade && hasReloaderAnnotation({ [key]: value }),
  );
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
    },
  };
}

export function requestFor(kind: string, { namespace = '', name }: KubernetesObject['metadata']): Request {
  return { namespace, name: `${kind}/${name}` };
}

/** The kind and name of a request. */
export function subjectOf({ name }: Request): { readonly kind: string; readonly name: string } {
  const slash = name.indexOf('/');
  return { kind: name.slice(0, slash), name: name.slice(slash + 1) };
}

/** A workload that asks for nothing has lost its spec on the way into the store. */
export function isAsking({ spec }: Workload): boolean {
  return spec !== undefined;
}

/** Whose ConfigWatcher this is; where it has no owner, whose name it takes. */
export function workloadsOf(watcher: ConfigWatcher): readonly Request[] {
  const { name, namespace } = watcher.metadata;
  const owner = controllerOf(watcher);
  const resource = workloads.find(({ kind }) => kind === owner?.kind && owner.apiVersion.startsWith('apps/'));
  if (owner && resource)
    return [requestFor(resource.kind, { name: owner.name, ...(namespace && { namespace }) })];
  const named = workloads.find(({ kind }) => name.startsWith(`${kind.toLowerCase()}-`));
  if (named === undefined) return [];
  const rest = name.slice(named.kind.length + 1);
  return [requestFor(named.kind, { name: rest, ...(namespace && { namespace }) })];
}

/** Name of the index that finds the workloads that ask for something, by namespace. */
export const askingIndex = 'annotated-workloads/asking';

export function askingIn(object: Workload): readonly string[] {
  return isAsking(object) ? [object.metadata.namespace ?? ''] : [];
}

/** The workloads whose sources may be others because of this one. */
export function concernedBy(
  source: KubernetesObject,
  kind: ConfigWatcherSpecSourceKind,
  listers: ReadonlyMap<string, Lister<Workload>>,
  autoReloadAll: boolean,
): readonly Request[] {
  const { namespace = '', name } = source.metadata;
  return [...listers].flatMap(([workloadKind, lister]) =>
    lister
      .byIndex(askingIndex, namespace)
      .filter((one) => concerns(one, kind, name, autoReloadAll))
      .map(({ metadata }) => requestFor(workloadKind, metadata)),
  );
}

const { match, ignore } = reloaderSourceAnnotation;

/** A source came or went, or says something else of itself. The first list is looked at with each workload. */
export function changesPresence(event: ObjectEvent<KubernetesObject>): boolean {
  if (event.type === 'create') return !event.initial;
  if (event.type === 'delete') return true;
  const [before, now] = [event.previous.metadata.annotations, event.object.metadata.annotations];
  return before?.[match] !== now?.[match] || before?.[ignore] !== now?.[ignore];
}

/** The sources of one namespace, from metadata. Without access to Secrets there is no lister of them. */
export function presentSources(
  listers: Readonly<Partial<Record<ConfigWatcherSpecSourceKind, Lister<KubernetesObject>>>>,
  namespace: string,
): PresentSources {
  return {
    find(kind, name) {
      const source = listers[kind]?.get(namespace, name);
      if (source === undefined) return undefined;
      const { annotations = {} } = source.metadata;
      return { match: annotations[match] === 'true', ignore: annotations[ignore] === 'true' };
    },
    names: (kind) => (listers[kind]?.list(namespace) ?? []).map(({ metadata }) => metadata.name),
  };
}
