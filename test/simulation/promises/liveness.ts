/**
 * Liveness and R2: what must have happened by a certain time. A look is taken whenever the run is calm, which is
 * when no fault lasts and everything that is awaited has had its time.
 */
import type { At } from '../../../src/api/at.generated.ts';
import { holdReasons } from '../../../src/api/at-constants.ts';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import { controllerOf, type Pod } from '../../../src/kubernetes/objects.ts';
import type { RequestEntry } from '../entry.ts';
import { among, type Found, type History, kept, type NamedPromise, type Seen } from '../history.ts';
import { type AtRun, isGated, type RunPod } from '../runs.ts';
import { dueTimeOf } from '../schedule.ts';

export const accepted = (at: At) =>
  at.status?.conditions?.find(({ type }) => type === 'Accepted')?.status !== 'False';

/** So long after everything has become quiet nothing of it may be left to do, in milliseconds. */
export const settling = 30_000;

/** After so long without a bookmark a watch counts as silent and is opened again; with its retries, in milliseconds. */
export const blindFor = 210_000;

/** Whether some replica has been able to work for so long, in milliseconds; faults of the kinds `besides` may last. */
export function hasWorked(history: History, forMs: number, ...besides: readonly string[]): boolean {
  return hasWorkedSince(history, history.time - forMs, ...besides);
}

/** The same since then. */
export function hasWorkedSince(history: History, since: number, ...besides: readonly string[]): boolean {
  return (
    [...history.faults.values()].every(({ kind }) => besides.includes(kind)) &&
    history.faultedAt <= since &&
    history.time - history.blindedAt > blindFor &&
    [...history.replicas.values()].some(
      ({ running, stoodStill, startedAt }) =>
        running && stoodStill?.to !== Number.POSITIVE_INFINITY && startedAt <= since,
    )
  );
}

/** When the At could have been launched at the earliest. */
export function launchableAt({ at, editedAt }: AtRun): number {
  return Math.max(dueTimeOf(at.spec), editedAt);
}

function isLaunchable({ at, goneAt, forgedAt }: AtRun): boolean {
  const { spec, status, metadata } = at;
  return (
    goneAt === undefined &&
    forgedAt === undefined &&
    metadata.deletionTimestamp === undefined &&
    (status?.phase ?? 'PENDING') === 'PENDING' &&
    spec.suspend !== true &&
    spec.cancel !== true &&
    accepted(at)
  );
}

/** Whether another Pod has the name, or had it until a moment ago. */
function isTaken(
  { objects, freed, time }: History,
  { metadata: { namespace = '', name, uid } }: At,
): boolean {
  const key = `${namespace}/${name}-pod`;
  const pod = objects.get<Pod>('pods', namespace, `${name}-pod`);
  const isOther = pod !== undefined && controllerOf(pod)?.uid !== uid;
  return isOther || time - (freed.get(key) ?? Number.NEGATIVE_INFINITY) < settling;
}

/** Of ExactlyOnce: nothing of it has run. */
function isUnreleased({ pod: { spec } }: RunPod): boolean {
  return (
    spec.schedulingGates?.some(({ name }) => name === 'cnat.programming-kubernetes.info/recorded') ?? false
  );
}

/** Whether status names a reason for which the Pod is not there. */
export function isTold({ status }: At): boolean {
  const launched = status?.conditions?.find(({ type }) => type === 'Launched');
  const reason = launched?.reason ?? status?.reason;
  return launched?.status === 'False' && holdReasons.has(reason ?? '');
}

/** Retries of a create are at most so far apart, with what each of them takes, in milliseconds. */
const retriedWithin = 15_000;
/** Those of one At, where many are refused alike. */
const ownTryWithin = 330_000;
/** An answer about the rights of an author holds so long, in milliseconds. */
export const rightsKnownFor = 60_000;

/** Whether the author of the At has not, or not for long, the right to create its Pod. */
function isBarred(at: At, { authors, time }: History): boolean {
  return time - authors.barredAt(at, time) < rightsKnownFor + ownTryWithin;
}

