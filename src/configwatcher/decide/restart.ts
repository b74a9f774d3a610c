/**
 * Restart: which Pods go next. Pods of one controller go in batches, so that no more of them are missing
 * than the spec allows; the next batch waits until the owner's Pods are Ready again. With a bad new content
 * the first batch never gets Ready, and the rest goes on serving the old one.
 */

import type { MaxUnavailable, Strategy } from '../plan/spec.ts';
import type { OwnerFacts } from './observed.ts';
import { isLate, type OwnerProgress, progressOf } from './owner-progress.ts';
import type { PodFacts } from './pod-facts.ts';
import { groupLoners, groupPods, type PodGroup, type SortedPods } from './pod-groups.ts';
import { isBudgetRefusal, type RestartMemory, refusalOf } from './restart-memory.ts';
import { type RolloutFacts, type RolloutHold, rolloutTurn } from './rollout.ts';

/** Owners whose Pods one watcher replaces at the same time. */
const ownerLimit = 10;

export interface PlanInput {
  readonly pods: readonly PodFacts[];
  readonly sorted: SortedPods;
  readonly owners: ReadonlyMap<string, OwnerFacts>;
  readonly strategy: Strategy;
  readonly memory: RestartMemory;
  /** How many Pods fewer than at the start there are, of owners that do not say how many they want. */
  readonly lost: number;
  readonly now: number;
  readonly ownPod: string | undefined;
  /** uids of owners whose template was seen to be taken back, perhaps by another process. */
  readonly reverted?: readonly string[] | undefined;
}

/** An owner whose Pods have not got further for too long, or cannot. */
export interface Stall {
  readonly group: PodGroup;
  readonly because: RolloutHold | 'Deadline';
  /** What the API server said last against one of its Pods, or against the change of its template. */
  readonly refusal: string | undefined;
}

export interface Plan {
  /** To be restarted now, in this order. */
  readonly batch: readonly PodFacts[];
  /** Owners whose template is to change now. */
  readonly rollouts: readonly PodGroup[];
  readonly stalled: readonly Stall[];
  /** Pods whose eviction the API server refuses for a disruption budget. */
  readonly blocked: readonly PodFacts[];
  /** The right that the operator lacks for a restarting write, such as `create pods/eviction`. */
  readonly missingRight: string | undefined;
  /** The controller that stands for each Pod's group, by uid of the Pod. */
  readonly ownerOf: ReadonlyMap<string, PodGroup>;
  /** Epoch ms at which a look is due although nothing changed: a refused Pod's next try, a deadline. */
  readonly lookAgainAt: number | undefined;
  readonly mostPods: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, OwnerProgress>;
}

/** How many may be unavailable: per cent of the wanted Pods, rounded down, but at least one. */
export function unavailableLimit(limit: MaxUnavailable, wanted: number): number {
  return 'count' in limit ? limit.count : Math.max(1, Math.floor((wanted * limit.percent) / 100));
}

/**
 * How many Pods there should be. What the owner says counts where the Pods it makes are the selected ones.
 * Where only some of its Pods are selected, or it cannot be read, it is the most that were there.
 */
