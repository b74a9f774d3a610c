/** How fast a restart may be: not before its debounce is over, and not more Pods at a time than allowed. */
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { controllerOf, type KubernetesObject, type Pod } from '../../../src/kubernetes/objects.ts';
import type { ChangeEntry } from '../entry.ts';
import { isAccepted } from '../entry.ts';
import { type Found, type History, kept, type NamedPromise } from '../history.ts';
import { durationOf } from './liveness.ts';

/** So long an edit may not have been seen yet, in milliseconds. */
const unseenFor = 500;
/** A fault may have hidden something for so long, in milliseconds. */
const calmFor = 60_000;

/** Whether nothing has happened lately but what the operator did itself. */
function isCalm({ faults, faultedAt, time, replicas }: History): boolean {
  const rightClocks = [...replicas.values()].every(({ clockAhead }) => Math.abs(clockAhead) < 50);
  return rightClocks && faults.size === 0 && time - faultedAt > calmFor;
}

/** By how many milliseconds replicas may differ in the server's time: a `Date` has whole seconds. */
const unprovable = 1100;

/** The change whose restart begins with this status. */
function startedPending(before: ConfigWatcher | undefined, { status }: ConfigWatcher) {
  const { pending } = status ?? {};
  const isStart = pending?.started !== undefined && before?.status?.pending?.started !== pending.started;
  return isStart ? pending : undefined;
}

export const notTooSoon: NamedPromise = {
  name: 'S7',
  sentence: 'a restart begins when its edits have been quiet for the debounce',
  start: (history) => ({
    change({ resource, object, previous, time, by }: ChangeEntry): Found {
      if (resource !== 'configwatchers' || by?.replica === undefined || !isCalm(history)) return undefined;
      const [before, after] = [previous as ConfigWatcher | undefined, object as ConfigWatcher];
      const pending = startedPending(before, after);
      if (pending === undefined) return undefined;
      const { quiet = '2s', max = '30s' } = after.spec.debounce ?? {};
      const { changes = [], undone = [] } = history.watchers.byUid.get(object.metadata.uid ?? '') ?? {};
      const last = changes.filter((one) => one < time - unseenFor && !undone.includes(one)).at(-1);
      const isOver = time - Date.parse(pending.since ?? '') >= durationOf(max) - unseenFor;
      if (last === undefined) return undefined;
      return !isOver && time - last < durationOf(quiet) - unprovable
        ? {
            text: `${object.metadata.name} began ${Math.round(time - last)} ms after an edit`,
            clue: 'too soon',
          }
        : kept;
    },
  }),
};

/** Whether its last report says so; a deletion that has just begun changes nothing about that. */
function reportsReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}

function isReady(pod: Pod): boolean {
  return reportsReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** The Deployment, StatefulSet or ReplicaSet that says how many Pods there should be. */
function ownerOf(history: History, pod: Pod): KubernetesObject | undefined {
  const { namespace = '' } = pod.metadata;
  const controller = controllerOf(pod);
  const plural = controller?.kind === 'StatefulSet' ? 'statefulsets' : 'replicasets';
  const direct = history.objects.get(plural, namespace, controller?.name ?? '');
  const above = direct && controllerOf(direct);
  return above === undefined ? direct : history.objects.get('deployments', namespace, above.name);
}

function roomOf({ spec }: ConfigWatcher, wanted: number): number {
  const { maxUnavailable = '25%' } = spec.strategy ?? {};
  if (typeof maxUnavailable === 'number') return maxUnavailable;
  return Math.max(1, Math.floor((wanted * Number.parseInt(maxUnavailable, 10)) / 100));
}

function tooManyGone(history: History, pod: Pod): Found {
  const owner = ownerOf(history, pod);
  // A Pod that is not Ready serves no requests: it goes first, and does not count.
  if (owner === undefined || !reportsReady(pod)) return undefined;
  const { namespace = '', name } = pod.metadata;
  const { replicas: wanted = 1 } = (owner as { spec?: { replicas?: number } }).spec ?? {};
  const ready = history.objects
    .in<Pod>('pods', namespace)
    .filter((one) => one !== pod && isReady(one) && ownerOf(history, one) === owner).length;
  const watchers = history.watchers.selecting(pod, history.time, calmFor);
  const room = Math.max(0, ...watchers.map(({ watcher }) => roomOf(watcher, wanted)));
  return wanted - ready > room
    ? { text: `${name} was taken away and ${ready} of ${wanted} Pods are left`, clue: 'room' }
    : kept;
}

export const batchesAreBounded: NamedPromise = {
  name: 'R3',
  sentence: 'of what works no more is taken away than maxUnavailable allows',
  start(history) {
    /** Who is not available for a reason of its own is no fault of the operator: when a Pod last became unready by itself. */
    let shakenAt = Number.NEGATIVE_INFINITY;
    return {
      change({ resource, object, previous, by, time }) {
        if (resource === 'deployments' || resource === 'statefulsets') {
          const generation = previous?.metadata.generation;
          if (generation !== object.metadata.generation) shakenAt = time;
        }
        if (resource !== 'pods' || previous === undefined || by?.replica !== undefined) return undefined;
        const [before, after] = [previous as Pod, object as Pod];
        const isTerminating = before.metadata.deletionTimestamp !== undefined;
        if (isReady(before) && !isReady(after) && !isTerminating) shakenAt = time;
        return undefined;
      },
      request(request): Found {
        const { replica, resource, subresource, verb, namespace, name, time } = request;
        const isRemoval = resource === 'pods' && (subresource === 'eviction' || verb === 'delete');
        if (replica === undefined || !isRemoval || !isAccepted(request)) return undefined;
        if (!isCalm(history) || time - shakenAt < calmFor) return undefined;
        const pod =
          history.removed.get(`${namespace}/${name}`) ?? history.objects.get<Pod>('pods', namespace, name);
        return pod && tooManyGone(history, pod);
      },
    };
  },
};
