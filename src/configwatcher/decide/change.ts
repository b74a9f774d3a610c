/**
 * Change: what an edit, a baseline or a return to the applied content makes of the state. This is the first
 * write of every restart: which content is to be applied, and which Pods cannot have it.
 */

import { combinedHash } from '../plan/config-hash.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { type Comparison, recordedHash } from './comparison.ts';
import type { Observed, Question, SourceContent } from './observed.ts';
import { isRunning } from './pending.ts';
import type { PodFacts } from './pod-facts.ts';
import { sortPods } from './pod-groups.ts';
import { restartedSoFar } from './restart-memory.ts';
import { closed } from './restart-record.ts';
import type { Pending, SourceState, WatcherState } from './state.ts';

export interface Change {
  readonly state: WatcherState;
  /** The sources of an edit that this pass saw first. */
  readonly edited: readonly SourceContent[];
  /** A restart ends here, before so many of its Pods: nobody watches any more what it was for. */
  readonly abandoned?: number;
}

/** With the list of Pods. */
type Listed = Observed & { readonly pods: readonly PodFacts[] };

/** A second in which a data write is named must be so much later than the last look to count: rounding. */
const margin = 2000;

function withoutPending({ pending, ...state }: WatcherState): WatcherState {
  return state;
}

/**
 * The newest Pod that may have started with the old content: the newest of all, since every Pod of a
 * consistent list made after the change was seen may be older than the change.
 *
 * One case is better known: an edit made while no operator was looking, and Pods replaced after it (an
 * upgrade of the application meanwhile). managedFields name the second in which data was last added or
 * changed, and a Pod made later has that. They say nothing of a removed key, so the second is believed only
 * where it is later than the last look at the old content, and only for the first look of this process.
 * What remains: data was changed, then a Pod made, then a key removed by a tool that leaves no trace, all
 * while no operator was looking. That Pod keeps the removed key until the next change.
 */
function cutoffOf(
  { pending, lastChange }: WatcherState,
  changed: readonly SourceContent[],
  pods: readonly PodFacts[],
): number | undefined {
  if (pods.length === 0) return undefined;
  const newest = Math.max(...pods.map(({ created }) => created));
  if (pending || lastChange === undefined || changed.length === 0) return newest;
  const writes = changed.map(({ writtenUnseen }) => writtenUnseen ?? Number.NEGATIVE_INFINITY);
  return Math.min(...writes) > lastChange + margin ? Math.min(newest, Math.max(...writes)) : newest;
}

/** The edit ends the restart that runs: its counts are brought up to date while its cutoff is still known. */
function countOvertaken(
  { state, memory, pods }: Listed,
  spec: WatcherSpec,
): Pick<WatcherState, 'lastRestart'> {
  const { pending, lastRestart, stalePods } = state;
  if (!lastRestart || !pending || !isRunning(pending)) return {};
  const stale = sortPods(pods, spec, pending.cutoff).stale.length;
  const restarted = restartedSoFar(memory, lastRestart, stalePods, stale);
  return { lastRestart: { ...lastRestart, restarted } };
}

/**
 * Pods that the restart under way has taken may not be back yet. But of an owner that got stuck nobody knows
 * whether they ever will be: it may have been scaled down, so it is counted anew.
 */
function stillWanted(pending: Pending | undefined): Pick<Pending, 'unreadPods'> {
  const { unreadPods, reason } = pending ?? {};
  return unreadPods === undefined || reason === 'Stalled' ? {} : { unreadPods };
}

function recordEdit(observed: Listed, spec: WatcherSpec, comparison: Comparison, hash: string): Change {
  const { state, pods, now } = observed;
  const { pending } = state;
  const waits = pending !== undefined && !isRunning(pending);
  // A running restart has begun; the edit is a change of its own, with a debounce of its own.
  const since = waits ? pending.since : Math.max(now, (pending?.started ?? 0) + 1);
  const cutoff = cutoffOf(state, comparison.changed, pods);
  const next: Pending = {
    hash,
    since,
    ...(pending?.started !== undefined && { started: pending.started }),
    ...(cutoff !== undefined && { cutoff }),
    ...stillWanted(pending),
    reason: 'Debounce',
  };
  return {
    state: {
      ...state,
      ...stateOf(recorded(comparison, pending?.started !== undefined)),
      ...countOvertaken(observed, spec),
      lastChange: now,
      pending: next,
    },
    edited: comparison.edited,
  };
}

