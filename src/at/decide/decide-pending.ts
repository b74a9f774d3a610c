/**
 * Decide, PENDING: nothing has been launched. Wait for the instant, then launch, unless the spec, the user or
 * a deadline says otherwise.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import { atCondition, atEvent, atOutcome, atPodName, atReason } from '../../api/at-constants.ts';
import { findCondition, isConditionTrue } from '../../kubernetes/conditions.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { isEdited } from '../plan/phase.ts';
import { type InvalidPlan, isInvalid, type Plan, planOf } from '../plan/plan.ts';
import { buildPod } from '../plan/pod.ts';
import {
  type AtEvent,
  type CreateLimits,
  type Decision,
  dryRunPriority,
  launchPriority,
  type Observed,
  readLive,
  retryPriority,
} from './decision.ts';
import { create, obstacle, obstacleEvent } from './launch.ts';
import type { Ending } from './outcome.ts';
import { doneStatus } from './run-status.ts';
import { resumedEvent, specEvents } from './spec-events.ts';
import { clip } from './statement.ts';
import {
  armedStatus,
  heldStatus,
  invalidStatus,
  launchingStatus,
  suspendedStatus,
  unlaunchedStatus,
} from './waiting-status.ts';

/** After so many milliseconds a create that was sent can no longer happen: the API server has dropped it. */
const writeTimeout = 5000;

/** The most that the API server gives a create, in milliseconds. */
const mostServerTimeout = 4000;

/** So long a create may wait in this process until it is sent, in milliseconds, whatever the API server gives it. */
const leastSendWithin = 500;

/** Nearer to its time than this, in milliseconds, a Pod is not tried: a slow answer must not make it late. */
const dryRunLead = 10_000;

/** Bytes of an obstacle's sentence that go into another one. */
const longestObstacle = 900;

/** For an At of which neither status nor memory nor a Pod shows a launch. */
export function decidePending(o: Observed): Decision {
  if (o.ambiguous && !o.live) {
    return readLive;
  }
  const unknown = decideUnknownLaunch(o);
  if (unknown !== undefined) {
    return unknown;
  }
  const plan = planOf(o.at);
  if (o.at.spec.cancel === true) {
    const message = 'canceled before its time';
    const end = { outcome: atOutcome.canceled, reason: atReason.canceled, message };
    return endUnlaunched(o, end, unlaunchedStatus(o, plan));
  }
  if (isInvalid(plan)) {
    return refuse(o, plan);
  }
  if (o.at.spec.suspend === true) {
    return suspend(o, plan);
  }
  if (o.now < plan.dueAt) {
    return arm(o, plan);
  }
  if (o.now > startingDeadline(o, plan)) {
    const message = `startingDeadlineSeconds were over before the command could start${lastObstacle(o, plan)}`;
    const end = { outcome: atOutcome.missed, reason: atReason.missedDeadline, message };
    const decision = endUnlaunched(o, end, unlaunchedStatus(o, plan));
    return o.live ? { ...decision, events: [...specEvents(o, plan), ...decision.events] } : decision;
  }
  return launch(o, plan);
}

function startingDeadline({ at }: Observed, plan: Plan): number {
  const { startingDeadlineSeconds } = at.spec;
  return startingDeadlineSeconds === undefined
    ? Number.POSITIVE_INFINITY
    : plan.dueAt + startingDeadlineSeconds * 1000;
}

/** What kept the command from starting at this very instant, if the API server said so. */
function lastObstacle({ at: { status } }: Observed, plan: Plan): string {
  const { reason, message = '', scheduledTime = '' } = status ?? {};
  const isObstacle = reason === atReason.podRejected || reason === atReason.podNameConflict;
  return isObstacle && parseTime(scheduledTime) === plan.dueAt ? `: ${clip(message, longestObstacle)}` : '';
}

/**
 * An intent that an other process wrote, or that this one got no answer to: the Pod may come into being for
 * as long as a write can be under way, and if it did not by then, nobody knows whether the command ran.
 */
function decideUnknownLaunch(o: Observed): Decision | undefined {
  const intent = o.at.status?.launchAttempt;
  if (intent === undefined) {
    return undefined;
  }
  // A live read may show a newer one than that which has been waited for.
  const age = ageOf(o, intent) ?? 0;
  const isOwn = intent.holder === o.holder && !o.ambiguous;
  // One of this pass that is so old: this process has been stopped, and others may have judged by now.
  if (isOwn && !(o.continued && age >= writeTimeout)) {
    return undefined;
  }
  if (age < writeTimeout) {
    return { actions: [], events: [], requeueAfter: writeTimeout - age };
  }
  const message = 'the operator stopped while it created the Pod; whether the command ran is unknown';
  const end = { outcome: atOutcome.failed, reason: atReason.launchUnknown, message };
  return endUnlaunched(o, end, o.at.status);
}

function ageOf({ intent: seen }: Observed, { time }: { readonly time: string }): number | undefined {
  return seen?.time === time ? seen.age : undefined;
}

/**
 * DONE without a Pod, from a status that speaks of this very spec, or of the one whose launch is unknown. The API
 * server is asked first: a cache may not show yet what was launched.
 */
