/**
 * Left out: a change is owed to the Pods that were selected when it was seen. The stale ones that the selector, edited
 * since, does not select any more are given up: an Event tells of them, and status counts them until the change is
 * applied.
 */
import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import type { Need, Observed } from '../facts/observed.ts';
import { isOfWorkload } from '../facts/own-workload.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import { given, type Pending, type WatcherState } from '../facts/state.ts';
import { combinedHash } from '../plan/config-hash.ts';
import { keptSelector } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { areConfirmed, type Comparison } from './comparison.ts';
import { isRunning } from './pending.ts';
import { type SortedPods, type Staleness, sortPods, stalenessOf } from './pod-groups.ts';
import { restartedPods } from './restart-record.ts';

/** The pending change is owed to the Pods of the present selector. */
export interface LeftOut {
  readonly state: WatcherState;
  /** How many Pods this edit of the selector leaves out. */
  readonly left: number;
}

type PendingState = WatcherState & { readonly pending: Pending };

/** What an edit of the selector makes of the state; without one, the state as it is. */
export function leaveOut(observed: Observed, spec: WatcherSpec, comparison: Comparison): LeftOut | Need {
  const { state, formerPods, pods, now } = observed;
  const { pending } = state;
  const selector = keptSelector(spec.selector);
  if (!pending) return { state, left: 0 };
  if (pending.podSelector === undefined) return { state: withFirst(observed, pending, selector), left: 0 };
  if (pending.podSelector === selector) return { state, left: 0 };
  const { abandonedPods: before = 0, ...change } = pending;
  if (!formerPods) return 'formerPods';
  // The contents first: the list that an edit is recorded with must be later than those.
  if (before > 0 && !pods) return areConfirmed(observed) ? 'pods' : 'contents';
  // A content that is taken back is no change to the Pods that were there before it.
  const hash = combinedHash(comparison.wanted) ?? pending.hash;
  const seen = hash === pending.hash ? state : { ...state, lastChange: now };
  const staleness = stalenessOf({ ...seen, pending: { ...pending, hash } });
  const staleIn = (some: readonly PodFacts[], by: Staleness) => sortPods(some, spec, by).stale.length;
  const left = staleIn(formerPods.leftOut, staleness);
  // Where others are selected, too, they may be those that were left out before: an Event has told of them.
  const known = new Set(formerPods.selected.map(({ uid }) => uid));
  const isWider = before > 0 && pods?.some(({ uid }) => !known.has(uid)) === true;
  const abandoned = (isWider ? 0 : before) + left;
  const { owners, ...rest } = change;
  const places = owners?.filter((place) => !isLeftOut(place, formerPods)) ?? [];
  const counted: Pending = {
    ...widened(state, rest),
    ...(places.length > 0 && { owners: places }),
    ...(abandoned > 0 && { abandonedPods: abandoned }),
  };
  const told = { ...state, stalePods: Math.max(0, state.stalePods - left) };
  // What the restart has taken is counted by what it was for.
  const former = sortPods([...formerPods.selected, ...formerPods.leftOut], spec, stalenessOf(state));
  const toGo = staleIn(formerPods.selected, stalenessOf(state));
  return { state: withSelector(withTotal(told, counted, former, toGo), selector), left };
}

/**
 * The cutoff after an edit of the selector, which may select further Pods: every Pod older than the change is stale, also
 * one that is younger than those that were selected when the change was seen. In a restart its replacements may be
 * as old as the second of the change, so that second does not count.
 */
function widened({ lastChange }: WatcherState, pending: Pending): Pending {
  if (lastChange === undefined) return pending;
  const { cutoff = Number.NEGATIVE_INFINITY, started } = pending;
  const ofChange = Math.floor(lastChange / 1000) * 1000 - (started === undefined ? 0 : 1000);
  return { ...pending, cutoff: Math.max(cutoff, ofChange) };
}

/** Which selector the change was recorded with is not known: any edit may be one of the selector. */
function withFirst(
  { state, generation }: Observed,
  pending: Pending,
  selector: string | undefined,
): WatcherState {
  if (generation === state.observedGeneration) return withSelector({ ...state, pending }, selector);
  const { abandonedPods: _, ...change } = pending;
  return withSelector({ ...state, pending: widened(state, change) }, selector);
}

/** Nothing more is to be seen of an owner in its place of which no Pod is selected any more. */
function isLeftOut(
  { kind, name }: ConfigWatcherStatusPendingOwner,
  { selected, leftOut }: Required<Observed>['formerPods'],
): boolean {
  if (kind === undefined || name === undefined) return false;
  const isOfPlace = ({ controller }: PodFacts) => isOfWorkload(controller, { kind, name });
  return leftOut.some(isOfPlace) && !selected.some((pod) => !pod.finished && isOfPlace(pod));
}

/**
 * What a restart has taken is counted by the Pods of before; what is left out is not restarted.
 *
 * @param toGo how many of those that are selected now are still to go.
 */
function withTotal(state: WatcherState, pending: Pending, former: SortedPods, toGo: number): PendingState {
  const { lastRestart } = state;
  if (!lastRestart || !isRunning(pending)) return { ...state, pending };
  const restarted = restartedPods(lastRestart, pending.total ?? 0, former);
  return {
    ...state,
    lastRestart: { ...lastRestart, restarted },
    pending: { ...pending, total: restarted + toGo },
  };
}

function withSelector(state: PendingState, selector: string | undefined): WatcherState {
  const { podSelector: _, ...pending } = state.pending;
  return { ...state, pending: { ...pending, ...given('podSelector', selector) } };
}

/** How many Pods the pending change has been given up for. */
export function abandonedPods({ pending }: Pick<WatcherState, 'pending'>): number {
  return pending?.abandonedPods ?? 0;
}

/** Whether the Pods that the pending change is owed to are those of the present selector. */
export function isOwedToSelected(
  { pending }: WatcherState,
  { selector }: Pick<WatcherSpec, 'selector'>,
): boolean {
  return pending?.podSelector === undefined || pending.podSelector === keptSelector(selector);
}
