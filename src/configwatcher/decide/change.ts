/**
 * Change: what an edit, a baseline or a return to the applied content makes of the state. This is the first
 * write of every restart: which content is to be applied, and which Pods cannot have it.
 */

import type { Need, Observed, SourceContent } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { Pending, WatcherState } from '../facts/state.ts';
import { combinedHash, type SourceHash } from '../plan/config-hash.ts';
import { keptSelector } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { areConfirmed, type Comparison, replacesImmutable } from './comparison.ts';
import { abandonedPods, isOwedToSelected } from './left-out.ts';
import { isRunning } from './pending.ts';
import { type SortingSpec, sortPods, stalenessOf } from './pod-groups.ts';
import { closed, restartedPods } from './restart-record.ts';

export interface Change {
  readonly state: WatcherState;
  /** The sources of an edit that this pass saw first. */
  readonly edited: readonly SourceContent[];
  /** A restart ends here, before so many of its Pods: the spec no longer asks for it. */
  readonly abandoned?: number;
}

/** A second in which a data write is named must be so much later than the last look to count: rounding. */
const marginMs = 2000;

/** An edit was seen as it was made where this look is no later. */
const lateLookMs = 5000;

function withoutPending({ pending, ...state }: WatcherState): WatcherState {
  return state;
}

/** Whether the Pods cannot be known: what a change has to say about them rests on its time alone. */
export function mayNotListPods({ forbidden }: Observed): boolean {
  return forbidden?.verb === 'list' && forbidden.resource === 'pods';
}

/**
 * The newest Pod that may have started with the old content: the newest of all, since every Pod of a
 * consistent list made after the change was seen may be older than the change, except those that are known to
 * start later.
 *
 * One case is better known: an edit made while no operator was looking, and Pods replaced after it (an
 * upgrade of the application meanwhile). managedFields name the second in which data was last added or
 * changed, and a Pod made more than a second later has that; the second is for API servers whose clocks differ.
 * They say nothing of a removed key, so the second is believed only
 * where it is later than the last look at the old content, and only for the first look of this process.
 * What remains: data was changed, then a Pod made, then a key removed by a tool that leaves no trace, all
 * while no operator was looking. That Pod keeps the removed key until the next change.
 *
 * @param pods undefined where they cannot be listed: every Pod of this second counts.
 */
function cutoffOf(
  { pending, lastChange }: WatcherState,
  { changed, edited }: Comparison,
  pods: readonly PodFacts[] | undefined,
  now: number,
): number | undefined {
  if (pods?.length === 0) return undefined;
  const newest = pods ? Math.max(...pods.map(({ created }) => created)) : newestPossible(changed, now);
  if (changed.length === 0) return Math.min(newest, newestBefore(edited));
  if (pending || lastChange === undefined) return newest;
  // An optional source that is only not there was not written.
  const writes = changed
    .filter((content) => edited.includes(content))
    .map(({ written, isFirstLook }) =>
      isFirstLook && written !== undefined ? written : Number.NEGATIVE_INFINITY,
    );
  if (Math.min(...writes) <= lastChange + marginMs) return newest;
  return Math.min(newest, Math.max(...writes) + 1000);
}

/** The newest Pod that may have another content than the present one, which was back by then as far as it is known. */
function newestBefore(edited: readonly SourceContent[]): number {
  return Math.max(
    ...edited.map(({ unrecorded }) => secondOf(unrecorded?.backAt ?? Number.POSITIVE_INFINITY) + 1000),
  );
}

/** The second of this look, or the next one where the edit has that: what is known of the server's time may be behind it. */
function newestPossible(changed: readonly SourceContent[], now: number): number {
  const edits = changed.map(({ written = now }) => written);
  return secondOf(Math.min(now + 1000, Math.max(now, ...edits)));
}

function secondOf(time: number): number {
  return Math.floor(time / 1000) * 1000;
}

/**
 * The earliest time at which the content may have been edited. An edit that is seen as it is made has the second that
 * the managedFields name, or that of this look where they name none (a removed key). Of one that is seen later they
 * tell too little: each write of the same manager, a label's too, takes the place of those before, so that nothing
 * is known but the last look at the content before.
 */
function editedFrom(content: SourceContent, lastLook: number, lookedAt: number): number {
  const { unrecorded } = content;
  const { isFirstLook, written } = unrecorded ?? content;
  const now = unrecorded?.readAt ?? lookedAt;
  if (isFirstLook) return lastLook;
  if (written === undefined || written < lastLook) return now;
  return written < now - lateLookMs ? lastLook : written;
}

