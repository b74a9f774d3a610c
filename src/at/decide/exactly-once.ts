/**
 * Exactly once: the Pod of an attempt is created with a scheduling gate, so that creating it starts nothing. One
 * status write, with the resourceVersion of the At that was decided on, says which Pod the attempt runs in; only then
 * the gate of that Pod is removed. A finalizer holds the Pod until its end is recorded.
 */
import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atEvent, atReason } from '../../api/at-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import { earliest, formatMilliTime, parseTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { observePod, type PodView } from '../facts/observe-pod.ts';
import type { Attempt, Observed } from '../facts/observed.ts';
import { isGated, isOurs, isTracked, isTrackedFor } from '../facts/own-pod.ts';
import { slowFor } from '../facts/slow-answers.ts';
import type { Cause } from '../plan/cause.ts';
import { recordedGate, trackingFinalizer } from '../plan/pod.ts';
import { type Run, runOf } from '../plan/run.ts';
import { type Action, type Draft, readLive, type StatusFirst, type Steps } from './decision.ts';
import { endOf } from './history.ts';
import { heldUpFrom, holdEvent, lateAfterMs, launchStatus, podEventRequeueMs } from './launch.ts';
import { waitingReason, withCause } from './run-status.ts';
import { type Running, steadyStatus } from './running.ts';
import { stated } from './statement.ts';
import { deletion } from './stop.ts';

/** How long the end of a Pod that was deleted by force may be awaited. */
const forcedSlackMs = 60_000;
/** A release that comes so much later than its record is the launch that status shows. */
const lateReleaseMs = 1000;
/** The same where it is refused, in milliseconds: a write for each further try would be noise. */
const refusedReleaseMs = 60_000;

/** The Pod at that name that was never released, or that this At holds although its owner was taken away. */
export function heldPod(o: Observed, atName: Pod | undefined): Pod | undefined {
  if (atName === undefined) return undefined;
  const isHeld = isOurs(o, atName) ? isGated(atName) : isTrackedFor(o, atName);
  return isHeld ? atName : undefined;
}

/** The Pod at the name of the first attempt that was made from another generation of the spec, and never released. */
function outdatedPod(o: Observed): Pod | undefined {
  const pod = heldPod(o, o.pod);
  return pod !== undefined && isGated(pod) && runOf(o.at, pod).generation !== o.at.metadata.generation
    ? pod
    : undefined;
}

/**
 * The decision for an At that is PENDING, and the removal of a Pod that was made from another generation of its spec.
 * The API server shows the At first: generations only grow, so that from then on such a Pod is never recorded.
 */
export function withoutOutdated(o: Observed, draft: Draft): Draft {
  const pod = outdatedPod(o);
  if (pod === undefined) return draft;
  if (!o.live) return readLive;
  return 'actions' in draft ? { ...draft, actions: [...discard(o, pod), ...draft.actions] } : draft;
}

/** Goes on from the Pod that holds the name of this attempt: it is recorded, or goes away. */
export function settle(o: Observed, pod: Pod, attempt: number, from: AtStatus): StatusFirst | Steps {
  const wait: Steps = { actions: [], events: [], requeueAfter: podEventRequeueMs };
  if (attempt === 1 && pod === outdatedPod(o)) return wait;
  const isFenced = findCondition(o.at.status?.conditions, atCondition.launched)?.message === fenceOf(pod);
  if (isOurs(o, pod) && pod.metadata.deletionTimestamp === undefined && !isFenced) {
    return recordGated(o, pod, attempt);
  }
  if (!isTrackedFor(o, pod)) return wait;
  return isFenced ? { ...wait, actions: [untrack(pod)] } : fence(o, pod, from);
}

/**
 * Says that this Pod will not be the one of the attempt, before the finalizer comes off it. Another replica may have
 * sent the write that records the Pod: of the two, which carry the same resourceVersion, the API server takes one.
 */
function fence(o: Observed, pod: Pod, from: AtStatus): StatusFirst {
  const status = o.at.status?.podUID === undefined ? 'False' : 'True';
  const message = fenceOf(pod);
  const condition = {
    type: atCondition.launched,
    status,
    reason: atReason.podNameConflict,
    message,
  } as const;
  return { first: stated(o, from, [condition]), events: [] };
}