function stateOf(
  sources: readonly SourceState[],
): Pick<WatcherState, 'sources'> & { readonly appliedHash?: string } {
  const appliedHash = combinedHash(sources);
  return { sources, ...(appliedHash !== undefined && { appliedHash }) };
}

/** Nothing is to be applied any more: the Pods run with the applied contents. */
function settled({ known }: Comparison): Pick<WatcherState, 'sources'> & { readonly appliedHash?: string } {
  return stateOf(known.map(({ pendingHash, ...entry }) => entry));
}

/** With the contents of now, which are to be applied, in the place of those recorded before. */
function recorded({ known, wanted }: Comparison, started: boolean): SourceState[] {
  return known.map((entry, index) => {
    const { pendingHash: before, ...rest } = entry;
    const hash = wanted[index]?.hash ?? entry.hash;
    const differs =
      hash !== entry.hash || (started && (before !== undefined || hash !== recordedHash(entry)));
    return differs ? { ...rest, pendingHash: hash } : rest;
  });
}

/** Nothing is pending any more. If that was a restart under way, its record ends with it. */
function withdrawn(observed: Observed, spec: WatcherSpec, next: WatcherState): Change | Question {
  const { pods, now } = observed;
  const { pending, lastRestart } = observed.state;
  const state = withoutPending(next);
  if (pending?.started === undefined || !lastRestart || lastRestart.completion !== undefined) {
    return { state, edited: [] };
  }
  if (!pods) return 'pods';
  const left = sortPods(pods, spec, pending.cutoff).stale.length;
  return {
    state: closed({ ...state, ...countOvertaken({ ...observed, pods }, spec) }, now),
    edited: [],
    ...(left > 0 && { abandoned: left }),
  };
}

/** First sight is the baseline. Without any source in sight there is nothing to apply yet. */
function baseline(observed: Observed, spec: WatcherSpec, comparison: Comparison): Change | Question {
  const { appliedHash, ...rest } = observed.state;
  const applied = settled(comparison);
  const seen = applied.appliedHash === undefined ? {} : { lastChange: observed.now };
  return withdrawn(observed, spec, { ...rest, ...applied, ...seen });
}

/** Nobody edited anything; the spec may name other sources than before, and those are seen first now. */
function unedited({ state, now }: Observed, comparison: Comparison, hash: string): Change {
  const { pending } = state;
  return {
    state: {
      ...state,
      ...stateOf(comparison.known),
      ...(comparison.firstSight && { lastChange: now }),
      ...(pending && { pending: { ...pending, hash } }),
    },
    edited: [],
  };
}

/**
 * Brings the recorded contents up to date.
 *
 * @returns a question instead, when the answer turns on something not read yet.
 */
export function recordChange(
  observed: Observed,
  spec: WatcherSpec,
  comparison: Comparison,
): Change | Question {
  const { state, pods, now } = observed;
  const { pending } = state;
  const { edited } = comparison;
  const hash = combinedHash(comparison.wanted);
  if (state.appliedHash === undefined || hash === undefined) return baseline(observed, spec, comparison);
  // A remembered content may be older than the one another operator has applied already, and would then
  // look like an edit. Only what is read now, after the status was, can be newer than the status.
  if (edited.length > 0 && observed.sources.some(({ confirmed }) => !confirmed)) return 'contents';
  if (edited.length === 0) {
    // The change that is pending may belong to sources that are not watched any more.
    const isOwed = comparison.known.some(({ pendingHash }) => pendingHash !== undefined);
    if (!pending || isOwed) return unedited(observed, comparison, hash);
    return withdrawn(observed, spec, { ...state, ...settled(comparison) });
  }
  if (comparison.changed.length === 0 && pending?.started === undefined) {
    // Back to the applied content before the first restarting write: no restart is owed.
    return { state: { ...withoutPending(state), ...settled(comparison), lastChange: now }, edited: [] };
  }
  if (!pods) return 'pods';
  return recordEdit({ ...observed, pods }, spec, comparison, hash);
}
