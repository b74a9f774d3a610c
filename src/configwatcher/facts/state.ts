/**
 * WatcherState: the status of a ConfigWatcher as decisions use it, with instants in epoch milliseconds.
 * Everything a restart needs to go on after a crash or a failover is in here; reading and writing are exact
 * opposites. A forged value, or one that a lax schema let in, is read as absent.
 */
import {
  type ConfigWatcherStatus,
  type ConfigWatcherStatusLastRestart,
  type ConfigWatcherStatusPendingOwner,
  type ConfigWatcherStatusPendingReason,
  configWatcherSchema,
} from '../../api/configwatcher.generated.ts';
import { fit, statusSchema } from '../../kubernetes/fit.ts';
import type { Condition } from '../../kubernetes/objects.ts';
import { parseTime } from '../../kubernetes/time.ts';
import { type SourceHash, withScheme } from '../plan/config-hash.ts';
import { isKeptSelector } from '../plan/selector.ts';
import { isSourceKind } from '../plan/source-kinds.ts';

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
  /** Pods created earlier run with the applied content, those between with that of some edit. */
  readonly from?: number;
  /** How many Pods there were to restart when the restart began. */
  readonly total?: number;
  /** The new Pods of a first owner are available with this content. */
  readonly proven?: true;
  /** The label selector of the Pods that it is owed to; absent where that is too long to be kept. */
  readonly podSelector?: string;
  /** Stale Pods that edits of the selector have left out, as far as they can be told; absent for none. */
  readonly abandonedPods?: number;
  /** How many contents in a row have replaced one whose Pods did not become available; absent for none. */
  readonly repairs?: number;
  /** Owners in the middle of a restart, at most {@link maxPlaces}. */
  readonly owners?: readonly ConfigWatcherStatusPendingOwner[];
  /** uids of owners whose template was seen to be taken back; absent for none. */
  readonly revertedOwners?: readonly string[];
  readonly reason: ConfigWatcherStatusPendingReason;
}

/** What became of one owner in a restart. */
export interface OwnerRecord {
  /** Kind and name, or how many more there are. */
  readonly name: string;
  readonly restarted: number;
  /** How many of its Pods are still to be restarted; absent for none. */
  readonly stale?: number;
  readonly available: number;
  readonly reason: string;
}

/** One change that was carried through, or is being. */
export interface Restart {
  readonly id: string;
  readonly start: number;
  readonly completion?: number;
  readonly trigger?: {
    readonly kind: string;
    readonly name: string;
    readonly changedKeys?: readonly string[];
    /** Who wrote the source, as its managedFields name it. */
    readonly manager?: string;
  };
  readonly restarted: number;
  readonly skippedFresh: number;
  readonly skippedUnmanaged: number;
  readonly failed: number;
  /** Owners whose new Pods do not become available; absent for none. */
  readonly unavailable?: number;
  /** Of the last restart only; absent for none. */
  readonly owners?: readonly OwnerRecord[];
}

export interface WatcherState {
  readonly observedGeneration: number;
  /** Combined hash of `sources`; absent before the baseline. */
  readonly appliedHash?: string;
  /** The contents the Pods run with, as far as no change is pending. */
  readonly sources: readonly SourceHash[];
  /** When the content seen last was seen first; the baseline counts. */
  readonly lastChange?: number;
  /** When the last restart that had Pods to restart was completed. */
  readonly lastRestartTime?: number;
  /** When an object took the place of an immutable one of its name, while Pods are left that are older; epoch ms. */
  readonly replacedAt?: number;
  /** No restart starts before. */
  readonly cooldownUntil?: number;
  /** How many restarts in a row had to wait for the cooldown; absent for none. */
  readonly cooldownWaits?: number;
  readonly restartCount: number;
  readonly matchedPods: number;
  readonly stalePods: number;
  /** Pods with an older content that the spec leaves alone, as they were counted for the last change. */
  readonly skippedPods: number;
  readonly strategy?: string;
  readonly pending?: Pending;
  /** The value of the annotation restart-now that was honoured last. */
  readonly restartNow?: string;
  readonly lastRestart?: Restart;
  /** Newest first, at most {@link historyLimit}. */
  readonly history: readonly Restart[];
  readonly conditions: readonly Condition[];
}

export const historyLimit = 5;
/** Owners that can be in the middle of a restart. */
export const maxPlaces = 50;
/** Owners that are remembered to be reverted. */
export const maxReverted = 10;

