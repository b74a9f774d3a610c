/**
 * The ConfigWatcher controller: what it watches and how its parts are wired.
 *
 * ConfigMaps and Pods are watched as metadata only, under a form of their own, so no other controller of
 * the process shares or shapes these copies. Contents and the state of Pods are read when a decision turns
 * on them, from the API server and not from a copy that may be old.
 */

import type { ConfigWatcher } from '../api/configwatcher.generated.ts';
import { watcherAnnotation } from '../api/configwatcher-constants.ts';
import { configWatchers, configWatchersCom } from '../api/resources.ts';
import { configMaps, type KubernetesObject, pods, type Resource } from '../kubernetes/objects.ts';
import { secrets } from '../kubernetes/types/core.generated.ts';
import { controllerManagedBy } from '../runtime/controller/builder.ts';
import { enqueueRequestsFromMap } from '../runtime/controller/event-handler.ts';
import {
  annotationChanged,
  generationChanged,
  or,
  resourceVersionChanged,
} from '../runtime/controller/predicate.ts';
import type { Runnable } from '../runtime/controller/runnable.ts';
import type { Manager } from '../runtime/manager/manager.ts';
import { AnnotationStore } from './act/annotation-store.ts';
import { ConfigWatcherMetrics } from './act/configwatcher-metrics.ts';
import { PodControl } from './act/pod-control.ts';
import { RolloutRights } from './act/rollout-rights.ts';
import { StateStore } from './act/state-store.ts';
import type { WatcherParts } from './act/watcher-parts.ts';
import { mayRestartNow } from './decide/pending.ts';
import { AnnotatedConfigMaps, annotatedIn, annotatedIndex } from './facts/annotated-config-map.ts';
import { HashKeyStore } from './facts/hash-key.ts';
import { Observer } from './facts/observer.ts';
import { podWakeUps } from './facts/pod-wake-ups.ts';
import { statusChecks } from './facts/status-checks.ts';
import {
  changeRecorded,
  sourceIndex,
  sourcesOf,
  transformPod,
  transformSource,
  watchersOf,
} from './facts/watched-objects.ts';
import { sourceKinds } from './plan/source-kinds.ts';
import { ConfigWatcherReconciler } from './reconciler.ts';
import { ServedController } from './served-controller.ts';

export interface ConfigWatcherControllerOptions {
  /** The Pod this process runs in, which is restarted after all others. */
  readonly ownPod?: { readonly namespace: string; readonly name: string };
  /**
   * Present where the operator is installed with access to Secrets: the operator's own namespace, where the
   * key of their published hashes is kept.
   */
  readonly secretKeyNamespace?: string;
  /** Whether ConfigMaps that name their Pods in an annotation are served as well. */
  readonly annotationController?: boolean;
  /**
   * Whether an admission policy keeps the right to patch workloads to the annotation that restarts them. While it does
   * not, strategy Auto evicts. Default: it does.
   */
  readonly isPatchJailed?: () => boolean;
  /**
   * Watchers looked at at the same time. Default 32, as many as there are requests in flight: while watchers
   * wait, it is for the API server and not for each other.
   */
  readonly maxConcurrentReconciles?: number;
}

const name = 'configwatcher';
/** Reads and a batch of evictions; longer means that the API server hangs. */
const reconcileTimeout = 120_000;
/** A failed look is repeated at least this often, so that a change is not found minutes late. */
const maxBackoff = 60_000;

/** Metadata of any kind has the same shape, whatever the type of the whole object. */
function metadataOf(resource: Resource): Resource<KubernetesObject> {
  return { ...resource };
}

const sourceOptions = { metadataOnly: true, transform: transformSource };
const podOptions = { metadataOnly: true, transform: transformPod };
const watcherOptions = { indexes: { [sourceIndex]: sourcesOf } };

/** What the controllers of both groups share: one clock, one bound on requests, one key, one set of metrics. */
interface Shared {
  readonly manager: Manager;
  readonly options: ConfigWatcherControllerOptions;
  readonly podControl: PodControl;
  readonly rights: RolloutRights;
  readonly metrics: ConfigWatcherMetrics;
  readonly keys: HashKeyStore | undefined;
}

/**
 * Adds the controllers of both API groups to the manager. Which groups are served is learned from
 * discovery; where neither is, the first one is missed.
 */
