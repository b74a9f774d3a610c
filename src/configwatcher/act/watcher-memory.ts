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

  /** What another process has written about the sources is known from now on only. Monotonic ms. */
  knownSince(key: string, { sources }: WatcherState): number {
    const known = this.#known.get(key);
    const isKnown = known !== undefined && areSameSources(sources, known.state.sources);
    return isKnown ? known.since : this.#clock.monotonic();
  }

  /** This state stands in the API server. */
  written(key: string, watcher: ConfigWatcher, state: WatcherState, memory: RestartMemory): void {
    this.settled(key);
    this.#known.set(key, { watcher, memory, state, since: this.knownSince(key, state) });
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
export function areSameSources(left: readonly SourceHash[], right: readonly SourceHash[]): boolean {
  const keyOf = ({ kind, name, keysHash, hash, pendingHash }: SourceHash) =>
    [kind, shortName(name), keysHash, shortHash(hash), pendingHash && shortHash(pendingHash)].join();
  return (
    left.length === right.length && left.every((one, index) => keyOf(one) === keyOf(right[index] ?? one))
  );
}