function wantedPods(group: PodGroup, mostPods: number): number {
  if (group.wanted === undefined) return mostPods;
  return group.makesSelectedPods ? group.wanted : Math.min(group.wanted, mostPods);
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

/** Whose turn it is in a group. */
interface Turn {
  readonly due: readonly PodFacts[];
  /** uids of those that were chosen, but refused a moment ago. */
  readonly refused: readonly string[];
  /** The template of the owner is to change. */
  readonly rollout: boolean;
  /** The owner's own rollout does not begin or go on. */
  readonly held: RolloutHold | undefined;
}

const nobody: Turn = { due: [], refused: [], rollout: false, held: undefined };

function isRefused({ memory, now }: PlanInput, uid: string): boolean {
  return (memory.refusals.get(uid)?.retryAt ?? 0) > now;
}

function turnOfRollout(group: PodGroup, rollout: RolloutFacts, input: PlanInput): Turn {
  const { memory } = input;
  const patched = memory.patched.has(group.key) || input.reverted?.includes(group.key) === true;
  const turn = rolloutTurn(rollout, memory.id, patched);
  if (turn === 'Wait') return nobody;
  if (turn !== 'Patch') return { ...nobody, held: turn };
  return isRefused(input, group.key) ? { ...nobody, refused: [group.key] } : { ...nobody, rollout: true };
}

function turnOfPods(group: PodGroup, input: PlanInput, wanted: number): Turn {
  const { memory, strategy } = input;
  // A Pod under two budgets is refused whatever the others do: it must not hold up those that may go.
  const hopeless = (pod: PodFacts) => memory.refusals.get(pod.uid)?.cause === 'SeveralBudgets';
  const serving = group.stale
    .filter(({ ready }) => ready)
    .sort(
      (left, right) => Number(hopeless(left)) - Number(hopeless(right)) || servingOrder(group, left, right),
    );
  const missing = Math.max(0, wanted - group.ready);
  const room = Math.max(0, unavailableLimit(strategy.maxUnavailable, wanted) - missing);
  // Stale Pods that are not Ready serve nobody: they go at once and take nobody's room. So a content that
  // kept the first batch from getting Ready is mended by the next edit.
  const chosen = [...group.stale.filter(({ ready }) => !ready), ...serving.slice(0, room)];
  return {
    ...nobody,
    due: chosen.filter(({ uid }) => !isRefused(input, uid)),
    refused: chosen.map(({ uid }) => uid).filter((uid) => isRefused(input, uid)),
  };
}

/** One owner with everything the plan turns on. */
interface Entry {
  readonly group: PodGroup;
  readonly mostPods: number;
  readonly progress: OwnerProgress;
  readonly turn: Turn;
  readonly stall: Stall | undefined;
  readonly underWay: boolean;
  /** It would be its turn, but others go first. */
  readonly yields: boolean;
}

function entryOf(group: PodGroup, input: PlanInput): Entry {
  const { memory, now, strategy } = input;
  const mostPods = Math.max(memory.mostPods.get(group.key) ?? 0, group.live);
  // Which owner the lost Pods belong to is known only to the process that saw them: any may lack all of them.
  const wanted = wantedPods(group, memory.sawStart ? mostPods : group.live + input.lost);
  const progress = progressOf(countsOf(group), memory.progress.get(group.key), now);
  const rolls = strategy.type === 'RolloutRestart' ? group.rollout : undefined;
  const turn = rolls ? turnOfRollout(group, rolls, input) : turnOfPods(group, input, wanted);
  const yields = endsTooEarly(group, turn, input);
  const because = turn.held ?? (isLate(progress, now, strategy.progressDeadline) ? 'Deadline' : undefined);
  return {
    group,
    mostPods,
    progress,
    turn: yields ? nobody : turn,
    stall: because && !yields ? { group, because, refusal: refusalOf(memory, group) } : undefined,
    underWay: group.leaving > 0 || group.ready < wanted || (rolls !== undefined && !turn.rollout),
    yields,
  };
}

/**
 * The operator's own Pod goes last: the others are under way by the time this process ends. A rollout takes
 * all Pods of its owner, so it is put off as a whole; of a batch the one Pod is left out.
 */
function endsTooEarly({ stale }: PodGroup, { due, rollout }: Turn, { sorted, ownPod }: PlanInput): boolean {
  if (!stale.some(({ name }) => name === ownPod)) return false;
  if (rollout) return sorted.stale.length > stale.length;
  return sorted.stale.length > 1 && due.length === 1 && due[0]?.name === ownPod;
}

function ownPodLast(batch: readonly PodFacts[], { sorted, ownPod }: PlanInput): PodFacts[] {
  return batch.filter(({ name }) => name !== ownPod || sorted.stale.length === 1);
}

function countsOf({ stale, leaving, ready }: PodGroup): Pick<OwnerProgress, 'left' | 'ready'> {
  return { left: stale.length + leaving, ready };
}

function lonerOf(group: PodGroup, input: PlanInput): Pick<Entry, 'group' | 'progress' | 'stall'> {
  const { memory, now, strategy } = input;
  const progress = progressOf(countsOf(group), memory.progress.get(group.key), now);
  const late = isLate(progress, now, strategy.progressDeadline);
  return {
    group,
    progress,
    stall: late ? { group, because: 'Deadline', refusal: refusalOf(memory, group) } : undefined,
  };
}

/** An owner that is under way keeps its place; one that is refused or stalled gives it back. */
function takesPlace({ turn, stall, yields }: Entry): boolean {
  return !stall && !yields && (turn.refused.length === 0 || turn.due.length > 0);
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times);
}

export function planRestart(input: PlanInput): Plan {
  const { memory, strategy, sorted } = input;
  const entries = groupPods(input.pods, sorted, input.owners).map((group) => entryOf(group, input));
  const placed = entries
    .filter(takesPlace)
    .sort((left, right) => Number(right.underWay) - Number(left.underWay))
    .slice(0, ownerLimit);
  const active = entries.filter((entry) => placed.includes(entry) || !(takesPlace(entry) || entry.yields));
  // Nothing brings these back, so there is no batch to wait for; but they can be stuck like any other.
  const alone = groupLoners(sorted).map((group) => lonerOf(group, input));
  const loners = alone.flatMap(({ group }) => group.stale);
  const batch = [
    ...active.flatMap(({ turn }) => turn.due),
    ...loners.filter(({ uid }) => !isRefused(input, uid)),
  ];
  const refused = [
    ...active.flatMap(({ turn }) => turn.refused),
    ...loners.map(({ uid }) => uid).filter((uid) => isRefused(input, uid)),
  ];
  const refusals = [...memory.refusals.values()];
  return {
    batch: ownPodLast(batch, input),
    rollouts: active.filter(({ turn }) => turn.rollout).map(({ group }) => group),
    stalled: [...entries, ...alone].flatMap(({ stall }) => stall ?? []),
    blocked: sorted.stale.filter(({ uid }) => isBudgetRefusal(memory, uid)),
    missingRight: refusals.find(({ cause }) => cause === 'Forbidden')?.message,
    ownerOf: new Map(entries.flatMap(({ group }) => group.stale.map((pod) => [pod.uid, group] as const))),
    lookAgainAt: earliest([
      ...refused.flatMap((uid) => memory.refusals.get(uid)?.retryAt ?? []),
      ...[...placed, ...alone.filter(({ stall }) => !stall)].map(
        ({ progress }) => progress.since + strategy.progressDeadline,
      ),
    ]),
    mostPods: new Map(entries.map(({ group, mostPods }) => [group.key, mostPods])),
    progress: new Map([
      ...alone.map(({ group, progress }) => [group.key, progress] as const),
      ...entries.map(
        (entry) => [entry.group.key, active.includes(entry) ? entry.progress : waiting(entry)] as const,
      ),
    ]),
  };
}

function waiting({ progress }: Entry): OwnerProgress {
  return { ...progress, waits: true };
}
