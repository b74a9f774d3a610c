/** How fast a restart may be: not before its debounce is over, and not more Pods at a time than allowed. */
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import type { Workload } from '../../../src/configwatcher/facts/workload.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import { controllerOf, type KubernetesObject, type Pod } from '../../../src/kubernetes/objects.ts';
import { type ChangeEntry, type EntryOf, isAccepted } from '../entry.ts';
import { type Found, type History, kept, type NamedPromise } from '../history.ts';
import { selects } from '../selector.ts';
import { editUnseenFor, specsWithin, type WatcherRun } from '../watchers.ts';
import { durationOf } from './liveness.ts';
import { rolledOutBy } from './restarts.ts';

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

export function isReady(pod: Pod): boolean {
  return reportsReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

const plurals: Readonly<Record<string, string>> = { StatefulSet: 'statefulsets', DaemonSet: 'daemonsets' };

/** The Deployment, StatefulSet, DaemonSet or ReplicaSet that says how many Pods there should be. */
export function ownerOf(history: History, pod: Pod): KubernetesObject | undefined {
  const { namespace = '' } = pod.metadata;
  const controller = controllerOf(pod);
  const plural = plurals[controller?.kind ?? ''] ?? 'replicasets';
  const direct = history.objects.get(plural, namespace, controller?.name ?? '');
  const above = direct && controllerOf(direct);
  return above === undefined ? direct : history.objects.get('deployments', namespace, above.name);
}

function roomOf({ spec }: ConfigWatcher, wanted: number): number {
  const { maxUnavailable = '25%' } = spec.strategy ?? {};
  if (typeof maxUnavailable === 'number') return maxUnavailable;
  return Math.max(1, Math.floor((wanted * Number.parseInt(maxUnavailable, 10)) / 100));
}

function wantedBy(owner: KubernetesObject): number {
  const { spec, status } = owner as {
    readonly spec?: { readonly replicas?: number };
    readonly status?: { readonly desiredNumberScheduled?: number };
  };
  return status?.desiredNumberScheduled ?? spec?.replicas ?? 1;
}

/** How many other Pods of the owner are Ready. */
function readyBeside(history: History, owner: KubernetesObject, pod: Pod): number {
  return history.objects
    .in<Pod>('pods', pod.metadata.namespace ?? '')
    .filter((one) => one !== pod && isReady(one) && ownerOf(history, one) === owner).length;
}

function tooManyGone(history: History, pod: Pod): Found {
  const owner = ownerOf(history, pod);
  // A Pod that is not Ready serves no requests: it goes first, and does not count.
  if (owner === undefined || !reportsReady(pod)) return undefined;
  const [wanted, ready] = [wantedBy(owner), readyBeside(history, owner, pod)];
  const watchers = history.watchers.selecting(pod, history.time, calmFor);
  const room = Math.max(0, ...watchers.map(({ watcher }) => roomOf(watcher, wanted)));
  return wanted - ready > room
    ? { text: `${pod.metadata.name} was taken away and ${ready} of ${wanted} Pods are left`, clue: 'room' }
    : kept;
}

/** The Pod that a replica takes away with this request. */
function takenAway(history: History, request: EntryOf<'request'>): Pod | undefined {
  const { replica, resource, subresource, verb, namespace, name } = request;
  const isRemoval = resource === 'pods' && (subresource === 'eviction' || verb === 'delete');
  if (replica === undefined || !isRemoval || !isAccepted(request)) return undefined;
  return history.removed.get(`${namespace}/${name}`) ?? history.objects.get<Pod>('pods', namespace, name);
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
        const pod = takenAway(history, request);
        if (!isCalm(history) || request.time - shakenAt < calmFor) return undefined;
        return pod && tooManyGone(history, pod);
      },
    };
  },
};

/**
 * Whether some Pod has started with the content of now, and is Ready: one that the watcher selects, or one of an owner that
 * it has restarted for it. An edit of the selector does not take back what that one has shown.
 */
function isTried(
  history: History,
  { watcher: { metadata, spec, status } }: WatcherRun,
  restarted: ReadonlyMap<string, Touched>,
): boolean {
  const cutoff = Date.parse(status?.pending?.cutoff ?? '') || 0;
  const isOfRestart = (pod: Pod) =>
    selects(spec, pod) || restarted.has(ownerOf(history, pod)?.metadata.uid ?? '');
  return history.objects
    .in<Pod>('pods', metadata.namespace ?? '')
    .some(
      (pod) => isReady(pod) && Date.parse(pod.metadata.creationTimestamp ?? '') > cutoff && isOfRestart(pod),
    );
}

