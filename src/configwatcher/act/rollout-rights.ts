/**
 * RolloutRights: whether the operator may change the templates of workloads, by namespace, as far as its own writes
 * have shown. Nothing is asked before: where the right is there, which is the rule, that would be one request more.
 */
import type { Clock } from '../../runtime/clock.ts';
import type { RolloutRight } from '../decide/observed.ts';
import type { PodOutcome } from '../decide/restart-memory.ts';

/** Milliseconds after which a right that was missing may have been granted. */
const maxAgeMs = 3_600_000;

export interface RolloutRightsOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Whether a policy keeps the right to the annotation that restarts a workload. Default: it does. */
  readonly isJailed?: () => boolean;
}

export class RolloutRights {
  readonly #options: RolloutRightsOptions;
  /** By namespace; of a missing right, the monotonic ms of the answer. */
  readonly #known = new Map<string, 'Granted' | { readonly deniedAt: number }>();

  constructor(options: RolloutRightsOptions) {
    this.#options = options;
  }

  /** undefined: not known. */
  of(namespace: string): RolloutRight | undefined {
    const { clock, isJailed = () => true } = this.#options;
    if (!isJailed()) return 'Denied';
    const known = this.#known.get(namespace);
    if (typeof known !== 'object') return known;
    return clock.monotonic() - known.deniedAt < maxAgeMs ? 'Denied' : undefined;
  }

  /** From the answer to a change of a template there. */
  learn(namespace: string, outcome: PodOutcome): void {
    if (outcome.result === 'RolledOut') this.#known.set(namespace, 'Granted');
    const isDenied = outcome.result === 'Refused' && outcome.cause === 'Forbidden';
    if (isDenied) this.#known.set(namespace, { deniedAt: this.#options.clock.monotonic() });
  }
}
