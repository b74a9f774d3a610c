/**
 * Launchable Ats: those that lack nothing but their Pod, as far as the caches show. Only a standby asks, so that they
 * are kept apart from the queue of the leader.
 */
import type { At } from '../../api/at.generated.ts';
import { atPodName } from '../../api/at-constants.ts';
import type { Pod } from '../../kubernetes/objects.ts';
import type { Informer } from '../../runtime/cache/informer.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Clock } from '../../runtime/clock.ts';
import { requestFor, requestKey, requestOfKey } from '../../runtime/controller/reconciler.ts';
import { Pace } from '../../runtime/pace.ts';
import { dueTime } from '../plan/due.ts';
import { isAccepted, isRefused } from '../plan/phase.ts';
import type { DepartedPods } from './departed-pods.ts';

/** Ats that are due within this time are looked at one by one. */
const horizonMs = 120_000;
/** The rest is searched for such Ats so often. */
const scanPeriodMs = 60_000;

export class LaunchableAts {
  readonly #options;
  /** Keys of accepted Ats that are due within the horizon, or were. */
  readonly #near = new Set<string>();
  readonly #removeHandler: () => void;
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** Epoch milliseconds at which the next one may be launchable, by the last look. */
  #nextDue = Number.POSITIVE_INFINITY;

  /** @param onSeen called when an At comes near that is due before all that the last look has found near. */
  constructor(
    options: {
      readonly ats: Informer<At>;
      readonly pods: Lister<Pod>;
      readonly departed: Pick<DepartedPods, 'of'>;
      readonly clock: Clock;
    },
    onSeen: () => void,
  ) {
    this.#options = options;
    const see = (at: At) => {
      const isKnown = this.#near.has(requestKey(requestFor(at)));
      if (this.#see(at) && !isKnown && dueTime(at) < this.#nextDue) onSeen();
    };
    this.#removeHandler = options.ats.addHandler({
      onAdd: see,
      onUpdate: (_previous, at) => see(at),
      onDelete: (at) => void this.#near.delete(requestKey(requestFor(at))),
    });
  }

  /** Those that are launchable now, and epoch milliseconds at which the next one may be; infinity: none is near. */
  look(): { readonly ats: readonly At[]; readonly nextDue: number } {
    const { ats, clock } = this.#options;
    if (clock.monotonic() - this.#scannedAt >= scanPeriodMs) void this.#scan();
    const now = clock.now();
    let nextDue = Number.POSITIVE_INFINITY;
    const found: At[] = [];
    for (const key of this.#near) {
      const { namespace, name } = requestOfKey(key);
      const at = ats.lister.get(namespace, name);
      const due = at === undefined ? Number.POSITIVE_INFINITY : dueTime(at);
      if (due > now) nextDue = Math.min(nextDue, due);
      else if (at !== undefined && this.#lacksPodOnly(at)) found.push(at);
    }
    this.#nextDue = nextDue;
    return { ats: found, nextDue };
  }

  /** Whether no At is near, by the last search. */
  get isIdle(): boolean {
    return this.#near.size === 0;
  }

  stop(): void {
    this.#removeHandler();
    this.#near.clear();
  }

  /** A run that the watch has shown is not repeated, also when its Pod is gone. */
  #lacksPodOnly(at: At): boolean {
    const { pods, departed } = this.#options;
    const { namespace = '', name } = at.metadata;
    const isUnlaunched = pods.get(namespace, atPodName(name)) === undefined && departed.of(at).length === 0;
    return isUnlaunched && isAccepted(at) && !isRefused(at);
  }

  /** Whether the At is near. */
  #see(at: At): boolean {
    const isNear = isAccepted(at) && dueTime(at) - this.#options.clock.now() <= horizonMs;
    if (isNear) this.#near.add(requestKey(requestFor(at)));
    else this.#near.delete(requestKey(requestFor(at)));
    return isNear;
  }

  /** Never rejects. */
  async #scan(): Promise<void> {
    const { ats, clock } = this.#options;
    const pace = new Pace(clock);
    this.#scannedAt = clock.monotonic();
    pace.begin();
    for (const at of ats.lister.list()) {
      try {
        this.#see(at);
      } catch {
        // The informer has logged it when this At came.
      }
      if (pace.isDue) await pace.turn();
    }
  }
}