function fenceOf({ metadata: { name, uid } }: Pod): string {
  return `Pod ${name} with the uid ${uid} was deleted before it was released: another one takes its place`;
}

/** Deletes a Pod that was never released, and takes the finalizer off it. */
export function discard(o: Observed, pod: Pod): Action[] {
  const isGoing = pod.metadata.deletionTimestamp !== undefined || !isOurs(o, pod);
  const view = observePod(pod);
  return [...(isGoing ? [] : [deletion(view)]), ...(isTrackedFor(o, pod) ? [untrack(pod)] : [])];
}

/**
 * RUNNING, in this gated Pod. The write meets only the At that was decided on: of a suspension, a cancel, an edit or
 * another replica that comes between, the API server takes one.
 */
function recordGated(o: Observed, pod: Pod, attempt: number): StatusFirst {
  const view = observePod(pod);
  const launch: Attempt = { attempt, podName: view.name, podUID: view.uid, view, isNew: true };
  const { status, events } = launchStatus(o, launch);
  return { first: status, events };
}

/**
 * Lets the scheduler have the Pod that status records. Where that comes late, status says so first: from its launch the
 * Pod waits for its start, and no process must take the time before for that wait. The API server shows the Pod before:
 * one that was released long ago keeps its time, although the cache still has the gate. Crash window before the release:
 * the Pod waits, gated, until the next process finds it recorded.
 */
export function release(o: Observed, running: Running): Draft {
  const { view, events } = running;
  const status = steadyStatus(o, running);
  if (o.refusal !== undefined) return refusedRelease(o, running, status, o.refusal);
  const told = toldRefusal(o);
  const recordedAt = parseTime(status.launchTime ?? '');
  if (o.now - recordedAt > (told === undefined ? lateReleaseMs : refusedReleaseMs)) {
    return o.live ? recordLate(o, running, status, told) : readLive;
  }
  return {
    actions: [{ type: 'ReleasePod', pod: view.pod }],
    // Of one that was refused until now the record is older.
    status: told === undefined ? status : launchedNow(o, running, status, o.now),
    events,
    requeueAfter: podEventRequeueMs,
  };
}

/** What keeps the Pod from its release, as status tells it. */
function toldRefusal({ at: { status } }: Observed): Cause | undefined {
  const { reason, message = '' } = status ?? {};
  const isTold = reason === atReason.createFailed && waitingReason(status) === reason;
  return isTold ? { reason, message } : undefined;
}

/** Says so, and tries again later. */
function refusedRelease(o: Observed, { events }: Running, status: AtStatus, refusal: Cause): Steps {
  const isTold = waitingReason(o.at.status) === refusal.reason;
  const news = isTold ? [] : [holdEvent(refusal.reason, refusal.message)];
  return {
    actions: [],
    status: withCause(o, status, refusal),
    events: [...events, ...news],
    requeueAfter: o.retryDelay,
  };
}

/** The launch is now. What keeps the Pod from its release stays told meanwhile, and is not the operator's doing. */
function recordLate(o: Observed, running: Running, status: AtStatus, told: Cause | undefined): StatusFirst {
  const since = told === undefined ? parseTime(status.launchTime ?? '') : o.now;
  const recorded = launchedNow(o, running, status, since);
  return {
    first: told === undefined ? recorded : withCause(o, recorded, told),
    events: [...running.events, ...lateReleaseEvents(o, recorded)],
  };
}

/** @param since from when on the operator may be to blame, epoch milliseconds. */
function launchedNow(o: Observed, { launch, run }: Running, status: AtStatus, since: number): AtStatus {
  const late = launch.attempt === 1 ? latenessOf(o, run, since) : {};
  return { ...status, launchTime: formatMilliTime(o.now), ...late };
}

/**
 * The operator's share of the delay is that of the record, and what has passed since.
 *
 * @param since from when on the operator may be to blame, epoch milliseconds.
 */
