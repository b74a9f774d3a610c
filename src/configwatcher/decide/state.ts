/**
 * WatcherState: the status of a ConfigWatcher as decisions use it, with instants in epoch milliseconds.
 * Everything a restart needs to go on after a crash or a failover is in here; reading and writing are exact
 * opposites. What somebody forged or a lax schema let in is read as absent.
 */
import type {
  ConfigWatcherStatus,
  ConfigWatcherStatusHistory,
  ConfigWatcherStatusLastRestart,
  ConfigWatcherStatusPendingReason,
} from '../../api/configwatcher.generated.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { formatMilliTime, formatTime, parseTime } from '../../api/time.ts';
import { type SourceHash, statusName } from '../spec/config-hash.ts';
import { fitStatus } from './status-size.ts';

export type PendingReason = ConfigWatcherStatusPendingReason;

/** What is known of one source. */
export interface SourceState extends SourceHash {
  /**
   * Of its content that is to be applied, where it was edited. From the start of a restart on it stays even when
   * it is the applied one again: Pods may run with what was in between.
   */
  readonly pendingHash?: string;
}

/** A change that was seen and is not applied yet. */
export interface Pending {
  /** Of the content to be applied. */
  readonly hash: string;
  /** When the first edit was seen that no restart has begun for yet. */
  readonly since: number;
  /**
   * When a restart began. From then on Pods may run with this or an earlier content, so a return to the
   * applied one cancels nothing. Earlier than `since`: another edit came in and waits for its turn.
   */
  readonly started?: number;
  /** Pods created later run with the new content. Absent: there was no Pod at all. */
  readonly cutoff?: number;
  /** How many Pods there were at the start of owners that do not say how many they want; absent for none. */
  readonly unreadPods?: number;
  readonly reason: PendingReason;
}

export interface Trigger {
  readonly kind: string;
  readonly name: string;
  readonly changedKeys?: readonly string[];
}

/** One change that was carried through, or is being. */
export interface Restart {
  readonly id: string;
  readonly start: number;
  readonly completion?: number;
  readonly trigger?: Trigger;
  readonly restarted: number;
  readonly skippedFresh: number;
  readonly skippedUnmanaged: number;
  readonly failed: number;
}

export interface WatcherState {
  readonly observedGeneration: number;
  /** Combined hash of `sources`; absent before the baseline. */
  readonly appliedHash?: string;
  /** The contents the Pods run with, as far as no change is pending. */
  readonly sources: readonly SourceState[];
  /** When the content seen last was seen first; the baseline counts. */
  readonly lastChange?: number;
  /** When the last restart that had Pods to restart was completed. */
  readonly lastRestartTime?: number;
  /** No restart starts before. */
  readonly cooldownUntil?: number;
  /** How many restarts in a row had to wait for the cooldown; absent for none. */
  readonly cooldownWaits?: number;
  readonly restartCount: number;
  readonly matchedPods: number;
  readonly stalePods: number;
  readonly strategy?: string;
  readonly pending?: Pending;
  readonly lastRestart?: Restart;
  /** Newest first, at most {@link historyLimit}. */
  readonly history: readonly Restart[];
  readonly conditions: readonly Condition[];
}

export const historyLimit = 5;

/** Set where defined: optional properties stay absent. */
function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}

function instant(text: string | undefined): number | undefined {
  if (typeof text !== 'string') return undefined;
  const time = parseTime(text);
  return Number.isFinite(time) ? time : undefined;
}

/** The objects in a list; nothing else passes, whatever a lax schema let in. */
function objectsIn<T extends object>(list: readonly T[] | undefined): readonly T[] {
  return Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];
}

function readSources({ sources, pending }: ConfigWatcherStatus): SourceState[] {
  return objectsIn(sources).flatMap(({ hash, pendingHash, ...source }) =>
    hash ? [{ ...source, hash, ...given('pendingHash', pending ? pendingHash : undefined) }] : [],
  );
}

