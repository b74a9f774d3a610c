/** Restart record: what status says of a restart, and when the next one may start. */
import type { Cooldown } from './pending.ts';
import type { SortedPods } from './pod-groups.ts';
import { type RestartMemory, restartedPods } from './restart-memory.ts';
import { historyLimit, type WatcherState } from './state.ts';

/** The restart record so far belongs to an edit that was overtaken: it counts, and goes into history. */
export function closeOvertaken(state: WatcherState, { id, ...memory }: RestartMemory): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart || lastRestart.completion !== undefined) return state;
  // The counts in status were written ahead of its last batch.
  const restarted = id === lastRestart.id ? restartedPods(memory) : lastRestart.restarted;
  return {
    ...state,
    history: [{ ...lastRestart, restarted }, ...state.history].slice(0, historyLimit),
    restartCount: state.restartCount + Number(restarted > 0),
  };
}

/** The restart ends now: it counts, and goes into history. */
export function closed(state: WatcherState, now: number): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart) return state;
  const done = { ...lastRestart, completion: now };
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
  cooldown: Cooldown | undefined,
): WatcherState {
  if (!cooldown) return state;
  const { until, waits } = cooldown;
  return { ...state, cooldownUntil: until, ...(waits > 0 && { cooldownWaits: waits }) };
}

/** With the counts of now. */
export function counted(state: WatcherState, memory: RestartMemory, sorted: SortedPods): WatcherState {
  const { lastRestart } = state;
  if (!lastRestart) return state;
  return {
    ...state,
    stalePods: sorted.stale.length,
    lastRestart: {
      ...lastRestart,
      restarted: restartedPods(memory),
      skippedUnmanaged: sorted.unmanaged.length + sorted.ofJobs.length,
      failed: memory.failed.size,
    },
  };
}
