/** Restart record: what status says of a restart, and when the next one may start. */

import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { RestartMemory } from '../facts/restart-memory.ts';
import { historyLimit, type OwnerRecord, type Restart, type WatcherState } from '../facts/state.ts';
import type { cooldownAfter } from './pending.ts';
import type { SortedPods } from './pod-groups.ts';

/** As status names an owner. */
export function recordNameOf({ kind, name }: Pick<OwnerReference, 'kind' | 'name'>): string {
  return `${kind}/${name}`.slice(0, 128);
}

/** What status says of an owner in this restart; undefined where it does not name it. */
export function recordOf(
  restart: Restart | undefined,
  owner: Pick<OwnerReference, 'kind' | 'name'>,
): OwnerRecord | undefined {
  const nameOfOwner = recordNameOf(owner);
  return restart?.owners?.find(({ name }) => name === nameOfOwner);
}

/** The restart record so far belongs to an edit that was overtaken: it counts, and goes into history. */
export function closeOvertaken(state: WatcherState): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart || lastRestart.completion !== undefined) return state;
  return {
    ...state,
    history: [lastRestart, ...state.history].slice(0, historyLimit),
    restartCount: state.restartCount + Number(lastRestart.restarted > 0),
  };
}

/** ids of the restarts before the present one that were overtaken, one by the next. */
export function overtakenIds({ history }: WatcherState): readonly string[] {
  const lastFinished = history.findIndex(({ completion }) => completion !== undefined);
  return history.slice(0, lastFinished < 0 ? history.length : lastFinished).map(({ id }) => id);
}

/** How many Pods with an older content the spec leaves alone. */
export function skippedPods({ unmanaged, ofJobs }: SortedPods): number {
  return unmanaged.length + ofJobs.length;
}

/**
 * How many Pods the restart has taken: those that were to go at its start and are not there any more, whichever
 * process took them. Pods that a wider selector adds later are not taken by that, nor are those that the spec leaves
 * alone since it was edited.
 *
 * @param sorted the Pods of now.
 */
export function restartedPods(
  { restarted, skippedUnmanaged }: Restart,
  total: number,
  sorted: SortedPods,
): number {
  const left = Math.max(0, skippedPods(sorted) - skippedUnmanaged);
  return Math.max(restarted, total - sorted.stale.length - left);
}

/** The restart ends now: it counts, and goes into history. */
export function closed(state: WatcherState, now: number): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart) return state;
  const { unavailable, ...record } = lastRestart;
  const done = { ...record, completion: now };
  const restarted = done.restarted > 0;
  return {
    ...state,
    restartCount: state.restartCount + Number(restarted),
    ...(restarted && { lastRestartTime: now }),
    lastRestart: done,
    history: [done, ...state.history].slice(0, historyLimit),
  };
}

/** @param cooldown undefined: switched off. */
export function withCooldown(
  { cooldownUntil, cooldownWaits, ...state }: WatcherState,
  cooldown: ReturnType<typeof cooldownAfter>,
): WatcherState {
  if (!cooldown) return state;
  const { until, waits } = cooldown;
  return { ...state, cooldownUntil: until, ...(waits > 0 && { cooldownWaits: waits }) };
}

/** With the counts of now. */
export function counted(state: WatcherState, memory: RestartMemory, sorted: SortedPods): WatcherState {
  const { lastRestart, pending } = state;
  if (!lastRestart) return state;
  const stale = sorted.stale.length;
  const restarted = restartedPods(lastRestart, pending?.total ?? 0, sorted);
  const skipped = skippedPods(sorted);
  return {
    ...state,
    stalePods: stale,
    skippedPods: skipped,
    ...(pending && { pending: { ...pending, total: restarted + stale } }),
    lastRestart: {
      ...lastRestart,
      restarted,
      skippedUnmanaged: skipped,
      failed: memory.failed.size,
    },
  };
}
