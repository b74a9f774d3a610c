/**
 * Watcher status: the state of a ConfigWatcher as its status says it, the opposite of {@link readState}.
 */
import type {
  ConfigWatcherStatus,
  ConfigWatcherStatusLastRestart,
} from '../../api/configwatcher.generated.ts';
import { formatMilliTime, formatTime } from '../../kubernetes/time.ts';
import { given, historyLimit, type Restart, type WatcherState } from '../facts/state.ts';
import { statusName } from '../plan/config-hash.ts';
import { fitStatus } from './status-size.ts';

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

function asHistory({ unavailable, owners, trigger, ...restart }: Restart): Restart {
  if (!trigger) return restart;
  const { changedKeys, ...source } = trigger;
  return { ...restart, trigger: { ...source, name: statusName(source.name) } };
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
    ...given('immutableReplacedTime', wholeTime(state.replacedAt)),
    ...given('cooldownUntil', milliTime(state.cooldownUntil)),
    ...given('cooldownWaits', state.cooldownWaits),
    restartCount: state.restartCount,
    matchedPods: state.matchedPods,
    stalePods: state.stalePods,
    ...(state.skippedPods > 0 && { skippedPods: state.skippedPods }),
    ...given('strategyInUse', state.strategy),
    ...given(
      'pending',
      pending && {
        hash: pending.hash,
        since: formatMilliTime(pending.since),
        ...given('started', milliTime(pending.started)),
        ...given('cutoff', wholeTime(pending.cutoff)),
        ...given('from', wholeTime(pending.from)),
        ...given('total', pending.total),
        ...given('proven', pending.proven),
        ...given('podSelector', pending.podSelector),
        ...given('abandonedPods', pending.abandonedPods),
        ...given('repairs', pending.repairs),
        ...given('owners', pending.owners),
        ...given('revertedOwners', pending.revertedOwners),
        reason: pending.reason,
      },
    ),
    ...given('restartNow', state.restartNow),
    ...given('lastRestart', lastRestart && writeRestart(lastRestart)),
    history: state.history.slice(0, historyLimit).map((entry) => writeRestart(asHistory(entry))),
    conditions: state.conditions,
  });
}
