/**
 * Pending: what a recorded change waits for before its restart may start, and for how long.
 */

import type { Pending, WatcherState } from '../facts/state.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import { nextOpening } from '../plan/window.ts';

/** A restart for the content that is pending has begun. */
export function isRunning(pending: Pending): boolean {
  return pending.started !== undefined && pending.started >= pending.since;
}

/** What is waited for; `until` (epoch ms) is absent where only an event can end the wait. */
export interface Wait {
  readonly reason: Pending['reason'];
  readonly until?: number;
}

/** Milliseconds by which what two processes know of the server's time may differ. */
const slackMs = 2000;

/**
 * An end of a wait that cannot be that far away was written by a clock that has been set back since; it is
 * not waited for.
 */
function stillAhead(until: number, now: number, max: number): boolean {
  return until > now && until - now <= max + slackMs;
}

/** When the edits have been quiet for long enough, or have gone on for too long. */
function debounceEnd(spec: WatcherSpec, state: WatcherState, pending: Pending): number {
  const { quiet, max } = spec.debounce;
  return Math.min((state.lastChange ?? pending.since) + quiet, pending.since + max);
}

/** So many repairs in a row wait for no cooldown. */
const quickRepairs = 3;

/** Whether a content that replaces the pending one, which breaks its Pods, waits for no cooldown. */
export function isNextRepairQuick(pending: Pending | undefined): boolean {
  return (pending?.repairs ?? 0) < quickRepairs;
}

/**
 * The first thing in the way of a restart, or of its next batch when it is running: whatever stops a start
 * stops a batch as well, but debounce and cooldown are over by then. Cooldown and windows protect what works: a
 * content that replaces one which breaks its Pods waits for neither.
 */
export function waitOf(
  spec: WatcherSpec,
  state: WatcherState,
  pending: Pending,
  {
    sourceMissing,
    atOnce,
    now,
  }: {
    /** A required source does not exist, so a new Pod could not start. */
    readonly sourceMissing: boolean;
    /** A user asks for the restart to begin now. */
    readonly atOnce: boolean;
    readonly now: number;
  },
): Wait | undefined {
  if (spec.suspend) return { reason: 'Suspended' };
  if (sourceMissing && !spec.restartOnDelete) return { reason: 'SourceMissing' };
  const begins = !isRunning(pending) && !atOnce;
  const delay = begins ? startDelay(spec, state, pending, now) : undefined;
  if (delay) return delay;
  if (spec.dryRun) return { reason: 'DryRun' };
  return begins && pending.repairs === undefined ? windowWait(spec, now) : undefined;
}

/** Whichever of debounce and cooldown ends later, so that edits in a cooldown do not change the reason. */
function startDelay(spec: WatcherSpec, state: WatcherState, pending: Pending, now: number): Wait | undefined {
  const { base, max } = spec.cooldown;
  // One that began before it was switched off is over, too.
  const { cooldownUntil = now } = base > 0 ? state : {};
  const quietAt = debounceEnd(spec, state, pending);
  const debounces = stillAhead(quietAt, now, spec.debounce.quiet);
  // A dry run restarts nothing.
  const cools = !spec.dryRun && !isQuickRepair(pending) && stillAhead(cooldownUntil, now, max);
  if (cools && !(debounces && quietAt > cooldownUntil)) return { reason: 'Cooldown', until: cooldownUntil };
  return debounces ? { reason: 'Debounce', until: quietAt } : undefined;
}

/** Whether it replaces a content that broke its Pods, and waits for the debounce only. */
function isQuickRepair({ repairs = 0 }: Pending): boolean {
  return repairs > 0 && repairs <= quickRepairs;
}

/**
 * Whether a restart, or its next batch, may follow a list of Pods at once, as far as is known before: so that what
 * it takes besides can be read meanwhile. Nothing is decided by it.
 */
export function mayRestartNow(spec: WatcherSpec, state: WatcherState, now: number): boolean {
  const edited = {
    ...state,
    lastChange: now,
    pending: { hash: '', since: now, reason: 'Debounce' },
  } as const;
  const { pending, ...rest } = state.pending ? { ...state, pending: state.pending } : edited;
  const shown = withinLongestGap(spec, rest);
  return waitOf(spec, shown, pending, { sourceMissing: false, atOnce: false, now }) === undefined;
}

function windowWait({ windows }: WatcherSpec, now: number): Wait | undefined {
  const opening = nextOpening(windows, now);
  return opening === undefined ? undefined : { reason: 'Window', until: opening };
}

/** A cooldown lasts for no longer than the longest gap, which an edit may have lowered in it. */
export function withinLongestGap<S extends WatcherState>({ cooldown: { max } }: WatcherSpec, state: S): S {
  const { cooldownUntil, lastRestart } = state;
  if (cooldownUntil === undefined || !lastRestart) return state;
  return { ...state, cooldownUntil: Math.min(cooldownUntil, lastRestart.start + max) };
}

/** Beyond that the gap is longer than any span that can be written down. */
const maxDoublings = 40;

/**
 * A change had to wait where its first content would have been applied before the cooldown was over. Later edits do
 * not count: otherwise a series of edits would seem to wait for the debounce only, and never get a longer gap.
 */
function waitsInARow({ debounce, cooldown }: WatcherSpec, state: WatcherState, pending: Pending): number {
  const { since } = pending;
  const { cooldownUntil, cooldownWaits = 0, lastRestart } = state;
  if (cooldownUntil === undefined || !lastRestart) return 0;
  if (isQuickRepair(pending)) return cooldownWaits;
  if (since + debounce.quiet < cooldownUntil) return cooldownWaits + 1;
  return since - lastRestart.start >= cooldown.max ? 0 : cooldownWaits;
}

/**
 * The cooldown after a restart that starts now. One that had to wait doubles the gap that follows, so a Pod
 * that rewrites its own configuration is restarted ever more rarely; after so long without a change as the
 * longest gap is, the first gap is in force again.
 *
 * @returns the epoch ms before which no other restart starts, and how many restarts in a row had to wait, the one that
 *   starts now included; undefined where it is switched off.
 */
export function cooldownAfter(
  spec: WatcherSpec,
  state: WatcherState,
  pending: Pending,
  now: number,
): { readonly until: number; readonly waits: number } | undefined {
  const { base, max } = spec.cooldown;
  if (base === 0) return undefined;
  const waits = waitsInARow(spec, state, pending);
  return { until: now + Math.min(max, base * 2 ** Math.min(waits, maxDoublings)), waits };
}