export function addConfigWatcherController(manager: Manager, options: ConfigWatcherControllerOptions): void {
  const { client, clock, randomness, log, registry } = manager;
  const { secretKeyNamespace, isPatchJailed } = options;
  const rights = new RolloutRights(clock, isPatchJailed);
  const shared = {
    ...{ manager, options },
    rights,
    podControl: new PodControl(client, rights),
    metrics: new ConfigWatcherMetrics(registry),
    keys:
      secretKeyNamespace === undefined ? undefined : new HashKeyStore(client, secretKeyNamespace, randomness),
  };
  for (const [runnable, resource, others] of [
    [name, configWatchers, { unless: configWatchersCom, optional: false }],
    [`${name}-com`, configWatchersCom, { optional: true }],
  ] as const) {
    const make = () => watcherController(runnable, resource, shared);
    manager.add(new ServedController({ name: runnable, resource, ...others, client, clock, log, make }));
  }
  if (options.annotationController) manager.add(annotationController(shared));
}

/** The controller of one API group. */
function watcherController(
  controllerName: string,
  resource: Resource<ConfigWatcher>,
  shared: Shared,
): Runnable {
  const { informers, client, clock } = shared.manager;
  const watch = informers.informerFor(resource, watcherOptions);
  const watchers = watch.lister;
  const store = new StateStore(resource, client, clock);
  const builder = builderOf(controllerName, { watchers, store }, shared).for(resource, {
    ...watcherOptions,
    predicates: [or(generationChanged, annotationChanged(watcherAnnotation.restartNow), changeRecorded)],
  });
  for (const [kind, { resource: source, isConfidential }] of Object.entries(sourceKinds)) {
    if (isConfidential && !shared.keys) continue;
    const wake = enqueueRequestsFromMap((object: KubernetesObject) => watchersOf(watchers, kind, object));
    builder.watches(metadataOf(source), wake, { ...sourceOptions, predicates: [resourceVersionChanged] });
  }
  builder.watchesSource(statusChecks({ resource, client, clock, watchers, store }));
  return builder.complete(reconcilerOf({ resource, group: resource.group, watchers, watch, store }, shared));
}

/** The controller of the ConfigMaps that name their Pods themselves. */
function annotationController(shared: Shared): Runnable {
  const { informers, client } = shared.manager;
  const annotated = { ...sourceOptions, indexes: { [annotatedIndex]: annotatedIn } };
  const resource = metadataOf(configMaps);
  const watch = informers.informerFor(resource, annotated);
  const watchers = new AnnotatedConfigMaps(watch.lister);
  const store = new AnnotationStore(client);
  const wake = enqueueRequestsFromMap((object: KubernetesObject) => {
    return annotatedIn(object).map((namespace) => ({ namespace, name: object.metadata.name }));
  });
  return builderOf(`${name}-annotation`, { watchers, store }, shared)
    .watches(resource, wake, { ...annotated, predicates: [resourceVersionChanged] })
    .complete(reconcilerOf({ resource, group: configWatchers.group, watchers, watch, store }, shared));
}

function builderOf(
  controllerName: string,
  { watchers, store }: Pick<WatcherParts, 'watchers' | 'store'>,
  { manager, options }: Shared,
) {
  const { informers, clock, randomness, log, registry } = manager;
  const { maxConcurrentReconciles = 32 } = options;
  const podInformer = informers.informerFor(metadataOf(pods), podOptions);
  // The caller hands the controller to the manager.
  return controllerManagedBy({ informers, clock, randomness, log, registry, add: () => {} })
    .named(controllerName)
    .watchesSource(
      podWakeUps({ pods: podInformer, watchers, stateOf: (one) => store.read(one, undefined), clock }),
    )
    .withOptions({ maxConcurrentReconciles, reconcileTimeout, maxBackoff });
}

function reconcilerOf(
  {
    resource,
    group,
    watchers,
    watch,
    store,
  }: Pick<WatcherParts, 'resource' | 'watchers' | 'watch' | 'store'> & { readonly group: string },
  { manager, options, podControl, rights, metrics, keys }: Shared,
): ConfigWatcherReconciler {
  const { informers, client, clock, randomness } = manager;
  const { ownPod } = options;
  const listerOf = (source: Resource) => informers.informerFor(metadataOf(source), sourceOptions).lister;
  const observer = new Observer({
    ...{ group, kind: resource.kind, client, clock },
    configMaps: listerOf(configMaps),
    ...(keys && { secrets: { metadata: listerOf(secrets), hashKey: () => keys.key() } }),
    pods: informers.informerFor(metadataOf(pods), podOptions).lister,
    rolloutRight: (namespace) => rights.of(namespace),
    mayRestartNow,
    ...(ownPod && { ownPod }),
  });
  const recorder = manager.recorder(name);
  return new ConfigWatcherReconciler({
    ...{ resource, watchers, watch, store, observer, podControl, recorder, metrics, clock },
    random: () => randomness.random(),
  });
}