function latenessOf(o: Observed, { scheduledTime = o.now }: Run, since: number): Partial<AtStatus> {
  const latenessMilliseconds = Math.max(0, Math.round(o.now - scheduledTime));
  const { operatorDelaySeconds: recorded = 0 } = o.at.status ?? {};
  const heldUpSince = heldUpFrom(o);
  // What kept the Pod from its create, before status recorded it, says nothing of the release.
  const isSince = heldUpSince !== undefined && heldUpSince >= since;
  const until = earliest([o.now, o.unreleasedSince, isSince ? heldUpSince : undefined]) ?? o.now;
  // In whole seconds of the instants, so that what several late releases add up to is no less.
  const acted = until - slowFor(o.slowAnswers, since, until);
  const delay = recorded + Math.max(0, Math.floor(acted / 1000) - Math.floor(since / 1000));
  return { latenessMilliseconds, ...(delay > 0 ? { operatorDelaySeconds: delay } : {}) };
}

/** The launch, as the record told it, may have been on time: that the operator has made it late is told once. */
function lateReleaseEvents(o: Observed, { podName, operatorDelaySeconds = 0 }: AtStatus): EventRecord[] {
  const { operatorDelaySeconds: before = 0 } = o.at.status ?? {};
  const [wasLate, isLate] = [before, operatorDelaySeconds].map((delay) => delay * 1000 > lateAfterMs);
  if (wasLate || !isLate) return [];
  const note = `released Pod ${podName}, which had been created: the operator took ${operatorDelaySeconds} s`;
  return [{ type: 'Warning', reason: atEvent.launchedLate, action: 'ReleasePod', note }];
}

/** Takes the finalizer off: what became of the Pod is recorded, or will not be. */
export function untrack(pod: Pod): Action {
  return { type: 'UntrackPod', pod };
}

/** Takes the finalizer off all Pods of an At that is deleted: nothing is recorded any more. */
export function letGo(o: Observed): Steps {
  const pods = [o.pod, o.nextPod, ...o.earlierPods].filter((pod) => pod !== undefined);
  return { actions: pods.filter((pod) => isTrackedFor(o, pod)).map(untrack), events: [] };
}

/** Whether the history tells how the current attempt ended in this Pod, while another one is to follow. */
export function isEndRecorded({ at: { status = {} } }: Observed, { metadata }: Pod): boolean {
  return metadata.uid !== undefined && endOf(status)?.podUID === metadata.uid;
}

/**
 * When a Pod that only the finalizer holds counts as gone, epoch milliseconds; undefined while it may still tell its
 * end. One without a node never ran and never will: the API server binds no Pod that is being deleted. Once its end is
 * recorded, the Pod still counts as gone when another finalizer keeps it.
 */
export function goneAt(o: Observed, view: PodView): number | undefined {
  const { pod } = view;
  // The patch that would release it names its owner.
  if (isGated(pod) && !isOurs(o, pod)) return 0;
  return isTracked(pod) || isEndRecorded(o, pod) ? silentFrom(view) : undefined;
}

/**
 * From when on nothing more is awaited of a deleted Pod that has not ended, epoch milliseconds: no kubelet has it, or
 * it was deleted by force. Undefined for any other Pod.
 */
export function silentFrom({ pod, ended, deletionDue }: PodView): number | undefined {
  if (ended !== undefined || deletionDue === undefined) return undefined;
  if (!pod.spec.nodeName) return 0;
  return pod.metadata.deletionGracePeriodSeconds === 0 ? deletionDue + forcedSlackMs : undefined;
}

/** The operations of RFC 6902 that remove the gate of exactly this Pod, while it is this At's. */
export function releaseOperations({ metadata, spec }: Pod) {
  const index = (spec.schedulingGates ?? []).findIndex(({ name }) => name === recordedGate);
  const path = `/spec/schedulingGates/${index}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: '/metadata/ownerReferences', value: metadata.ownerReferences },
    { op: 'test', path, value: { name: recordedGate } },
    { op: 'remove', path },
  ] as const;
}

/** The operations of RFC 6902 that remove the finalizer of exactly this Pod. */
export function untrackOperations({ metadata }: Pod) {
  const path = `/metadata/finalizers/${(metadata.finalizers ?? []).indexOf(trackingFinalizer)}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path, value: trackingFinalizer },
    { op: 'remove', path },
  ] as const;
}
