/** S5, R1, R5: what the status of an At may say. */
import type { At, AtStatus } from '../../../src/api/at.generated.ts';
import { controllerOf, type Pod } from '../../../src/kubernetes/objects.ts';
import { type ChangeEntry, jsonOf } from '../entry.ts';
import { type Finding, type Found, type History, kept, type NamedPromise } from '../history.ts';
import { type AtRun, hasSucceeded, isGated, mainContainerOf, type RunPod } from '../runs.ts';
import { waitOf } from './basis.ts';
import { isHeld } from './exactly-once.ts';
import { isInWindow } from './launches.ts';

const phases = ['PENDING', 'RUNNING', 'DONE'];

interface StatusWrite {
  readonly at: At;
  readonly before: Partial<AtStatus>;
  readonly after: Partial<AtStatus>;
  readonly run: AtRun;
  readonly by: NonNullable<ChangeEntry['by']>;
}

/** A status that the operator has written; undefined for anything else. */
function statusWriteOf(
  history: History,
  { resource, change, object, previous, by }: ChangeEntry,
): StatusWrite | undefined {
  if (resource !== 'ats' || change !== 'MODIFIED' || by?.replica === undefined) return undefined;
  const [at, old] = [object as At, previous as At | undefined];
  const run = history.runs.byUid.get(at.metadata.uid ?? '');
  const [before, after] = [old?.status ?? {}, at.status ?? {}];
  if (run === undefined || JSON.stringify(before) === JSON.stringify(after)) return undefined;
  return { at, before, after, run, by };
}

function final({ outcome, podUID, completionTime, exitCode, reason }: Partial<AtStatus>): string {
  return JSON.stringify([outcome, podUID, completionTime, exitCode, reason]);
}

export const phasesNeverGoBack: NamedPromise = {
  name: 'S5',
  sentence: 'phases never go back, DONE is terminal, observedGeneration is monotone',
  start: (history) => ({
    change(entry) {
      const write = statusWriteOf(history, entry);
      if (write === undefined) return undefined;
      const { at, before, after } = write;
      const { name } = at.metadata;
      if (phases.indexOf(after.phase ?? 'PENDING') < phases.indexOf(before.phase ?? 'PENDING')) {
        return { text: `${name} went from ${before.phase} back to ${after.phase}`, clue: 'phase' };
      }
      if (before.phase === 'DONE' && final(before) !== final(after)) {
        return { text: `${name} was DONE and ended again`, clue: 'done' };
      }
      const isOlder = (after.observedGeneration ?? -1) < (before.observedGeneration ?? -1);
      const isForged = write.run.forgedAt !== undefined;
      return isOlder && !isForged
        ? { text: `observedGeneration of ${name} fell to ${after.observedGeneration}`, clue: 'generation' }
        : kept;
    },
  }),
};

export const resultsAreTrue: NamedPromise = {
  name: 'R1',
  sentence:
    "what a run's end was is what status says; a command that ended with 0 is never run again, the windows of AtLeastOnce aside",
  start: (history) => ({
    change(entry) {
      if (entry.resource === 'pods' && mayRunNow(entry)) return runAgain(history, entry);
      const write = statusWriteOf(history, entry);
      if (write === undefined || write.run.forgedAt !== undefined) return undefined;
      const isDone = write.after.phase === 'DONE' && write.before.phase !== 'DONE';
      return (
        wrongLaunchTime(history, write) ??
        deniedEviction(history, write) ??
        (isDone ? (failedWithoutPod(write) ?? wrongEnd(history, write) ?? kept) : undefined)
      );
    },
  }),
};

export const deletedRunsAreLost: NamedPromise = {
  name: 'R1',
  sentence: 'a run whose command ended because its Pod was deleted does not count as failed by itself',
  start(history) {
    /** Whether a node has had a wrong clock: what it says of an end may be of any time. */
    let wasWrong = false;
    return {
      fault({ kind }) {
        wasWrong ||= kind === 'node-clock';
        return undefined;
      },
      change(entry) {
        const write = statusWriteOf(history, entry);
        if (wasWrong || write?.after.reason !== 'CommandFailed' || write.before.phase === 'DONE') {
          return undefined;
        }
        return write.run.forgedAt === undefined ? (deniedDeletion(write) ?? kept) : undefined;
      },
    };
  },
};

/** What a fault answers instead of the API server. */
const scripted = 'simulated';

/** The API server refuses what the operator says about an At. */
export const statusIsValid: NamedPromise = {
  name: 'R2',
  sentence: 'what the operator writes in status is valid, so that it gets there',
  start: (history) => ({
    request({ replica, resource, verb, namespace, name, code, answer }): Found {
      if (replica === undefined || resource !== 'ats' || verb !== 'patch') return undefined;
      if (code !== 422 || answer.includes(scripted)) return kept;
      const uid = history.objects.get('ats', namespace, name)?.metadata.uid ?? '';
      const run = history.runs.byUid.get(uid);
      return run === undefined || run.forgedAt !== undefined
        ? kept
        : { text: `the status of ${name} is refused: ${messageOf(answer)}`, clue: 'invalid status' };
    },
  }),
};

