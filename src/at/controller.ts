/**
 * The At controller: what it watches, in which order it works, and how its parts are wired.
 */

import { ats } from '../api/resources.ts';
import { pods } from '../kubernetes/objects.ts';
import type { Client } from '../runtime/client/client.ts';
import { ClockProbe } from '../runtime/clock-probe.ts';
import { type ControllerHost, controllerManagedBy } from '../runtime/controller/builder.ts';
import type { Controller } from '../runtime/controller/controller.ts';
import { enqueueRequestsFromMap } from '../runtime/controller/event-handler.ts';
import type { Request } from '../runtime/controller/reconciler.ts';
import type { Runnable } from '../runtime/controller/runnable.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import type { ServerClock } from '../runtime/server-clock.ts';
import { AtMetrics } from './act/at-metrics.ts';
import { AuthorCheck } from './act/author-check.ts';
import { ClockSkew } from './act/clock-skew.ts';
import { LaunchTurns } from './act/launch-turns.ts';
import { WakeSource } from './act/wake-source.ts';
import type { AtDefaults } from './decide/decision.ts';
import { DepartedPods } from './facts/departed-pods.ts';
import { DueSoon } from './facts/due-soon.ts';
import { atsOf, trackedAts, trackedIndex } from './facts/pod-owner.ts';
import { queuePriority } from './facts/queue-priority.ts';
import { slimAt, slimPod } from './facts/transform.ts';
import { podUidLabel } from './plan/pod.ts';
import { AtReconciler } from './reconciler.ts';

/** What this controller needs of the Manager. */
export interface AtHost extends ControllerHost {
  readonly client: Client;
  readonly clock: ServerClock;
  readonly connection: { onAnswer(listener: () => void): unknown };
  recorder(controllerName: string): EventRecorder;
}

export interface AtControllerOptions {
  /** Ats looked at at the same time. Default 32: as many as a connection pool has connections. */
  readonly maxConcurrentReconciles?: number;
  /** Whether Pods of ExactlyOnce get a finalizer. Default true: as with rights in the whole cluster. */
  readonly tracks?: boolean;
  /** For fields that an At leaves open. */
  readonly defaults?: AtDefaults;
  /** Whether the author of an At must still have the right to create Pods when it runs. Default false. */
  readonly checksAuthors?: boolean;
}

const name = 'at';
/** Longest backoff after an error, in milliseconds: a due At must run soon after the trouble is over. */
const maxBackoff = 10_000;

/** Namespaces take turns: an At is not late because a stranger has ten thousand that are due with it. */
const flowOf = ({ namespace }: Request) => namespace;

/** Adds the controller to the manager; it runs when the manager does. */
export function addAtController(host: AtHost, options: AtControllerOptions = {}): Controller {
  const { client, clock, informers, log, registry } = host;
  const { maxConcurrentReconciles = 32 } = options;
  const atOptions = { transform: slimAt };
  // Only Pods with the label of an At: the other Pods of the cluster cost nothing.
  const podOptions = {
    transform: slimPod,
    labelSelector: podUidLabel,
    indexes: { [trackedIndex]: trackedAts },
  };
  const atInformer = informers.informerFor(ats, atOptions);
  const atLister = atInformer.lister;
  const podInformer = informers.informerFor(pods, podOptions);
  const skew = new ClockSkew(registry, clock, log.child({ controller: name }));
  host.connection.onAnswer(() => skew.check());
  const dueSoon = new DueSoon(atInformer, clock);
  host.add(new ClockProbe({ name: 'clock-probe', client, clock, log, isNeeded: () => dueSoon.isNear }));
  const metrics = new AtMetrics(
    registry,
    () => atLister.list(),
    () => clock.now(),
  );
  const authorCheck = options.checksAuthors ? new AuthorCheck({ client, clock }) : undefined;
  if (authorCheck !== undefined) host.add(authorCheckStart(authorCheck));
  const wakes = new WakeSource(() => turns.stop());
  const turns = new LaunchTurns(clock, (key) => wakes.wake(key));
  const reconciler = new AtReconciler({
    client,
    clock,
    recorder: host.recorder(name),
    ats: atLister,
    pods: podInformer.lister,
    departed: new DepartedPods(podInformer, atInformer),
    tracks: options.tracks ?? true,
    ...(options.defaults && { defaults: options.defaults }),
    turns,
    ...(authorCheck && { authorCheck }),
    onStatus: (before, after) => metrics.written(before, after),
  });
  return controllerManagedBy(host)
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

/** Keeps an operator from working where no API server can record authors. */
function authorCheckStart(check: AuthorCheck): Runnable {
  return {
    ...{ name: 'author-check', needsLeaderElection: false },
    warmUp: (stop) => check.assertServed({ signal: stop }),
    start: async () => {},
  };
}
