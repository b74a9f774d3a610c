/** S4, S7 to S10, S15: what may be done to Pods and their owners, and for which change. */
import type { KubernetesObject, ObjectMeta, OwnerReference, Pod } from '../../../src/kubernetes/objects.ts';
import { controllerOf } from '../../../src/kubernetes/objects.ts';
import type { ChangeEntry } from '../entry.ts';
import { isAccepted, isWrite, type RequestEntry } from '../entry.ts';
import { among, type Found, type History, kept, type NamedPromise } from '../history.ts';
import { selects } from '../selector.ts';
import { editUnseenFor, specsWithin, type WatcherRun } from '../watchers.ts';
import { blindFor } from './liveness.ts';

const workloads = new Set(['deployments', 'statefulsets', 'daemonsets']);

/** How the operator takes a Pod away. */
export interface Removal {
  readonly pod: Pod;
  readonly by: 'eviction' | 'deletion';
}

/** The watchers whose annotation this change of a template carries. */
export function rolledOutBy(
  history: History,
  { resource, verb, body, namespace }: RequestEntry,
): WatcherRun[] {
  if (verb !== 'patch' || !workloads.has(resource)) return [];
  return [...history.watchers.byUid.values()].filter(({ watcher: { metadata } }) => {
    return metadata.namespace === namespace && body.includes(`/restarted-for.${metadata.name}"`);
  });
}

/** A Pod that a replica asked to be taken away, whatever became of it; undefined for other requests. */
export function removalOf(history: History, request: RequestEntry): Removal | undefined {
  const { replica, resource, subresource, verb, namespace, name } = request;
  if (replica === undefined || resource !== 'pods' || !isWrite(request)) return undefined;
  const by = subresource === 'eviction' ? 'eviction' : verb === 'delete' ? 'deletion' : undefined;
  if (by === undefined) return undefined;
  const pod =
    history.removed.get(`${namespace}/${name}`) ?? history.objects.get<Pod>('pods', namespace, name);
  return pod === undefined ? undefined : { pod, by };
}

function ownerKind(pod: Pod): OwnerReference['kind'] | undefined {
  return controllerOf(pod)?.kind;
}

/** Whether it is the Pod of an At that exists or existed, and so At's to end. */
function isAtPod(history: History, pod: Pod): boolean {
  return ownerKind(pod) === 'At' && history.runs.byUid.has(controllerOf(pod)?.uid ?? '');
}

export const onlyOwnPods: NamedPromise = {
  name: 'S4',
  sentence: 'a Pod whose controller-owner UID is not ours is never adopted, changed or deleted',
  start(history) {
    /** The last change of a Pod by a replica: its request follows in the same turn. */
    let edit: ChangeEntry | undefined;
    return {
      request: (request) => changedForeign(history, request, edit),
      change(entry) {
        const { resource, object, previous, by } = entry;
        if (by?.replica === undefined) return undefined;
        if (resource === 'pods') edit = entry;
        if (resource !== 'ats') return undefined;
        const uid = statusOf(object)?.podUID;
        if (uid === undefined || uid === statusOf(previous)?.podUID) return undefined;
        const run = history.runs.byUid.get(object.metadata.uid ?? '');
        return run?.pods.some((pod) => pod.uid === uid) === false
          ? { text: `${object.metadata.name} took a Pod for its own that is not: ${uid}`, clue: 'adopted' }
          : kept;
      },
    };
  },
};

/** @param edit the last change of a Pod by a replica. */
function changedForeign(history: History, request: RequestEntry, edit: ChangeEntry | undefined): Found {
  const { replica, resource, subresource, verb, namespace, name, time } = request;
  const isEdit = resource === 'pods' && (verb === 'patch' || verb === 'update');
  if (replica === undefined || !isEdit || !isAccepted(request) || !isWrite(request)) return undefined;
  const own = edit?.time === time && edit.object.metadata.name === name ? edit : undefined;
  const pod = (own?.object as Pod | undefined) ?? history.objects.get<Pod>('pods', namespace, name);
  if (pod === undefined || isAtPod(history, pod)) return kept;
  // Without a change, or where its source tells no states, the request says what it was to be.
  if (own === undefined ? isRelease(request) : isReleased(own)) return kept;
  const owner = ownerKind(pod) ?? 'nobody';
  return { text: `${verb} of ${name}${subresource && `/${subresource}`}, a Pod of ${owner}` };
}

const ownFinalizer = 'cnat.programming-kubernetes.info/tracked';