/** Whether its owner is there and wants Pods: where users took these away, nothing of it is missing. */
function isWanted(history: History, pod: Pod): boolean {
  const owner = ownerOf(history, pod);
  return owner !== undefined && wantedBy(owner) > 0;
}

/** The restart of the watcher, where that has to try its content with one owner. */
function withCanary(run: WatcherRun | undefined): WatcherRun | undefined {
  const { spec, status: { pending } = {} } = run?.watcher ?? {};
  const isRunning = pending?.started !== undefined && pending.started >= (pending.since ?? '');
  return isRunning && spec?.strategy?.canary !== false ? run : undefined;
}

/** An owner that a request begins to restart, by a Pod of it that serves. */
interface Begun {
  readonly run: WatcherRun;
  readonly owner: KubernetesObject;
  readonly pod: Pod;
}

function evicts(history: History, request: EntryOf<'request'>): Begun | undefined {
  const pod = takenAway(history, request);
  const owner = pod && ownerOf(history, pod);
  if (pod === undefined || owner === undefined || !reportsReady(pod)) return undefined;
  const [run, ...more] = history.watchers.selecting(pod, history.time, calmFor);
  return run === undefined || more.length > 0 ? undefined : { run, owner, pod };
}

/**
 * A change of the template, by the annotation of the watcher. One that sets it back, because the edit was taken back,
 * begins nothing: it takes Pods of the owner only that its rollout has made.
 */
function rollsOut(history: History, request: EntryOf<'request'>): Begun | undefined {
  const { replica, resource, namespace, name, body } = request;
  if (replica === undefined || !isAccepted(request)) return undefined;
  // One of this name may have been there before.
  const run = rolledOutBy(history, request).find(({ goneAt, watcher: { status } }) => {
    return goneAt === undefined && body.includes(`:"${status?.lastRestart?.id}"`);
  });
  const owner = history.objects.get(resource, namespace, name);
  const pod = history.objects
    .in<Pod>('pods', namespace)
    .find((one) => isReady(one) && ownerOf(history, one) === owner);
  return run && owner && pod && { run, owner, pod };
}

/** The first Pod of an owner that was taken away while it served, when that was, and how many were Ready then. */
interface Touched {
  readonly pod: Pod;
  readonly since: number;
  readonly ready: number;
}

/** Whether a container of it crashes, or no node takes it. */
function cannotStart({ status }: Pod): boolean {
  const crashes = status?.containerStatuses?.some(({ restartCount }) => restartCount >= 2) === true;
  const isHomeless = status?.conditions?.some((one) => one.type === 'PodScheduled' && one.status === 'False');
  return crashes || isHomeless === true;
}

/** Whether this change by a user takes the value out of the template again. */
function takesBack({ object, previous, by }: ChangeEntry, value: string): boolean {
  const has = (workload: KubernetesObject | undefined) =>
    Object.values((workload as Workload | undefined)?.spec?.template?.metadata?.annotations ?? {}).includes(
      value,
    );
  return by?.replica === undefined && has(previous) && !has(object);
}

/** Some of its Pods were down before, its new ones do not start either, and it lacks nothing: it can show nothing. */
function isAsBefore(history: History, { pod, since, ready }: Touched): boolean {
  const owner = ownerOf(history, pod);
  if (owner === undefined || ready >= wantedBy(owner)) return false;
  const all = history.objects
    .in<Pod>('pods', pod.metadata.namespace ?? '')
    .filter((one) => ownerOf(history, one) === owner);
  const made = all.filter((one) => Date.parse(one.metadata.creationTimestamp ?? '') + 1000 > since);
  const waiting = made.filter((one) => !isReady(one));
  return all.filter(isReady).length >= ready && waiting.length > 0 && waiting.every(cannotStart);
}

/**
 * The rollout of its owner goes on over Pods that crash, as nothing checks their readiness, although the strategy leaves the way
 * to the operator.
 */
