/**
 * decide: what to do about one ConfigWatcher. Pure and synchronous: the same facts give the same decision,
 * so a crash between any two steps is mended by deciding again.
 *
 * Where a decision turns on a fact that is expensive to read, the answer is a {@link Need}; the caller reads it and
 * asks again. So a watcher at rest costs no request at all.
 */

import { watcherCondition, watcherEvent, watcherReason } from '../../api/configwatcher-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { earliest } from '../../kubernetes/time.ts';
import type { Decision } from '../../runtime/controller/decision.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { retryWait } from '../facts/restart-memory.ts';
import type { WatcherState } from '../facts/state.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { strategies } from '../plan/strategies.ts';
import { type Change, mayNotListPods, recordChange } from './change.ts';
import { areConfirmed, compare } from './comparison.ts';
import { changesTemplate, type Effect, type Steps, uidOf } from './decision.ts';
import { leaveOut } from './left-out.ts';
import { isRunning, withinLongestGap } from './pending.ts';
import { advance, type Step } from './progress.ts';
import { conditionsOf, forbidden, forbiddenMessage, invalidSpec } from './watcher-conditions.ts';
import { eventsOf, leftOutEvents } from './watcher-events.ts';

/** How soon to see whether a missing right has been granted. */
const retryForbidden = 30_000;

/** The watcher cannot work: say so and touch nothing. */
function refused(
  { generation: observedGeneration, memory }: Observed,
  state: WatcherState,
  conditions: WatcherState['conditions'],
): Pick<Steps, 'state' | 'actions' | 'memory'> {
  // While a restart is held up no owner is late.
  return {
    state: { ...state, observedGeneration, conditions },
    actions: [],
    memory: { ...memory, progress: new Map() },
  };
}

/** Only an edit of the spec mends it. */
function refuseSpec(observed: Observed, message: string): Steps {
  const before = findCondition(observed.state.conditions, watcherCondition.ready);
  const isNews = before?.reason !== 'InvalidSpec' || before.message !== message;
  const event = { type: 'Warning', reason: watcherEvent.invalidSpec, action: 'Read', note: message } as const;
  const events = isNews ? [event] : [];
  const decision = refused(observed, observed.state, invalidSpec(observed, message));
  return { ...decision, edits: 0, skippedOfJobs: 0, events };
}

/**
 * A right is missing. A change that has been seen is recorded all the same: Pods made from then on have the new
 * content, however long it takes until the right is granted.
 */
function refuseForbidden(observed: Observed, spec: WatcherSpec, right: string): Steps {
  const { pods, sources } = observed;
  const comparison = compare(spec, observed.state, sources);
  const owed = leaveOut(observed, spec, comparison);
  // Those that the selector leaves out are counted when they can be listed.
  const { state: before, left } = typeof owed === 'string' ? { state: observed.state, left: 0 } : owed;
  const facts = { ...observed, state: before };
  const isKnown = pods !== undefined || mayNotListPods(observed);
  const change = isKnown ? recordChange(facts, spec, comparison) : undefined;
  // What is not watched any more is settled when the watcher works again.
  const isRecorded = typeof change === 'object' && change.abandoned === undefined;
  const { state, edited } = isRecorded ? change : { state: before, edited: [] };
  const decision = refused(observed, state, forbidden(observed, state, forbiddenMessage(right)));
  return {
    ...decision,
    edits: Math.min(1, edited.length),
    skippedOfJobs: 0,
    events: [...leftOutEvents(left), ...eventsOf(observed, spec, edited, decision)],
    requeueAfter: retryForbidden,
  };
}

function hasPending<S extends WatcherState>(state: S): state is S & Required<Pick<WatcherState, 'pending'>> {
  return state.pending !== undefined;
}

/** A change that ends with this edit is not there any more to tell of the Pods that it leaves out. */
function withAbandoned(change: Change, left: number): Change {
  const ends = change.state.pending === undefined && change.abandoned === undefined;
  return ends && left > 0 ? { ...change, abandoned: left } : change;
}

/** Pods that a change was given up for stay stale, and are counted until the next one. */
function atRest({ memory }: Observed, { state, abandoned }: Change): Step {
  const reason = findCondition(state.conditions, watcherCondition.progressing)?.reason;
  const left = abandoned ?? (reason === watcherReason.restartAbandoned ? state.stalePods : 0);
  const step = { state: { ...state, stalePods: left }, memory, actions: [] };
  return abandoned === undefined ? step : { ...step, abandoned };
}

/** A user asks for the restart to begin now, and no change is there. */
function isAskedInVain({ restartNow }: Observed, { pending, restartNow: honored }: WatcherState): boolean {
  return pending === undefined && restartNow !== undefined && restartNow !== honored;
}

/** Asked for while nothing waits, or while the restart runs already: there is nothing left to do about it. */
function withRestartNow({ restartNow }: Observed, state: WatcherState): WatcherState {
  const waits = state.pending !== undefined && !isRunning(state.pending);
  return restartNow === undefined || waits ? state : { ...state, restartNow };
}

