/**
 * Punctuality: how late a thing may be that has happened. It is judged where nothing has disturbed anybody from long
 * before it was to happen; what has not happened at all is judged when the run is calm.
 */
import type { At } from '../../../src/api/at.generated.ts';
import type { ConfigWatcher } from '../../../src/api/configwatcher.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import type { ChangeEntry, RequestEntry } from '../entry.ts';
import { type Found, type History, kept, type NamedPromise } from '../history.ts';
import { type AtRun, type RunPod, uidLabel } from '../runs.ts';
import type { WatcherRun } from '../watchers.ts';
import {
  accepted,
  durationOf,
  hasWorkedSince,
  isHeldBySpec,
  isRefusedPod,
  isTold,
  launchableAt,
  rightsKnownFor,
} from './liveness.ts';

/** Before it, in milliseconds, nothing may have disturbed anybody: every retry has had its turn. */
const undisturbedFor = 30_000;
/** Longest delay between two tries of a due At, in milliseconds. */
const retryDelay = 10_000;
const launchWithin = 2000;
const doneWithin = 2000;
const toldWithin = 7000;
const restartWithin = 2000;
/** By how many milliseconds a wrong clock may seem right: a `Date` has whole seconds, and answers take their time. */
const provable = 1100;

function isUndisturbed(history: History, since: number): boolean {
  return hasWorkedSince(history, since - undisturbedFor);
}