/** Our own finalizer may be taken off any Pod: it holds up what its At does not need any more. */
function isRelease({ body }: RequestEntry): boolean {
  const operations: unknown = JSON.parse(body || '{}');
  if (!Array.isArray(operations)) return false;
  const writes = (operations as { op: string; path: string }[]).filter(({ op }) => op !== 'test');
  return writes.every(({ op, path }) => op === 'remove' && path.startsWith('/metadata/finalizers'));
}

/** Whether nothing but our own finalizer has gone from the Pod. */
function isReleased({ object, previous }: ChangeEntry): boolean {
  return withoutVersion(object) === withoutVersion(previous ?? object);
}

/** The Pod as text, without our own finalizer and what every write changes. */
function withoutVersion({ metadata, ...rest }: KubernetesObject): string {
  const {
    resourceVersion: _,
    managedFields: __,
    finalizers = [],
    ...others
  } = metadata as ObjectMeta & {
    managedFields?: unknown;
  };
  return JSON.stringify({ ...rest, others, finalizers: finalizers.filter((name) => name !== ownFinalizer) });
}

function statusOf(object: KubernetesObject | undefined): { readonly podUID?: string } | undefined {
  return (object as { status?: { podUID?: string } } | undefined)?.status;
}

/** The watchers for which a Pod may be taken away. */
function watchersOf(history: History, pod: Pod): WatcherRun[] {
  return history.watchers.selecting(pod, history.time, editUnseenFor);
}

export const onlySelectedPods: NamedPromise = {
  name: 'S10',
  sentence:
    "only Pods that match the selector, in the watcher's namespace; an empty selector selects nothing",
  start: (history) => ({
    request(request) {
      const removal = removalOf(history, request);
      if (removal === undefined || !isAccepted(request) || isAtPod(history, removal.pod)) return undefined;
      const { name } = removal.pod.metadata;
      return watchersOf(history, removal.pod).length === 0
        ? { text: `${removal.by} of ${name}, which no ConfigWatcher selects` }
        : kept;
    },
  }),
};

export const budgetsHold: NamedPromise = {
  name: 'S15',
  sentence: 'PodDisruptionBudgets hold under Evict',
  start: (history) => ({
    request(request) {
      const removal = removalOf(history, request);
      if (removal?.by !== 'deletion' || !isAccepted(request) || isAtPod(history, removal.pod))
        return undefined;
      const { pod } = removal;
      const mayDelete = watchersOf(history, pod).some(({ specs }) =>
        specsWithin(specs, history.time, editUnseenFor).some(({ strategy }) => deletes(strategy, pod)),
      );
      return mayDelete
        ? kept
        : { text: `${pod.metadata.name} was deleted, which goes past its budget, instead of evicted` };
    },
  }),
};

interface StrategySpec {
  readonly type?: string;
  readonly unmanagedPods?: string;
  readonly jobPods?: string;
}

function deletes({ type, unmanagedPods, jobPods }: StrategySpec = {}, pod: Pod): boolean {
  const kind = ownerKind(pod);
  return (
    type === 'Delete' ||
    (kind === undefined && unmanagedPods === 'Delete') ||
    (kind === 'Job' && jobPods === 'Delete')
  );
}

/** The last time that any of them recorded a change; undefined when none ever did. */
function lastRaise(watchers: readonly WatcherRun[]): number | undefined {
  const times = watchers.flatMap(({ raises }) => raises.map(({ time }) => time));
  return times.length === 0 ? undefined : Math.max(...times);
}

export const oncePerChange: NamedPromise = {
  name: 'S7',
  sentence: 'one content change restarts each selected Pod exactly once; restarts ≤ distinct contents',
  start: (history) => ({
    request(request) {
      const removal = removalOf(history, request);
      if (removal === undefined || !isAccepted(request) || isAtPod(history, removal.pod)) return undefined;
      const { name, creationTimestamp = '' } = removal.pod.metadata;
      const watchers = watchersOf(history, removal.pod);
      if (watchers.length === 0 || watchers.some(isForged)) return undefined;
      const raised = lastRaise(watchers);
      if (raised === undefined) {
        return { text: `${removal.by} of ${name} before any change was recorded`, clue: 'no change' };
      }
      return Date.parse(creationTimestamp) > raised
        ? { text: `${removal.by} of ${name}, which was made after the change was recorded`, clue: 'fresh' }
        : kept;
    },
  }),
};

/** The template of a workload is changed by a replica for a watcher. */
interface TemplateChange {
  readonly watcher: WatcherRun;
  readonly owner: KubernetesObject;
  readonly replica: string;
}