/**
 * Forgotten when no Pod is left that keeps the replaced object alive on its node. Timestamps have whole seconds: a Pod of
 * the same second is one that took the place of an older one.
 */
function withReplacement({ oldestPod }: Observed, state: WatcherState): WatcherState {
  const { replacedAt, ...rest } = state;
  if (replacedAt === undefined || state.pending) return state;
  return oldestPod !== undefined && oldestPod < replacedAt ? state : rest;
}

/**
 * The number of selected Pods follows the watch; during a restart, and in the moment of its end, it would only
 * flicker. A state that keeps no number (annotation mode, after a start) has none to stay at, and an edit may select
 * others.
 */
function matchedPods(
  { generation, state: before, matchedPods: watched }: Observed,
  after: WatcherState,
): number {
  const restarts = [before, after].some(({ pending }) => pending && isRunning(pending));
  const stays = before.matchedPods > 0 && before.observedGeneration === generation;
  return restarts && stays ? before.matchedPods : watched;
}

/** What Auto may do stays as it was known last: a process that has just started knows nothing. */
function strategyInUse({ generation, rolloutRight, state }: Observed, { strategy }: WatcherSpec): string {
  const { name, rollout } = strategy;
  if (rollout !== 'WherePossible' || rolloutRight === 'Granted') return name;
  const evict = strategies.Evict.name;
  const evicts =
    rolloutRight === 'Denied' || (state.strategy === evict && state.observedGeneration === generation);
  return evicts ? evict : name;
}

export function decide(observed: Observed): Decision<Need, Effect> {
  const steps = stepsOf(observed);
  return typeof steps === 'string' ? { need: steps } : ordered(observed, steps);
}

/** The status first; then its Events; then the writes that it announces. */
function ordered(observed: Observed, steps: Steps): Decision<Need, Effect> {
  const { state, actions, events, memory, requeueAfter: asked, ...counts } = steps;
  const asLock = actions.some(changesTemplate);
  const waitsFor = state.pending && { waitsFor: state.pending.reason };
  const summary = { ...waitsFor, stalePods: state.stalePods, batch: actions.length };
  const recorded: Effect[] = isNews(observed, steps) ? [{ type: 'RecordEvents', events, summary }] : [];
  const restarts: Effect[] = actions.length > 0 ? [{ type: 'RestartPods', actions }] : [];
  const requeueAfter = earliest([asked, retryWait(memory, observed.now)]);
  return {
    effects: [{ type: 'WriteStatus', state, memory, asLock, counts }, ...recorded, ...restarts],
    ...(requeueAfter !== undefined && { requeueAfter }),
  };
}

/** A further try of what was refused before is none. Not all that a change waits for has an Event. */
function isNews(
  { memory: { refusals }, state: before }: Observed,
  { events, actions, state }: Steps,
): boolean {
  const waitsForAnother = state.pending?.reason !== before.pending?.reason;
  return events.length > 0 || waitsForAnother || actions.some((action) => !refusals.has(uidOf(action)));
}

function stepsOf(observed: Observed): Steps | Need {
  const { spec, forbidden: missing } = observed;
  if ('invalid' in spec) return refuseSpec(observed, spec.invalid);
  if (missing) return refuseForbidden(observed, spec, `${missing.verb} ${missing.resource}`);
  const comparison = compare(spec, observed.state, observed.sources);
  const owed = leaveOut(observed, spec, comparison);
  if (typeof owed === 'string') return owed;
  const recorded = recordChange({ ...observed, state: owed.state }, spec, comparison);
  if (typeof recorded === 'string') return recorded;
  const change = withAbandoned(recorded, owed.left);
  // The edit that it is asked for may be too young for the watch of the sources.
  if (isAskedInVain(observed, change.state) && !areConfirmed(observed)) return 'contents';
  const step = hasPending(change.state)
    ? advance(observed, spec, comparison, withinLongestGap(spec, change.state))
    : atRest(observed, change);
  if (typeof step === 'string') return step;
  const stated = {
    ...withReplacement(observed, withRestartNow(observed, step.state)),
    observedGeneration: observed.generation,
    strategy: strategyInUse(observed, spec),
    matchedPods: matchedPods(observed, step.state),
  };
  const state = { ...stated, conditions: conditionsOf(observed, stated, comparison, step) };
  return {
    state,
    actions: step.actions,
    edits: Math.min(1, comparison.edited.length),
    ...(step.abandoned !== undefined && { abandoned: step.abandoned }),
    skippedOfJobs: step.sorted?.ofJobs.length ?? 0,
    events: [
      // What ends here tells of all Pods that it was given up for.
      ...(step.abandoned === undefined ? leftOutEvents(owed.left) : []),
      ...eventsOf(observed, spec, change.edited, { ...step, state }),
    ],
    memory: step.memory,
    ...(step.requeueAfter !== undefined && { requeueAfter: step.requeueAfter }),
  };
}
