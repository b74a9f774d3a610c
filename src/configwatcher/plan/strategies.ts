/**
 * Strategies: the ways in which a watcher restarts Pods. What sets one apart from another stands in its row, which
 * the rest of the code asks.
 */
import type { ConfigWatcherSpecStrategyType } from '../../api/configwatcher.generated.ts';

export interface RestartStrategy {
  /** As spec and status name it. */
  readonly name: ConfigWatcherSpecStrategyType;
  /** What takes a Pod away that no rollout replaces. */
  readonly podAction: 'EvictPod' | 'DeletePod';
  /**
   * Whether the rollout of an owner restarts its Pods. `WherePossible`: where it replaces all of the stale Pods and no
   * others, and the operator may change the template; otherwise they are evicted, and status says Evict.
   */
  readonly rollout: 'Never' | 'Always' | 'WherePossible';
}

export const strategies: Readonly<Record<ConfigWatcherSpecStrategyType, RestartStrategy>> = {
  Auto: { name: 'Auto', podAction: 'EvictPod', rollout: 'WherePossible' },
  Evict: { name: 'Evict', podAction: 'EvictPod', rollout: 'Never' },
  Delete: { name: 'Delete', podAction: 'DeletePod', rollout: 'Never' },
  RolloutRestart: { name: 'RolloutRestart', podAction: 'EvictPod', rollout: 'Always' },
};
