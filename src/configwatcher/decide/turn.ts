/**
 * Turn: what one owner would do next. Its Pods go in batches, so that no more of them are missing than the spec
 * allows, or its own rollout replaces them.
 */

import type { PodFacts } from '../facts/pod-facts.ts';
import { isOfPodAlone } from '../facts/restart-memory.ts';
import type { RolloutFacts } from '../facts/workload.ts';
import type { Strategy } from '../plan/spec.ts';
import type { OwnerAvailability } from './availability.ts';
import type { PodGroup } from './pod-groups.ts';
import type { RestartInput } from './restart-input.ts';
import { isAtRisk, ordinalOf, rolloutTurn } from './rollout.ts';

/** How many may be unavailable: per cent of the wanted Pods, rounded down, but at least one. */
export function unavailableLimit(limit: Strategy['maxUnavailable'], wanted: number): number {
  return 'count' in limit ? limit.count : Math.max(1, Math.floor((wanted * limit.percent) / 100));
}

/**
 * Order of the Pods that serve: StatefulSets from the highest ordinal down, as their own rolling update
 * does; elsewhere the oldest first.
 */
function servingOrder(group: PodGroup, left: PodFacts, right: PodFacts): number {
  if (group.owner.kind === 'StatefulSet') {
    return right.name.localeCompare(left.name, 'en', { numeric: true });
  }
  return left.created - right.created || left.name.localeCompare(right.name, 'en');
}

/** What an owner would do next. */
export interface Turn {
  readonly due: readonly PodFacts[];
  /** uids of those that were chosen, but refused a moment ago. */
  readonly refused: readonly string[];
  /** The template of the owner is to change. */
  readonly rollout: boolean;
  /** The template is to have this value again, from before a content that was taken back; null: it had none. */
  readonly restores?: string | null;
  /** The owner's own rollout does not begin or go on. */
  readonly held: RolloutFacts['held'] | 'Reverted';
}

export const noTurn: Turn = { due: [], refused: [], rollout: false, held: undefined };

export function isRefused({ memory, now }: RestartInput, uid: string): boolean {
  return (memory.refusals.get(uid)?.retryAt ?? 0) > now;
}

/**
 * Its controller waits for a broken Pod to get Ready and does not replace it: a new one that an earlier content keeps
 * from that, and of a StatefulSet any, kubernetes#67250.
 */
function stuckInOrder({ owner, stale, outdated }: PodGroup, input: RestartInput): Turn {
  const isStuck = (pod: PodFacts) =>
    owner.kind === 'StatefulSet' || (outdated.length > 0 && !outdated.includes(pod));
  const stuck = stale.filter((pod) => !pod.ready && isStuck(pod));
  return {
    ...noTurn,
    due: stuck.filter(({ uid }) => !isRefused(input, uid)),
    refused: stuck.map(({ uid }) => uid).filter((uid) => isRefused(input, uid)),
  };
}

/** So many refusals of a template in a row, by a webhook say, and Auto evicts. */
const maxRefusedTemplates = 3;

function isRefusedOften({ key }: PodGroup, { memory }: RestartInput): boolean {
  const { attempts = 0, cause } = memory.refusals.get(key) ?? {};
  return cause === 'Failure' && attempts >= maxRefusedTemplates;
}

/** The owner rolls nothing out, or the operator may not make it do so. */
function isBarred({ facts }: PodGroup, { rolloutRight }: RestartInput): boolean {
  return facts.rollout?.held !== undefined || rolloutRight === 'Denied';
}

/** Whether the owner's rollout replaces all of its stale Pods, and no others. */
function isForRollout(group: PodGroup, input: RestartInput): boolean {
  const { stale, terminating, fresh, facts } = group;
  const { target, restartedFor, pods } = facts.rollout ?? {};
  if (isBarred(group, input)) return false;
  if (restartedFor === input.memory.id) return true;
  if (isReverted(group, input) || isRefusedOften(group, input)) return false;
  // Evicted in batches, the first of its Pods show what its rollout would do to all of them.
  if (isAtRisk(facts)) return false;
  const isWhole = fresh.length === 0 && pods !== undefined && pods <= stale.length + terminating.length;
  return target !== undefined && facts.makesSelectedPods && isWhole;
}

/** Whether some of its Pods never left the content that is applied again: a change of its template would replace them. */
function hasKept({ fresh }: PodGroup, { from = Number.NEGATIVE_INFINITY }: RestartInput): boolean {
  return fresh.some(({ created }) => created < from);
}

/** Whether the template of the owner is the one for a restart that this one has overtaken. */
export function isForOvertaken({ facts }: PodGroup, { overtaken }: RestartInput): boolean {
  const { restartedFor } = facts.rollout ?? {};
  return restartedFor !== undefined && overtaken?.includes(restartedFor) === true;
}

/**
 * The content that this restart applies again was taken back in the middle of a rollout. With the template of before, the
 * owner's controller replaces only the Pods that were made in between: those that never left the content stay. Not where
 * Pods were made since the edit: they have the content, and the template that would go.
 * undefined: there is no such rollout.
 */
