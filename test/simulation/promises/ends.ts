/** L9: what a spec limits is over by then, and R1: not before. */
import { controllerOf, type Pod } from '../../../src/kubernetes/objects.ts';
import { among, type Found, kept, type NamedPromise } from '../history.ts';
import {
  type AtRun,
  isGated,
  madeWith,
  mainContainerOf,
  type RunPod,
  startedAtOf,
  stopReasonOf,
} from '../runs.ts';
import { dueTimeOf } from '../schedule.ts';
import { accepted, hasWorked } from './liveness.ts';

/** For what the operator has to see and to write, in milliseconds. */
const actsWithin = 60_000;
/** After the grace period a stopped Pod that still runs is deleted, in milliseconds. */
const overdueAfter = 10_000;
const defaultGraceSeconds = 30;
/** The same where a Pod is to be stopped first: its grace period, and its deletion when that is overdue. */
const stopsWithin = 180_000;
const defaultPendingTimeoutSeconds = 900;
const defaultBackoffLimit = 6;
const nodeOff = 'node-off';
/** These end an At also where the node of its Pod does not answer. */
const heldAnyway: ReadonlySet<Limit['limit']> = new Set(['cancel', 'activeDeadline']);

export const limitsEnd: NamedPromise = {
  name: 'L9',
  sentence:
    'an At that is canceled, late, past a limit of its run, or past its ttl is over, once the faults have stopped',
  start: (history) => ({
    calm() {
      if (!hasWorked(history, actsWithin, nodeOff)) return undefined;
      const isWhole = history.faults.size === 0;
      return among(history.runs.byUid.values(), (run) => {
        const limits = limitsOf(run).filter(({ limit }) => isWhole || heldAnyway.has(limit));
        if (limits.length === 0) return undefined;
        const broken = limits.find(({ at, within }) => {
          return history.time - Math.max(at, history.disturbedAt) > within;
        });
        const { name } = run.at.metadata;
        return broken === undefined ? kept : { text: `${name} is ${broken.state}`, clue: broken.limit };
      });
    },
  }),
};

interface Limit {
  readonly limit:
    | 'cancel'
    | 'startingDeadline'
    | 'activeDeadline'
    | 'pendingTimeout'
    | 'backoffLimit'
    | 'stop'
    | 'ttl';
  /** What it should not be any more. */
  readonly state: string;
  /** Epoch ms from which on it should be otherwise, but for the time that acting on it takes, in milliseconds. */
  readonly at: number;
  readonly within: number;
}

/** The limits that hold for the phase that the At is in. */
function limitsOf(run: AtRun): Limit[] {
  const { at, goneAt, forgedAt } = run;
  if (goneAt !== undefined || forgedAt !== undefined || at.metadata.deletionTimestamp !== undefined)
    return [];
  switch (at.status?.phase ?? 'PENDING') {
    case 'PENDING':
      return limitsOfWaiting(run);
    case 'RUNNING':
      return limitsOfRun(run);
    default:
      return limitsOfDone(run);
  }
}

function limitsOfWaiting({ at: { spec, ...at }, editedAt, pods }: AtRun): Limit[] {
  const { cancel, suspend, startingDeadlineSeconds } = spec;
  if (!accepted({ spec, ...at }) || suspend === true) return [];
  if (cancel === true) {
    return [{ limit: 'cancel', state: 'canceled and PENDING', at: editedAt, within: stopsWithin }];
  }
  if (startingDeadlineSeconds === undefined || pods.length > 0) return [];
  const late = Math.max(editedAt, dueTimeOf(spec) + startingDeadlineSeconds * 1000);
  return [{ limit: 'startingDeadline', state: 'past its starting deadline', at: late, within: actsWithin }];
}

function limitsOfRun({ uid, at: { spec, status }, editedAt, pods }: AtRun): Limit[] {
  const last = pods.find((pod) => pod.uid === status?.podUID) ?? pods.at(-1);
  // A Pod that a user has taken away from its At is not the operator's to stop.
  if (last !== undefined && last.goneAt === undefined && controllerOf(last.pod)?.uid !== uid) return [];
  const limits: Limit[] = [];
  if (spec.cancel === true) {
    limits.push({ limit: 'cancel', state: 'canceled and RUNNING', at: editedAt, within: stopsWithin });
  }
  // A Pod that is gone is past no limit. That the next attempt comes, or the end of the run is told, is another promise.
  if (last === undefined || last.goneAt !== undefined) return limits;
  const main = mainContainerOf(last.pod);
  const startedAt = startedAtOf(last);
  // No later edit changes these, nor one that was not seen by then.
  const limitsThen = madeWith(last.created);
  const { activeDeadlineSeconds, pendingTimeoutSeconds = defaultPendingTimeoutSeconds } = limitsThen;
  if (startedAt !== undefined && activeDeadlineSeconds !== undefined) {
    const at = startedAt + activeDeadlineSeconds * 1000;
    limits.push({ limit: 'activeDeadline', state: 'past its deadline', at, within: stopsWithin });
  }
  // The time in which an init container runs is none of waiting, nor is that until the release of ExactlyOnce.
  if (last.starts.length === 0 && pendingTimeoutSeconds > 0) {
    const releasedAt = spec.launchGuarantee === undefined ? 0 : Date.parse(status?.launchTime ?? '') || 0;
    const at = Math.max(last.createdAt, releasedAt) + pendingTimeoutSeconds * 1000;
    limits.push({ limit: 'pendingTimeout', state: 'past its pending timeout', at, within: stopsWithin });
  }
  return [...limits, ...limitsOfFailures(last, main), ...limitsOfStop(last)];
}

