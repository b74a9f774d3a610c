/**
 * Surplus Pods: Pods of an At that are not the one its run is in, or was. A create that a stale replica sent, or that
 * came through late, may bring one into being under a name whose Pod had been deleted, or after the At was
 * canceled, missed or lost. No status speaks of it, so it must not run on.
 */

import { atPhase, atReason } from '../../api/at-constants.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { observePod, type PodView } from '../facts/observe-pod.ts';
import type { Observed } from '../facts/observed.ts';
import { isGated, isOurs, isTrackedFor } from '../facts/own-pod.ts';
import { isTerminating, phaseOf } from '../plan/phase.ts';
import type { Action, Draft } from './decision.ts';
import { discard, isEndRecorded, silentFrom, untrack } from './exactly-once.ts';
import { deletion, stopOverdue, stopPatch } from './stop.ts';

/** What is to be done about a Pod that is not the one of the run. */
interface Step {
  /** Before everything else: another attempt would run beside it. */
  readonly first?: readonly Action[];
  /** After the rest. */
  readonly last?: readonly Action[];
  /** When to look at it again, epoch milliseconds. */
  readonly requeueAt?: number;
  readonly events?: readonly EventRecord[];
}

/**
 * The decision, and the end of every Pod but the one with this uid, by the rules of any stop. However old what
 * was observed is: an attempt that was recorded, or followed by another one, has no second Pod. Pods whose end is
 * recorded are let go.
 */
export function endSurplusPods(o: Observed, uid: string | undefined, draft: Draft): Draft {
  // What is still to be read or written first is followed by a decision of its own, which ends them.
  if (!('actions' in draft)) {
    return draft;
  }
  const pods = [o.pod, o.nextPod, ...o.earlierPods].filter((pod) => pod !== undefined);
  const steps = pods.map((pod) => stepFor(o, pod, pod.metadata.uid === uid));
  const times = steps.flatMap(({ requeueAt }) => (requeueAt === undefined ? [] : [requeueAt]));
  const requeueAt = Math.min(...times, draft.requeueAt ?? Number.POSITIVE_INFINITY);
  return {
    ...draft,
    actions: [
      ...steps.flatMap(({ first = [] }) => first),
      ...draft.actions,
      ...steps.flatMap(({ last = [] }) => last),
    ],
    events: [...draft.events, ...steps.flatMap(({ events = [] }) => events)],
    ...(Number.isFinite(requeueAt) ? { requeueAt } : {}),
  };
}

/** The Pods of the At that are there beside the one with this uid. */
export function surplusOf(o: Observed, uid: string): PodView[] {
  return [o.pod, ...o.earlierPods]
    .filter((pod) => pod !== undefined)
    .filter((pod) => pod.metadata.uid !== uid && isOurs(o, pod))
    .map(observePod);
}

/** One of them that may still run. */
export function runningSurplus(o: Observed, uid: string): PodView | undefined {
  return surplusOf(o, uid)
    .filter(({ pod }) => !isGated(pod))
    .find((view) => view.ended === undefined && o.now <= (silentFrom(view) ?? Number.POSITIVE_INFINITY));
}

/** The gated Pod of the attempt that may follow: retry records it, or lets it go. */
function isNext(o: Observed, pod: Pod): boolean {
  const mayFollow = phaseOf(o.at) === atPhase.running && !isTerminating(o.at);
  return mayFollow && pod === o.nextPod && isGated(pod);
}

function stepFor(o: Observed, pod: Pod, isOfRun: boolean): Step {
  const isHeld = isTrackedFor(o, pod);
  const view = observePod(pod);
  const isOver = view.ended !== undefined || view.deletionDue !== undefined;
  if (isOfRun) return isHeld ? letGoOnceRecorded(o, pod) : {};
  if (isNext(o, pod)) {
    return {};
  }
  if (isOver || !isOurs(o, pod)) {
    return isHeld ? { last: [untrack(pod)] } : {};
  }
  return isGated(pod) ? { first: discard(o, pod) } : stopFor(o, view);
}

/**
 * Of an attempt that was lost, before the next one is tried: that may be refused for long, and nothing follows a create
 * without an answer.
 */
function letGoOnceRecorded(o: Observed, pod: Pod): Step {
  if (phaseOf(o.at) === atPhase.done || isTerminating(o.at)) return { last: [untrack(pod)] };
  return isEndRecorded(o, pod) ? { first: [untrack(pod)] } : {};
}

function stopFor(o: Observed, view: PodView): Step {
  if (!view.seen) {
    return { first: [deletion(view)], events: [stopEvent(o, view)] };
  }
  const overdue = stopOverdue(view);
  if (overdue === undefined) {
    return { first: [stopPatch(view, { reason: reasonOf(o) }, o.now)], events: [stopEvent(o, view)] };
  }
  return o.now >= overdue ? { first: [deletion(view)] } : { requeueAt: overdue };
}

function stopEvent(o: Observed, { name }: PodView): EventRecord {
  const note = `stopped Pod ${name}, which was created too late (${reasonOf(o)})`;
  return { type: 'Warning', reason: atReason.superseded, action: 'StopPod', note };
}

/** Why it is stopped: what ended an At that has no Pod of its own, or that another Pod is the one of the run. */
function reasonOf({ at: { status } }: Observed): string {
  return status?.podUID === undefined && status?.reason !== undefined ? status.reason : atReason.superseded;
}