export const dueIsLaunched: NamedPromise = {
  name: 'L1',
  sentence:
    'a due At has its Pod, or status says why not and it is tried again every five minutes, once the faults have stopped',
  start(history) {
    /** When the API server refused a Pod last: by namespace, or, where the Pod itself is not valid, by its At's uid. */
    const refused = new Map<string, number>();
    const refusedAt = (key = '') => refused.get(key) ?? Number.NEGATIVE_INFINITY;
    /** When a create for the At was refused last, by its uid. */
    const tried = new Map<string, number>();
    const isRefused = (run: AtRun) => {
      const { uid, at } = run;
      const ownSince = Math.max(tried.get(uid) ?? 0, launchableAt(run), history.disturbedAt);
      return (
        isTold(at) &&
        history.time - Math.max(refusedAt(at.metadata.namespace), refusedAt(uid)) < retriedWithin &&
        history.time - ownSince < ownTryWithin
      );
    };
    return {
      request(request) {
        if (!isRefusedPod(request)) return undefined;
        const uid = controllerOf(JSON.parse(request.body) as Pod)?.uid ?? '';
        const isAlone = request.code === 400 || request.code === 422;
        refused.set(isAlone ? uid : request.namespace, request.time);
        tried.set(uid, request.time);
        return undefined;
      },
      calm() {
        if (!hasWorked(history, settling)) return undefined;
        return among(history.runs.byUid.values(), (run) => {
          if (run.goneAt !== undefined || history.time - launchableAt(run) <= settling) return undefined;
          const isMissing =
            isLaunchable(run) &&
            run.pods.every(isUnreleased) &&
            !(isTaken(history, run.at) || isRefused(run) || (isTold(run.at) && isBarred(run.at, history)));
          return isMissing ? { text: `${run.at.metadata.name} is due and has no Pod` } : kept;
        });
      },
    };
  },
};

/** A create of a Pod by a replica that the API server did not take, for a reason that is no Pod of that name. */
export function isRefusedPod({ replica, verb, resource, subresource, code, query }: RequestEntry): boolean {
  const isCreate = replica !== undefined && verb === 'create' && resource === 'pods' && subresource === '';
  return isCreate && code >= 400 && code !== 409 && !query.has('dryRun');
}

/** A Pod of an At that has ended otherwise is stopped, and deleted when that takes too long; in milliseconds. */
const surplusFor = { unstopped: 30_000, inAll: 120_000 };

export const nothingRunsOn: NamedPromise = {
  name: 'L6',
  sentence: 'once an At is DONE no Pod of it runs on',
  start: (history) => ({
    calm() {
      if (!hasWorked(history, surplusFor.unstopped)) return undefined;
      return among(history.runs.byUid.values(), ({ at, pods, goneAt, forgedAt }) => {
        if (goneAt !== undefined || forgedAt !== undefined || at.status?.phase !== 'DONE') return undefined;
        if (pods.length === 0) return undefined;
        const doneAt = Date.parse(at.status.completionTime ?? '') || 0;
        const surplus = pods.find(
          ({ endedAt, goneAt: gone, createdAt, pod, stop }) =>
            endedAt === undefined &&
            gone === undefined &&
            history.time - Math.max(createdAt, doneAt, history.faultedAt) >
              (stop === undefined ? surplusFor.unstopped : surplusFor.inAll) &&
            controllerOf(pod)?.uid === at.metadata.uid &&
            pod.metadata.deletionTimestamp === undefined,
        );
        return surplus === undefined
          ? kept
          : { text: `${at.metadata.name} is DONE and ${surplus.name} runs` };
      });
    },
  }),
};

