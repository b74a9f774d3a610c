/**
 * The At controller: what it watches, in which order it works, and how its parts are wired.
 */

import type { At } from '../api/at.generated.ts';
import { ats } from '../api/resources.ts';
import { type Pod, pods } from '../kubernetes/objects.ts';
import type { Informer } from '../runtime/cache/informer.ts';
import { ClockProbe } from '../runtime/clock-probe.ts';
import { controllerManagedBy } from '../runtime/controller/builder.ts';
import type { Controller } from '../runtime/controller/controller.ts';
import { enqueueRequestsFromMap } from '../runtime/controller/event-handler.ts';
import type { Request } from '../runtime/controller/reconciler.ts';
import type { Runnable } from '../runtime/controller/runnable.ts';
import { stalenessLimit } from '../runtime/limits.ts';
import type { Manager } from '../runtime/manager/manager.ts';
import { AtMetrics } from './act/at-metrics.ts';
import type { AtParts } from './act/at-parts.ts';
import { AuthorCheck } from './act/author-check.ts';
import { ClockSkew } from './act/clock-skew.ts';
import { Failover } from './act/failover.ts';
import { launchClient } from './act/launch-client.ts';
import { LaunchTurns } from './act/launch-turns.ts';
import { Memory } from './act/memory.ts';
import { Preflights } from './act/preflights.ts';
import { StandbyLaunch } from './act/standby-launch.ts';
import { WakeSource } from './act/wake-source.ts';
import { DepartedPods } from './facts/departed-pods.ts';
import { DueSoon } from './facts/due-soon.ts';
import { HiddenPods } from './facts/hidden-pods.ts';
import { LaunchableAts } from './facts/launchable-ats.ts';
import type { AtDefaults } from './facts/observed.ts';
import { atsOf, trackedAts, trackedIndex } from './facts/pod-owner.ts';
import { queuePriority } from './facts/queue-priority.ts';
import { transformAt, transformPod } from './facts/transform.ts';
import { podUidLabel } from './plan/pod.ts';
import { AtReconciler } from './reconciler.ts';

export interface AtControllerOptions {
  /** Ats looked at at the same time. Default 32: as many as a connection pool has connections. */
  readonly maxConcurrentReconciles?: number;
  /** Whether Pods of ExactlyOnce get a finalizer. Default true: as with rights in the whole cluster. */
  readonly tracks?: boolean;
  /** For fields that an At leaves open. */
  readonly defaults?: AtDefaults;
  /** For how long no replica has launched a due At before a standby does, in milliseconds. Default 0: never. */
  readonly failoverLaunchDelay?: number;
  /** Whether the author of an At must still have the right to create Pods when it runs. Default false. */
  readonly checksAuthors?: boolean;
}

const name = 'at';
/** Longest backoff after an error, in milliseconds: a due At must run soon after the error is gone. */
const maxBackoff = 10_000;

/** Namespaces take turns: an At is not late because a stranger has ten thousand that are due with it. */
const flowOf = ({ namespace }: Request) => namespace;

/** Adds the controller to the manager; it runs when the manager does. */
export function addAtController(manager: Manager, options: AtControllerOptions = {}): Controller {
  const { client, clock, informers, log, registry } = manager;
  const { maxConcurrentReconciles = 32 } = options;
  const atOptions = { transform: transformAt };
  // Only Pods with the label of an At: the other Pods of the cluster cost nothing.
  const podOptions = {
    transform: transformPod,
    labelSelector: podUidLabel,
    indexes: { [trackedIndex]: trackedAts },
  };
  const atInformer = informers.informerFor(ats, atOptions);
  const atLister = atInformer.lister;
  const podInformer = informers.informerFor(pods, podOptions);
  const skew = new ClockSkew(registry, clock, log.child({ controller: name }));
  manager.connection.onAnswer(() => skew.check());
  const dueSoon = new DueSoon(atInformer, clock);
  manager.add(new ClockProbe({ name: 'clock-probe', client, clock, log, isNeeded: () => dueSoon.isNear }));
  const metrics = new AtMetrics(
    registry,
    () => atLister.list(),
    () => clock.now(),
  );
  const departed = new DepartedPods(podInformer, atInformer);
  const isBlind = () => Math.max(atInformer.staleness(), podInformer.staleness()) > stalenessLimit;
  const watched = { ats: atLister, pods: podInformer.lister, departed, isBlind };
  const common = { clock, ...watched, tracks: options.tracks ?? true };
  const terms = { ...common, memory: new Memory(), ...(options.defaults && { defaults: options.defaults }) };
  addFailover(manager, options, terms, { ats: atInformer, pods: podInformer });
  const authorCheck = options.checksAuthors ? new AuthorCheck(client, clock) : undefined;
  if (authorCheck !== undefined) manager.add(authorCheckStart(authorCheck));
  const wakes = new WakeSource(() => turns.stop());
  const turns = new LaunchTurns(clock, (key) => wakes.wake(key));
  const preflights = new Preflights({
    ...terms,
    client,
    random: () => manager.randomness.random(),
    wake: (key) => wakes.wake(key),
  });
  manager.add(preflights);
  const reconciler = new AtReconciler({
    ...terms,
    client,
    recorder: manager.recorder(name),
    turns,
    preflights,
    hidden: new HiddenPods(podInformer),
    ...(authorCheck && { authorCheck }),
    onStatus: (before, after) => metrics.written(before, after),
  });
  return controllerManagedBy(manager)
    .named(name)
    .for(ats, {
      ...atOptions,
      priority: (at, { initial }) => queuePriority(at, clock.now(), initial),
    })
    .watches(pods, enqueueRequestsFromMap(atsOf), podOptions)
    .watchesSource(wakes)
    .withOptions({ maxConcurrentReconciles, maxBackoff, flowOf })
    .complete(reconciler);
}

/** What launches Ats while this process does not lead, where that is wanted and there is an election. */
function addFailover(
  manager: Manager,
  { failoverLaunchDelay = 0, checksAuthors = false }: AtControllerOptions,
  terms: Pick<AtParts, 'clock' | 'ats' | 'pods' | 'departed' | 'tracks' | 'defaults' | 'memory'> & {
    readonly isBlind: () => boolean;
  },
  informers: { readonly ats: Informer<At>; readonly pods: Informer<Pod> },
): void {
  if (failoverLaunchDelay === 0 || manager.hasLed) return;
  const { clock, log, randomness } = manager;
  const client = launchClient(manager.ungatedClient);
  const launch = new StandbyLaunch({
    ...terms,
    client,
    atInformer: informers.ats,
    turns: new LaunchTurns(clock, (key) => failover.retry(key)),
    ...(checksAuthors && { authorCheck: new AuthorCheck(client, clock) }),
  });
  const launchable = new LaunchableAts({ ...terms, ats: informers.ats }, () => failover.wake());
  const failover = new Failover({
    ...{ clock, log, launchable, launch, pods: informers.pods, isBlind: terms.isBlind },
    random: () => randomness.random(),
    delayMs: failoverLaunchDelay,
    hasLed: () => manager.hasLed,
  });
  manager.add(failover);
}

/** Keeps an operator from working where no API server can record authors. */
function authorCheckStart(check: AuthorCheck): Runnable {
  return {
    ...{ name: 'author-check', needsLeaderElection: false },
    warmUp: (stop) => check.assertServed(stop),
    start: async () => {},
  };
}