/** The second from which on a Pod may have another content than the applied one. */
function fromOf(
  { pending, lastChange = 0 }: WatcherState,
  edited: readonly SourceContent[],
  pods: readonly PodFacts[],
  now: number,
): number | undefined {
  if (pending) return pending.from;
  const edits = edited.map((content) => editedFrom(content, secondOf(lastChange), now));
  // Made before the edit and started after it.
  const starts = pods.filter((pod) => pod.startsLater).map(({ created }) => created);
  return secondOf(Math.min(now, ...edits, ...starts));
}

/** The edit ends the restart that runs: its counts are brought up to date while its cutoff is still known. */
function countOvertaken(
  state: WatcherState,
  pods: readonly PodFacts[] | undefined,
  spec: SortingSpec & Pick<WatcherSpec, 'selector'>,
): Pick<WatcherState, 'lastRestart'> {
  const { pending, lastRestart } = state;
  if (!pods || !lastRestart || !pending || !isRunning(pending)) return {};
  // The Pods that the selector leaves out, and which are not counted yet, would look as if they had gone.
  if (!isOwedToSelected(state, spec)) return {};
  const sorted = sortPods(pods, spec, stalenessOf(state));
  return {
    lastRestart: { ...lastRestart, restarted: restartedPods(lastRestart, pending.total ?? 0, sorted) },
  };
}

/**
 * Counts the contents that replace a broken one. One that was not tried yet is replaced for nothing, and one that works
 * was the last of them. That a content breaks its Pods stands in the record of its restart, which a suspension leaves as
 * it is.
 */
function repairsOf({ pending, lastRestart }: WatcherState): number {
  const { repairs = 0 } = pending ?? {};
  if (!pending || !isRunning(pending)) return repairs;
  const isBroken = (lastRestart?.unavailable ?? 0) > 0;
  const isMended = pending.proven === true;
  return isBroken || (repairs > 0 && !isMended) ? repairs + 1 : 0;
}

/** A node whose kubelet still knows the object of before may give that to new Pods, kubernetes#119733. */
function replacement(state: WatcherState, { edited }: Comparison): Pick<WatcherState, 'replacedAt'> {
  const times = edited
    .filter((content) => replacesImmutable(content, state))
    .map(({ created = 0 }) => created);
  return times.length > 0 ? { replacedAt: Math.max(...times) } : {};
}

/** @param pods undefined where they cannot be listed. */
function recordEdit(
  observed: Observed,
  pods: readonly PodFacts[] | undefined,
  spec: WatcherSpec,
  comparison: Comparison,
  hash: string,
): Change {
  const { state, now } = observed;
  const { pending } = state;
  const waits = pending !== undefined && !isRunning(pending);
  // A running restart has begun; the edit is a change of its own, with a debounce of its own.
  const since = waits ? pending.since : Math.max(now, (pending?.started ?? 0) + 1);
  const cutoff = cutoffOf(
    state,
    comparison,
    pods?.filter((pod) => !pod.startsLater),
    now,
  );
  const from = fromOf(state, comparison.edited, pods ?? [], now);
  const repairs = repairsOf(state);
  const podSelector = pending ? pending.podSelector : keptSelector(spec.selector);
  const abandoned = comparison.changed.length > 0 ? abandonedPods(state) : 0;
  const { started, owners, total } = pending ?? {};
  const next: Pending = {
    hash,
    since,
    ...(started !== undefined && { started }),
    ...(cutoff !== undefined && { cutoff }),
    ...(from !== undefined && { from }),
    ...(podSelector !== undefined && { podSelector }),
    ...(abandoned > 0 && { abandonedPods: abandoned }),
    ...(repairs > 0 && { repairs }),
    // They keep their places: what was taken away from them is still to come back.
    ...(owners && { owners: owners.map(({ templateChanged, ...owner }) => owner) }),
    ...(total !== undefined && { total }),
    reason: 'Debounce',
  };
  return {
    state: {
      ...state,
      ...stateOf(recorded(comparison)),
      ...countOvertaken(state, pods, spec),
      ...replacement(state, comparison),
      lastChange: now,
      pending: next,
    },
    edited: comparison.edited,
  };
}