function readSources({ sources = [], pending }: ConfigWatcherStatus): SourceHash[] {
  return sources.flatMap(({ kind, name, keysHash, hash, pendingHash }) => {
    if (!isSourceKind(kind) || !name || !hash) return [];
    const known = { kind, name, hash, ...given('keysHash', keysHash || undefined) };
    const awaited = pending && pendingHash ? withScheme(pendingHash, hash) : undefined;
    return { ...known, ...given('pendingHash', awaited) };
  });
}

function readPending({ pending }: ConfigWatcherStatus): Pending | undefined {
  const since = instantIn(pending?.since);
  if (!pending?.hash || since === undefined) return undefined;
  const started = instantIn(pending.started);
  const cutoff = instantIn(pending.cutoff);
  const owners = (pending.owners ?? []).filter(({ uid }) => uid !== '').slice(0, maxPlaces);
  // No restart starts before its cutoff: a later one would have it take its own replacements.
  const forged = started !== undefined && started >= since && cutoff !== undefined && cutoff > started;
  return {
    hash: pending.hash,
    since,
    ...given('started', started),
    ...given('cutoff', forged ? started : cutoff),
    ...given('from', instantIn(pending.from)),
    ...given('total', pending.total),
    ...(pending.proven === true && { proven: true }),
    ...given('podSelector', isKeptSelector(pending.podSelector ?? '') ? pending.podSelector : undefined),
    ...given('abandonedPods', pending.abandonedPods),
    ...given('repairs', pending.repairs),
    ...(owners.length > 0 && { owners }),
    ...given(
      'revertedOwners',
      pending.revertedOwners && distinct(pending.revertedOwners).slice(0, maxReverted),
    ),
    reason: pending.reason ?? 'Debounce',
  };
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

function readTrigger(trigger: ConfigWatcherStatusLastRestart['trigger']): Restart['trigger'] {
  if (!trigger?.kind || !trigger.name) return undefined;
  const { kind, name, changedKeys, manager } = trigger;
  return {
    kind,
    name,
    ...given('changedKeys', changedKeys && distinct(changedKeys)),
    ...given('manager', manager || undefined),
  };
}

function readOwners(owners: ConfigWatcherStatusLastRestart['owners'] = []): OwnerRecord[] {
  return owners.flatMap(({ name, restarted = 0, stale, available = 0, reason }) =>
    name && reason ? { name, restarted, ...given('stale', stale), available, reason } : [],
  );
}

function readRestart(restart: ConfigWatcherStatusLastRestart = {}): Restart | undefined {
  const start = instantIn(restart.startTime);
  if (!restart.id || start === undefined) return undefined;
  return {
    id: restart.id,
    start,
    ...given('completion', instantIn(restart.completionTime)),
    ...given('trigger', readTrigger(restart.trigger)),
    restarted: restart.restarted ?? 0,
    skippedFresh: restart.skippedFresh ?? 0,
    skippedUnmanaged: restart.skippedUnmanaged ?? 0,
    failed: restart.failed ?? 0,
    ...given('unavailable', restart.unavailable),
    ...given('owners', restart.owners && readOwners(restart.owners)),
  };
}

const schema = statusSchema(configWatcherSchema);

export function readState(written?: ConfigWatcherStatus): WatcherState {
  const status = fit(schema, written) ?? {};
  return {
    observedGeneration: Math.max(-1, status.observedGeneration ?? -1),
    ...given('appliedHash', status.appliedHash || undefined),
    sources: readSources(status),
    ...given('lastChange', instantIn(status.lastChangeTime)),
    ...given('lastRestartTime', instantIn(status.lastRestartTime)),
    ...given('replacedAt', instantIn(status.immutableReplacedTime)),
    ...given('cooldownUntil', instantIn(status.cooldownUntil)),
    ...given('cooldownWaits', status.cooldownWaits),
    restartCount: status.restartCount ?? 0,
    matchedPods: status.matchedPods ?? 0,
    stalePods: status.stalePods ?? 0,
    skippedPods: status.skippedPods ?? 0,
    ...given('strategy', status.strategyInUse || undefined),
    ...given('pending', readPending(status)),
    ...given('restartNow', status.restartNow || undefined),
    ...given('lastRestart', readRestart(status.lastRestart)),
    history: (status.history ?? []).flatMap((entry) => readRestart(entry) ?? []),
    conditions: status.conditions ?? [],
  };
}

/** Set where defined: optional properties stay absent. */
export function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}

/** Epoch milliseconds. */
function instantIn(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : parseTime(text);
  return Number.isFinite(time) ? time : undefined;
}