function readPending({ pending }: ConfigWatcherStatus): Pending | undefined {
  const since = instant(pending?.since);
  if (!pending?.hash || since === undefined) return undefined;
  const started = instant(pending.started);
  const cutoff = instant(pending.cutoff);
  // No restart starts before its cutoff: a later one would have it take its own replacements.
  const forged = started !== undefined && started >= since && cutoff !== undefined && cutoff > started;
  return {
    hash: pending.hash,
    since,
    ...given('started', started),
    ...given('cutoff', forged ? started : cutoff),
    ...given('unreadPods', pending.unreadPods),
    reason: pending.reason ?? 'Debounce',
  };
}

function readRestart(
  restart: ConfigWatcherStatusLastRestart | ConfigWatcherStatusHistory | undefined,
): Restart | undefined {
  const start = instant(restart?.startTime);
  if (!restart?.id || start === undefined) return undefined;
  const { trigger } = restart;
  return {
    id: restart.id,
    start,
    ...given('completion', instant(restart.completionTime)),
    ...given('trigger', trigger?.kind && trigger.name ? (trigger as Trigger) : undefined),
    restarted: restart.restarted ?? 0,
    skippedFresh: restart.skippedFresh ?? 0,
    skippedUnmanaged: restart.skippedUnmanaged ?? 0,
    failed: restart.failed ?? 0,
  };
}

export function readState(status: ConfigWatcherStatus = {}): WatcherState {
  return {
    observedGeneration: status.observedGeneration ?? -1,
    ...given('appliedHash', status.appliedHash),
    sources: readSources(status),
    ...given('lastChange', instant(status.lastChangeTime)),
    ...given('lastRestartTime', instant(status.lastRestartTime)),
    ...given('cooldownUntil', instant(status.cooldownUntil)),
    ...given('cooldownWaits', status.cooldownWaits),
    restartCount: status.restartCount ?? 0,
    matchedPods: status.matchedPods ?? 0,
    stalePods: status.stalePods ?? 0,
    ...given('strategy', status.strategyInUse),
    ...given('pending', readPending(status)),
    ...given('lastRestart', readRestart(status.lastRestart)),
    history: objectsIn(status.history).flatMap((entry) => readRestart(entry) ?? []),
    conditions: objectsIn(status.conditions),
  };
}

function milliTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : formatMilliTime(time);
}

function wholeTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : formatTime(time);
}

function writeRestart(restart: Restart): ConfigWatcherStatusLastRestart {
  const { id, start, completion, trigger, ...counts } = restart;
  return {
    id,
    startTime: formatMilliTime(start),
    ...given('completionTime', milliTime(completion)),
    ...given('trigger', trigger),
    ...counts,
  };
}

function withoutKeys(restart: Restart): Restart {
  const { trigger, ...rest } = restart;
  return trigger ? { ...rest, trigger: { kind: trigger.kind, name: statusName(trigger.name) } } : rest;
}

/** The status that {@link readState} reads back as the same state, as far as decisions turn on it. */
export function writeState(state: WatcherState): ConfigWatcherStatus {
  const { pending, lastRestart } = state;
  return fitStatus({
    observedGeneration: state.observedGeneration,
    ...given('appliedHash', state.appliedHash),
    sources: state.sources.map(({ kind, name, keysHash, hash, pendingHash }) => ({
      kind,
      name,
      ...given('keysHash', keysHash),
      hash,
      ...given('pendingHash', pendingHash),
    })),
    ...given('lastChangeTime', milliTime(state.lastChange)),
    ...given('lastRestartTime', wholeTime(state.lastRestartTime)),
    ...given('cooldownUntil', milliTime(state.cooldownUntil)),
    ...given('cooldownWaits', state.cooldownWaits),
    restartCount: state.restartCount,
    matchedPods: state.matchedPods,
    stalePods: state.stalePods,
    ...given('strategyInUse', state.strategy),
    ...given(
      'pending',
      pending && {
        hash: pending.hash,
        since: formatMilliTime(pending.since),
        ...given('started', milliTime(pending.started)),
        ...given('cutoff', wholeTime(pending.cutoff)),
        ...given('unreadPods', pending.unreadPods),
        reason: pending.reason,
      },
    ),
    ...given('lastRestart', lastRestart && writeRestart(lastRestart)),
    history: state.history.slice(0, historyLimit).map((entry) => writeRestart(withoutKeys(entry))),
    conditions: state.conditions,
  });
}
