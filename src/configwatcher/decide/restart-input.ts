/** Restart input: what the next batch of a restart is planned from. */

import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import type { Observed, OwnerFacts } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { RestartMemory } from '../facts/restart-memory.ts';
import type { Restart } from '../facts/state.ts';
import type { Strategy } from '../plan/spec.ts';
import type { SortedPods, Staleness } from './pod-groups.ts';

export interface RestartInput {
  readonly pods: readonly PodFacts[];
  readonly sorted: SortedPods;
  /** Pods created later are new: they are what the content is judged by. */
  readonly cutoff: number | undefined;
  /** See {@link Staleness}: only where a content was taken back. */
  readonly from?: number | undefined;
  /** ids of the restarts that this one has overtaken, which are not finished. */
  readonly overtaken?: readonly string[];
  readonly owners: ReadonlyMap<string, OwnerFacts>;
  readonly strategy: Strategy;
  readonly memory: RestartMemory;
  readonly now: number;
  /** The owners in the middle of a restart, from status. */
  readonly places: readonly ConfigWatcherStatusPendingOwner[];
  /** How many of them the status has room for. */
  readonly maxPlaces: number;
  /** The new Pods of a first owner are available. */
  readonly proven: boolean;
  readonly ownPod: string | undefined;
  /** What status says of this restart, with the counts of now. */
  readonly record: Restart | undefined;
  /** uids of owners whose template was seen to be taken back, perhaps by another process. */
  readonly reverted?: readonly string[] | undefined;
  /** See {@link Observed}. */
  readonly rolloutRight?: Observed['rolloutRight'];
}
