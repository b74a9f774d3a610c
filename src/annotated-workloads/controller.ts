/**
 * The controller of the workloads that ask for restarts themselves: what it watches and how its parts are wired.
 *
 * Of a workload that asks for nothing its identity alone is kept. Without this controller no workload is watched.
 */
import type { ConfigWatcher } from '../api/configwatcher.generated.ts';
import { configWatchers, configWatchersCom } from '../api/resources.ts';
import { transformSource } from '../configwatcher/facts/watched-objects.ts';
import { ServedController } from '../configwatcher/served-controller.ts';
import { configMaps, type KubernetesObject, type Resource } from '../kubernetes/objects.ts';
import { secrets } from '../kubernetes/types/core.generated.ts';
import type { InformerOptions } from '../runtime/cache/informer.ts';
import { findServed } from '../runtime/client/discovery.ts';
import { sleep } from '../runtime/clock.ts';
import { controllerManagedBy } from '../runtime/controller/builder.ts';
import { enqueueRequestsFromMap } from '../runtime/controller/event-handler.ts';
import { annotationChanged, generationChanged, or } from '../runtime/controller/predicate.ts';
import type { Runnable } from '../runtime/controller/runnable.ts';
import type { Manager } from '../runtime/manager/manager.ts';
import {
  askingIn,
  askingIndex,
  batchKinds,
  changesPresence,
  concernedBy,
  isAsking,
  presentSources,
  requestFor,
  rollouts,
  transformOther,
  workloads,
  workloadsOf,
} from './facts/watched-workloads.ts';
import { hasReloaderAnnotation, type Modes, transformWorkload, type Workload } from './plan/workload.ts';
import { type Watched, WorkloadReconciler } from './reconciler.ts';

export interface AnnotatedWorkloadsOptions extends Modes {
  /** Whether Secrets may be sources. */
  readonly secretAccess: boolean;
}

const name = 'annotated-workloads';
/** Between two questions about the groups that are served. */
const discoveryRetryMs = 1000;
/** Two writes; longer means that the API server hangs. */
const reconcileTimeout = 60_000;
const maxBackoff = 60_000;

const sourceOptions = { metadataOnly: true, transform: transformSource };
const otherOptions = { metadataOnly: true, transform: transformOther };

/** Metadata of any kind has the same shape, whatever the type of the whole object. */
function metadataOf(resource: Resource): Resource<KubernetesObject> {
  return { ...resource };
}

/**
 * Adds the controller to the manager. Its ConfigWatchers are in k8spatterns.io, or in k8spatterns.com where that alone
 * is served when it starts.
 */
export function addAnnotatedWorkloadsController(manager: Manager, options: AnnotatedWorkloadsOptions): void {
  const { client, clock, log } = manager;
  // What is chosen here holds for the life of the process, so that an error is no answer.
  const isServed = (signal: AbortSignal) => async (resource: Resource) => {
    while (!signal.aborted) {
      try {
        return (await findServed(client, resource, { signal })) !== undefined;
      } catch (err) {
        if (!signal.aborted) log.warn({ err, group: resource.group }, 'discovery failed');
        await sleep(clock, discoveryRetryMs, signal).catch(() => {});
      }
    }
    return false;
  };
  const make = async (signal: AbortSignal) => {
    const [group = configWatchers] = await served([configWatchers, configWatchersCom], isServed(signal));
    const others = options.reloaderAnnotations
      ? [...batchKinds, ...(await served([rollouts], isServed(signal)))]
      : [];
    return workloadController(manager, options, group, others);
  };
  const resource = configWatchers;
  const either = { unless: configWatchersCom, orElse: configWatchersCom, optional: false };
  manager.add(new ServedController({ ...{ name, resource, client, clock, log, make }, ...either }));
}

async function served<T extends Resource>(
  resources: readonly T[],
  isServed: (resource: Resource) => Promise<boolean>,
): Promise<readonly T[]> {
  const answers = await Promise.all(resources.map(isServed));
  return resources.filter((_, index) => answers[index]);
}

function workloadController(
  manager: Manager,
  { secretAccess, ...modes }: AnnotatedWorkloadsOptions,
  group: Resource<ConfigWatcher>,
  others: readonly Resource[],
): Runnable {
  const { informers, client, clock, randomness, log, registry } = manager;
  const workloadOptions: InformerOptions<Workload> = {
    transform: (workload) => transformWorkload(workload, modes),
    indexes: { [askingIndex]: askingIn },
  };
  const watchedAs = <T extends KubernetesObject>(
    resource: Resource<T>,
    options: InformerOptions<T>,
  ): Watched<T> => ({
    resource,
    lister: informers.informerFor(resource, options).lister,
  });
  const watched = workloads.map((resource) => watchedAs(resource, workloadOptions));
  const listers = new Map(watched.map(({ resource, lister }) => [resource.kind, lister]));
  const sources = {
    ConfigMap: informers.informerFor(metadataOf(configMaps), sourceOptions).lister,
    ...(secretAccess && { Secret: informers.informerFor(metadataOf(secrets), sourceOptions).lister }),
  };
  // The ServedController hands it to the manager.
  const builder = controllerManagedBy({ informers, clock, randomness, log, registry, add: () => {} }).named(
    name,
  );
  for (const resource of workloads) {
    const own = (one: Workload) => (isAsking(one) ? [requestFor(resource.kind, one.metadata)] : []);
    const predicates = [or(generationChanged, annotationChanged())];
    builder.watches(resource, enqueueRequestsFromMap(own), { ...workloadOptions, predicates });
  }
  builder.watches(group, enqueueRequestsFromMap(workloadsOf), { predicates: [generationChanged] });
  for (const resource of others) {
    const own = ({ metadata }: KubernetesObject) =>
      hasReloaderAnnotation(metadata.annotations) ? [requestFor(resource.kind, metadata)] : [];
    builder.watches(metadataOf(resource), enqueueRequestsFromMap(own), {
      ...otherOptions,
      predicates: [annotationChanged()],
    });
  }
  for (const kind of modes.reloaderAnnotations ? (['ConfigMap', 'Secret'] as const) : []) {
    if (kind === 'Secret' && !secretAccess) continue;
    const concerned = (source: KubernetesObject) => concernedBy(source, kind, listers, modes.autoReloadAll);
    const resource = metadataOf(kind === 'Secret' ? secrets : configMaps);
    builder.watches(resource, enqueueRequestsFromMap(concerned), {
      ...sourceOptions,
      predicates: [changesPresence],
    });
  }
  return builder.withOptions({ maxConcurrentReconciles: 8, reconcileTimeout, maxBackoff }).complete(
    new WorkloadReconciler({
      ...{ client, clock, modes, secretAccess, workloads: watched, recorder: manager.recorder(name) },
      others: others.map((resource) => watchedAs(metadataOf(resource), otherOptions)),
      watchers: watchedAs(group, {}),
      presentIn: (namespace) => presentSources(sources, namespace),
    }),
  );
}