function messageOf(answer: string): string {
  return String(jsonOf(answer)?.message ?? answer).slice(0, 300);
}

/** Whether this is when a Pod may begin to run: it is made, or what gated it is taken off. */
function mayRunNow({ change, object, previous }: ChangeEntry): boolean {
  if (change === 'DELETED' || isGated(object as Pod)) return false;
  return change === 'ADDED' || isGated(previous as Pod | undefined);
}

function runAgain(history: History, { object, by }: ChangeEntry): Finding | undefined {
  const run = history.runs.ofPod(object.metadata.uid);
  // A user who writes the status decides which Pod the run is.
  if (run === undefined || run.forgedAt !== undefined) return undefined;
  const pod = run.pods.find(({ uid }) => uid === object.metadata.uid);
  if (pod !== undefined && isInWindow(history, pod, run)) return undefined;
  const succeeded = run.pods.find(
    (one) => one.uid !== object.metadata.uid && one.succeededAt !== undefined && one.stop === undefined,
  );
  return succeeded === undefined || isUnseen(history, succeeded, by)
    ? undefined
    : {
        text: `${object.metadata.name} was started after ${succeeded.name} had succeeded`,
        clue: succeeded.goneAt === undefined ? 'run again' : 'end lost',
      };
}

/** Whether the Pod went away before the writer was shown that it had succeeded. What a finalizer holds does not. */
function isUnseen(history: History, { uid, pod, goneAt }: RunPod, by: ChangeEntry['by']): boolean {
  const isGoing = goneAt !== undefined || pod.metadata.deletionTimestamp !== undefined;
  if (!isGoing || isHeld(pod) || !history.tracksSeen) return false;
  const { replica = '', sentAt = history.time } = by ?? {};
  const decidedAt = sentAt - waitOf(history, sentAt);
  const states = history.replicas.get(replica)?.seen.get(uid) ?? [];
  return !states.some(({ object, time }) => time <= decidedAt && hasSucceeded(object as Pod));
}

/** So much later than its Pod the answer to a create may arrive, in milliseconds. */
const answeredWithin = 60_000;

function wrongLaunchTime(
  { replicas, time }: History,
  { at, before, after, run, by }: StatusWrite,
): Finding | undefined {
  // It is the time of the first attempt; the others stand in the history.
  const pod = run.pods.find(({ uid, attempt }) => uid === after.podUID && attempt === 1);
  if (pod === undefined || before.podUID === after.podUID || after.launchTime === undefined) return undefined;
  const { clockAhead = 0 } = replicas.get(by.replica ?? '') ?? {};
  const launchedAt = Date.parse(after.launchTime);
  // A gated Pod is launched when it is released, which is at this write.
  const latest = (at.spec.launchGuarantee ?? 'AtLeastOnce') === 'AtLeastOnce' ? pod.createdAt : time;
  const error = Math.max(pod.createdAt - launchedAt, launchedAt - latest);
  return error > answeredWithin + Math.abs(clockAhead)
    ? { text: `launchTime of ${at.metadata.name} is ${after.launchTime}`, clue: 'launch time' }
    : undefined;
}

/** An attempt is called lost, and the writer had been shown that its Pod was evicted. */
function deniedEviction(history: History, { at, before, after, by }: StatusWrite): Finding | undefined {
  const isNews = ({ attempt }: { readonly attempt: number }) =>
    before.history?.some((one) => one.attempt === attempt) !== true;
  const ended = (after.history ?? []).filter(isNews);
  const last = after.phase === 'DONE' && before.phase !== 'DONE' ? [after] : [];
  const { replica, sentAt } = by;
  const denied = [...ended, ...last].find(({ reason, podUID }) => {
    const shown = history.replicas.get(replica ?? '')?.seen.get(podUID ?? '') ?? [];
    const decidedAt = sentAt - waitOf(history, sentAt);
    return (
      reason === 'PodLost' && shown.some(({ object, time }) => time <= decidedAt && isTargeted(object as Pod))
    );
  });
  return denied === undefined
    ? undefined
    : { text: `${denied.podName} of ${at.metadata.name} was evicted and is called lost`, clue: 'evicted' };
}

/** A run counts as failed by itself, and its command ended because its Pod was deleted. */
function deniedDeletion({ at, after, run }: StatusWrite): Finding | undefined {
  const pod = run.pods.find(({ uid }) => uid === after.podUID);
  if (pod?.deletedAt === undefined || pod.stop !== undefined) return undefined;
  const main = mainContainerOf(pod.pod);
  const end = pod.ends.findLast(({ container }) => container === main);
  return end !== undefined && end.time > pod.deletedAt
    ? {
        text: `${at.metadata.name} is said to have failed, and ${pod.name} was deleted before`,
        clue: 'deleted',
      }
    : undefined;
}

function isTargeted({ status }: Pod): boolean {
  return (
    status?.conditions?.some(({ type, status: holds }) => type === 'DisruptionTarget' && holds === 'True') ===
    true
  );
}

