/**
 * Decide, PENDING: nothing has been launched. Wait for the instant, then launch, unless the spec, the user or
 * a deadline says otherwise.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atEvent, atOutcome, atReason, holdReasons } from '../../api/at-constants.ts';
import { findCondition, isConditionTrue } from '../../kubernetes/conditions.ts';
import { formatDuration } from '../../kubernetes/duration.ts';
import { parseTime } from '../../kubernetes/time.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Observed } from '../facts/observed.ts';
import { dryRunPriority, launchPriority, retryPriority } from '../facts/queue-priority.ts';
import { type Cause, isCause } from '../plan/cause.ts';
import { isEdited } from '../plan/phase.ts';
import { type Plan, planOf } from '../plan/plan.ts';
import { buildPod } from '../plan/pod.ts';
import { type Draft, readLive, type StatusFirst, type Steps } from './decision.ts';
import { effective, imageFor, startingDeadline } from './defaults.ts';
import { heldPod, settle, withoutOutdated } from './exactly-once.ts';
import { create, holdCause, holdCondition, holdEvent, operatorLateness } from './launch.ts';
import type { Ending } from './outcome.ts';
import { doneStatus } from './run-status.ts';
import { resumedEvent, specEvents } from './spec-events.ts';
import { clip } from './statement.ts';
import {
  armedStatus,
  heldStatus,
  invalidStatus,
  refusedTemplate,
  suspendedStatus,
  unlaunchedStatus,
  waitingStatus,
} from './waiting-status.ts';

/** A launch that the operator has made later than this does not rest on the cache alone. */
const restsOnCacheMs = 30_000;

/** Nearer to its time than this, a Pod is not tried: a slow answer must not make it late. */
const dryRunLeadMs = 10_000;

/** Bytes of a hold's message that go into another message. */
const maxReasonBytes = 900;

/** For an At of which neither status nor memory nor a Pod shows a launch. */
export function decidePending(o: Observed): Draft {
  // A read that has failed holds up the launch, as a create that fails does, until there is one.
  if ((o.ambiguous || o.unread) && !o.live && o.refusal === undefined) {
    return readLive;
  }
  return withoutOutdated(o, decideWaiting(o));
}

function decideWaiting(o: Observed): Draft {
  const plan = refusedTemplate(o) ?? planOf(o.at);
  if (o.at.spec.cancel === true) {
    const message = 'canceled before its launch';
    const end = { outcome: atOutcome.canceled, reason: atReason.canceled, message };
    return endUnlaunched(o, end, unlaunchedStatus(o, plan));
  }
  if (isCause(plan)) {
    return refuse(o, plan);
  }
  if (o.at.spec.suspend === true) {
    return suspend(o, plan);
  }
  if (o.now < plan.dueAt) {
    return arm(o, plan);
  }
  if (o.now > startingDeadline(o, plan.dueAt)) {
    const message = `${lateText(o, plan)}${lastHoldReason(o, plan)}`;
    const end = { outcome: atOutcome.missed, reason: atReason.missedDeadline, message };
    const decision = endUnlaunched(o, end, unlaunchedStatus(o, plan));
    return 'need' in decision
      ? decision
      : { ...decision, events: [...specEvents(o, plan), ...decision.events] };
  }
  return launch(o, plan);
}

/** By how much the At is too late, and for which limit. */
function lateText(o: Observed, { dueAt }: Plan): string {
  const source = o.at.spec.startingDeadlineSeconds === undefined ? " (the operator's default)" : '';
  const limit = `startingDeadlineSeconds is ${effective(o, 'startingDeadlineSeconds')}${source}`;
  return `not started: it was ${formatDuration(o.now - dueAt)} late, and ${limit}`;
}

/** What kept the command from starting at this very instant, if the API server reported it. */
function lastHoldReason({ at: { status } }: Observed, plan: Plan): string {
  const { reason, message = '', scheduledTime = '' } = status ?? {};
  const isHold = holdReasons.has(reason ?? '');
  return isHold && parseTime(scheduledTime) === plan.dueAt ? `: ${clip(message, maxReasonBytes)}` : '';
}

/**
 * DONE without a Pod, from a status that speaks of this very spec. The API server is asked first: a cache may not
 * show yet what was launched.
 */
function endUnlaunched(
  o: Observed,
  end: Pick<Ending, 'outcome' | 'reason' | 'message'>,
  shown: AtStatus | undefined,
): Exclude<Draft, StatusFirst> {
  if (!o.live) {
    return readLive;
  }
  const { podName: _, ...from } = shown ?? {};
  const status = doneStatus(o, from, { ...end, exitCode: undefined, disrupted: false });
  const type = end.outcome === atOutcome.canceled ? 'Normal' : 'Warning';
  const { reason, message: note } = end;
  return { actions: [], status, events: [{ type, reason, action: 'EndWithoutPod', note }] };
}

