/** S1 to S3: which Pods an At may have. */
import type { At } from '../../../src/api/at.generated.ts';
import { controllerOf, type Pod } from '../../../src/kubernetes/objects.ts';
import type { ChangeEntry } from '../entry.ts';
import { type Finding, type History, kept, type NamedPromise, type Seen } from '../history.ts';
import { type AtRun, attemptOf, isGated, type RunPod } from '../runs.ts';
import { dueTimeOf } from '../schedule.ts';
import { basesOf, waitOf } from './basis.ts';

const maxAttempts = 10;

/** A Pod that was created for an At, with both; undefined for any other change. */
function creationOf(
  history: History,
  { resource, change, object }: ChangeEntry,
): { pod: RunPod; run: AtRun } | undefined {
  if (resource !== 'pods' || change !== 'ADDED') return undefined;
  const pod = history.runs.pod(object.metadata.uid);
  const run = history.runs.ofPod(object.metadata.uid);
  return pod === undefined || run === undefined ? undefined : { pod, run };
}

/** Whether the sender had been shown that there was such a Pod, long enough ago to have decided on it. */
function knew(history: History, { attempt, createdBy }: RunPod, run: AtRun, earlier: RunPod): boolean {
  if (!history.tracksSeen) return run.at.status?.podUID === earlier.uid;
  const { replica, sentAt = history.time } = createdBy ?? {};
  const before = sentAt - waitOf(history, sentAt);
  const states = history.replicas.get(replica ?? '')?.seen.get(earlier.uid) ?? [];
  // Also one that it was shown to go away since: that a run has begun is remembered. The watch for metadata alone is
  // the other kind's, and may be ahead of that of the Ats. Without its owner it is anybody's Pod.
  const isShown = ({ time, gone, object }: Seen) =>
    !gone &&
    time <= before &&
    (object as Partial<Pod>).spec !== undefined &&
    controllerOf(object)?.uid === run.uid;
  if (states.some(isShown)) return true;
  const { status } = (history.knownBy(replica, run.uid, before)?.object as At | undefined) ?? {};
  return status?.podUID === earlier.uid || (status?.attempts ?? 0) >= attempt || status?.phase === 'DONE';
}

function isReleased({ pod }: RunPod): boolean {
  return !isGated(pod);
}

function isAtLeastOnce({ at: { spec } }: AtRun): boolean {
  return (spec.launchGuarantee ?? 'AtLeastOnce') === 'AtLeastOnce';
}

function ofSameAttempt({ pods }: AtRun, pod: RunPod): RunPod[] {
  return pods.filter((one) => one !== pod && one.attempt === pod.attempt);
}

/** Whether it lies in the windows of AtLeastOnce: an attempt is made again by a sender that could not know of its Pod. */
export function isInWindow(history: History, pod: RunPod, run: AtRun): boolean {
  const earlier = ofSameAttempt(run, pod);
  return isAtLeastOnce(run) && earlier.length > 0 && !earlier.some((one) => knew(history, pod, run, one));
}

function twice(history: History, { pod, run }: { pod: RunPod; run: AtRun }): Finding | undefined {
  const earlier = ofSameAttempt(run, pod);
  const text = `${pod.namespace}/${pod.name} was created for the same attempt again`;
  if (isAtLeastOnce(run)) {
    return earlier.length === 0 || isInWindow(history, pod, run) ? undefined : { text, clue: 'known' };
  }
  return isReleased(pod) && earlier.some(isReleased) ? { text, clue: 'released twice' } : undefined;
}

function createdWrongly(history: History, creation: { pod: RunPod; run: AtRun }): Finding | undefined {
  const { pod, run } = creation;
  // A user who writes the status decides what the operator knows.
  if (run.forgedAt !== undefined) return undefined;
  // One that a user has taken from its At is not its Pod any more.
  const overlapping = run.pods.find(
    (one) =>
      one.attempt < pod.attempt &&
      one.endedAt === undefined &&
      one.goneAt === undefined &&
      controllerOf(one.pod)?.uid === run.uid,
  );
  if (overlapping !== undefined && overlapping.pod.metadata.deletionTimestamp === undefined) {
    return { text: `${pod.name} was created while ${overlapping.name} had not ended`, clue: 'overlap' };
  }
  return pod.attempt > maxAttempts
    ? { text: `${pod.name} is one attempt too many`, clue: 'too many' }
    : twice(history, creation);
}

