/**
 * Decide, RUNNING: a Pod has been launched, whether status shows it yet or not. Follow it to its end; stop it
 * when the user, a deadline or its failures say so; start another one only after a disruption.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atEvent, atOutcome, atPhase, atReason } from '../../api/at-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { formatMilliTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import { asEnded, type PodView, type Stop } from '../facts/observe-pod.ts';
import type { Attempt, Observed } from '../facts/observed.ts';
import { currentAttempt, isGated, isOurs, isTracked, maxAttempts } from '../facts/own-pod.ts';
import { retryPriority } from '../facts/queue-priority.ts';
import { isCause } from '../plan/cause.ts';
import { isTerminating, takesPodsAlong } from '../plan/phase.ts';
import { planOf } from '../plan/plan.ts';
import { podUidLabel } from '../plan/pod.ts';
import { runOf } from '../plan/run.ts';
import { type Draft, nothing, readLive, type Steps } from './decision.ts';
import { goneAt, heldPod, release, settle } from './exactly-once.ts';
import { failingEvents, tellsOutput } from './failing.ts';
import { disruptedEvents, earliestAfter, endOf, withEnded } from './history.ts';
import { create, holdCause, holdEvent, launchStatus } from './launch.ts';
import { type Ending, endingOf, isEvicted, lostEnding, stoppedEnding } from './outcome.ts';
import {
  attemptText,
  doneStatus,
  isEditedTooLate,
  stuckStatus,
  updatedStatus,
  waitingReason,
  withAttempt,
  withCause,
  withoutCause,
} from './run-status.ts';
import {
  aliveStatus,
  deadlineOf,
  isPastDeadline,
  nextDeadline,
  ofWait,
  type Running,
  steadyStatus,
} from './running.ts';
import { commandEnd, followStop, notedStatus, stop, stopCause } from './stop.ts';
import { endSurplusPods, runningSurplus, surplusOf } from './surplus-pods.ts';

/** How long after its deletionTimestamp a Pod may be there before its node counts as unreachable. */
const deletionSlackMs = 60_000;
/** How often to look whether a surplus Pod has ended that may never say so. */
const surplusPollMs = 30_000;
/** How often to look at a Pod whose events no longer lead to its At. */
const strippedPollMs = 10_000;
/** How soon a Pod gets the label back that was stopped without it. */
const labelAgainMs = 1000;

export function decideRunning(o: Observed): Draft {
  const launch = currentAttempt(o);
  if (launch === undefined) {
    return nothing;
  }
  return showAttempt(endSurplusPods(o, launch.podUID, decideLaunched(o, launch)));
}

function showAttempt(draft: Draft): Draft {
  if ('first' in draft) {
    return { ...draft, first: withAttempt(draft.first) };
  }
  return 'actions' in draft && draft.status ? { ...draft, status: withAttempt(draft.status) } : draft;
}

function decideLaunched(o: Observed, launch: Attempt): Draft {
  const { view } = launch;
  if (view === undefined && !o.live) {
    return readLive;
  }
  const { status: recorded, events } = launchStatus(o, launch);
  // What the run waited for is found out each time.
  const status = withoutCause(o, recorded);
  if (view === undefined) {
    // The launch first: podUID in status is what keeps a restarted operator from launching again.
    return launch.isNew ? { first: status, events } : decideLost(o, launch, status);
  }
  const running = { launch, view, run: runOf(o.at, view.pod), status, events };
  const gone = goneAt(o, view);
  if (gone !== undefined && o.now > gone) {
    // That it has no node stays true; that its end is not in its status may change at any time.
    if (gone !== 0 && !o.live) return readLive;
    return withLabel(o, view, decideHeld(o, running));
  }
  const ending = endingOf(view, tellsOutput(o));
  const isFollowed = ending === undefined || isTracked(view.pod);
  const draft = ending === undefined ? decideAlive(o, running) : decideEnded(o, running, ending);
  return isFollowed ? withLabel(o, view, draft) : draft;
}

/** The Pod is gone. If that was this operator's doing, status says why. */
function decideLost(o: Observed, launch: Attempt, status: AtStatus): Draft {
  // While the run waits for the next attempt, the history says how this one was lost.
  const ended = endOf(status);
  const { reason, message, exitCode = ended?.exitCode } = status;
  if (o.at.spec.cancel === true && reason !== atReason.succeeded) {
    return done(o, status, stoppedEnding(atReason.canceled, exitCode));
  }
  if (reason !== undefined && reason !== atReason.evicted) {
    return done(o, status, stoppedEnding(reason, exitCode, message));
  }
  const end = { ...lostEnding, reason: reason ?? ended?.reason ?? lostEnding.reason, exitCode };
  return mayRetry(o, launch, status) ? retry(o, launch, status, end) : done(o, status, end);
}