function endUnlaunched(
  o: Observed,
  end: Pick<Ending, 'outcome' | 'reason' | 'message'>,
  said: AtStatus | undefined,
): Decision {
  if (!o.live) {
    return readLive;
  }
  const { podName: _, ...from } = said ?? {};
  const status = doneStatus(o, from, { ...end, exitCode: undefined, disrupted: false });
  const type = end.outcome === atOutcome.canceled ? 'Normal' : 'Warning';
  const reason = end.outcome === atOutcome.failed ? atEvent.failed : end.reason;
  return { actions: [], status, events: [{ type, reason, action: 'EndWithoutPod', note: end.message }] };
}

function refuse(o: Observed, invalid: InvalidPlan): Decision {
  const { reason, message } = invalid;
  const said = findCondition(o.at.status?.conditions, atCondition.accepted);
  const isKnown = said?.reason === reason && said.message === message && !isEdited(o.at);
  const event: AtEvent = { type: 'Warning', reason, action: 'ReadSpec', note: message };
  const events = [...resumedEvent(o), ...(isKnown ? [] : [event])];
  return { actions: [], status: invalidStatus(o, invalid), events };
}

function suspend(o: Observed, plan: Plan): Decision {
  const note = 'nothing is started while spec.suspend is true';
  const event: AtEvent = { type: 'Normal', reason: atEvent.suspended, action: 'ReadSpec', note };
  const isKnown = isConditionTrue(o.at.status?.conditions, atCondition.suspended);
  return { actions: [], status: suspendedStatus(o, plan), events: isKnown ? [] : [event] };
}

function arm(o: Observed, plan: Plan): Decision {
  const events = specEvents(o, plan);
  const status = armedStatus(o, plan);
  if (isEdited(o.at) && plan.dueAt - o.now > dryRunLead) {
    // Accepted first, so that a restart does not try all the Pods again; then tried, when nothing else waits.
    return { actions: [], status, events, untried: true, requeueAfter: 0, priority: dryRunPriority };
  }
  const triesPod = o.untried === true && plan.dueAt - o.now > dryRunLead;
  const actions: Decision['actions'] = triesPod ? [{ type: 'DryRunPod', pod: buildPod(o.at, plan, 1) }] : [];
  return { actions, status, events, requeueAt: plan.dueAt, priority: launchPriority };
}

function launch(o: Observed, plan: Plan): Decision {
  const trouble = obstacle(o, o.pod, 1);
  if (trouble !== undefined) {
    return hold(o, plan, trouble.reason, trouble.message);
  }
  if (o.at.spec.launchGuarantee !== 'AtMostOnce') {
    return create(o, plan, 1);
  }
  const intent = o.at.status?.launchAttempt;
  if (o.continued !== true || intent?.holder !== o.holder) {
    if (o.pause !== undefined && o.pause > 0) {
      return { actions: [], events: [], requeueAfter: o.pause, priority: retryPriority };
    }
    // The intent is durable before the create is sent: whoever finds it later knows that it may have been. One
    // intent, one create: a second try writes its own first, so that its age bounds the create's.
    const status = launchingStatus(o, plan, atPodName(o.at.metadata.name));
    return { actions: [], status, events: specEvents(o, plan), again: true };
  }
  const limits = limitsAt(ageOf(o, intent) ?? writeTimeout);
  // Crash window: the intent stands until the next try renews it, and another process would call the launch lost.
  return limits === undefined
    ? { actions: [], events: [], tooSlow: true, priority: retryPriority }
    : create(o, plan, 1, limits);
}

/**
 * What is left to the create when its intent is so old, in milliseconds: after {@link writeTimeout} another process
 * calls the launch lost. Undefined when it would be given up in less time than the intent took to be written: so slow
 * an API server would make the launch an unknown one.
 */
function limitsAt(age: number): CreateLimits | undefined {
  const left = writeTimeout - age;
  const serverTimeout = Math.min(mostServerTimeout, Math.floor(left - leastSendWithin));
  return serverTimeout < age ? undefined : { sendWithin: left - serverTimeout, serverTimeout };
}

/** Due, but the API server does not take the Pod: said once, tried again until the deadline. */
function hold(o: Observed, plan: Plan, reason: string, message: string): Decision {
  const said = o.at.status?.reason === reason && !isEdited(o.at) ? o.at.status.message : undefined;
  const isKnown = said !== undefined && isSameBarNumbers(said, message);
  const status = heldStatus(o, plan, reason, isKnown ? said : message);
  const deadline = startingDeadline(o, plan);
  return {
    actions: [],
    status,
    events: [...specEvents(o, plan), ...(isKnown ? [] : [obstacleEvent(reason, message)])],
    requeueAfter: Math.max(0, Math.min(o.retryDelay, deadline + 1 - o.now)),
    priority: retryPriority,
  };
}

/** So many characters of a sentence's end are compared: what was clipped begins elsewhere each time. */
const comparedEnd = 500;

/** The numbers in a quota's sentence change with each try; a status write and an Event for each would be noise. */
function isSameBarNumbers(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => text.replaceAll(/\d[\w.]*/g, '0').slice(-comparedEnd));
  return first === second;
}
