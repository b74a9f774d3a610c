/**
 * WatcherMemory: what this process knows of watchers that their status does not say, or not yet. All of it may be
 * lost at any time: that costs patience, never truth.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RestartMemory } from '../facts/restart-memory.ts';
import type { WatcherState } from '../facts/state.ts';
import { type SourceHash, shortHash, shortName } from '../plan/config-hash.ts';

/** After another writer's write, doubled while the watch does not bring it. */
const firstConflictDelayMs = 250;
const maxConflictDelayMs = 10_000;

export class WatcherMemory {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By namespace/name, as all that follows; of one uid, so that a watcher that is created again starts without it. */
  readonly #known = new Map<
    string,
    {
      readonly watcher: ConfigWatcher;
      readonly memory: RestartMemory;
      /** As it was written last. */
      readonly state: WatcherState;
      /** The resourceVersion of the watcher with this state. */
      readonly version: string;
      /** Monotonic ms since when the state shows the same sources. */
      readonly since: number;
    }
  >();
  /** How often in a row the status of a watcher was another one than the cache shows. */
  readonly #conflicts = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  recall(key: string) {
    return this.#known.get(key);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  /**
   * Monotonic ms since when this process knows what the status says of the sources: that of another version than the
   * own last one since now. Other replicas may have recorded another content and then this one again.
   */
  knownSince(key: string, { metadata }: ConfigWatcher): number {
    const known = this.#known.get(key);
    return known && known.version === metadata.resourceVersion ? known.since : this.#clock.monotonic();
  }

  /** What was decided on these facts stands in the API server. */
  written(
    key: string,
    facts: { readonly watcher: ConfigWatcher; readonly state: WatcherState; readonly knownSince: number },
    written: { readonly state: WatcherState; readonly memory: RestartMemory; readonly version: string },
  ): void {
    this.settled(key);
    const { watcher, state, knownSince } = facts;
    const isSame = areSameSources(state.sources, written.state.sources);
    this.#known.set(key, { ...written, watcher, since: isSame ? knownSince : this.#clock.monotonic() });
  }

  /** After the restarting writes that follow the status. */
  restarted(key: string, memory: RestartMemory): void {
    const known = this.#known.get(key);
    if (known) this.#known.set(key, { ...known, memory });
  }

  /** The status met a newer one. Returns how long to wait: the watch event of that one wakes the watcher earlier. */
  conflicted(key: string): number {
    const before = this.#conflicts.get(key) ?? 0;
    this.#conflicts.set(key, before + 1);
    return Math.min(maxConflictDelayMs, firstConflictDelayMs * 2 ** Math.min(before, 10));
  }

  /**
   * The watch has had the time to bring what a write met, and did not: its cache stands still, and what is decided on
   * it cannot be written.
   */
  isBehind(key: string): boolean {
    return (this.#conflicts.get(key) ?? 0) > 1;
  }

  /** No conflict is left: the status was written, or its watcher is gone. */
  settled(key: string): void {
    this.#conflicts.delete(key);
  }
}

/** Whether the same is known of the same sources, as a status with or without room says it. */
function areSameSources(left: readonly SourceHash[], right: readonly SourceHash[]): boolean {
  const keyOf = ({ kind, name, keysHash, hash, pendingHash }: SourceHash) =>
    [kind, shortName(name), keysHash, shortHash(hash), pendingHash && shortHash(pendingHash)].join();
  return (
    left.length === right.length && left.every((one, index) => keyOf(one) === keyOf(right[index] ?? one))
  );
}
