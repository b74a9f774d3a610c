/**
 * The At controller: what it watches, in which order it works, and how its parts are wired.
 */
import { randomUUID } from 'node:crypto';
import type { At } from '../api/at.generated.ts';
import { pods } from '../api/kubernetes.ts';
import { ats } from '../api/resources.ts';
import type { Client } from '../runtime/client/client.ts';
import { type ControllerHost, controllerManagedBy } from '../runtime/controller/builder.ts';
import type { Controller } from '../runtime/controller/controller.ts';
import { initialListPriority } from '../runtime/controller/source.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import { AtMetrics } from './at-metrics.ts';
import { ClockSkew } from './clock-skew.ts';
import { launchPriority, retryPriority } from './decide/decision.ts';
import { AtReconciler } from './reconciler.ts';
import { slimAt, slimPod } from './slim.ts';
import { dueTime } from './spec/due.ts';
import { isEdited, isRefused } from './spec/phase.ts';
import { podUidLabel } from './spec/pod.ts';

/** What this controller needs of the Manager. */
export interface AtHost extends ControllerHost {
  readonly client: Client;
  readonly connection: { onServerDate(listener: (serverTime: number) => void): unknown };
  recorder(controllerName: string): EventRecorder;
}

export interface AtControllerOptions {
  /** Ats looked at at the same time. Default 32: as many as a connection pool has connections. */
  readonly maxConcurrentReconciles?: number;
}

const name = 'at';
/** Longest backoff after an error, in milliseconds: a due At must run soon after the trouble is over. */
const maxBackoff = 10_000;

/**
 * An At that will be due so soon, in milliseconds, takes its place among those that are: it has to be armed before
 * its time, or its turn comes after all that are due by then. Longer than the queue ever is, or, where arming begins
 * with a status write that takes from the launches, so little that its Pod could not be tried any more either.
 */
const soon = { accepted: 120_000, edited: 10_000 };

/** Adds the controller to the manager; it runs when the manager does. */
export function addAtController(host: AtHost, options: AtControllerOptions = {}): Controller {
  const { client, clock, informers, log, registry } = host;
  const { maxConcurrentReconciles = 32 } = options;
  const atOptions = { transform: slimAt };
  // Only Pods with the label of an At: the other Pods of the cluster cost nothing.
  const podOptions = { transform: slimPod, labelSelector: podUidLabel };
  const atLister = informers.informerFor(ats, atOptions).lister;
  const podLister = informers.informerFor(pods, podOptions).lister;
  const skew = new ClockSkew(registry, clock, log.child({ controller: name }));
  host.connection.onServerDate((serverTime) => skew.observe(serverTime));
  const metrics = new AtMetrics(
    registry,
    () => atLister.list(),
    () => clock.now(),
  );
  const reconciler = new AtReconciler({
    client,
    clock,
    recorder: host.recorder(name),
    ats: atLister,
    pods: podLister,
    holder: randomUUID(),
    onStatus: (before, after) => metrics.written(before, after),
  });
  /** When thousands are due together, or found due at the start, their Pods come before any status. */
  const priority = (at: At, { initial }: { readonly initial: boolean }): number => {
    if (isRefused(at)) {
      return retryPriority;
    }
    const wait = dueTime(at) - clock.now();
    if (wait <= (isEdited(at) ? soon.edited : soon.accepted)) {
      return launchPriority;
    }
    return initial ? initialListPriority : 0;
  };
  return (
    controllerManagedBy(host)
      .named(name)
      .for(ats, { ...atOptions, priority })
      .owns(pods, podOptions)
      // An At is not late because a stranger has ten thousand that are due with it.
      .withOptions({ maxConcurrentReconciles, maxBackoff, flowOf: ({ namespace }) => namespace })
      .complete(reconciler)
  );
}