/** Gone but for the finalizer, and without an end of its own. Why it went away may stand on the Pod alone. */
function decideHeld(o: Observed, running: Running): Draft {
  const { launch, view, status, events } = running;
  if (launch.isNew) return { first: status, events };
  const ended = asEnded(view);
  const ending = view.isOver ? endingOf(ended, tellsOutput(o)) : undefined;
  return ending === undefined
    ? decideLost(o, launch, terminatingStatus(o, running))
    : decideEnded(o, { ...running, view: ended }, ending);
}

function decideEnded(o: Observed, running: Running, end: Ending): Draft {
  const { launch, view, status, events } = running;
  const cause = end.disrupted ? notedCause(view, status) : undefined;
  const found =
    cause === undefined ? ofWait(o, running, end) : stoppedEnding(cause, end.exitCode, status.message);
  if (found.disrupted && takesPodsAlong(o.at)) {
    return nothing;
  }
  if (found.disrupted && mayRetry(o, launch, status)) {
    return launch.isNew ? { first: status, events } : retry(o, launch, status, found);
  }
  const ending =
    found.disrupted && o.at.spec.cancel === true ? stoppedEnding(atReason.canceled, found.exitCode) : found;
  // What kept the Pod from starting was noted before it was stopped, and says more than its end does.
  const message = view.stop !== undefined && status.message ? status.message : ending.message;
  return done(o, status, { ...ending, message }, running);
}

/** What was to end the run, as status says it, where its Pod does not: others have deleted it, or it did not start. */
function notedCause({ started }: PodView, { reason }: AtStatus): string | undefined {
  const { canceled, deadlineExceeded, backoffLimitExceeded } = atReason;
  const isForGood = reason === canceled || reason === deadlineExceeded || reason === backoffLimitExceeded;
  return isForGood || (!started && reason !== atReason.evicted) ? reason : undefined;
}

function mayRetry({ at }: Observed, { attempt }: Attempt, status: AtStatus): boolean {
  const { disruptionPolicy, cancel } = at.spec;
  const isWanted = disruptionPolicy === 'Retry' && cancel !== true && !isTerminating(at);
  return isWanted && attempt < maxAttempts && !isEditedTooLate(status);
}

/** Another Pod, under another name. Its 201 or its Pod makes the attempt count, not the intention. */
function retry(o: Observed, launch: Attempt, status: AtStatus, last: Ending): Draft {
  if (o.ambiguous && !o.live) {
    return readLive;
  }
  return doneElsewhere(o, launch, status) ?? nextAttempt(o, launch, status, last);
}

/** A create of another replica, or one that came late, has made a Pod of this At again: it need not run once more. */
function doneElsewhere(o: Observed, { podUID }: Attempt, status: AtStatus): Draft | undefined {
  const { startTime: _, ...rest } = status;
  for (const view of surplusOf(o, podUID)) {
    const ending = endingOf(view, tellsOutput(o));
    if (ending?.outcome === atOutcome.succeeded) {
      return done(o, { ...rest, podName: view.name, podUID: view.uid }, ending, { view, events: [] });
    }
  }
  return undefined;
}

function nextAttempt(o: Observed, launch: Attempt, status: AtStatus, last: Ending): Draft {
  const attempt = launch.attempt + 1;
  const ended = endedStatus(o, launch, status, last);
  const notBefore = earliestAfter(status, launch.view);
  const surplus = runningSurplus(o, launch.podUID);
  if (o.now < notBefore || surplus !== undefined) {
    const when =
      surplus === undefined ? `at ${formatMilliTime(notBefore)}` : `once Pod ${surplus.name} has ended`;
    const message = `${attemptText(attempt)} follows ${when}: ${last.message}`;
    return {
      actions: [],
      status: withCause(o, ended.status, { reason: last.reason, message }),
      events: ended.events,
      // The end of a Pod arrives through the watch.
      ...(o.now < notBefore ? { requeueAt: notBefore } : { requeueAfter: surplusPollMs }),
    };
  }
  const plan = planOf(o.at);
  if (isCause(plan)) {
    return done(o, status, { ...last, message: plan.message });
  }
  const held = heldPod(o, o.nextPod);
  if (held !== undefined) {
    return settle(o, held, attempt, status);
  }
  const cause = holdCause(o, o.nextPod, attempt);
  if (cause === undefined) {
    // A late create may have brought an earlier Pod back since the watch showed it gone.
    return o.live ? create(o, plan, attempt) : readLive;
  }
  // The create is repeated without a deadline.
  const { message } = cause;
  // The first Pod was valid: another API server may find the next one so.
  const reason = cause.reason === atReason.invalidTemplate ? atReason.podRejected : cause.reason;
  return {
    actions: [],
    status: withCause(o, ended.status, { reason, message }),
    events: [
      ...ended.events,
      // The actuator lets through as many as it may.
      holdEvent(reason, message, waitingReason(o.at.status) === reason),
    ],
    requeueAfter: o.retryDelay,
    priority: retryPriority,
  };
}

