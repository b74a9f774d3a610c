/**
 * Own Pod: which of the Pods at the names of an At belongs to its run. A name proves nothing: only the uid of
 * the controller ownerReference, or the uid that status or memory recorded, does.
 */

import type { At } from '../../api/at.generated.ts';
import { atPhase, atPodName } from '../../api/at-constants.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import { isControlledBy } from '../../kubernetes/owner.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { phaseOf } from '../plan/phase.ts';
import { podUidLabel, recordedGate, trackingFinalizer } from '../plan/pod.ts';
import { asEnded, endedByItself, observePod, type PodView } from './observe-pod.ts';
import type { Attempt, Observed } from './observed.ts';

/** Attempts that a run may take. */
export const maxAttempts = 10;

/** The Pod of an attempt as it is there, or else was shown last. */
export function shownPod({ view, last }: Attempt): Pod | undefined {
  return view?.pod ?? last;
}

/** How many attempts status records. */
export function recordedAttempts(at: At): number {
  return at.status?.attempts ?? (phaseOf(at) === atPhase.pending ? 0 : 1);
}

/**
 * The names under which to look for Pods; `next` only where an attempt is recorded that another may follow.
 * A replica creates a Pod only when it has seen the attempt before it recorded: no Pod exists under a further name.
 */
export function podNames(at: At): {
  readonly earlier: readonly string[];
  readonly current: string;
  readonly next: string | undefined;
} {
  const recorded = recordedAttempts(at);
  const name = (attempt: number): string => atPodName(at.metadata.name, attempt);
  // A forged status may count any number of attempts.
  const before = recorded > 1 ? Math.min(recorded - 1, maxAttempts) : 0;
  return {
    earlier: before === 0 ? [] : Array.from({ length: before }, (_, index) => name(index + 1)),
    current: name(Math.max(1, recorded)),
    next: recorded > 0 ? name(recorded + 1) : undefined,
  };
}

/** The Pods of an At, each where its status makes it belong. `find` gives what stands at a name. */
export function podsAt(
  at: At,
  find: (name: string) => Pod | undefined,
): Pick<Observed, 'pod' | 'nextPod' | 'earlierPods'> {
  const { earlier, current, next } = podNames(at);
  return {
    pod: find(current),
    nextPod: next === undefined ? undefined : find(next),
    earlierPods: earlier.map(find).filter((pod) => pod !== undefined),
  };
}

/** All of them, for {@link podsAt} once the At has another status: an attempt may have begun. */
export function findAmong({ pod, nextPod, earlierPods }: Observed): (name: string) => Pod | undefined {
  return (name) => [pod, nextPod, ...earlierPods].find((one) => one?.metadata.name === name);
}

/** Undefined when nothing has been launched. */
export function currentAttempt(o: Observed): Attempt | undefined {
  const recorded = recordedAttempts(o.at);
  const { current, next } = podNames(o.at);
  const newest = next === undefined ? undefined : unrecorded(o, recorded + 1, next, o.nextPod);
  if (newest !== undefined) {
    return newest;
  }
  if (o.launch !== undefined && o.launch.attempt > recorded) {
    const { attempt, podName, podUID } = o.launch;
    const pod = withUid(o.pod, podUID) ?? withUid(o.nextPod, podUID);
    const view = pod === undefined ? departedWith(o, podUID) : viewOf(o, pod);
    return { attempt, podName, podUID, view, isNew: true };
  }
  const { podName = '', podUID } = o.at.status ?? {};
  // A podUID beside no attempt is no record of ours: no launch follows from it, and no loss.
  if (recorded === 0 || podUID === undefined) {
    const shown = unrecorded(o, Math.max(1, recorded), current, o.pod);
    if (shown !== undefined || recorded === 0) return shown;
  }
  return { attempt: recorded, podName, podUID: podUID ?? '', view: recordedPod(o), isNew: false };
}

/**
 * The attempt with this Pod, which is there or was shown to go away: a run that was seen is not repeated. One that went
 * away comes first: the Pod at its name is that of a late create.
 */