export const rolloutOncePerChange: NamedPromise = {
  name: 'S7',
  sentence:
    'one content change changes each template exactly once, and only that of an owner with stale Pods',
  start(history) {
    /** Of each owner and watcher, how many changes were recorded when its template was changed last. */
    const patched = new Map<string, number>();
    /** Of each owner and watcher, when others than the operator took back a template that no status told of, last. */
    const takenBack = new Map<string, number>();
    /** Of each owner and watcher, when a replica was shown last that the template was changed, by its name. */
    const shown = new Map<string, Map<string, number>>();
    /** Pods that went so lately that a replica may not know, the oldest first. */
    const gone: { readonly pod: Pod; readonly at: number }[] = [];
    const keyOf = ({ watcher, owner }: Omit<TemplateChange, 'replica'>) =>
      `${owner.metadata.uid} ${watcher.uid}`;
    const judge = (change: TemplateChange): Found => {
      const { watcher, owner, replica } = change;
      const key = keyOf(change);
      const before = patched.get(key) ?? 0;
      patched.set(key, watcher.raiseCount);
      if (isForged(watcher)) return undefined;
      const what = `the template of ${owner.kind} ${owner.metadata.name} was changed`;
      const isAgain = watcher.raiseCount <= before;
      const isUnknown = takenBack.has(key) && !knows(history, replica, shown.get(key));
      if (isAgain && !isUnknown) return { text: `${what} twice for one change`, clue: 'rollout twice' };
      return hasStalePods(history, watcher, owner, gone)
        ? kept
        : { text: `${what} although none of its Pods is stale`, clue: 'rollout for nothing' };
    };
    return {
      change(entry) {
        if (entry.resource === 'pods' && entry.change === 'DELETED') {
          gone.push({ pod: entry.object as Pod, at: entry.time });
        }
        while (gone[0] && entry.time - gone[0].at > deletionUnseen(history)) gone.shift();
        return among(templateChanges(history, entry), (change) => {
          const replica = entry.by?.replica;
          if (replica !== undefined) return judge({ ...change, replica });
          if (!tellsOfTemplate(change)) takenBack.set(keyOf(change), entry.time);
          return undefined;
        });
      },
      seen({ resource, object, replica, time }) {
        for (const { watcher } of changedTemplates(history, resource, object)) {
          const key = keyOf({ watcher, owner: object });
          shown.set(key, (shown.get(key) ?? new Map<string, number>()).set(replica, time));
        }
        return undefined;
      },
    };
  },
};

/** Whether status says of the owner that its template was changed. */
function tellsOfTemplate({ watcher, owner }: Omit<TemplateChange, 'replica'>): boolean {
  const { uid } = owner.metadata;
  const { owners = [], revertedOwners = [] } = watcher.watcher.status?.pending ?? {};
  const isChanged = owners.some((place) => place.uid === uid && place.templateChanged === true);
  return isChanged || revertedOwners.includes(uid ?? '');
}

/** What no status tells, and its present process was not shown, a replica cannot know. */
function knows(
  { replicas }: History,
  replica: string,
  shown: ReadonlyMap<string, number> = new Map(),
): boolean {
  return (shown.get(replica) ?? Number.NEGATIVE_INFINITY) >= (replicas.get(replica)?.startedAt ?? 0);
}

function isForged({ forgedAt }: WatcherRun): boolean {
  return forgedAt !== undefined;
}

/** Each watcher whose annotation in the template of a workload has changed. */
function templateChanges(history: History, { resource, change, object, previous }: ChangeEntry) {
  return change === 'MODIFIED' ? changedTemplates(history, resource, object, previous) : [];
}

/** Each watcher whose annotation in the template of the workload is not the one of before, if there was any. */
function changedTemplates(
  history: History,
  resource: string,
  object: KubernetesObject,
  previous?: KubernetesObject,
) {
  if (!workloads.has(resource)) return [];
  const [before, after] = [annotationsOf(previous), annotationsOf(object)];
  // A rollout that is taken back may take the annotation away.
  const names = Object.keys({ ...before, ...after })
    .filter((key) => key.includes('/restarted-for.') && after[key] !== before[key])
    .map((key) => key.replace(/^.*\/restarted-for\./, ''));
  return [...history.watchers.byUid.values()]
    .filter(
      ({ goneAt, watcher: { metadata } }) =>
        goneAt === undefined &&
        metadata.namespace === object.metadata.namespace &&
        names.includes(metadata.name),
    )
    .map((watcher) => ({ watcher, owner: object }));
}

