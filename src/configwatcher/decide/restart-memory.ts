/**
 * RestartMemory: what one process remembers of the restart it is carrying out. Nothing here decides whether
 * a Pod is restarted, so losing it in a crash costs patience and precision of counts, never a restart too
 * many or too few.
 */
import type { OwnerProgress } from './owner-progress.ts';
import type { Restart } from './state.ts';

/** Why the API server did not let a Pod go. */
export interface EvictionRefusal {
  /**
   * Budget: a PodDisruptionBudget. SeveralBudgets: more than one, which the eviction API never resolves.
   * Overload: the server asked to wait. Conflict: the owner has changed since it was read, or evictions got into
   * each other's way. Forbidden: the operator lacks the right. Failure: any other error.
   */
  readonly cause: 'Budget' | 'SeveralBudgets' | 'Overload' | 'Conflict' | 'Forbidden' | 'Failure';
  /** How often in a row. */
  readonly attempts: number;
  /** Epoch ms of the next try. */
  readonly retryAt: number;
  /** The server's words; they name Pods and budgets, never configuration. */
  readonly message: string;
  /** See {@link PodOutcome}. */
  readonly lost?: readonly string[];
}

export interface RestartMemory {
  /** Of the restart that the rest is about; empty for none. */
  readonly id: string;
  /** Pods restarted for it before this process took over. */
  readonly restartedBefore: number;
  /** uids of the Pods this process restarted for it. */
  readonly accepted: ReadonlySet<string>;
  /** uids of the Pods, and of the owners, whose restart ended with an error and has not happened since. */
  readonly failed: ReadonlySet<string>;
  /** Owners whose template this process changed for it: epoch ms by uid. */
  readonly patched: ReadonlyMap<string, number>;
  /** By uid of the Pod, or of the owner whose template is to change. */
  readonly refusals: ReadonlyMap<string, EvictionRefusal>;
  /** By uid of the owner: the most Pods it had, for owners that do not say how many they want. */
  readonly mostPods: ReadonlyMap<string, number>;
  /** This process has carried it out from its start, so {@link mostPods} is complete. */
  readonly sawStart: boolean;
  /** By uid of the owner. */
  readonly progress: ReadonlyMap<string, OwnerProgress>;
  /** uids of the owners that have got their Event. */
  readonly announced: ReadonlySet<string>;
  /** The cooldown that has got its Event, by its end in epoch ms. */
  readonly toldCooldown?: number;
}

export const emptyMemory: RestartMemory = {
  id: '',
  restartedBefore: 0,
  accepted: new Set(),
  failed: new Set(),
  patched: new Map(),
  refusals: new Map(),
  mostPods: new Map(),
  sawStart: false,
  progress: new Map(),
  announced: new Set(),
};

/** How many Pods the restart has taken so far. */
export function restartedPods({
  restartedBefore,
  accepted,
}: Pick<RestartMemory, 'restartedBefore' | 'accepted'>): number {
  return restartedBefore + accepted.size;
}

/**
 * The same of the restart that stands in the status, whoever carries it out. Its counts are written ahead of
 * each batch: for a process that did not send that batch, what has gone since then was restarted.
 *
 * @param stale how many Pods are still to be restarted for it.
 */
export function restartedSoFar(
  memory: RestartMemory,
  { id, restarted }: Restart,
  staleBefore: number,
  stale: number,
): number {
  return memory.id === id ? restartedPods(memory) : restarted + Math.max(0, staleBefore - stale);
}

/** What the API server said last against one of an owner's Pods, or against the change of its template. */
export function refusalOf(
  { refusals }: RestartMemory,
  { key, stale }: { readonly key: string; readonly stale: readonly { readonly uid: string }[] },
): string | undefined {
  const uids = [key, ...stale.map(({ uid }) => uid)];
  return uids.map((uid) => refusals.get(uid)?.message).find((message) => message !== undefined);
}

/** Whether a disruption budget, or several, keep this Pod. */
export function isBudgetRefusal({ refusals }: RestartMemory, uid: string): boolean {
  const cause = refusals.get(uid)?.cause;
  return cause === 'Budget' || cause === 'SeveralBudgets';
}

/** What became of one restarting write. */
export type PodOutcome =
  /** Accepted by the API server: the Pod is going. */
  | { readonly uid: string; readonly result: 'Restarted' }
  /** The template of this owner was changed: these Pods will go. */
  | { readonly uid: string; readonly result: 'RolledOut'; readonly pods: readonly string[] }
  /** Not there any more, or another Pod of that name is. */
  | { readonly uid: string; readonly result: 'Gone' }
  | {
      readonly uid: string;
      readonly result: 'Refused';
      readonly cause: EvictionRefusal['cause'];
      readonly message: string;
      /** Milliseconds the server asked to wait. */
      readonly retryAfter?: number;
      /** The write was sent and its answer lost: uids of the Pods that may be going all the same. */
      readonly lost?: readonly string[];
    };

const firstBackoff = 1000;
/** With its jitter 15 s. */
const longestBackoff = 12_500;
/** A right is granted by people, so seldom. */
const forbiddenBackoff = 30_000;

function refusalAfter(
  outcome: PodOutcome & { result: 'Refused' },
  previous: EvictionRefusal | undefined,
  now: number,
  jitter: number,
): EvictionRefusal {
  const attempts = (previous?.attempts ?? 0) + 1;
  const growing = Math.min(longestBackoff, firstBackoff * 2 ** Math.min(attempts - 1, 10));
  const backoff = outcome.cause === 'Forbidden' ? forbiddenBackoff : growing;
  const wait = Math.max(outcome.retryAfter ?? 0, backoff) * (1 + 0.2 * jitter);
  // An answer of that kind to the next try says nothing about the one before.
  const saysNothing = outcome.cause === 'Failure' || outcome.cause === 'Overload';
  const lost = outcome.lost ?? (saysNothing ? previous?.lost : undefined);
  return {
    cause: outcome.cause,
    attempts,
    retryAt: now + Math.ceil(wait),
    message: outcome.message.slice(0, 512),
    ...(lost && { lost }),
  };
}

/**
 * The memory after the writes of one pass.
 *
 * @param jitter 0 … 1 per outcome, so that Pods refused together do not come back together.
 */
export function remember(
  memory: RestartMemory,
  outcomes: readonly PodOutcome[],
  now: number,
  jitter: () => number,
): RestartMemory {
  const accepted = new Set(memory.accepted);
  const failed = new Set(memory.failed);
  const patched = new Map(memory.patched);
  const refusals = new Map(memory.refusals);
  for (const outcome of outcomes) {
    const { uid, result } = outcome;
    switch (result) {
      case 'Refused':
        refusals.set(uid, refusalAfter(outcome, refusals.get(uid), now, jitter()));
        if (outcome.cause === 'Failure' && !outcome.lost) failed.add(uid);
        continue;
      case 'Restarted':
        accepted.add(uid);
        break;
      case 'RolledOut':
        patched.set(uid, now);
        for (const pod of outcome.pods) accepted.add(pod);
        break;
      case 'Gone':
        // Perhaps by the try before this one: the next list says so (lost-answers.ts).
        if (refusals.get(uid)?.lost) continue;
        break;
    }
    refusals.delete(uid);
    failed.delete(uid);
  }
  return { ...memory, accepted, failed, patched, refusals };
}
