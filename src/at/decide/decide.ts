/**
 * Decide: what to do about one At, from what was observed of it and its Pods. Pure and synchronous; deciding
 * again after any part of a decision was performed, or none, leads to the same end.
 */

import type { AtStatus } from '../../api/at.generated.ts';
import type { Decision } from '../../runtime/controller/decision.ts';
import type { EventRecord } from '../../runtime/events/event-recorder.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { currentAttempt, findAmong, podsAt } from '../facts/own-pod.ts';
import { launchPriority } from '../facts/queue-priority.ts';
import { dueTime } from '../plan/due.ts';
import { isTerminating, phaseOf, takesPodsAlong } from '../plan/phase.ts';
import { decideDone } from './decide-done.ts';
import { decidePending } from './decide-pending.ts';
import { decideRunning } from './decide-running.ts';
import type { Draft, Effect, Steps } from './decision.ts';
import { readLive } from './decision.ts';
import { letGo } from './exactly-once.ts';

/** Statuses of one decision that have to stand before the next effect. More of them would be a loop. */
const maxStatusesFirst = 4;
/** Waits after the API server has found a status not valid. */
const firstInvalidDelayMs = 250;
const maxInvalidDelayMs = 300_000;
/** The longest of them while a launch may wait for the status. */
const maxDueDelayMs = 10_000;

/** @throws {Error} when one status always asks for another one first. */
export function decide(o: Observed): Decision<Need, Effect> {
  const effects: Effect[] = [];
  let observed = o;
  for (let statuses = 0; statuses <= maxStatusesFirst; statuses++) {
    const draft = draftOf(observed);
    if ('need' in draft) return draft;
    if (!('first' in draft)) return ordered(o, effects, draft);
    const { first: status, events } = draft;
    effects.push({ type: 'WriteStatus', status, asLock: true }, ...recording(events));
    observed = withStatus(observed, status);
  }
  throw new Error(`the decision about the status of At ${o.at.metadata.name} does not settle`);
}

function draftOf(o: Observed): Draft {
  const phase = phaseOf(o.at);
  if (isTerminating(o.at) && !isUnderWay(o)) {
    return letGo(o);
  }
  if (o.behind && !o.live && phase !== 'DONE') {
    // What it was shown may forbid what the cache still asks for.
    return readLive;
  }
  switch (phase) {
    case 'PENDING':
      // Our Pod exists, or existed: whatever the phase says, and however the spec was edited since.
      return currentAttempt(o) === undefined ? decidePending(o) : decideRunning(o);
    case 'RUNNING':
      return decideRunning(o);
    case 'DONE':
      return decideDone(o);
  }
}

/** Whether a run is to be followed although its At is being deleted: its deadlines and a cancel hold until it has ended. */
function isUnderWay(o: Observed): boolean {
  const attempt = currentAttempt(o);
  if (attempt === undefined || phaseOf(o.at) === 'DONE') {
    return false;
  }
  return attempt.view !== undefined || !(attempt.isNew || takesPodsAlong(o.at));
}

/** The facts once this status stands. */
function withStatus({ refusal: _, ...o }: Observed, status: AtStatus): Observed {
  const at = { ...o.at, status };
  return { ...o, at, ...podsAt(at, findAmong(o)) };
}

/** @param o as it was seen, before the statuses of this decision. */
function ordered(o: Observed, first: readonly Effect[], steps: Steps): Decision<Need, Effect> {
  const { actions, status, events, ...when } = steps;
  if (o.unwritable !== undefined) return unwritable(o, o.unwritable, [...first, ...recording(events)]);
  const write: Effect[] = status === undefined ? [] : [{ type: 'WriteStatus', status, asLock: false }];
  return { effects: [...first, ...actions, ...write, ...recording(events)], ...when };
}

function recording(events: readonly EventRecord[]): Effect[] {
  return events.length === 0 ? [] : [{ type: 'RecordEvents', events }];
}

/**
 * Stored under a laxer CRD than today's, the At takes no status until a user mends it: the Events are all that can
 * report it. It may also be a passing mistake of an admission policy, so the first tries are soon.
 */
function unwritable(
  { at, now }: Observed,
  times: number,
  effects: readonly Effect[],
): Decision<Need, Effect> {
  const dueAt = dueTime(at);
  const maxDelayMs = dueAt <= now ? maxDueDelayMs : maxInvalidDelayMs;
  const requeueAfter = Math.min(maxDelayMs, firstInvalidDelayMs * 2 ** (times - 1));
  const isDueNext = dueAt > now && dueAt <= now + requeueAfter;
  return {
    effects: times === 1 ? effects.filter(({ type }) => type === 'RecordEvents') : [],
    requeueAfter,
    ...(isDueNext && { requeueAt: dueAt, priority: launchPriority }),
  };
}
