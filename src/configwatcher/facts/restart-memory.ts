/**
 * RestartMemory: what one process remembers of the restart it is carrying out. Nothing here decides whether
 * a Pod is restarted, so losing it in a crash costs patience and precision of counts, never a restart too
 * many or too few.
 */

import { earliest } from '../../kubernetes/time.ts';
import type { PodFacts } from './pod-facts.ts';
import { refusalCauses } from './refusal-causes.ts';

/** Why the API server did not let a Pod go. */
export interface EvictionRefusal {
  readonly cause: keyof typeof refusalCauses;
  /** How often in a row. */
  readonly attempts: number;
  /** Epoch ms of the next try. */
  readonly retryAt: number;
  /** The server's words; they name Pods and budgets, never configuration. */
  readonly message: string;
}

/** How far the Pods of an owner have come. */
export interface OwnerProgress {
  /** Fewest Pods that were still to go. */
  readonly left: number;
  /** The most since `left` went down: two for each Pod that serves, one for each new one that only has its node. */
  readonly reached: number;
  /** Its template was changed for the content. */
  readonly rolls?: true;
  /** Epoch ms of the last step forward, or of the last look at which it was not its turn. */
  readonly since: number;
  /** It was not its turn at the last look: all places were taken, or the canary was not over. */
  readonly waits?: true;
}

export interface RestartMemory {
  /** Of the restart that the rest is about; empty for none. */
  readonly id: string;
  /** uids of the Pods, and of the owners, whose restart ended with an error and has not happened since. */
  readonly failed: ReadonlySet<string>;
  /** Owners whose template was changed for it, by this process or another: since when this one knows, epoch ms by uid. */
  readonly patched: ReadonlyMap<string, number>;
  /** Owners whose template this process set back to the one of before: epoch ms by uid. */
  readonly restored: ReadonlyMap<string, number>;
  /** By uid of the Pod, or of the owner whose template is to change. */
  readonly refusals: ReadonlyMap<string, EvictionRefusal>;
  /** By uid of the owner. */
  readonly progress: ReadonlyMap<string, OwnerProgress>;
  /** uids of the owners that have got their Event. */
  readonly announced: ReadonlySet<string>;
  /** The cooldown that has got its Event, by its end in epoch ms. */
  readonly toldCooldown?: number;
  /** The change whose dry run has got its Event, by its id. */
  readonly toldDryRun?: string;
}

export const emptyMemory: RestartMemory = {
  id: '',
  failed: new Set(),
  patched: new Map(),
  restored: new Map(),
  refusals: new Map(),
  progress: new Map(),
  announced: new Set(),
};

/** What the API server refused last of an owner: one of its Pods, or, where there is none, its template. */
export interface RefusalOfOwner extends Pick<EvictionRefusal, 'cause' | 'message'> {
  readonly pod: PodFacts | undefined;
}

/**
 * The last refusal for the change of an owner's template, or for one of its Pods: those that are not Ready come first,
 * since letting them go costs nothing.
 */
export function refusalOf(
  { refusals }: RestartMemory,
  { key, stale }: { readonly key: string; readonly stale: readonly PodFacts[] },
): RefusalOfOwner | undefined {
  const refused = stale.filter(({ uid }) => refusals.has(uid));
  const ofTemplate = refusals.get(key);
  const pod = ofTemplate ? undefined : (refused.find(({ ready }) => !ready) ?? refused[0]);
  const refusal = ofTemplate ?? (pod && refusals.get(pod.uid));
  return refusal && { cause: refusal.cause, message: refusal.message, pod };
}

/** Without the refusals for these owners or Pods. */
export function withoutRefusalsOf(memory: RestartMemory, uids: readonly string[]): RestartMemory {
  const refusals = new Map(memory.refusals);
  for (const uid of uids) refusals.delete(uid);
  return { ...memory, refusals };
}

/** Whether a disruption budget, or several, keep this Pod. */
export function isBudgetRefusal({ refusals }: RestartMemory, uid: string): boolean {
  const cause = refusals.get(uid)?.cause;
  return cause !== undefined && refusalCauses[cause].isOfBudgets;
}