/** The status with the end of this attempt in its history, and its Event where none was recorded before. */
function endedStatus(
  o: Observed,
  { view }: Attempt,
  status: AtStatus,
  last: Ending,
): { readonly status: AtStatus; readonly events: readonly EventRecord[] } {
  const history = withEnded(o, status, last, view);
  return { status: { ...status, history }, events: disruptedEvents(status, history) };
}

function decideAlive(o: Observed, running: Running): Draft {
  const { view, events } = running;
  const isStripped = !isOurs(o, view.pod);
  if (view.deletionDue !== undefined) {
    const steps = decideTerminating(o, running, view.deletionDue + deletionSlackMs);
    return isStripped ? { ...steps, requeueAfter: strippedPollMs } : steps;
  }
  if (isStripped) {
    const end = view.stop ?? stopCause(o, running);
    const status = isLasting(end) ? notedStatus(o, running, end) : steadyStatus(o, running);
    return { actions: [], status, events, requeueAfter: strippedPollMs };
  }
  if (view.stop !== undefined) {
    return followStop(o, running, view.stop);
  }
  const cause = stopCause(o, running);
  if (cause !== undefined) {
    return stop(o, running, cause);
  }
  if (isGated(view.pod)) {
    return isTerminating(o.at) ? nothing : release(o, running);
  }
  const status = aliveStatus(o, running);
  return {
    actions: [],
    status,
    events: [...events, ...failingEvents(o, status)],
    ...nextDeadline(o, running),
  };
}

/** What ends the At whatever becomes of a Pod that it cannot stop: once it has been seen, nothing is tried again. */
function isLasting(cause: Stop | undefined): cause is Stop {
  return cause?.reason === atReason.canceled || cause?.reason === atReason.deadlineExceeded;
}

/** Why the Pod goes away, in status before it is gone: a process that starts then finds nothing else that says so. */
function terminatingStatus(o: Observed, running: Running): AtStatus {
  const status = steadyStatus(o, running);
  const { stop } = running.view;
  if (status.reason !== undefined || (stop === undefined && !isEvicted(running.view))) {
    return status;
  }
  const { reason, exitCode } = stop ?? { reason: atReason.evicted };
  return updatedStatus(o, status, { reason, ...(exitCode === undefined ? {} : { exitCode }) });
}

/** With the end that the run comes to, which must not be lost with its Pod, or with why the Pod goes away. */
function withReason(o: Observed, running: Running, end: Stop | undefined): AtStatus {
  // A command that has failed may have been killed by what takes the Pod away.
  const isEnd = end !== undefined && end.reason !== atReason.commandFailed;
  return isEnd ? notedStatus(o, running, end) : terminatingStatus(o, running);
}

/**
 * A user deletes the Pod, or a controller. Nothing is stopped any more; a node that does not answer is reported, and
 * what should have been stopped there ends the At all the same.
 */
