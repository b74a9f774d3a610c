/**
 * Launch: the creation of a Pod, for the first attempt and for those after it, and what a launch looks like
 * in status and Events. The fixed name is the lock: a replica that gets AlreadyExists reads the Pod with that name.
 */

import type { At, AtStatus } from '../../api/at.generated.ts';
import { atAnnotation, atCondition, atEvent, atPodName, atReason } from '../../api/at-constants.ts';
import { findCondition, type NewCondition } from '../../kubernetes/conditions.ts';
import type { Condition, Pod } from '../../kubernetes/objects.ts';
import { earliest, parseTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { ReadAt } from '../facts/last-edit.ts';
import { observePod } from '../facts/observe-pod.ts';
import type { Attempt, Observed } from '../facts/observed.ts';
import { isDisrupted, isGated, recordedPod, shownPod } from '../facts/own-pod.ts';
import { slowFor } from '../facts/slow-answers.ts';
import { type Cause, isCause } from '../plan/cause.ts';
import { isJustEdited } from '../plan/phase.ts';
import { type Plan, planOf } from '../plan/plan.ts';
import { buildPod } from '../plan/pod.ts';
import { type Run, runOf, specHash } from '../plan/run.ts';
import type { Steps } from './decision.ts';
import { imageFor, withImage } from './defaults.ts';
import { disruptedEvents, withEnded } from './history.ts';
import { endingOf, lostEnding } from './outcome.ts';
import { isRescheduledTooLate, runningStatus } from './run-status.ts';
import { specEvents } from './spec-events.ts';
import { accepted, editedTooLate, rescheduledTooLate } from './statement.ts';

/** From this delay on a launch counts as late. */
export const lateAfterMs = 5000;

/** Safety-net requeue: the new Pod arrives through the watch. */
export const podEventRequeueMs = 5000;
/** The same for a Pod that starts nothing before it is recorded: the answer to its create is all that this needs. */
const gatedRequeueMs = 1000;

/** Creates the Pod; what becomes of it is seen in the next decision. */
export function create(o: Observed, plan: Plan, attempt: number): Steps {
  const pod = buildPod(o.at, plan, attempt, { tracked: o.tracks, image: imageFor(o, attempt) });
  return {
    actions: [{ type: 'CreatePod', attempt, pod }],
    events: [],
    requeueAfter: isGated(pod) ? gatedRequeueMs : podEventRequeueMs,
  };
}

/** Why the API server does not take the Pod of this attempt, as far as this pass has found out. */
export function holdCause(o: Observed, atName: Pod | undefined, attempt: number): Cause | undefined {
  if (o.refusal !== undefined) {
    return o.refusal;
  }
  // Only the API server knows who has the name: a cached Pod may be gone, then the create succeeds.
  if (o.live && atName !== undefined) {
    const name = atPodName(o.at.metadata.name, attempt);
    return {
      reason: atReason.podNameConflict,
      message:
        atName.metadata.deletionTimestamp === undefined
          ? `a Pod ${name} that does not belong to this At exists`
          : `a Pod ${name} that does not belong to this At is being deleted, and is not gone yet`,
    };
  }
  return undefined;
}

/** Events are kept for an hour: so often one tells what keeps a due At, in milliseconds. */
export const holdEventPeriodMs = 3_600_000;

export function holdEvent(reason: string, message: string, isRepeated = false): HoldEvent {
  return { type: 'Warning', reason, action: 'CreatePod', note: message, ...(isRepeated && { isRepeated }) };
}

/** An Event about a Pod that is held; of one that is `isRepeated`, status has told before. */
export type HoldEvent = EventRecord & { readonly isRepeated?: boolean };

/** Status and Events of a launch; of one that status shows already, the status as it is. */
export function launchStatus(
  o: Observed,
  launch: Attempt,
): { readonly status: AtStatus; readonly events: readonly EventRecord[] } {
  if (!launch.isNew) {
    return { status: o.at.status ?? {}, events: [] };
  }
  const { attempt, podName, podUID } = launch;
  const pod = shownPod(launch);
  const known = o.launch?.podUID === podUID ? o.launch : undefined;
  // What is gated is released now, and only then launched.
  const seenAt = pod === undefined || isGated(pod) ? undefined : observePod(pod).createdAt;
  const launchTime = known?.launchTime ?? seenAt ?? o.now;
  const run = runOf(o.at, pod);
  // Of a Pod that is gone only memory knows what it was made for: status may tell of the schedule before an edit.
  const scheduledTime = (pod === undefined ? known?.scheduledTime : undefined) ?? run.scheduledTime;
  const plan = planOf(o.at);
  const acceptance = acceptanceOf(o, launch, run, plan);
  const operatorDelay = operatorDelayOf(o, attempt, launchTime, scheduledTime);
  const launched = {
    attempt,
    podName,
    podUID,
    launchTime,
    scheduledTime,
    operatorDelay,
    acceptance,
    history: attempt === 1 ? undefined : historyBefore(o),
  };
  const status = withImage(runningStatus(o, launched), run.defaultImage ?? known?.defaultImage);
  if (attempt > 1) {
    const disrupted = disruptedEvents(o.at.status ?? {}, launched.history);
    return { status, events: [...disrupted, launchEvent(o, launch, launched)] };
  }
  const event = launchEvent(o, launch, launched);
  const note = acceptance === accepted ? event.note : `${event.note}, before the spec was edited`;
  const understood = { dueAt: scheduledTime, hasOperator: !isCause(plan) && plan.hasOperator };
  return { status, events: [...specEvents(o, understood), { ...event, note }] };
}

/** The history of the attempts before a new one; the last of them was lost. */
function historyBefore(o: Observed): AtStatus['history'] {
  const status = o.at.status ?? {};
  // It was proven to be gone before there was a next one.
  const view = recordedPod({ ...o, live: true });
  const ending = view && endingOf(view);
  // Of a Pod that is gone only status tells why: that was written while the Pod terminated. One that was never started, and
  // is gone but for the finalizer, tells so itself.
  const told = view && isDisrupted(view.pod) ? atReason.evicted : undefined;
  // What the run waited for says nothing of its end.
  const noted = disruptions.has(status.reason ?? '') ? status.reason : undefined;
  const reason = ending?.reason ?? noted ?? told ?? lostEnding.reason;
  return withEnded(
    o,
    status,
    { ...(ending ?? lostEnding), reason: disruptions.has(reason) ? reason : lostEnding.reason },
    view,
  );
}

const disruptions: ReadonlySet<string> = new Set([atReason.evicted, atReason.podLost]);

/**
 * Milliseconds by which the operator was late: until its creates failed, also where no condition shows that, and without
 * the time that answers took. Where status
 * told so before this process met it, another one was refused, and since when is not known.
 */
function operatorDelayOf(
  o: Observed,
  attempt: number,
  launchTime: number,
  scheduledTime: number | undefined,
): number {
  const { at } = o;
  const heldUpSince = heldUpFrom(o) ?? launchTime;
  const toldAt = parseTime(holdCondition(at)?.lastTransitionTime ?? '');
  const isKnown = Number.isNaN(toldAt) || Math.floor(heldUpSince / 1000) * 1000 <= toldAt;
  if (attempt > 1 || scheduledTime === undefined || !isKnown) {
    return 0;
  }
  const until = Math.min(launchTime, heldUpSince);
  const waited = slowFor(o.slowAnswers, Math.max(scheduledTime, possibleFrom(at)), until);
  return Math.max(0, operatorLateness(at, until, scheduledTime) - waited);
}

/**
 * Whether the spec is still the one that was launched. From now on it cannot be edited; what happened to it before
 * is known only here, and of further attempts status tells what the first one has found.
 */
function acceptanceOf(o: Observed, launch: Attempt, run: Run, plan: Plan | Cause): readonly NewCondition[] {
  if (launch.attempt > 1 && isRescheduledTooLate(o.at.status)) {
    return rescheduledTooLate;
  }
  const isShown = shownPod(launch) !== undefined;
  const known = isShown ? run.launchedSpec : o.launch?.launchedSpec;
  if (known === undefined) {
    return accepted;
  }
  if (known !== specHash(o.at)) {
    return editedTooLate;
  }
  const isMoved = isShown && (isCause(plan) || plan.dueAt !== run.scheduledTime);
  return isMoved ? rescheduledTooLate : accepted;
}

function launchEvent(
  o: Observed,
  launch: Attempt,
  {
    launchTime,
    scheduledTime,
    operatorDelay,
  }: Pick<Parameters<typeof runningStatus>[1], 'launchTime' | 'scheduledTime' | 'operatorDelay'>,
): EventRecord {
  const { attempt, podName } = launch;
  const author = shownPod(launch)?.metadata.annotations?.[atAnnotation.author];
  const created = `created Pod ${podName}${author === undefined ? '' : ` for ${author}`}`;
  const late = attempt === 1 && scheduledTime !== undefined ? lateness(o.at, launchTime, scheduledTime) : 0;
  if (late > lateAfterMs) {
    const reason = holdReason(o);
    const isBlamed = reason === undefined || operatorDelay > lateAfterMs;
    const took = isBlamed ? `: the operator took ${seconds(operatorDelay)}, then came` : ', after';
    const why = reason === undefined ? '' : `${took} ${reason}`;
    return {
      ...(isBlamed
        ? ({ type: 'Warning', reason: atEvent.launchedLate } as const)
        : ({ type: 'Normal', reason: atEvent.launched } as const)),
      action: 'CreatePod',
      note: `${created} ${seconds(late)} late${why}`,
    };
  }
  const note = attempt === 1 ? created : `${created}, attempt ${attempt}`;
  return { type: 'Normal', reason: atEvent.launched, action: 'CreatePod', note };
}

/** What kept the Pod from being created. */
function holdReason(o: Observed): string | undefined {
  // An Event showed each cause of a refusal.
  const told = holdCondition(o.at)?.reason;
  const isKnown = heldUpFrom(o) !== undefined || o.slowAnswers !== undefined;
  return told ?? (isKnown ? 'requests that failed or were slow' : undefined);
}

/** Since when something else than the operator keeps the Pod from being created, as far as this process knows. */
export function heldUpFrom({ heldUpSince, waitsSince }: Observed): number | undefined {
  return earliest([heldUpSince, waitsSince]);
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** The condition that says why the API server has not taken the Pod so far. */
export function holdCondition(at: At): Condition | undefined {
  const launched = findCondition(at.status?.conditions, atCondition.launched);
  return launched?.status === 'False' ? launched : undefined;
}

/** Milliseconds by which the operator alone made the first launch of the At late, at least 0. */
export function operatorLateness(at: ReadAt, launchTime: number, scheduledTime: number): number {
  const late = Math.max(0, lateness(at, launchTime, scheduledTime));
  if (possibleFrom(at) + 1000 <= scheduledTime) {
    return late;
  }
  // When a user did something is known to the second, and so is when a Pod was created: one second between them can be
  // next to nothing.
  return late < 2000 ? 0 : Math.floor(late / 1000) * 1000;
}

/**
 * Milliseconds by which the operator, not the user, was late: what was due before the At existed, was edited
 * or was resumed could not start earlier.
 */
function lateness(at: ReadAt, launchTime: number, scheduledTime: number): number {
  if (isJustEdited(at)) {
    return 0;
  }
  return launchTime - Math.max(scheduledTime, possibleFrom(at));
}

/** The second in which the At was created, or was edited or resumed after that: epoch milliseconds. */
function possibleFrom({ metadata, status, editedAt = Number.NEGATIVE_INFINITY }: ReadAt): number {
  const resumed = findCondition(status?.conditions, atCondition.suspended)?.lastTransitionTime ?? '';
  const times = [parseTime(metadata.creationTimestamp ?? ''), parseTime(resumed), editedAt];
  return Math.max(...times.filter((time) => !Number.isNaN(time)));
}