/** Whether this Pod is refused for a cause of its own, which keeps no other Pod of its owner. */
export function isOfPodAlone({ refusals }: RestartMemory, uid: string): boolean {
  const cause = refusals.get(uid)?.cause;
  return cause !== undefined && refusalCauses[cause].isOfPodAlone;
}

/** What became of one restarting write. */
export type PodOutcome =
  /** Accepted by the API server: the Pod is going. */
  | { readonly uid: string; readonly result: 'Restarted' }
  /** The template of this owner was changed. */
  | { readonly uid: string; readonly result: 'RolledOut' }
  /** The template of this owner is the one of before again. */
  | { readonly uid: string; readonly result: 'TakenBack' }
  /** Not there any more, or another Pod of that name is. */
  | { readonly uid: string; readonly result: 'Gone' }
  | {
      readonly uid: string;
      readonly result: 'Refused';
      readonly cause: EvictionRefusal['cause'];
      readonly message: string;
      /** Milliseconds the server asked to wait. */
      readonly retryAfter?: number;
    };

/** Milliseconds until the next of the refused Pods is tried again; undefined when none waits. */
export function retryWait({ refusals }: RestartMemory, now: number): number | undefined {
  return earliest([...refusals.values()].map(({ retryAt }) => retryAt - now).filter((wait) => wait > 0));
}

const firstBackoff = 1000;
/** With its jitter 15 s. */
const maxBackoff = 12_500;
/** A right is granted by people, so seldom. */
const maxForbiddenBackoff = 30_000;
/** After so many refusals in a row a Pod is tried about once a minute. */
const patience = 12;
const slowBackoff = 60_000;

/** Milliseconds between two evictions that budgets refuse, however many: at first, and once they are tried seldom. */
const firstSpacing = 100;
const slowSpacing = 1000;

/** By so much what is known of the server's time may move on while it is waited for: its answers have whole seconds. */
const clockMargin = 1000;

function backoffAfter(cause: EvictionRefusal['cause'], attempts: number): number {
  const growing = firstBackoff * 2 ** Math.min(attempts - 1, 10);
  if (cause === 'Forbidden') return Math.min(maxForbiddenBackoff, growing);
  return attempts > patience ? slowBackoff : Math.min(maxBackoff, growing);
}

/** @param byBudgets how many Pods budgets refuse. */
function refusalAfter(
  { cause, retryAfter, message }: PodOutcome & { result: 'Refused' },
  previous: EvictionRefusal | undefined,
  byBudgets: number,
  now: number,
  jitter: number,
): EvictionRefusal {
  const attempts = (previous?.attempts ?? 0) + 1;
  const asked = retryAfter === undefined ? 0 : retryAfter + clockMargin;
  const spacing = attempts > patience ? slowSpacing : firstSpacing;
  const paced = refusalCauses[cause].isOfBudgets ? byBudgets * spacing : 0;
  const wait = Math.max(asked, paced, backoffAfter(cause, attempts)) * (1 + 0.2 * jitter);
  return { cause, attempts, retryAt: now + Math.ceil(wait), message: message.slice(0, 512) };
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
  const failed = new Set(memory.failed);
  const patched = new Map(memory.patched);
  const restored = new Map(memory.restored);
  const refusals = new Map(memory.refusals);
  const byBudgets = [...refusals.values()].filter(({ cause }) => refusalCauses[cause].isOfBudgets).length;
  for (const outcome of outcomes) {
    const { uid, result } = outcome;
    switch (result) {
      case 'Refused':
        refusals.set(uid, refusalAfter(outcome, refusals.get(uid), byBudgets, now, jitter()));
        if (outcome.cause === 'Failure') failed.add(uid);
        continue;
      case 'RolledOut':
        patched.set(uid, now);
        break;
      case 'TakenBack':
        restored.set(uid, now);
        break;
    }
    refusals.delete(uid);
    failed.delete(uid);
  }
  return { ...memory, failed, patched, restored, refusals };
}