function unrecorded(
  o: Observed,
  attempt: number,
  podName: string,
  present: Pod | undefined,
): Attempt | undefined {
  const pod = owned(o, present);
  const gone = o.departed.findLast(
    ({ metadata }) => metadata.name === podName && metadata.uid !== pod?.metadata.uid,
  );
  const last = gone ?? pod;
  if (last === undefined) return undefined;
  const podUID = last.metadata.uid ?? '';
  const view = last === gone ? lastOf(o, last) : viewOf(o, last);
  return { attempt, podName, podUID, view, last, isNew: true };
}

/** The Pod of the recorded attempt: as it is there, or how it ended when the watch has shown that. */
export function recordedPod(o: Observed): PodView | undefined {
  const podUID = o.at.status?.podUID;
  const pod = withUid(o.pod, podUID);
  return pod === undefined ? departedWith(o, podUID) : viewOf(o, pod);
}

/**
 * A Pod that a finalizer holds may have ended before it was evicted or deleted, which says nothing about the run then: it
 * counts as it ended.
 */
function viewOf({ departed }: Observed, pod: Pod): PodView {
  const { uid } = pod.metadata;
  const end = departed.find((one) => one.metadata.uid === uid && endedByItself(one));
  if (end === undefined) return observePod(pod);
  const { status } = end;
  return { ...observePod({ ...pod, ...(status && { status }) }), deletionDue: undefined };
}

/** Whether this At is the controller of the Pod: whatever else, only such a Pod is ever written. */
export function isOurs({ at }: Observed, pod: Pod): boolean {
  return at.metadata.uid !== undefined && isControlledBy(pod, at.metadata.uid);
}

/** A Pod that has {@link recordedGate} is not launched: nothing of it has run, and status decides whether it will. */
export function isGated(pod: Pod | undefined): boolean {
  return pod?.spec.schedulingGates?.some(({ name }) => name === recordedGate) ?? false;
}

/** Whether {@link trackingFinalizer} holds the Pod until its end is recorded. */
export function isTracked({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

/**
 * Whether {@link trackingFinalizer} holds the Pod for this At. The label says for which, or the owner: one of them may have
 * been taken away, and the finalizer has to come off such a Pod, too.
 */
export function isTrackedFor(o: Observed, pod: Pod): boolean {
  const label = pod.metadata.labels?.[podUidLabel];
  const isNamed = label === undefined ? isOurs(o, pod) : label === o.at.metadata.uid;
  return isTracked(pod) && isNamed;
}

/** A Pod that was shown to be this At's belongs to its run also after its owner was taken away. */
function owned(o: Observed, pod: Pod | undefined): Pod | undefined {
  const wasOurs = o.departed.some(({ metadata }) => metadata.uid === pod?.metadata.uid);
  return pod !== undefined && (wasOurs || isOurs(o, pod)) && !isGated(pod) ? pod : undefined;
}

function departedWith(o: Observed, uid: string | undefined): PodView | undefined {
  return lastOf(
    o,
    o.departed.find((pod) => pod.metadata.uid === uid),
  );
}

/**
 * How a Pod ended that the watch shows no more; undefined when it has not shown that. A Pod that was being stopped or
 * evicted may still be there, without the label by which it is watched: its end counts only where the API server
 * itself does not show it.
 */
function lastOf({ live }: Observed, pod: Pod | undefined): PodView | undefined {
  if (pod === undefined) return undefined;
  const view = observePod(pod);
  if (view.ended !== undefined) return view;
  const isTold = view.stop !== undefined || view.isOver || isDisrupted(pod);
  return live && isTold ? asEnded(view) : undefined;
}

/**
 * Since when Kubernetes disrupts the Pod, as a condition of it shows, epoch milliseconds, minus infinity where it does not tell;
 * undefined where it does not.
 */
export function disruptedSince({ status }: Pod): number | undefined {
  const target = status?.conditions?.find(
    ({ type, status: holds }) => type === 'DisruptionTarget' && holds === 'True',
  );
  if (target === undefined) return undefined;
  const since = parseTime(target.lastTransitionTime ?? '');
  return Number.isNaN(since) ? Number.NEGATIVE_INFINITY : since;
}

/** Whether a condition of the Pod shows that Kubernetes disrupts it. */
export function isDisrupted(pod: Pod): boolean {
  return disruptedSince(pod) !== undefined;
}

function withUid(pod: Pod | undefined, uid: string | undefined): Pod | undefined {
  return uid !== undefined && pod?.metadata.uid === uid ? pod : undefined;
}
