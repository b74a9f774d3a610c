/**
 * RolloutRights: whether the operator may change the templates of workloads, by namespace, as far as its own writes
 * have shown. Nothing is asked before: where the right is there, which is the rule, that would be one request more.
 */
import type { Clock } from '../../runtime/clock.ts';
import type { Observed } from '../facts/observed.ts';
import type { PodOutcome } from '../facts/restart-memory.ts';

/** Milliseconds after which a right that was missing may have been granted. */
const maxAgeMs = 3_600_000;

export class RolloutRights {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #isJailed: () => boolean;
  /** By namespace; of a missing right, the monotonic ms of the answer. */
  readonly #known = new Map<string, 'Granted' | { readonly deniedAt: number }>();

  /** @param isJailed whether a policy keeps the right to the annotation that restarts a workload. Default: it does. */
  constructor(clock: Pick<Clock, 'monotonic'>, isJailed: () => boolean = () => true) {
    this.#clock = clock;
    this.#isJailed = isJailed;
  }

  /** undefined: not known. */
  of(namespace: string): Observed['rolloutRight'] {
    if (!this.#isJailed()) return 'Denied';
    const known = this.#known.get(namespace);
    if (typeof known !== 'object') return known;
    return this.#clock.monotonic() - known.deniedAt < maxAgeMs ? 'Denied' : undefined;
  }

  /** From the answer to a change of a template there. */
  learn(namespace: string, outcome: PodOutcome): void {
    if (outcome.result === 'RolledOut' || outcome.result === 'TakenBack')
      this.#known.set(namespace, 'Granted');
    const isDenied = outcome.result === 'Refused' && outcome.cause === 'Forbidden';
    if (isDenied) this.#known.set(namespace, { deniedAt: this.#clock.monotonic() });
  }
}