/** One failure more than the back-off limit has been shown, so that the next start is one too many. */
function limitsOfFailures({ pod, created, ends }: RunPod, main: string): Limit[] {
  const { backoffLimit = defaultBackoffLimit } = madeWith(created);
  const status = pod.status?.containerStatuses?.find(({ name }) => name === main);
  const hasFailed = (status?.state?.terminated?.exitCode ?? 0) !== 0;
  const shown = (status?.restartCount ?? 0) + (hasFailed ? 1 : 0);
  const last = ends.filter(({ container, exitCode }) => container === main && exitCode !== 0)[backoffLimit];
  if (shown <= backoffLimit || last === undefined) return [];
  return [{ limit: 'backoffLimit', state: 'past its backoffLimit', at: last.time, within: stopsWithin }];
}

/** The operator has told the kubelet to stop the Pod, which neither ends nor is deleted. */
function limitsOfStop({ stop, pod, endedAt }: RunPod): Limit[] {
  const isOver = endedAt !== undefined || pod.metadata.deletionTimestamp !== undefined;
  if (stop === undefined || isOver) return [];
  const { terminationGracePeriodSeconds = defaultGraceSeconds } = pod.spec;
  const at = stop.time + terminationGracePeriodSeconds * 1000 + overdueAfter;
  return [{ limit: 'stop', state: 'RUNNING with a Pod whose stop is overdue', at, within: actsWithin }];
}

function limitsOfDone({ at: { spec, status }, editedAt }: AtRun): Limit[] {
  const { ttlSecondsAfterFinished } = spec;
  const completedAt = Date.parse(status?.completionTime ?? '');
  if (ttlSecondsAfterFinished === undefined || Number.isNaN(completedAt)) return [];
  const complete = status?.conditions?.find(({ type }) => type === 'Complete');
  const shownAt = Date.parse(complete?.lastTransitionTime ?? '') || completedAt;
  const over = Math.max(editedAt, Math.max(completedAt, shownAt) + ttlSecondsAfterFinished * 1000);
  return [{ limit: 'ttl', state: 'there after its ttl', at: over, within: actsWithin }];
}

/** Times have whole seconds, and are those of API servers and nodes whose clocks differ; in milliseconds. */
const imprecision = 10_000;
/** A node shows wrong times for so long at most after the beginning of the fault, in milliseconds. */
const wrongFor = 10 * 60_000;

export const limitsAreKept: NamedPromise = {
  name: 'R1',
  sentence: 'a run is stopped for a limit only when it is past that limit',
  start(history) {
    /** When a node has shown wrong times last. */
    let wrongAt = Number.NEGATIVE_INFINITY;
    return {
      fault({ kind, time }) {
        if (kind === 'node-clock') wrongAt = time;
        return undefined;
      },
      change({ resource, object, previous, time }): Found {
        const reason = stopReasonOf(object as Pod);
        if (resource !== 'pods' || reason === stopReasonOf(previous as Pod | undefined)) return undefined;
        const pod = history.runs.pod(object.metadata.uid);
        const run = history.runs.ofPod(object.metadata.uid);
        // A user who writes the status may decide when the run has begun, and why it is stopped.
        if (pod === undefined || run === undefined || run.forgedAt !== undefined) return undefined;
        const missing = missingTo(reason ?? '', pod, run, { time, wrongAt });
        if (missing === undefined) return undefined;
        const text = `${pod.name} is stopped for ${reason} too early: ${missing} are missing`;
        return missing > 0 ? { text, clue: reason ?? '' } : kept;
      },
    };
  },
};

/** How often a container could not be started: that is no end of it, and its Pod alone shows it. */
function refusedStarts({ pod: { status } }: RunPod): number {
  const refused = (status?.containerStatuses ?? []).filter(({ state, lastState }) =>
    [state, lastState].some((one) => one?.terminated?.reason === 'StartError'),
  );
  return refused.reduce((sum, { restartCount }) => sum + restartCount + 1, 0);
}

/** How many milliseconds, or failures, are left until that limit; undefined for what is none. */
function missingTo(
  reason: string,
  pod: RunPod,
  run: AtRun,
  { time, wrongAt }: { readonly time: number; readonly wrongAt: number },
): number | undefined {
  const limits = madeWith(pod.created);
  switch (reason) {
    case 'DeadlineExceeded': {
      const { activeDeadlineSeconds = 0 } = limits;
      const startedAt = startedAtOf(pod);
      // A start before a node got the Pod is one of a wrong clock: what is certain is that it was not before that.
      const isDoubtful = startedAt === undefined || wrongAt >= pod.createdAt - wrongFor;
      const since = isDoubtful ? boundAt(pod) : startedAt;
      return since + activeDeadlineSeconds * 1000 - imprecision - time;
    }
    case 'PendingTimeout': {
      const { pendingTimeoutSeconds = defaultPendingTimeoutSeconds } = limits;
      const releasedAt = Date.parse(run.at.status?.launchTime ?? '') || 0;
      const since = Math.max(pod.createdAt, isGated(pod.created) ? releasedAt : 0);
      return since + pendingTimeoutSeconds * 1000 - imprecision - time;
    }
    case 'BackoffLimitExceeded': {
      const { backoffLimit = defaultBackoffLimit } = limits;
      return backoffLimit + 1 - pod.ends.filter(({ exitCode }) => exitCode !== 0).length - refusedStarts(pod);
    }
    default:
      return undefined;
  }
}

/** When a node got the Pod, epoch milliseconds, or else when it was made. */
function boundAt({ pod, createdAt }: RunPod): number {
  const bound = pod.status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'True');
  return Math.max(createdAt, Date.parse(bound?.lastTransitionTime ?? '') || 0);
}
