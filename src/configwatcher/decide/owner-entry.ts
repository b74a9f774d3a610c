/**
 * Owner entry: one owner with everything that the plan of a restart turns on: whether its Pods are available, what it
 * would do next, and why it is stuck.
 */

import type { PodFacts } from '../facts/pod-facts.ts';
import { type RefusalOfOwner, refusalOf } from '../facts/restart-memory.ts';
import type { OwnerAvailability } from './availability.ts';
import { lateAt, progressOf } from './owner-progress.ts';
import type { PodGroup } from './pod-groups.ts';
import type { RestartInput } from './restart-input.ts';
import { isForOvertaken, noTurn, type Turn, turnOf } from './turn.ts';

/** An owner whose Pods have not got further for too long, or cannot. */
export interface Stall {
  readonly group: PodGroup;
  readonly because:
    | NonNullable<Turn['held']>
    /** Its new Pods do not become available, scheduled as they are. */
    | 'NewPodsNotAvailable'
    /** No node takes its new Pods. */
    | 'Unschedulable'
    /** The node of a Pod does not answer, so the Pod neither serves nor ends. */
    | 'NodeLost'
    /** New Pods are not made: a quota, or an admission policy. */
    | 'PodsMissing'
    | 'Deadline';
  /** The last refusal by the API server for one of its Pods, or for the change of its template. */
  readonly refusal: RefusalOfOwner | undefined;
  /** The new Pods that show it; none where something else does. */
  readonly pods: readonly PodFacts[];
}

/** One owner with everything the plan turns on. */
export interface Entry extends OwnerAvailability {
  readonly turn: Turn;
  readonly stall: Stall | undefined;
  /** It would be its turn, but others go first. */
  readonly yields: boolean;
}

/** Milliseconds after its grace period by which a kubelet that lives has ended a Pod. */
const maxOverdueMs = 60_000;

/** Milliseconds in which a scheduler finds a node, where there is one. */
const schedulingMs = 10_000;

function lateReason(
  { group, wanted }: OwnerAvailability,
  refusal: RefusalOfOwner | undefined,
  now: number,
): Stall['because'] {
  const { fresh, stale, terminating, live } = group;
  // Also where no scheduler has said why.
  const isHomeless = ({ hasNode, unschedulable, created }: PodFacts) =>
    unschedulable || (!hasNode && created + schedulingMs <= now);
  if (fresh.some(isHomeless)) return 'Unschedulable';
  const isOverdue = ({ goneBy = now, held }: PodFacts) => !held && goneBy + maxOverdueMs <= now;
  if (fresh.some(({ nodeLost }) => nodeLost) || terminating.some(isOverdue)) return 'NodeLost';
  // What is left to restart may wait for the Pods that are missing, or for something that has said so.
  const waitsForPods = terminating.length === 0 && refusal === undefined;
  // Of a rollout with a surge the old ones are all there meanwhile.
  if (waitsForPods && group.facts.rollout?.lacksPods) return 'PodsMissing';
  return live < wanted && (stale.length === 0 || waitsForPods) ? 'PodsMissing' : 'Deadline';
}

/** Its template is to be the one of before, now or once that is possible. */
export function isToReturn({ group, turn }: Pick<Entry, 'group' | 'turn'>, input: RestartInput): boolean {
  const isRefusedNow = group.stale.length === 0 && turn.refused.includes(group.key);
  const mayFollow = group.facts.rollout?.isBehind === true && isForOvertaken(group, input);
  return turn.restores !== undefined || isRefusedNow || mayFollow;
}

function stallOf(owner: OwnerAvailability, turn: Turn, input: RestartInput): Stall | undefined {
  const { group, broken, lacks } = owner;
  const { memory, now } = input;
  const refusal = refusalOf(memory, group);
  if (broken !== undefined) {
    return { group, because: 'NewPodsNotAvailable', refusal: undefined, pods: broken };
  }
  if (turn.held) return { group, because: turn.held, refusal, pods: [] };
  const isLeft = group.stale.length + group.terminating.length > 0;
  const isOpen = lacks || isLeft || isToReturn({ group, turn }, input);
  return isOpen && now >= owner.lateAt
    ? { group, because: lateReason(owner, refusal, now), refusal, pods: [] }
    : undefined;
}

export function entryOf(owner: OwnerAvailability, input: RestartInput): Entry {
  const turn = turnOf(owner, input);
  const yields = endsTooEarly(owner.group, turn, input);
  return {
    ...owner,
    turn: yields ? noTurn : turn,
    stall: yields ? undefined : stallOf(owner, turn, input),
    yields,
  };
}

/**
 * The operator's own Pod goes last: the others are under way by the time this process ends. A rollout takes
 * all Pods of its owner, so it is put off as a whole; of a batch the one Pod is left out.
 */
function endsTooEarly(
  { stale }: PodGroup,
  { due, rollout }: Turn,
  { sorted, ownPod }: RestartInput,
): boolean {
  if (!stale.some(({ name }) => name === ownPod)) return false;
  if (rollout) return sorted.stale.length > stale.length;
  return sorted.stale.length > 1 && due.length === 1 && due[0]?.name === ownPod;
}

/** Pods that nothing brings back. @param waits an owner is to show first that the content works. */
export function unmanagedOf(
  group: PodGroup,
  input: RestartInput,
  waits: boolean,
): Pick<Entry, 'group' | 'progress' | 'lateAt' | 'stall'> {
  const { memory, now, strategy } = input;
  const { stale, terminating } = group;
  const counts = { left: stale.length + terminating.length, reached: 0, rolls: false };
  const progress = progressOf(counts, memory.progress.get(group.key), now);
  const deadline = lateAt(progress, terminating, strategy.progressDeadline);
  const late = !waits && now >= deadline;
  return {
    group,
    lateAt: deadline,
    progress: waits ? { ...progress, waits } : progress,
    stall: late ? { group, because: 'Deadline', refusal: refusalOf(memory, group), pods: [] } : undefined,
  };
}