function hasStalePods(state: WatcherState, pods: readonly PodFacts[], spec: WatcherSpec): boolean {
  const { stale, terminating } = sortPods(pods, spec, stalenessOf(state));
  return stale.length + terminating.length > 0;
}

function stateOf(
  sources: readonly SourceHash[],
): Pick<WatcherState, 'sources'> & { readonly appliedHash?: string } {
  const appliedHash = combinedHash(sources);
  return { sources, ...(appliedHash !== undefined && { appliedHash }) };
}

/** Nothing is to be applied any more: the Pods run with the applied contents. */
function settled({ known }: Comparison): Pick<WatcherState, 'sources'> & { readonly appliedHash?: string } {
  return stateOf(known.map(({ pendingHash, ...entry }) => entry));
}

/**
 * With the contents of now, which are to be applied, in the place of those recorded before. One that is back at the
 * applied content stays marked: Pods made in between may have another one, whatever the spec names next.
 */
export function recorded({ known, wanted }: Comparison): SourceHash[] {
  return known.map((entry, index) => {
    const { pendingHash: before, ...rest } = entry;
    const hash = wanted[index]?.hash ?? entry.hash;
    return hash !== entry.hash || before !== undefined ? { ...rest, pendingHash: hash } : rest;
  });
}

/** What is pending is not watched any more. If that was a restart under way, its record ends with it. */
function withdrawn(observed: Observed, spec: WatcherSpec, next: WatcherState): Change | Need {
  const { pods, now } = observed;
  const { pending, lastRestart } = observed.state;
  const state = withoutPending(next);
  if (!pending) return { state, edited: [] };
  if (!pods) return 'pods';
  const owed = { ...spec, sources: observed.state.sources };
  const left = sortPods(pods, owed, stalenessOf(observed.state)).stale.length + abandonedPods(observed.state);
  const isUnderWay = pending.started !== undefined && lastRestart && lastRestart.completion === undefined;
  return {
    state: isUnderWay ? closed({ ...state, ...countOvertaken(observed.state, pods, owed) }, now) : state,
    edited: [],
    ...(left > 0 && { abandoned: left }),
  };
}

/** First sight is the baseline. Without any source in sight there is nothing to apply yet. */
function baseline(observed: Observed, spec: WatcherSpec, comparison: Comparison): Change | Need {
  const { appliedHash, ...rest } = observed.state;
  const applied = settled(comparison);
  const seen = applied.appliedHash === undefined ? {} : { lastChange: observed.now };
  return withdrawn(observed, spec, { ...rest, ...applied, ...seen });
}

/** There was no edit; the spec may name other sources than before, and those are seen first now. */
function unedited(observed: Observed, comparison: Comparison, hash: string): Change | Need {
  const { state, now } = observed;
  const { pending } = state;
  const isLook = comparison.firstSight && !pending;
  // It is written down as the time of the last look, so the other sources are looked at as well.
  const isOther = pending !== undefined && pending.hash !== hash;
  if ((isLook || isOther) && !areConfirmed(observed)) return 'contents';
  return {
    state: {
      ...state,
      ...stateOf(comparison.known),
      ...(isLook && { lastChange: now }),
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
export function recordChange(observed: Observed, spec: WatcherSpec, comparison: Comparison): Change | Need {
  const { state, pods } = observed;
  const { pending } = state;
  const { edited } = comparison;
  const hash = combinedHash(comparison.wanted);
  if (state.appliedHash === undefined || hash === undefined) return baseline(observed, spec, comparison);
  // A remembered content may be older than the one another operator has applied already, and would then
  // look like an edit. Only what is read now, after the status was, can be newer than the status.
  if (edited.length > 0 && !areConfirmed(observed)) return 'contents';
  if (edited.length === 0) {
    // The change that is pending may belong to sources that are not watched any more.
    if (!pending || pending.hash === hash || comparison.owes) return unedited(observed, comparison, hash);
    return withdrawn(observed, spec, { ...state, ...settled(comparison) });
  }
  if (!pods && !mayNotListPods(observed)) return 'pods';
  const edit = recordEdit(observed, pods, spec, comparison, hash);
  // Back to the applied content before the first restarting write: a restart is owed only to the Pods that were made
  // in between.
  const isReturn = comparison.changed.length === 0 && pending?.started === undefined;
  if (!isReturn || !pods || hasStalePods(edit.state, pods, spec)) return edit;
  return {
    state: { ...withoutPending(state), ...settled(comparison), lastChange: observed.now },
    edited: [],
  };
}