function refuse(o: Observed, invalid: Cause): Steps {
  const { reason, message } = invalid;
  const shown = findCondition(o.at.status?.conditions, atCondition.accepted);
  const isKnown = shown?.reason === reason && shown.message === message && !isEdited(o.at);
  const event: EventRecord = { type: 'Warning', reason, action: 'ReadSpec', note: message };
  const events = [...resumedEvent(o), ...(isKnown ? [] : [event])];
  return { actions: [], status: invalidStatus(o, invalid), events };
}

function suspend(o: Observed, plan: Plan): Steps {
  const note = 'nothing is started while spec.suspend is true';
  const event: EventRecord = { type: 'Normal', reason: atEvent.suspended, action: 'ReadSpec', note };
  const isKnown = isConditionTrue(o.at.status?.conditions, atCondition.suspended);
  return { actions: [], status: suspendedStatus(o, plan), events: isKnown ? [] : [event] };
}

function arm(o: Observed, plan: Plan): Steps {
  const events = [...specEvents(o, plan), ...rejectionEvents(o)];
  const status = armedStatus(o, plan);
  if (isEdited(o.at) && plan.dueAt - o.now > dryRunLeadMs) {
    // Accepted first, so that a restart does not try all the Pods again; then tried, when nothing else waits.
    const actions: Steps['actions'] = [{ type: 'QueueDryRun' }];
    return { actions, status, events, requeueAfter: 0, priority: dryRunPriority };
  }
  const triesPod = o.untried === true && plan.dueAt - o.now > dryRunLeadMs;
  const actions: Steps['actions'] = triesPod
    ? [{ type: 'DryRunPod', pod: buildPod(o.at, plan, 1, { tracked: o.tracks, image: imageFor(o, 1) }) }]
    : [];
  return { actions, status, events, requeueAt: plan.dueAt, priority: launchPriority };
}

/** One Event, and none for each further dry run that is refused. */
function rejectionEvents({ at, preflight }: Observed): EventRecord[] {
  const shown = isEdited(at) ? undefined : findCondition(at.status?.conditions, atCondition.podAdmitted);
  return preflight?.rejection === undefined || shown?.status === 'False'
    ? []
    : [holdEvent(preflight.rejection.reason, preflight.rejection.message)];
}

function launch(o: Observed, plan: Plan): Draft {
  const held = heldPod(o, o.pod);
  if (held !== undefined) {
    return settle(o, held, 1, waitingStatus(o, plan));
  }
  const cause = holdCause(o, o.pod, 1);
  if (cause !== undefined) {
    return hold(o, plan, cause.reason, cause.message);
  }
  // Those that wait in line are too many to be read at each look.
  const isDoubtful = holdCondition(o.at) === undefined && (o.blind === true || isFromLongAgo(o, plan));
  return !o.live && isDoubtful ? readLive : create(o, plan, 1);
}

/**
 * Whether the instant passed so long ago that another process may have launched the At since, unseen by a cache that
 * stood still, such as that of a process which has just begun to lead. After a dead connection the watch may show edits
 * one by one that were made, and taken back, long ago.
 */
function isFromLongAgo({ at, now, heldUpSince }: Observed, { dueAt }: Plan): boolean {
  return heldUpSince === undefined && operatorLateness(at, now, dueAt) > restsOnCacheMs;
}

/** Due, but the API server refuses the Pod: that is told, and the create is repeated until the deadline. */
function hold(o: Observed, plan: Plan, reason: string, message: string): Steps {
  const shown = o.at.status?.reason === reason && !isEdited(o.at) ? (o.at.status.message ?? '') : undefined;
  const isSame = shown !== undefined && isSameBarNumbers(shown, message);
  const status = heldStatus(o, plan, reason, isSame ? shown : message);
  // The actuator lets through as many as it may.
  const event = holdEvent(reason, message, shown !== undefined);
  const deadline = startingDeadline(o, plan.dueAt);
  return {
    actions: [],
    status,
    events: [...specEvents(o, plan), event],
    requeueAfter: Math.max(0, Math.min(o.retryDelay, deadline + 1 - o.now)),
    priority: retryPriority,
  };
}

/** So many characters of a sentence's end are compared: what was clipped begins elsewhere each time. */
const comparedEnd = 500;

/** The numbers in a quota's sentence change with each try, and so do ids; a status write for each would be noise. */
function isSameBarNumbers(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) =>
    text.replaceAll(/\w*\d[\w.-]*/g, '0').slice(-comparedEnd),
  );
  return first === second;
}
