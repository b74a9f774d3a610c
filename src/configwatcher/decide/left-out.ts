/**
 * Left out: a change is owed to the Pods that were selected when it was seen. The stale ones that the selector, edited
 * since, does not select any more are given up: an Event tells of them, and status counts them until the change is
 * applied.
 */
import type { Need, Observed } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import { given, type Pending, type WatcherState } from '../facts/state.ts';
import { combinedHash } from '../plan/config-hash.ts';
import { keptSelector } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import type { Comparison } from './comparison.ts';
import { sortPods, stalenessOf } from './pod-groups.ts';

/** The pending change is owed to the Pods of the present selector. */
export interface LeftOut {
  readonly state: WatcherState;
  /** How many Pods this edit of the selector leaves out. */
  readonly left: number;
}

/** What an edit of the selector makes of the state; without one, the state as it is. */
export function leaveOut(observed: Observed, spec: WatcherSpec, comparison: Comparison): LeftOut | Need {
  const { state, formerPods, pods } = observed;
  const { pending } = state;
  const selector = keptSelector(spec.selector);
  if (!pending || pending.podSelector === selector) return { state, left: 0 };
  if (pending.podSelector === undefined) return { state: withSelector(state, pending, selector), left: 0 };
  if (!formerPods) return 'formerPods';
  const before = abandonedPods(state);
  if (before > 0 && !pods) return 'pods';
  // A content that is taken back is no change to the Pods that were there before it.
  const hash = combinedHash(comparison.wanted) ?? pending.hash;
  const staleness = stalenessOf({ ...state, pending: { ...pending, hash } });
  const count = (some: readonly PodFacts[] = []) => sortPods(some, spec, staleness).stale.length;
  const left = count(formerPods.leftOut);
  const selectedAgain = Math.max(0, count(pods) - count(formerPods.selected));
  const abandoned = Math.max(0, before - selectedAgain) + left;
  const { abandonedPods: _, total, ...rest } = pending;
  const counted: Pending = {
    ...rest,
    // They are not restarted.
    ...(total !== undefined && { total: Math.max(0, total - left) }),
    ...(abandoned > 0 && { abandonedPods: abandoned }),
  };
  return { state: withSelector(state, counted, selector), left };
}

function withSelector(
  state: WatcherState,
  { podSelector: _, ...pending }: Pending,
  selector: string | undefined,
): WatcherState {
  return { ...state, pending: { ...pending, ...given('podSelector', selector) } };
}

/** How many Pods the pending change has been given up for. */
export function abandonedPods({ pending }: Pick<WatcherState, 'pending'>): number {
  return pending?.abandonedPods ?? 0;
}

/** Whether the Pods that the pending change is owed to are those of the present selector. */
export function isOwedToSelected({ pending }: WatcherState, { selector }: WatcherSpec): boolean {
  return pending?.podSelector === undefined || pending.podSelector === keptSelector(selector);
}
