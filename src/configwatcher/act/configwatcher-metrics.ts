/**
 * ConfigWatcherMetrics: what the ConfigWatcher controller shows to Prometheus. No label carries the name of
 * an object, so the number of series does not grow with the cluster.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import { watcherCondition, watcherReason } from '../../api/configwatcher-constants.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import type { Steps } from '../decide/decision.ts';
import { refusalCauses } from '../facts/refusal-causes.ts';
import type { PodOutcome } from '../facts/restart-memory.ts';
import type { Restart, WatcherState } from '../facts/state.ts';
import { strategies } from '../plan/strategies.ts';

/** Counted apart, or no matter of a restart. */
const otherStalls: ReadonlySet<string> = new Set([
  watcherReason.newPodsNotAvailable,
  watcherReason.invalidSpec,
]);
/** `skipped`: the change found no Pod to restart. `overtaken`: an edit, of the content or of the spec, came before the last Pod was restarted. */
const results = ['completed', 'overtaken', 'skipped'] as const;
const skipReasons = ['fresh', 'unmanaged', 'job'] as const;

/** What the gauges add up, of one watcher. */
function levelsOf({ pending, stalePods, conditions }: WatcherState) {
  const stall = findCondition(conditions, watcherCondition.stalled);
  return {
    pending: pending !== undefined,
    stalePods,
    sourceMissing: findCondition(conditions, watcherCondition.sourceAvailable)?.status === 'False',
    newPodsNotAvailable: stall?.reason === watcherReason.newPodsNotAvailable,
    stalled: stall !== undefined && !otherStalls.has(stall.reason),
  };
}

/** By how much the counts of the restart have grown, that of the restart that it overtakes included. */
function newlyRestarted(before: WatcherState, { lastRestart, history }: WatcherState): number {
  const counted = before.lastRestart;
  const [last] = history;
  if (lastRestart?.id === counted?.id) return (lastRestart?.restarted ?? 0) - (counted?.restarted ?? 0);
  const overtaken = last?.id === counted?.id ? (last?.restarted ?? 0) - (counted?.restarted ?? 0) : 0;
  return (lastRestart?.restarted ?? 0) + overtaken;
}

export class ConfigWatcherMetrics {
  readonly #changes: Counter;
  readonly #restarts: Counter<'strategy' | 'result'>;
  readonly #podsRestarted: Counter;
  readonly #podsSkipped: Counter<'reason'>;
  readonly #evictionBlocked: Counter;
  readonly #duration: Histogram;
  readonly #levels = new Map<string, ReturnType<typeof levelsOf>>();

  /** All series exist at 0 from here on. Once per registry. */
  constructor(registry: Registry) {
    const named = (name: string, help: string) => ({
      name: `atwatch_configwatcher_${name}`,
      help,
      registers: [registry],
    });
    this.#changes = new Counter(named('changes_total', 'Edits of watched contents that were seen'));
    this.#restarts = new Counter({
      ...named('restarts_total', 'Restarts that have ended, by strategy and result'),
      labelNames: ['strategy', 'result'],
    });
    this.#podsRestarted = new Counter(
      named('pods_restarted_total', 'Pods with an older content that were restarted'),
    );
    this.#podsSkipped = new Counter({
      ...named('pods_skipped_total', 'Pods that a restart left alone, by reason'),
      labelNames: ['reason'],
    });
    this.#evictionBlocked = new Counter(
      named('eviction_blocked_total', 'Evictions that a PodDisruptionBudget did not allow'),
    );
    this.#duration = new Histogram({
      ...named(
        'restart_duration_seconds',
        'Seconds from the start of a restart until its new Pods were available',
      ),
      buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
    });
    this.#gauges(registry);
    for (const strategy of Object.keys(strategies)) {
      for (const result of results) this.#restarts.inc({ strategy, result }, 0);
    }
    for (const reason of skipReasons) this.#podsSkipped.inc({ reason }, 0);
  }

  /** A decision that has been written. */
  decided(
    watcher: string,
    before: WatcherState,
    decision: Pick<Steps, 'state' | 'edits' | 'abandoned' | 'skippedOfJobs'>,
  ): void {
    const { state: after, edits } = decision;
    this.#changes.inc(edits);
    this.#podsRestarted.inc(newlyRestarted(before, after));
    this.#levels.set(watcher, levelsOf(after));
    const strategy = after.strategy ?? strategies.Evict.name;
    const { lastRestart } = after;
    const finished = lastRestart?.completion !== undefined;
    const known = before.lastRestart?.id === lastRestart?.id && before.lastRestart?.completion !== undefined;
    if (lastRestart && finished && !known) this.#finished(lastRestart, strategy, decision);
    const overtaken = before.lastRestart?.completion === undefined && before.lastRestart?.id;
    if (overtaken && overtaken !== lastRestart?.id) this.#restarts.inc({ strategy, result: 'overtaken' });
  }

  performed(outcomes: readonly PodOutcome[]): void {
    for (const outcome of outcomes) {
      if (outcome.result === 'Refused' && refusalCauses[outcome.cause].isOfBudgets)
        this.#evictionBlocked.inc();
    }
  }

  /** The watcher is gone. */
  forget(watcher: string): void {
    this.#levels.delete(watcher);
  }

  #finished(
    restart: Restart,
    strategy: string,
    { abandoned, skippedOfJobs }: Pick<Steps, 'abandoned' | 'skippedOfJobs'>,
  ): void {
    const { start, completion = start, restarted, skippedFresh, skippedUnmanaged } = restart;
    const completed = restarted > 0 ? 'completed' : 'skipped';
    this.#restarts.inc({ strategy, result: abandoned === undefined ? completed : 'overtaken' });
    if (abandoned !== undefined) return;
    this.#podsSkipped.inc({ reason: 'fresh' }, skippedFresh);
    this.#podsSkipped.inc({ reason: 'unmanaged' }, skippedUnmanaged - skippedOfJobs);
    this.#podsSkipped.inc({ reason: 'job' }, skippedOfJobs);
    if (restarted > 0) this.#duration.observe(Math.max(0, completion - start) / 1000);
  }

  #gauges(registry: Registry): void {
    const levels = this.#levels;
    const sum = (name: string, help: string, value: (level: ReturnType<typeof levelsOf>) => number) => {
      new Gauge({
        name: `atwatch_configwatcher_${name}`,
        help,
        registers: [registry],
        collect() {
          this.set([...levels.values()].reduce((total, level) => total + value(level), 0));
        },
      });
    };
    sum('pending', 'Watchers with a change that is not applied yet', ({ pending }) => Number(pending));
    sum('stale_pods', 'Pods that run with an older content and are to be restarted', (l) => l.stalePods);
    sum(
      'new_pods_not_available',
      'Watchers whose new content keeps new Pods from becoming available',
      (level) => Number(level.newPodsNotAvailable),
    );
    sum('stalled', 'Watchers whose restart makes no progress for another reason', (l) => Number(l.stalled));
    sum('source_missing', 'Watchers without a required source', (l) => Number(l.sourceMissing));
  }
}