/** The gate of a Pod is off, and that of another one of the same attempt was. */
function releasedWrongly({ runs }: History, uid: string | undefined): Finding | undefined {
  const [pod, run] = [runs.pod(uid), runs.ofPod(uid)];
  if (pod === undefined || run === undefined || isAtLeastOnce(run) || !isReleased(pod)) return undefined;
  return ofSameAttempt(run, pod).some(isReleased)
    ? { text: `${pod.name} was released to run a second time`, clue: 'released twice' }
    : undefined;
}

export const onePodPerAttempt: NamedPromise = {
  name: 'S1',
  sentence:
    'per At (UID) and attempt at most one Pod is ever created, the documented windows of AtLeastOnce aside',
  start: (history) => ({
    change(entry) {
      const creation = creationOf(history, entry);
      if (creation !== undefined) return createdWrongly(history, creation) ?? kept;
      const isEdited = entry.resource === 'pods' && entry.change === 'MODIFIED';
      return isEdited ? releasedWrongly(history, entry.object.metadata.uid) : undefined;
    },
  }),
};

/** By how many milliseconds a wrong clock may seem right: a `Date` has whole seconds, and answers take their time. */
const provable = 1100;

export const neverEarly: NamedPromise = {
  name: 'S2',
  sentence: 'no Pod is created before its schedule',
  start: (history) => ({
    change(entry) {
      const creation = creationOf(history, entry);
      if (creation === undefined || creation.pod.attempt > 1) return undefined;
      const { pod, run } = creation;
      const dueTimes = basesOf(history, entry.by, run.uid)
        .filter(({ gone }) => !gone)
        .map(({ object }) => dueTimeOf((object as At).spec));
      if (dueTimes.length === 0) return undefined;
      if (dueTimes.some((due) => entry.time >= due)) return kept;
      const early = Math.min(...dueTimes) - entry.time;
      const ahead = history.replicas.get(entry.by?.replica ?? '')?.clockAhead ?? 0;
      return early <= Math.min(ahead, provable)
        ? kept
        : { text: `${pod.name} was created ${early} ms early`, clue: 'early' };
    },
  }),
};

/** Why that state of an At allows no Pod of that attempt. */
function forbids(at: At, attempt: number): string | undefined {
  if (at.metadata.deletionTimestamp !== undefined) return 'deleted';
  if (at.status?.phase === 'DONE') return 'done';
  if (at.spec.cancel === true) return 'canceled';
  return attempt === 1 && at.spec.suspend === true ? 'suspended' : undefined;
}

export const notForDeletedOrSuspended: NamedPromise = {
  name: 'S3',
  sentence: 'no Pod is created after the At was deleted, suspended, canceled or done and that was visible',
  start: (history) => ({
    change({ by, ...entry }) {
      if (entry.resource !== 'pods' || entry.change !== 'ADDED') return undefined;
      const owner = controllerOf(entry.object as Pod);
      if (owner?.kind !== 'At' || (by !== undefined && by.replica === undefined)) return undefined;
      const { name } = entry.object.metadata;
      const bases = basesOf(history, by, owner.uid);
      if (bases.length === 0) return { text: `${name} was created for an At that its sender had never seen` };
      const reasons = bases.map(({ object, gone }) =>
        gone ? 'gone' : forbids(object as At, attemptOf(name)),
      );
      return reasons.every((reason) => reason !== undefined)
        ? { text: `${name} was created although its At was seen to be ${reasons[0]}`, clue: reasons[0] ?? '' }
        : kept;
    },
  }),
};

/** What of a Pod an edit of the spec would change. */
function madeFrom({ created: { spec, metadata } }: RunPod): string {
  const { containers, initContainers, volumes, restartPolicy } = spec;
  const lean = (all: typeof containers | undefined) =>
    all?.map(({ name, image, command, args }) => [name, image, command, args]);
  return JSON.stringify([
    lean(containers),
    lean(initContainers),
    volumes?.map(({ name }) => name),
    restartPolicy,
    metadata.labels,
  ]);
}

export const editsComeTooLate: NamedPromise = {
  name: 'S6',
  sentence: 'edits after our Pod exists change nothing about that run, except cancel and ttl',
  start: (history) => ({
    change(entry) {
      const creation = creationOf(history, entry);
      if (creation === undefined || creation.pod.attempt === 1) return undefined;
      // What a user has written into the status counts as attempts that no replica has made.
      if (creation.run.forgedAt !== undefined) return undefined;
      // One that is gated was never the run, and may have been made before an edit.
      const firsts = creation.run.pods.filter((pod) => pod.attempt === 1 && isReleased(pod));
      const [first] = firsts;
      if (first === undefined) return undefined;
      return firsts.some((pod) => madeFrom(pod) === madeFrom(creation.pod))
        ? kept
        : { text: `${creation.pod.name} runs something else than ${first.name}` };
    },
  }),
};