function checksNoPod({ run, owner }: Begun, time: number): boolean {
  const { minReadySeconds = 0, template } = (owner as Workload).spec ?? {};
  const isProbed = template?.spec?.containers.every(({ readinessProbe }) => readinessProbe !== undefined);
  const isAsked = specsWithin(run.specs, time, editUnseenFor).some(
    ({ strategy: { type = 'Auto' } = {} }) => type !== 'Auto',
  );
  return !(isProbed || isAsked) && minReadySeconds < 10 && wantedBy(owner) > 1;
}

export const checkedRollouts: NamedPromise = {
  name: 'R3',
  sentence:
    'a rollout of several Pods that checks the readiness of none begins only where the strategy asks for it',
  start: (history) => ({
    request(request): Found {
      const begun = rollsOut(history, request);
      if (begun === undefined) return undefined;
      return checksNoPod(begun, history.time)
        ? { text: `${begun.owner.metadata.name} rolls out, and checks no Pod`, clue: 'unchecked rollout' }
        : kept;
    },
  }),
};

export const oneOwnerFirst: NamedPromise = {
  name: 'R3',
  sentence: 'a new content takes Pods of one owner that serves, and of others once a Pod is Ready with it',
  start(history) {
    /** By restart and uid of the owner. */
    const touched = new Map<string, Map<string, Touched>>();
    return {
      // With the template of before it shows nothing more, nor does another one of its name.
      change(change) {
        const { uid = '' } = change.object.metadata;
        for (const [id, owners] of touched) {
          if (!owners.has(uid)) continue;
          const isOver = change.change === 'DELETED' || takesBack(change, id.slice(id.indexOf(' ') + 1));
          if (isOver) owners.delete(uid);
        }
        return undefined;
      },
      request(request): Found {
        const begun = evicts(history, request) ?? rollsOut(history, request);
        const run = withCanary(begun?.run);
        if (begun === undefined || run === undefined) return undefined;
        const { owner, pod } = begun;
        const { spec, status } = run.watcher;
        const id = `${run.uid} ${status?.lastRestart?.id}`;
        const owners = touched.get(id) ?? new Map<string, Touched>();
        const { uid = '' } = owner.metadata;
        if (owners.has(uid)) return undefined;
        // One that makes no progress gives its place back.
        const deadline = (spec.strategy?.progressDeadlineSeconds ?? 600) * 1000;
        const others = [...owners.values()].filter(
          (one) =>
            history.time - one.since < deadline &&
            isWanted(history, one.pod) &&
            !isAsBefore(history, one) &&
            // An edit of the selector drops the others: it says that they are not the watcher's to wait for.
            selects(spec, one.pod),
        );
        const ready = readyBeside(history, owner, pod) + Number(isReady(pod));
        touched.set(id, owners.set(uid, { pod, since: history.time, ready }));
        if (!isCalm(history)) return undefined;
        return others.length > 0 && !isTried(history, run, owners)
          ? { text: `${pod.metadata.name} was taken away for a content that no Pod runs yet`, clue: 'canary' }
          : kept;
      },
    };
  },
};

/** What status says of a content that breaks Pods. */
interface Verdict {
  /** Of the restart. */
  readonly id: string | undefined;
  readonly generation: number | undefined;
  /** When it was said first, and who wrote it. */
  readonly since: number;
  readonly writer: string | undefined;
  readonly cutoff: number;
  /** Names of the owners that it has broken. */
  readonly owners: ReadonlySet<string>;
}

const broken = 'NewPodsNotAvailable';

export function isFoundBroken({ status }: ConfigWatcher): boolean {
  return status?.pending !== undefined && findCondition(status.conditions, 'Stalled')?.reason === broken;
}