/** Its end was not seen, or a user has taken it from its At. */
function isLost(history: History, at: At, pod: RunPod, by: StatusWrite['by']): boolean {
  return isUnseen(history, pod, by) || controllerOf(pod.pod)?.uid !== at.metadata.uid;
}

function failedWithoutPod({ at, after, run }: StatusWrite): Finding | undefined {
  const isKnown = run.pods.some(({ uid }) => uid === after.podUID);
  return after.outcome !== 'Failed' || isKnown
    ? undefined
    : { text: `${at.metadata.name} has failed (${after.reason}) in a Pod that never was`, clue: 'no Pod' };
}

function wrongEnd(history: History, { at, after, run, by }: StatusWrite): Finding | undefined {
  const { name } = at.metadata;
  const pod = run.pods.find(({ uid }) => uid === after.podUID);
  const isGone = pod?.goneAt !== undefined;
  const isGoing = isGone || pod?.pod.metadata.deletionTimestamp !== undefined;
  if (after.outcome === 'Succeeded') {
    const isTrue = pod?.succeededAt !== undefined || pod?.shownExits.has(0) === true;
    return isTrue ? undefined : { text: `${name} is said to have succeeded and did not`, clue: 'no success' };
  }
  // Who has not seen the end can call the Pod lost, but not its command failed.
  const isExcused = after.reason !== 'CommandFailed' && pod !== undefined && isLost(history, at, pod, by);
  const isOther = pod?.succeededAt !== undefined && !wasStoppedFirst(pod) && !isExcused;
  if (isOther)
    return {
      text: `${name} succeeded and status says ${after.outcome} (${after.reason})`,
      clue: isGone ? 'end lost' : 'success denied',
    };
  const stillRuns =
    pod !== undefined && pod.endedAt === undefined && !isGoing && !isNeverReleased(at, pod.pod);
  if (stillRuns)
    return { text: `${name} is ${after.outcome} and ${pod.name} still runs`, clue: 'still runs' };
  const { exitCode } = after;
  const written = pod?.pod.metadata.annotations?.['cnat.programming-kubernetes.info/exit-code'];
  if (
    exitCode === undefined ||
    exitCode === null ||
    run.pods.some(({ shownExits }) => shownExits.has(exitCode))
  ) {
    return undefined;
  }
  return String(exitCode) === written
    ? undefined
    : { text: `${name} never ended with the exit code ${exitCode}`, clue: 'exit code' };
}

/** What was asked to stop before it ended is judged by the stop. */
function wasStoppedFirst({ stop, succeededAt }: RunPod): boolean {
  return stop !== undefined && stop.time <= (succeededAt ?? Number.POSITIVE_INFINITY);
}

/** Gated, and a user has taken it from its At: what releases a Pod tests for its owner. */
function isNeverReleased({ metadata: { uid } }: At, pod: Pod): boolean {
  return isGated(pod) && controllerOf(pod)?.uid !== uid;
}

/** So long before a write its sender may have looked, in milliseconds. */
const lookedWithin = 5000;

/** Under the finalizer: deleted before a node had it, or by force. Nothing more will be heard of it. */
function isGoneButHeld(pod: Pod): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  return (
    isHeld(pod) &&
    deletionTimestamp !== undefined &&
    (pod.spec.nodeName === undefined || deletionGracePeriodSeconds === 0)
  );
}

export const absenceIsProven: NamedPromise = {
  name: 'R5',
  sentence: 'no write follows from an absence that was not proven',
  start: (history) => ({
    change(entry) {
      const write = statusWriteOf(history, entry);
      if (write === undefined || write.after.phase !== 'DONE' || write.before.phase === 'DONE')
        return undefined;
      const { at, after, run, by } = write;
      if (run.forgedAt !== undefined) return undefined;
      const present = run.pods.filter(({ goneAt, pod }) => goneAt === undefined && !isGoneButHeld(pod));
      // One that failed because it was deleted counts as lost, also while a finalizer holds it.
      const isThere = present.some(
        ({ uid, endedAt, pod }) => uid === after.podUID && endedAt === undefined && !isNeverReleased(at, pod),
      );
      if (after.reason === 'PodLost' && isThere) {
        return { text: `${at.metadata.name} is called lost and its Pod is there`, clue: 'lost' };
      }
      const isUnlaunched = after.podUID === undefined || after.podUID === null;
      const overlooked = present.find(
        ({ createdAt, pod }) =>
          by.sentAt - createdAt > lookedWithin &&
          pod.metadata.deletionTimestamp === undefined &&
          !isGated(pod) &&
          // A user may take a Pod from its At: it is not the At's any more.
          controllerOf(pod)?.uid === at.metadata.uid,
      );
      return isUnlaunched && overlooked !== undefined
        ? {
            text: `${at.metadata.name} is ${after.outcome} without a Pod, and ${overlooked.name} is there`,
            clue: 'overlooked',
          }
        : kept;
    },
  }),
};
