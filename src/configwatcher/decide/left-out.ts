/**
 * Left out: a change is owed to the Pods that were selected when it was seen. The stale ones that the selector, edited
 * since, does not select any more are given up; status counts them while the change is pending, and an Event tells of
 * them.
 */
import type { Need, Observed } from '../facts/observed.ts';
import type { Pending, WatcherState } from '../facts/state.ts';
import { keptSelector } from '../plan/selector.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { sortPods, stalenessOf } from './pod-groups.ts';

/** With the number of now, which falls when the Pods go in another way or are selected again. */
export function withLeftOut(
  observed: Pick<Observed, 'leftOut'>,
  spec: WatcherSpec,
  state: WatcherState,
): WatcherState | Need {
  const { leftOut } = observed;
  const { pending } = state;
  if (!pending) return state;
  const selector = keptSelector(spec.selector);
  const { abandonedPods: _, podSelector = selector, ...rest } = pending;
  if (podSelector !== selector && !leftOut) return 'leftOut';
  const abandoned = sortPods(leftOut ?? [], spec, stalenessOf(state)).stale.length;
  const counted: Pending = {
    ...rest,
    ...(podSelector !== undefined && { podSelector }),
    ...(abandoned > 0 && { abandonedPods: abandoned }),
  };
  return { ...state, pending: counted };
}

/** How many Pods the pending change has been given up for. */
export function abandonedPods({ pending }: Pick<WatcherState, 'pending'>): number {
  return pending?.abandonedPods ?? 0;
}

/**
 * The selector of the Pods that an edit seen now is owed to: that of before as long as it leaves out some that are still
 * to be told of. Undefined where it is too long to be kept.
 */
export function owedTo({ state, leftOut }: Observed, spec: WatcherSpec): string | undefined {
  const former = state.pending?.podSelector;
  const isSettled = leftOut !== undefined && abandonedPods(state) === 0;
  return former === undefined || isSettled ? keptSelector(spec.selector) : former;
}