/** Ms that the slowest right answer to the question for the time may be away from it. */
function slackOf({ replicas }: History): number {
  return [...replicas.values()].some(({ clockAhead }) => Math.abs(clockAhead) > 50) ? provable : 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** The Pod of a first attempt that a replica has just made. */
function launchOf({ runs }: History, { resource, change, object, by }: ChangeEntry): AtRun | undefined {
  if (resource !== 'pods' || change !== 'ADDED' || by?.replica === undefined) return undefined;
  const run = runs.ofPod(object.metadata.uid);
  return run?.pods.length === 1 && run.forgedAt === undefined ? run : undefined;
}

function podKey({ metadata: { namespace = '', name } }: At): string {
  return `${namespace}/${name}-pod`;
}

/** Whether something else stands in the way of another At than of this one. */
function hasPoison({ runs }: History, own: AtRun): boolean {
  return [...runs.byUid.values()].some(
    (run) => run !== own && run.goneAt === undefined && (!accepted(run.at) || isTold(run.at)),
  );
}

/** How late a launch is, counted from the next try where one was due; undefined where that cannot be judged. */
class Launches {
  readonly #history: History;
  /** When the create of a Pod was refused last, by its key. */
  readonly #refused = new Map<string, number>();

  constructor(history: History) {
    this.#history = history;
  }

  request(request: RequestEntry): void {
    if (!isRefusedPod(request)) return;
    const { metadata } = JSON.parse(request.body || '{}') as Partial<Pod>;
    this.#refused.set(`${request.namespace}/${metadata?.name}`, request.time);
  }

  lateness(run: AtRun): number | undefined {
    const key = podKey(run.at);
    // Its author had no right when it became due, as far as that was known.
    const { authors, time } = this.#history;
    if (authors.barredAt(run.at, time) > launchableAt(run) - rightsKnownFor) return undefined;
    const triedAt = Math.max(this.#refused.get(key) ?? 0, this.#history.freed.get(key) ?? 0);
    const due = Math.max(launchableAt(run), triedAt === 0 ? 0 : triedAt + retryDelay);
    return isUndisturbed(this.#history, launchableAt(run)) ? this.#history.time - due : undefined;
  }
}

function launchPromise(name: string, sentence: string, isFor: (history: History, run: AtRun) => boolean) {
  return {
    ...{ name, sentence },
    start(history: History) {
      const launches = new Launches(history);
      return {
        request(request: RequestEntry): undefined {
          launches.request(request);
        },
        change(entry: ChangeEntry): Found {
          const run = launchOf(history, entry);
          if (run === undefined || !isFor(history, run)) return undefined;
          const late = launches.lateness(run);
          if (late === undefined) return undefined;
          return late > launchWithin + slackOf(history)
            ? { text: `${run.at.metadata.name} was launched ${seconds(late)} late`, clue: 'late' }
            : kept;
        },
      };
    },
  } satisfies NamedPromise;
}

export const launchedInTime = launchPromise(
  'L1',
  'a due At has its Pod within 2 s',
  (history, run) => !hasPoison(history, run),
);

export const bystandersAreInTime = launchPromise(
  'L7',
  'Ats that cannot run, or are refused, delay no other one by more than 2 s',
  hasPoison,
);

/** The label was taken off: its events do not lead to the At, which is looked at every ten seconds. */
function isUnlabeled(pod: RunPod | undefined): boolean {
  const has = (one: Pod | undefined) => one?.metadata.labels?.[uidLabel] !== undefined;
  return has(pod?.created) && !has(pod?.pod);
}

export const doneInTime: NamedPromise = {
  name: 'L2',
  sentence: 'a finished Pod makes its At DONE within 2 s',
  start: (history) => ({
    change({ resource, object, previous, time, by }): Found {
      const [at, before] = [object as At, previous as At | undefined];
      const isDone = at.status?.phase === 'DONE' && before?.status?.phase === 'RUNNING';
      if (resource !== 'ats' || by?.replica === undefined || !isDone) return undefined;
      const run = history.runs.byUid.get(at.metadata.uid ?? '');
      const pod = run?.pods.find(({ uid }) => uid === at.status?.podUID);
      const { endedAt } = pod ?? {};
      const isJudged = run?.forgedAt === undefined && !isUnlabeled(pod);
      if (!isJudged || endedAt === undefined || !isUndisturbed(history, endedAt)) {
        return undefined;
      }
      const late = time - endedAt;
      return late > doneWithin
        ? { text: `${at.metadata.name} was DONE ${seconds(late)} after its Pod`, clue: 'late' }
        : kept;
    },
  }),
};

export const toldInTime: NamedPromise = {
  name: 'R2',
  sentence: 'status says within 7 s why a due At has no Pod',
  start: (history) => ({
    change({ resource, object, previous, time, by }): Found {
      const [at, before] = [object as At, previous as At | undefined];
      if (resource !== 'ats' || by?.replica === undefined || before === undefined) return undefined;
      const run = history.runs.byUid.get(at.metadata.uid ?? '');
      if (run === undefined || run.forgedAt !== undefined || !isTold(at) || isTold(before)) return undefined;
      const due = launchableAt(run);
      const late = time - due;
      // A name that another client took later was free when it was due.
      const isFirst = run.pods.length === 0 && !history.freed.has(podKey(at));
      if (!isFirst || !isUndisturbed(history, due)) return undefined;
      return late > toldWithin + slackOf(history)
        ? { text: `${at.metadata.name} was told ${seconds(late)} after it was due`, clue: 'told late' }
        : kept;
    },
  }),
};

/** When the restart has to begin at the latest; undefined while its spec or another change holds it. */
function startBy({
  watcher,
  changes,
  appliedAt,
  baselineAt,
  revertedAt,
  specs,
  restoredAt,
  deletions,
}: WatcherRun): number | undefined {
  const { spec } = watcher;
  // Nothing is owed for a source that has gone, unless the spec says so.
  const gone = spec.onDelete === 'Restart' ? [] : [...deletions.values()].map(({ time }) => time);
  const edits = changes.filter((one) => !gone.includes(one));
  const isHeld = isHeldBySpec(watcher) || spec.cooldown?.base !== '0s' || specs.length > 1;
  const settledAt = Math.max(appliedAt ?? 0, revertedAt, baselineAt ?? Number.POSITIVE_INFINITY);
  const [first, last] = [edits.find((one) => one > settledAt), edits.at(-1)];
  const isOther = changes.some((one) => one > settledAt - undisturbedFor && one <= settledAt);
  if (isHeld || first === undefined || last === undefined || isOther) return undefined;
  const { quiet = '2s', max = '30s' } = spec.debounce ?? {};
  // A source that is missing holds the restart until it is there, also where its appearance is no change.
  const from = Math.max(first, restoredAt);
  return Math.max(restoredAt, Math.min(from + durationOf(max), last + durationOf(quiet)));
}

export const restartBeginsInTime: NamedPromise = {
  name: 'L3',
  sentence: 'a restart begins within 2 s after its debounce',
  start: (history) => ({
    change({ resource, object, previous, time, by }): Found {
      if (resource !== 'configwatchers' || by?.replica === undefined) return undefined;
      const [before, after] = [previous as ConfigWatcher | undefined, object as ConfigWatcher];
      const isStart =
        after.status?.pending?.started !== undefined && before?.status?.pending?.started === undefined;
      const run = history.watchers.byUid.get(after.metadata.uid ?? '');
      const due = run === undefined || run.forgedAt !== undefined || !isStart ? undefined : startBy(run);
      if (due === undefined || !isUndisturbed(history, due)) return undefined;
      // No Pod is restarted before the server's second is past the cutoff.
      const late = time - due - 1000;
      return late > restartWithin + slackOf(history)
        ? { text: `${after.metadata.name} began ${seconds(late)} late`, clue: 'late' }
        : kept;
    },
  }),
};