export function brokenOwners({ status }: ConfigWatcher): string[] {
  const owners = status?.lastRestart?.owners ?? [];
  return owners.filter(({ reason }) => reason === broken).map(({ name }) => name.replace(/^.*\//, ''));
}

/** What is said now of the same restart as before, or for the first time. */
function verdictOf(
  watcher: ConfigWatcher,
  known: Verdict | undefined,
  first: Pick<Verdict, 'since' | 'writer'>,
): Verdict | undefined {
  const { metadata, status } = watcher;
  const [id, generation] = [status?.lastRestart?.id, metadata.generation];
  const isSame = known?.id === id && known?.generation === generation && status?.pending !== undefined;
  const before = isSame ? known : undefined;
  if (!isFoundBroken(watcher)) return before;
  const { since, writer } = before ?? first;
  const owners = new Set([...(before?.owners ?? []), ...brokenOwners(watcher)]);
  return { id, generation, since, writer, cutoff: Date.parse(status?.pending?.cutoff ?? '') || 0, owners };
}

/** Whether it is a new Pod that is Ready, of an owner that the content has broken. */
export function worksIn(
  history: History,
  pod: Pod,
  { owners, cutoff }: Pick<Verdict, 'owners' | 'cutoff'>,
): boolean {
  const isNew = Date.parse(pod.metadata.creationTimestamp ?? '') > cutoff;
  return isNew && isReady(pod) && owners.has(ownerOf(history, pod)?.metadata.name ?? '');
}

/**
 * New Pods work, or nothing is left of the owners that show what the content breaks, or that the selector still matches.
 *
 * @param deleted when an owner was deleted, by its name: the next one of that name shows nothing yet.
 */
function isLifted(
  history: History,
  { metadata: { namespace = '' }, spec }: ConfigWatcher,
  verdict: Verdict,
  deleted: ReadonlyMap<string, number>,
): boolean {
  const pods = history.objects.in<Pod>('pods', namespace);
  const kinds = ['deployments', 'replicasets', ...Object.values(plurals)];
  const isThere = (owner: string) => {
    const until = deleted.get(owner);
    const isOwn = (pod: Pod) => {
      const { name, creationTimestamp = '' } = pod.metadata;
      if (!name.startsWith(`${owner}-`)) return false;
      // The Pods of another owner may begin like this one's.
      const known = ownerOf(history, pod)?.metadata.name ?? owner;
      return known === owner && (until === undefined || Date.parse(creationTimestamp) <= until);
    };
    const isKnown = kinds.some((plural) => history.objects.get(plural, namespace, owner) !== undefined);
    const own = pods.filter(isOwn);
    return own.length === 0 ? until === undefined && isKnown : own.some((pod) => selects(spec, pod));
  };
  return pods.some((pod) => worksIn(history, pod, verdict)) || ![...verdict.owners].some(isThere);
}

export const brokenContentStops: NamedPromise = {
  name: 'R3',
  sentence:
    'a content of which status says that it breaks Pods takes no further one that serves until new ones are Ready',
  start(history) {
    /** By uid of the watcher. */
    const verdicts = new Map<string, Verdict>();
    const drop = (isEnded: (verdict: Verdict) => boolean) => {
      for (const [uid, verdict] of verdicts) if (isEnded(verdict)) verdicts.delete(uid);
    };
    /** When an owner that a verdict is about was deleted, by its name. */
    const deleted = new Map<string, number>();
    const judge = (watcher: ConfigWatcher, writer: string | undefined) => {
      const { uid = '' } = watcher.metadata;
      const verdict = verdictOf(watcher, verdicts.get(uid), { since: history.time, writer });
      if (verdict === undefined) verdicts.delete(uid);
      else verdicts.set(uid, verdict);
    };
    return {
      change({ resource, change, object, by }): Found {
        if (resource === 'configwatchers') judge(object as ConfigWatcher, by?.replica);
        if (verdicts.size === 0) return undefined;
        // An owner of which nothing is left shows nothing any more.
        if (change === 'DELETED') {
          const isOf = ({ owners }: Verdict) => owners.has(object.metadata.name);
          if ([...verdicts.values()].some(isOf)) deleted.set(object.metadata.name, history.time);
          drop(isOf);
        } else if (resource === 'pods') drop((verdict) => worksIn(history, object as Pod, verdict));
        return verdicts.size === 0 ? undefined : kept;
      },
      request(request): Found {
        if (verdicts.size === 0) return undefined;
        const begun = evicts(history, request) ?? rollsOut(history, request);
        const verdict = begun && verdicts.get(begun.run.uid);
        if (begun === undefined || verdict === undefined) return undefined;
        if (isLifted(history, begun.run.watcher, verdict, deleted)) return undefined;
        // Another one may not have been shown it.
        if (request.replica !== verdict.writer && !isCalm(history)) return undefined;
        const text = `${begun.pod.metadata.name} was taken away for a content that breaks Pods`;
        return request.sentAt > verdict.since ? { text, clue: 'broken content' } : kept;
      },
    };
  },
};
