/** L8: a restart that has begun is not forgotten. */
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import type { KubernetesObject, Pod } from '../../../src/kubernetes/objects.ts';
import { isWrite, type RequestEntry } from '../entry.ts';
import { among, type History, kept, type NamedPromise } from '../history.ts';
import { hasLabels, selects } from '../selector.ts';
import type { WatcherRun } from '../watchers.ts';
import { hasWorked, isHeldBySpec } from './liveness.ts';
import { brokenOwners, isFoundBroken, isReady, ownerOf, worksIn } from './pace.ts';
import { removalOf, rolledOutBy } from './restarts.ts';

/** Retries are about a minute apart, and an owner waits for the one before it; in milliseconds. */
const triedWithin = 180_000;

export const restartGoesOn: NamedPromise = {
  name: 'L8',
  sentence:
    'while everything serves, a restart that has begun is tried again, and done when no stale Pod is left',
  start(history) {
    /** When a replica tried to restart something for a watcher last, by uid. */
    const tried = new Map<string, number>();
    return {
      request(request) {
        for (const uid of watchersOf(history, request)) tried.set(uid, request.time);
        return undefined;
      },
      calm() {
        if (!hasWorked(history, triedWithin)) return undefined;
        return among(history.watchers.byUid.values(), (run) => {
          if (!isUnderWay(run) || isKept(history, run)) return undefined;
          const { uid, watcher, changes, createdAt } = run;
          const { pending, stalePods = 0 } = watcher.status ?? {};
          const triedAt = stalePods > 0 ? tried.get(uid) : undefined;
          // It may have waited for a cooldown before.
          const begun = Date.parse(pending?.started ?? '') || 0;
          const since = Math.max(
            history.disturbedAt,
            changes.at(-1) ?? 0,
            createdAt,
            begun,
            triedAt ?? 0,
            newestPod(history, run),
          );
          return history.time - since > triedWithin + unseenWithin(history, run)
            ? {
                text: `${watcher.metadata.name} is ${pending?.reason} with ${stalePods} stale Pods, and nothing comes of it`,
              }
            : kept;
        });
      },
    };
  },
};

/** In milliseconds: the Pods of an owner that has begun are not seen once the selector leaves them out. */
function unseenWithin(history: History, { watcher: { metadata, spec, status } }: WatcherRun): number {
  const pods = history.objects.in<Pod>('pods', metadata.namespace ?? '').filter((pod) => selects(spec, pod));
  const seen = new Set(pods.map((pod) => ownerOf(history, pod)?.metadata.uid));
  const { progressDeadlineSeconds = 600 } = spec.strategy ?? {};
  const isUnseen = (status?.pending?.owners ?? []).some(({ uid }) => !seen.has(uid));
  return isUnseen ? progressDeadlineSeconds * 1000 : 0;
}

/** When the newest Pod of the watcher was created, in milliseconds: an owner may have mended itself, and be judged now. */
function newestPod(history: History, { watcher: { metadata, spec } }: WatcherRun): number {
  const { namespace = '' } = metadata;
  const pods = history.objects.in<Pod>('pods', namespace).filter((pod) => selects(spec, pod));
  return Math.max(0, ...pods.map((pod) => Date.parse(pod.metadata.creationTimestamp ?? '') || 0));
}

/** Uids of the watchers that this request restarts something for, whatever became of it. */
function watchersOf(history: History, request: RequestEntry): string[] {
  const { replica } = request;
  if (replica === undefined || !isWrite(request)) return [];
  const removal = removalOf(history, request);
  if (removal) return history.watchers.selecting(removal.pod, history.time, 0).map(({ uid }) => uid);
  return rolledOutBy(history, request).map(({ uid }) => uid);
}

/** Of a change whose restart runs. */
const underWay = new Set(['InProgress', 'RolloutInProgress', 'EvictionBlocked', 'Stalled']);

function isUnderWay({ watcher, goneAt, forgedAt }: WatcherRun): boolean {
  const { status } = watcher;
  return (
    goneAt === undefined &&
    forgedAt === undefined &&
    !isHeldBySpec(watcher) &&
    underWay.has(status?.pending?.reason ?? '') &&
    findCondition(status?.conditions, 'SourceAvailable')?.status !== 'False'
  );
}

/** Whether something may keep the restart: not all Pods that it needs are there and serve, or an owner rolls nothing out. */
function isKept(history: History, { watcher }: WatcherRun): boolean {
  const { namespace = '' } = watcher.metadata;
  const isDown = history.objects
    .in<Pod>('pods', namespace)
    .some((pod) => selects(watcher.spec, pod) && !(isReady(pod) && isSteady(pod, history.time)));
  return (
    isDown ||
    isStopped(history, watcher) ||
    workloadsOf(history, watcher).some((one) => !isWhole(one) || isHeldBack(one))
  );
}

/** Its content breaks Pods, and the owner that has shown it has no new one that is Ready, such as where it was scaled to none. */
function isStopped(history: History, watcher: ConfigWatcher): boolean {
  if (!isFoundBroken(watcher)) return false;
  const cutoff = Date.parse(watcher.status?.pending?.cutoff ?? '') || 0;
  const owners = new Set(brokenOwners(watcher));
  const pods = history.objects.in<Pod>('pods', watcher.metadata.namespace ?? '');
  return !pods.some((pod) => worksIn(history, pod, { owners, cutoff }));
}

/** A container without a probe that crashes is Ready for a moment each time. */
function isSteady({ status }: Pod, now: number): boolean {
  const restarted = (status?.containerStatuses ?? []).filter(({ restartCount }) => restartCount > 0);
  return restarted.every(({ state }) => now - Date.parse(state?.running?.startedAt ?? '') > triedWithin);
}

interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly template: Pick<Pod, 'metadata' | 'spec'>;
    readonly strategy?: { readonly type?: string };
    readonly updateStrategy?: { readonly type?: string };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly numberReady?: number;
    readonly desiredNumberScheduled?: number;
  };
}

const workloads = ['deployments', 'statefulsets', 'daemonsets', 'replicasets'];

function workloadsOf({ objects }: History, { metadata, spec }: ConfigWatcher): Workload[] {
  return workloads
    .flatMap((resource) => objects.in<Workload>(resource, metadata.namespace ?? ''))
    .filter(({ spec: { template } }) => hasLabels(spec, template as Pod));
}

function isWhole({ spec: { replicas = 1 }, status = {} }: Workload): boolean {
  const { desiredNumberScheduled, numberReady, readyReplicas = 0 } = status;
  return desiredNumberScheduled === undefined
    ? readyReplicas >= replicas
    : (numberReady ?? 0) >= desiredNumberScheduled;
}

/** By its own spec; evictions may be refused by a budget, but those are tried. */
function isHeldBack({ spec: { paused, strategy, updateStrategy } }: Workload): boolean {
  return paused === true || (strategy ?? updateStrategy)?.type === 'OnDelete';
}
