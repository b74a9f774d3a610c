/**
 * decide: what to do about one ConfigWatcher. Pure and synchronous: the same facts give the same decision,
 * so a crash between any two steps is mended by deciding again.
 *
 * Where a decision turns on a fact that is dear to read, the answer is a {@link Question}; the caller reads
 * it and asks again. So a watcher at rest costs no request at all.
 */
import { findCondition } from '../../api/conditions.ts';
import { watcherCondition, watcherEvent } from '../../api/configwatcher-constants.ts';
import { recordChange } from './change.ts';
import { compare } from './comparison.ts';
import type { Decision, Observed, Question } from './observed.ts';
import { isRunning } from './pending.ts';
import { advance, type Step } from './progress.ts';
import type { WatcherState } from './state.ts';
import { conditionsOf, forbiddenMessage, notReady } from './watcher-conditions.ts';
import { eventsOf } from './watcher-events.ts';

/** How soon to see whether a missing right has been granted. */
const retryForbidden = 30_000;

/** The watcher cannot work: say so and touch nothing. Only an edit of its spec mends a bad spec. */
function refuse(observed: Observed, why: 'InvalidSpec' | 'Forbidden', message: string): Decision {
  const before = findCondition(observed.state.conditions, watcherCondition.ready);
  const isNews = before?.reason !== why || before.message !== message;
  const invalid = why === 'InvalidSpec';
  return {
    state: {
      ...observed.state,
      observedGeneration: observed.generation,
      conditions: notReady(observed, why, message),
    },
    actions: [],
    events:
      invalid && isNews
        ? [{ type: 'Warning', reason: watcherEvent.invalidSpec, action: 'Read', note: message }]
        : [],
    memory: observed.memory,
    ...(!invalid && { requeueAfter: retryForbidden }),
  };
}

function hasPending<S extends WatcherState>(state: S): state is S & Required<Pick<WatcherState, 'pending'>> {
  return state.pending !== undefined;
}

function atRest(observed: Observed, state: WatcherState): Step {
  return { state: { ...state, stalePods: 0 }, memory: observed.memory, actions: [] };
}

/** The number of selected Pods follows the watch; in mid-restart it would only flicker. */
function matchedPods(observed: Observed, { pending, matchedPods: before }: WatcherState): number {
  return pending && isRunning(pending) ? before : observed.matchedPods;
}

export function decide(observed: Observed): Decision | Question {
  const { spec, forbidden } = observed;
  if ('invalid' in spec) return refuse(observed, 'InvalidSpec', spec.invalid);
  if (forbidden) {
    return refuse(observed, 'Forbidden', forbiddenMessage(`${forbidden.verb} ${forbidden.resource}`));
  }
  const comparison = compare(spec, observed.state, observed.sources);
  const change = recordChange(observed, spec, comparison);
  if (typeof change === 'string') return change;
  const step = hasPending(change.state)
    ? advance(observed, spec, comparison, change.state)
    : atRest(observed, change.state);
  if (typeof step === 'string') return step;
  const stated = {
    ...step.state,
    observedGeneration: observed.generation,
    strategy: spec.strategy.type,
    matchedPods: matchedPods(observed, step.state),
  };
  const state = { ...stated, conditions: conditionsOf(observed, stated, comparison, step.plan) };
  return {
    state,
    actions: step.actions,
    events: eventsOf(observed, spec, change.edited, { ...step, state }),
    memory: step.memory,
    ...(step.requeueAfter !== undefined && { requeueAfter: step.requeueAfter }),
  };
}