function decideTerminating(o: Observed, running: Running, overdue: number): Steps {
  const { view, events } = running;
  const cause = view.stop ?? commandEnd(view) ?? stopCause(o, running);
  const isStopped = isLasting(cause);
  // Why the Pod was stopped stands on it, whatever its command does then.
  const end = view.stop === undefined ? commandEnd(view) : undefined;
  const status = withReason(o, running, isStopped ? cause : end);
  const deadline = deadlineOf(o, running);
  if (o.now <= overdue) {
    // A deadline that passes meanwhile is told while the Pod is there, or the run would count as disrupted.
    const next = deadline !== undefined && o.now < deadline ? deadline : overdue + 1;
    return { actions: [], status, events, requeueAt: Math.min(overdue + 1, next) };
  }
  const message = `Pod ${view.name} should have ended by now: its node does not answer`;
  if (cause !== undefined && (isStopped || endsUnseen(o, running, cause))) {
    const ending = stoppedEnding(cause.reason, cause.exitCode);
    const doubt = view.isOver ? '' : ', and the command may still run there';
    return done(o, status, { ...ending, message: `${message}${doubt}` }, running);
  }
  const shown = findCondition(o.at.status?.conditions, atCondition.launched)?.reason;
  const warning: EventRecord = {
    type: 'Warning',
    reason: atEvent.podStuck,
    action: 'FollowPod',
    note: message,
  };
  const stuck = stuckStatus(o, status, message);
  return {
    actions: [],
    status: stuck,
    events: shown === atReason.podUnreachable ? events : [...events, warning],
    // The other limits of the run end no At whose Pod cannot be seen. This one has not passed, or it would be DONE.
    ...(deadline !== undefined && { requeueAt: deadline }),
  };
}

/**
 * Whether the At ends although its Pod was to be stopped for another reason than a cancel or the deadline: one of these has
 * come since, or the command has succeeded. A command that has failed may have been killed by what takes the Pod away.
 */
function endsUnseen(o: Observed, running: Running, { reason }: Stop): boolean {
  return reason === atReason.succeeded || o.at.spec.cancel === true || isPastDeadline(o, running);
}

/**
 * A Pod without the label is not watched: its end would be missed, and nothing would take the finalizer off it. What is
 * done to the Pod otherwise comes first, from the version that was seen.
 */
function withLabel(o: Observed, { pod, uid, name }: PodView, draft: Draft): Draft {
  const { labels, namespace = '', resourceVersion, ownerReferences } = pod.metadata;
  if (labels?.[podUidLabel] !== undefined || !isOurs(o, pod) || !('actions' in draft)) {
    return draft;
  }
  // What is known of an earlier read may have changed since, or be gone.
  if (!o.live) return readLive;
  const isThere = [o.pod, o.nextPod].some((one) => one?.metadata.uid === uid);
  if (!isThere) {
    return draft;
  }
  if (draft.actions.some(({ type }) => type !== 'CreatePod')) {
    // No event of a Pod that is stopped leads to the next look, which gives the label back.
    const isStop = draft.actions.some(({ type }) => type === 'PatchPod');
    return isStop ? { ...draft, requeueAfter: labelAgainMs } : draft;
  }
  // An end is recorded before anything that may be refused; then the finalizer comes off at once.
  if (draft.status?.phase === atPhase.done) return { first: draft.status, events: draft.events };
  const owner = ownerReferences?.find(({ controller }) => controller === true)?.uid;
  const body = { metadata: { uid, resourceVersion, labels: { [podUidLabel]: owner } } };
  return { ...draft, actions: [{ type: 'PatchPod', namespace, name, body }, ...draft.actions] };
}

/**
 * The message, with the edit that came too late where the spec alone does not tell why there is no further attempt
 * or what was run. A message of the command itself is left as it is.
 */
function lastMessage(o: Observed, from: AtStatus, { message, disrupted }: Ending): string {
  if (!isEditedTooLate(from) || (message !== '' && !disrupted)) {
    return message;
  }
  const isUnrepeated = disrupted && o.at.spec.disruptionPolicy === 'Retry';
  const edit = `${isUnrepeated ? 'not repeated: ' : ''}the spec was edited after the Pod was created`;
  return message === '' ? edit : `${message}; ${edit}`;
}

/** DONE, and one Event that says so without the words of the command or its output. */
function done(
  o: Observed,
  from: AtStatus,
  ending: Ending,
  running?: Pick<Running, 'view' | 'events'>,
): Steps {
  const { outcome, reason, exitCode } = ending;
  const message = lastMessage(o, from, ending);
  const status = doneStatus(o, from, { ...ending, message }, running?.view);
  const code = exitCode === undefined ? '' : `, exit code ${exitCode}`;
  const type = outcome === atOutcome.failed ? 'Warning' : 'Normal';
  const eventReason = outcome === atOutcome.succeeded ? atEvent.completed : outcome;
  const note = `${outcome === atOutcome.failed ? reason : outcome}${code}`;
  const event: EventRecord = { type, reason: eventReason, action: 'FollowPod', note };
  // The last of several attempts is told like those before it.
  const lost = ending.disrupted ? disruptedEvents(from, status.history) : [];
  return { actions: [], status, events: [...(running?.events ?? []), ...lost, event] };
}