/** When the operator had to act on the end of the Pod. */
function endOf({ endedAt, goneAt }: RunPod): number | undefined {
  const times = [endedAt, goneAt].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The back-off of Retry is up to six minutes. */
function followedWithin({ spec: { disruptionPolicy } }: At): number {
  return disruptionPolicy === 'Retry' ? 7 * 60_000 : settling;
}

/** Whether the run of the At has ended in a Pod of it, although status does not say so. */
function isUnfinished({ uid, at }: AtRun, last: RunPod, history: History): boolean {
  const { phase = 'PENDING', reason = '' } = at.status ?? {};
  // The next attempt waits, and status says why.
  if (holdReasons.has(reason) && isBarred(at, history)) return false;
  // No status names it yet: it is the run where it is the At's own and is there to show how it ended.
  const isOwn = last.goneAt === undefined && controllerOf(last.pod)?.uid === uid && !isUnreleased(last);
  return phase === 'RUNNING' || (phase === 'PENDING' && isOwn);
}

/** Longest wait before a status that the API server has found not valid is written again, in milliseconds. */
const unwritableFor = 300_000;

export const finishedIsDone: NamedPromise = {
  name: 'L2',
  sentence: 'a finished Pod makes its At DONE, or another attempt is made or waits',
  start(history) {
    /** When the API server found the status of an At not valid last, by name. */
    const unwritable = new Map<string, number>();
    return {
      request({ replica, resource, subresource, code, namespace, name, time }) {
        const isStatus = replica !== undefined && resource === 'ats' && subresource === 'status';
        if (isStatus && code === 422) unwritable.set(`${namespace}/${name}`, time);
        return undefined;
      },
      calm() {
        if (!hasWorked(history, settling)) return undefined;
        return among(history.runs.byUid.values(), (run) => {
          const { at, pods, goneAt, forgedAt } = run;
          const { namespace, name, deletionTimestamp } = at.metadata;
          const isGone = goneAt !== undefined || deletionTimestamp !== undefined;
          // A create that was on its way for long makes a Pod of an earlier attempt.
          const last = pods.find(({ uid }) => uid === at.status?.podUID) ?? pods.at(-1);
          const endedAt = last && endOf(last);
          if (isGone || forgedAt !== undefined || last === undefined || endedAt === undefined)
            return undefined;
          if (!isUnfinished(run, last, history)) return kept;
          const refusedAt = unwritable.get(`${namespace}/${name}`) ?? Number.NEGATIVE_INFINITY;
          const since = Math.max(endedAt, history.disturbedAt, refusedAt + unwritableFor);
          return history.time - since > followedWithin(at)
            ? { text: `${last.name} has ended and ${name} is ${at.status?.phase}` }
            : kept;
        });
      },
    };
  },
};

/** Longest time that a watcher may wait before it begins, by its spec, in milliseconds. */
function patienceOf({ spec }: ConfigWatcher): number {
  return durationOf(spec.debounce?.max ?? '30s') + durationOf(spec.cooldown?.max ?? '10m') + settling;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Go's notation, as far as specs of the simulation have it. */
export function durationOf(text: string): number {
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, count = '0', unit = 's']) => sum + Number(count) * (units[unit] ?? 0),
    0,
  );
}

/** Its own spec keeps it from acting. */
export function isHeldBySpec({ spec: { suspend, dryRun, windows = [] } }: ConfigWatcher): boolean {
  return suspend === true || dryRun === true || windows.length > 0;
}

export const changeIsActedOn: NamedPromise = {
  name: 'L3',
  sentence:
    'a change of content is recorded, and its restart begins when debounce, cooldown and window are over',
  start: (history) => ({
    calm() {
      if (!hasWorked(history, settling)) return undefined;
      return among(history.watchers.byUid.values(), ({ watcher, goneAt, forgedAt, changes }) => {
        const { pending } = watcher.status ?? {};
        const { name } = watcher.metadata;
        if (goneAt !== undefined || forgedAt !== undefined || pending === undefined) return undefined;
        const waitsFor = pending.reason === 'Debounce' || pending.reason === 'Cooldown';
        if (isHeldBySpec(watcher) || !waitsFor) return undefined;
        const since = Math.max(changes.at(-1) ?? 0, history.disturbedAt);
        return history.time - since > patienceOf(watcher)
          ? { text: `${name} still waits for ${pending.reason}` }
          : kept;
      });
    },
  }),
};

/** In reliability.md 20 s; a replica that has just started needs a moment more until it may ask. */
const leaderWithin = 25_000;

export const someReplicaLeads: NamedPromise = {
  name: 'L4',
  sentence: 'some replica leads within 20 s',
  start(history) {
    let renewedAt: number | undefined;
    return {
      request({ replica, resource, verb, code, time }) {
        if (replica !== undefined && resource === 'leases' && verb !== 'get' && code < 300) renewedAt = time;
        return undefined;
      },
      calm() {
        if (renewedAt === undefined || !hasWorked(history, leaderWithin)) return undefined;
        return history.time - renewedAt > leaderWithin
          ? { text: `the Lease was renewed last ${history.time - renewedAt} ms ago` }
          : kept;
      },
    };
  },
};

const toldWithin = 7000;

/** From this delay on a launch may count as late, in milliseconds: 5 s, and a creation is known to the second. */
const lateAfter = 4000;

export const reasonsAreTold: NamedPromise = {
  name: 'R2',
  sentence:
    'every state that keeps a due At from running is in status within 7 s; no Event blames the operator',
  start(history) {
    const refusals = new Refusals();
    return {
      request(request): Found {
        refusals.see(request, history);
        const { replica = '', resource, verb, body } = request;
        const isBlame = replica !== '' && resource === 'events' && verb === 'create';
        const run = isBlame && body.includes('"LaunchedLate"') ? runOfEvent(history, body) : undefined;
        if (run === undefined) return undefined;
        const what = refusals.knownTo(replica, run, history);
        return what === undefined
          ? kept
          : {
              text: `LaunchedLate of ${run.at.metadata.name} blames the operator, and its ${what} was refused`,
              clue: `blame for ${what}`,
            };
      },
      calm() {
        if (!hasWorked(history, settling)) return undefined;
        return among(history.runs.byUid.values(), (run) => {
          const since = Math.max(launchableAt(run), history.faultedAt);
          if (!isLaunchable(run) || run.pods.length > 0 || history.time - since <= toldWithin)
            return undefined;
          const { name } = run.at.metadata;
          return isTold(run.at)
            ? kept
            : { text: `${name} is due and status does not say why it has no Pod`, clue: 'untold' };
        });
      },
    };
  },
};