function turnOfReturn(group: PodGroup, input: RestartInput): Turn | undefined {
  const { key, endangered, fresh, facts } = group;
  const { restartedFor } = facts.rollout ?? {};
  const isOurs =
    isForOvertaken(group, input) && input.strategy.rollout !== 'Never' && !isBarred(group, input);
  // A user may want the rollout after all.
  if (!isOurs || isRefusedOften(group, input) || input.memory.restored.has(key)) return undefined;
  const [restores, ...others] = new Set(endangered.map((pod) => pod.restartedFor ?? null));
  const isLate = fresh.some((pod) => {
    return pod.hasNode && !endangered.includes(pod) && pod.restartedFor === restartedFor;
  });
  if (restores === undefined || others.length > 0 || isLate) return undefined;
  return isRefused(input, key) ? { ...noTurn, refused: [key] } : { ...noTurn, restores };
}

/** An annotation that a user removes during the restart is not set again, by no other process either. */
export function isReverted({ key, facts }: PodGroup, { memory, places, reverted }: RestartInput): boolean {
  const isTold = places.some(({ uid, templateChanged }) => uid === key && templateChanged === true);
  const isKnown = isTold || memory.patched.has(key) || reverted?.includes(key) === true;
  return isKnown && facts.rollout !== undefined && facts.rollout.restartedFor !== memory.id;
}

/** undefined: the owner has no rollout to restart, or none that reaches the stale Pods. */
function turnOfRollout(group: PodGroup, input: RestartInput): Turn | undefined {
  const { rollout } = group.facts;
  const { strategy } = input;
  if (!rollout || strategy.rollout === 'Never') return undefined;
  const { memory } = input;
  if (!rollout.held && hasKept(group, input) && rollout.restartedFor !== memory.id) return undefined;
  if (strategy.rollout === 'WherePossible' && !isForRollout(group, input)) return undefined;
  // Below the partition of a StatefulSet a Pod keeps its revision: evicted, it comes back with the new content.
  const { partition = 0 } = rollout.target ?? {};
  if (partition > 0 && group.stale.every(({ name }) => ordinalOf(name) < partition)) return undefined;
  const turn = rolloutTurn(rollout, memory.id, isReverted(group, input));
  if (turn === 'Wait') return stuckInOrder(group, input);
  if (turn !== 'Patch') return { ...noTurn, held: turn };
  return isRefused(input, group.key) ? { ...noTurn, refused: [group.key] } : { ...noTurn, rollout: true };
}

/** Those that were refused for a cause of their own go to the end of the line: they never keep the others. */
function lineOf(group: PodGroup, { memory }: RestartInput): PodFacts[] {
  const tries = ({ uid }: PodFacts) => {
    const { cause, attempts = 0 } = memory.refusals.get(uid) ?? {};
    // A missing right concerns them all: one Pod is enough to find out when it is granted.
    return cause === 'Forbidden' ? 0 : attempts;
  };
  const isOfItself = ({ uid }: PodFacts) => Number(isOfPodAlone(memory, uid));
  return group.stale
    .filter(({ ready }) => ready)
    .sort(
      (left, right) =>
        isOfItself(left) - isOfItself(right) ||
        tries(left) - tries(right) ||
        servingOrder(group, left, right),
    );
}

function turnOfPods({ group, wanted, serving }: OwnerAvailability, input: RestartInput): Turn {
  const { strategy } = input;
  const missing = Math.max(0, wanted - serving);
  const room = Math.max(0, unavailableLimit(strategy.maxUnavailable, wanted) - missing);
  // Stale Pods that are not Ready serve no requests: they are restarted at once and use none of the room. So a
  // content that kept the first batch from getting Ready is mended by the next edit.
  // The operator's own Pod goes last.
  const others = group.stale.filter(({ name }) => name !== input.ownPod);
  const line = others.length > 0 ? { ...group, stale: others } : group;
  const chosen = [...line.stale.filter(({ ready }) => !ready), ...lineOf(line, input).slice(0, room)];
  const refused = chosen.filter(({ uid }) => isRefused(input, uid) || isKept(group, uid, input));
  return {
    ...noTurn,
    due: chosen.filter((pod) => !refused.includes(pod)),
    refused: refused.map(({ uid }) => uid),
  };
}

/**
 * What has just kept another Pod of the owner will keep this one as well: a budget where it did so before, a missing
 * right in any case.
 */
function isKept({ stale }: PodGroup, uid: string, input: RestartInput): boolean {
  const { refusals } = input.memory;
  const others = stale.filter((other) => isRefused(input, other.uid));
  return others.some((other) => {
    const cause = refusals.get(other.uid)?.cause;
    return cause === 'Forbidden' || (cause === 'Budget' && refusals.get(uid)?.cause === cause);
  });
}

export function turnOf(owner: OwnerAvailability, input: RestartInput): Turn {
  const { group } = owner;
  // A rollout of its own may begin at this moment: what is evicted now would be replaced twice.
  if (group.facts.rollout?.isBehind) return noTurn;
  const back = turnOfReturn(group, input);
  if (back) return back;
  if (group.stale.length === 0) return noTurn;
  if (group.outdated.length > 0) return stuckInOrder(group, input);
  return turnOfRollout(group, input) ?? turnOfPods(owner, input);
}