function annotationsOf(workload: KubernetesObject | undefined): Readonly<Record<string, string>> {
  const { spec } = (workload ?? {}) as { spec?: { template?: Pod } };
  return spec?.template?.metadata?.annotations ?? {};
}

/** Among the Pods that there are, and those that went so lately that a replica may not know. */
function hasStalePods(
  history: History,
  { specs, raises }: WatcherRun,
  owner: KubernetesObject,
  gone: readonly { readonly pod: Pod }[],
): boolean {
  const { namespace = '', uid = '' } = owner.metadata;
  const lately = gone.map(({ pod }) => pod).filter(({ metadata }) => metadata.namespace === namespace);
  const raised = raises.at(-1)?.time ?? 0;
  const present = history.objects.in<Pod>('pods', namespace).filter((pod) => !hasLeft(history, pod));
  const known = specsWithin(specs, history.time, editUnseenFor);
  return [...present, ...lately].some(
    (pod) =>
      known.some((spec) => selects(spec, pod)) &&
      isOwnedBy(history, pod, uid) &&
      Date.parse(pod.metadata.creationTimestamp ?? '') <= raised,
  );
}

/** A deletion may not have been seen for so long, in milliseconds. */
const deletionUnseenFor = { calm: 2000, faulty: 60_000 };

function deletionUnseen({ faults, faultedAt, blindedAt, time }: History): number {
  const isCalm =
    faults.size === 0 && time - faultedAt > deletionUnseenFor.faulty && time - blindedAt > blindFor;
  return deletionUnseenFor[isCalm ? 'calm' : 'faulty'];
}

/** It was asked to go so long ago that every replica knows. */
function hasLeft(history: History, { metadata }: Pod): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined) return false;
  const askedAt = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return history.time - askedAt > deletionUnseen(history);
}

/** Directly, or through a ReplicaSet. */
function isOwnedBy(history: History, pod: Pod, uid: string): boolean {
  const controller = controllerOf(pod);
  if (controller?.uid === uid) return true;
  if (controller?.kind !== 'ReplicaSet') return false;
  const set = history.objects.get('replicasets', pod.metadata.namespace ?? '', controller.name);
  return set !== undefined && controllerOf(set)?.uid === uid;
}

/**
 * Since then a change may have been made that a record speaks of, in milliseconds before it: a process may stand still for
 * five minutes between its look and the record, and record an edit that was taken back meanwhile.
 */
const recordedWithin = 360_000;

/** The watcher for which the operator has just recorded a change. */
function raisedWatcher(
  history: History,
  { resource, object, previous, time, by }: ChangeEntry,
): WatcherRun | undefined {
  if (resource !== 'configwatchers' || by?.replica === undefined || previous === undefined) return undefined;
  const run = history.watchers.byUid.get(object.metadata.uid ?? '');
  const last = run?.raises.at(-1);
  return run === undefined || last?.time !== time || isForged(run) ? undefined : run;
}

/** Whether there was a change since the one before. */
function isFounded(run: WatcherRun): boolean {
  // The first content was looked at before it could be recorded, long before where status could not be written.
  const since = (run.raises.at(-2)?.time ?? run.createdAt) - recordedWithin;
  const { raiseCount, changeCount, changes, rekeyedAt = 0, presumedAt = 0 } = run;
  return raiseCount <= changeCount && [...changes, rekeyedAt, presumedAt].some((change) => change >= since);
}

/** Whether an edit that changed nothing that counts came after the change that was recorded before. */
function isAfterIdleEdit({ idleEditAt, raises }: WatcherRun): boolean {
  return idleEditAt !== undefined && idleEditAt > (raises.at(-2)?.time ?? 0);
}

export const metadataIsNoChange: NamedPromise = {
  name: 'S8',
  sentence: 'metadata-only edits restart nothing',
  start: (history) => ({
    change(entry) {
      const run = raisedWatcher(history, entry);
      if (run === undefined || !isAfterIdleEdit(run)) return undefined;
      const { name } = run.watcher.metadata;
      return isFounded(run)
        ? kept
        : { text: `an edit that leaves the content as it is was taken for a change by ${name}` };
    },
  }),
};

export const nothingWithoutReason: NamedPromise = {
  name: 'S9',
  sentence:
    'operator start, failover, upgrade, relist, 410: no restart and no Pod without a reason in the cluster',
  start: (history) => ({
    change(entry) {
      const run = raisedWatcher(history, entry);
      if (run === undefined) return undefined;
      return isFounded(run) || isAfterIdleEdit(run)
        ? kept
        : { text: `${run.watcher.metadata.name} recorded a change that was not made` };
    },
  }),
};