/**
 * What the API server has refused each replica of an At first since it could be launched: its Pod, or a status that the
 * launch waits for.
 */
class Refusals {
  /** When each was sent. */
  readonly #pods = new Map<string, number>();
  readonly #statuses = new Map<string, number>();
  /** Who renewed the Lease last, and since when it does; absent where there is no election. */
  #leader: { readonly replica: string; readonly since: number } | undefined;

  see(request: RequestEntry, { runs }: History): void {
    const { replica, resource, verb, namespace, name, code, body, time, sentAt } = request;
    if (replica === undefined) return;
    const isRenewal = resource === 'leases' && verb !== 'get' && code < 300;
    if (isRenewal && this.#leader?.replica !== replica) this.#leader = { replica, since: time };
    if (code < 400 || code === 409) return;
    if (isRefusedPod(request)) {
      const owner = controllerOf(JSON.parse(body || '{"metadata":{}}') as Pod);
      const run = runs.byUid.get(owner?.uid ?? '');
      noteFirst(this.#pods, replica, run, sentAt);
    } else if (resource === 'ats' && verb === 'patch') {
      // A status of an earlier At of that name may come late.
      const { metadata: decidedOn } = JSON.parse(body || '{}') as Partial<At>;
      const run = [...runs.byUid.values()].find(({ at: { metadata } }) => {
        const isNamed = metadata.namespace === namespace && metadata.name === name;
        return isNamed && Number(metadata.resourceVersion) >= Number(decidedOn?.resourceVersion);
      });
      if (run !== undefined && !hasLaunched(run)) noteFirst(this.#statuses, replica, run, sentAt);
    }
  }

  /**
   * What the API server refused of a due At, as far as a replica knows: what it sent itself, since it leads and has
   * seen the At as it is.
   */
  knownTo(replica: string, run: AtRun, { replicas }: History): 'Pod' | 'status' | undefined {
    const { uid = '', generation = 0 } = run.at.metadata;
    const { startedAt = 0, seen, clockAhead = 0, stoodStill } = replicas.get(replica) ?? {};
    // Its clock was set: until it has learned the API server's time it cannot know that the At was due.
    if (Math.abs(clockAhead) > lateAfter) return undefined;
    // It stood still meanwhile, and does not know when an answer came.
    const { from = 0, to = 0 } = stoodStill ?? {};
    if (to - Math.max(from, launchableAt(run)) > lateAfter) return undefined;
    const leadsSince = this.#leader?.replica === replica ? this.#leader.since : startedAt;
    if (leadsSince >= launchableAt(run)) return undefined;
    const isPresent = ({ object: { metadata } }: Seen) => (metadata.generation ?? 0) >= generation;
    const since = Math.max(launchableAt(run), seen?.get(uid)?.find(isPresent)?.time ?? 0);
    // Shown to it when it was late already.
    if (since - launchableAt(run) > lateAfter) return undefined;
    // What it sent only when it was late already does not tell why it was late.
    const isCause = (sentAt = 0) => sentAt >= since && sentAt - launchableAt(run) <= lateAfter;
    const key = `${replica} ${uid}`;
    if (isCause(this.#pods.get(key))) return 'Pod';
    return isCause(this.#statuses.get(key)) ? 'status' : undefined;
  }
}

function noteFirst(
  refusals: Map<string, number>,
  replica: string,
  run: AtRun | undefined,
  sentAt: number,
): void {
  if (run === undefined) return;
  const key = `${replica} ${run.uid}`;
  if ((refusals.get(key) ?? 0) < launchableAt(run)) refusals.set(key, sentAt);
}

/** What is refused from now on does not make the launch late. */
function hasLaunched({ at, pods }: AtRun): boolean {
  return (at.status?.attempts ?? 0) > 0 || pods.some(({ pod }) => !isGated(pod));
}

function runOfEvent({ runs }: History, body: string): AtRun | undefined {
  const { regarding } = JSON.parse(body) as { regarding?: { uid?: string } };
  return runs.byUid.get(regarding?.uid ?? '');
}
