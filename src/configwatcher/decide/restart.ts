/**
 * Restart: which owners are in the middle of a restart, and which of their Pods go next. An owner keeps its
 * place until its Pods are available again; then the next one begins. A content that breaks its Pods stops
 * there, and the rest goes on serving the old one.
 */

import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import { earliest } from '../../kubernetes/time.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import {
  isBudgetRefusal,
  type OwnerProgress,
  type RestartMemory,
  refusalOf,
  withoutRefusalsOf,
} from '../facts/restart-memory.ts';
import type { OwnerRecord } from '../facts/state.ts';
import { isNew, isOnNode, isRolling, judgeAvailability } from './availability.ts';
import { type Entry, entryOf, isToReturn, type Stall, unmanagedOf } from './owner-entry.ts';
import { recordOwners } from './owner-record.ts';
import { groupPods, groupUnmanaged, type PodGroup, placesNow } from './pod-groups.ts';
import type { RestartInput } from './restart-input.ts';
import { isRefused, isReverted, noTurn, type Turn } from './turn.ts';

export interface Plan {
  /** To be restarted now, in this order. */
  readonly batch: readonly PodFacts[];
  /** Owners whose template is to change now. */
  readonly rollouts: readonly PodGroup[];
  /** Owners whose template is to be the one of before again, with the value of the annotation: see {@link Turn}. */
  readonly returns: readonly { readonly group: PodGroup; readonly value: string | null }[];
  /** The owners in the middle of a restart from now on. */
  readonly places: readonly ConfigWatcherStatusPendingOwner[];
  readonly proven: boolean;
  /** New Pods that the content breaks. */
  readonly unavailable: number;
  /** What became of each owner so far, for people. */
  readonly records: readonly OwnerRecord[];
  /** An owner's own rollout replaces stale Pods. */
  readonly rollsOut: boolean;
  /** Nothing is left to restart, and everything that was restarted is available. */
  readonly isDone: boolean;
  readonly stalled: readonly Stall[];
  /** uids of owners whose template was changed for this content, and is not any more. */
  readonly reverted: readonly string[];
  /** Pods whose eviction the API server refuses for a disruption budget. */
  readonly blocked: readonly PodFacts[];
  /** The right that the operator lacks for a restarting write, such as `create pods/eviction`. */
  readonly missingRight: string | undefined;
  /** The controller that stands for each Pod's group, by uid of the Pod. */
  readonly ownerOf: ReadonlyMap<string, PodGroup>;
  /** Epoch ms at which a look is due although nothing changed: a refused Pod's next try, a deadline. */
  readonly lookAgainAt: number | undefined;
  readonly progress: ReadonlyMap<string, OwnerProgress>;
}

/** Milliseconds until an owner is looked at again whose controller has not seen its newest spec; no event may tell. */
const behindWaitMs = 1000;

function ownPodLast(batch: readonly PodFacts[], { sorted, ownPod }: RestartInput): PodFacts[] {
  return batch.filter(({ name }) => name !== ownPod || sorted.stale.length === 1);
}

/** Nothing of it can be restarted now, and what is restarted already says nothing of the content. */
function isIdle({ place, isAsBefore, turn }: Entry): boolean {
  return place !== undefined && isAsBefore && turn.due.length === 0 && !turn.rollout;
}

/**
 * An owner that is in the middle of its restart keeps its place, unless it is stuck for another reason than the
 * content, or nothing was taken away from it and nothing can be now.
 */
function keepsPlace(entry: Entry, input: RestartInput): boolean {
  const { place, isBack, lacks, stall, turn, yields } = entry;
  if (place === undefined || isBack || yields || isIdle(entry)) return false;
  if (stall) return stall.because === 'NewPodsNotAvailable';
  return lacks || turn.refused.length === 0 || turn.due.length > 0 || isOvertaken(entry, input);
}

/** Its template has changed since it was read: another operator, which leads as well, may have begun with it. */
function isOvertaken({ group: { key }, turn }: Entry, { memory }: RestartInput): boolean {
  return turn.refused.includes(key) && memory.refusals.get(key)?.cause === 'Conflict';
}

/** An owner that may begin. */
function isCandidate(entry: Entry): boolean {
  const { place, lacks, group, stall, turn, yields } = entry;
  if ((place !== undefined && lacks) || isIdle(entry)) return false;
  if (group.stale.length === 0 || yields || turn.held) return false;
  // What is stuck is tried again, after the others.
  if (stall && turn.due.length === 0 && !turn.rollout) return false;
  return turn.refused.length === 0 || turn.due.length > 0;
}

/**
 * What is tried again of an owner that is stuck and lacks Pods: those of its stale Pods that are not Ready, and its own
 * rollout. The restart takes no further Pod of it that serves.
 */
function againOf({ place, lacks, stall, turn }: Entry): Pick<Turn, 'due' | 'rollout'> {
  const isStuck = place !== undefined && lacks && stall !== undefined;
  return isStuck ? sparingServing(turn) : noTurn;
}

/** An owner's own rollout keeps to the limits of its spec. */
function sparingServing(turn: Turn): Turn {
  return { ...turn, due: turn.due.filter(({ ready }) => !ready) };
}

/** How many of its Pods served before its restart, or have served since: 2 stands for all, 1 for some, 0 for none. */
function serviceOf({ place, serving, hadAtStart }: Entry): 0 | 1 | 2 {
  const isWhole = Math.max(serving, place?.available ?? 0) >= hadAtStart;
  if (Math.max(serving, place?.available ?? 0) === 0) return 0;
  return isWhole ? 2 : 1;
}

/** Its new Pods tell whether the content works, and users miss them if not. */
function canJudge(entry: Entry): boolean {
  return serviceOf(entry) > 0;
}

/**
 * Those that serve before those that do not, then those that stand in status, with which another operator that leads as
 * well may be about to go on, then the smallest: a content that breaks its Pods costs least there.
 */
function inOrder(left: Entry, right: Entry): number {
  return (
    Number(left.stall !== undefined) - Number(right.stall !== undefined) ||
    serviceOf(right) - serviceOf(left) ||
    Number(left.place === undefined) - Number(right.place === undefined) ||
    left.wanted - right.wanted ||
    left.group.owner.name.localeCompare(right.group.owner.name, 'en', { numeric: true })
  );
}

/**
 * Some of its Pods have this content already, or are about to get it: also where its controller has yet to see the
 * template that was changed for an earlier content.
 */
function hasBegun(entry: Entry, input: RestartInput): boolean {
  const { key, fresh, terminating, outdated, facts } = entry.group;
  const isChanged =
    isRolling(entry.group, input) || input.memory.patched.has(key) || facts.rollout?.isBehind === true;
  const isGoing = terminating.length + outdated.length > 0 || fresh.some((pod) => isNew(pod, input));
  return isChanged || isGoing || isOvertaken(entry, input);
}

/** It has Pods to be brought back or replaced, whatever it does itself, and stands in status until then. */
function isUnfinished({ place, isBack, lacks, group, turn }: Entry, input: RestartInput): boolean {
  return place !== undefined && !isBack && (lacks || (isRolling(group, input) && turn.held === undefined));
}

/**
 * The owners that stay in their places. One that is in the middle of the restart for an earlier content, and lacks
 * nothing, gives its place back where no owner has shown yet that the content works: that is for one alone to find out.
 */
function holdersOf(entries: readonly Entry[], isCanary: boolean, input: RestartInput): readonly Entry[] {
  const holders = entries.filter((entry) => keepsPlace(entry, input));
  if (!isCanary) return holders;
  const whole = holders.filter(({ lacks, isAwaited, stall }) => !lacks && !isAwaited && stall === undefined);
  const isJudged = holders.some((entry) => !whole.includes(entry) && canJudge(entry));
  const [judge] = isJudged ? [] : whole.filter((entry) => hasBegun(entry, input)).sort(inOrder);
  return holders.filter((entry) => entry === judge || !whole.includes(entry));
}

/** The owners that begin now. */
function beginners(
  entries: readonly Entry[],
  holders: readonly Entry[],
  isCanary: boolean,
  input: RestartInput,
) {
  const refusedBefore = ({ group }: Entry) => Number(refusalOf(input.memory, group) !== undefined);
  const candidates = entries
    .filter((entry) => !holders.includes(entry) && isCandidate(entry))
    .sort((left, right) => refusedBefore(left) - refusedBefore(right) || inOrder(left, right));
  // They have given their places back, and stand in status all the same.
  const kept = entries.filter((entry) => isUnfinished(entry, input) && !holders.includes(entry)).length;
  const room = input.maxPlaces - kept - holders.length;
  const atOnce = Math.max(0, Math.min(input.strategy.maxOwners - holders.length, room));
  if (!isCanary) return candidates.slice(0, atOnce);
  if (holders.some(canJudge)) return [];
  const judges = candidates.filter((entry) => canJudge(entry) && hasWork(entry));
  const judge = judges.find(losesServing) ?? judges[0];
  if (judge) return room > 0 ? [judge] : [];
  return candidates.filter((entry) => !canJudge(entry)).slice(0, atOnce);
}

/** A restart of it takes Pods that serve, and their new ones show whether the content works. */
function losesServing({ turn, group }: Entry): boolean {
  return turn.rollout || group.outdated.length > 0 || turn.due.some(({ ready }) => ready);
}

/** It takes Pods now, or in a moment, once its controller has seen its newest spec. */
function hasWork(entry: Entry): boolean {
  return losesServing(entry) || entry.turn.due.length > 0 || entry.group.facts.rollout?.isBehind === true;
}

/**
 * What is done next. Where an earlier content has broken Pods of several owners, one of these shows whether this one
 * works; of the others no Pod goes that serves.
 */
function turnsOf(
  entries: readonly Entry[],
  inPlace: readonly Entry[],
  isCanary: boolean,
): readonly (Pick<Turn, 'due' | 'rollout'> & Pick<Entry, 'group'>)[] {
  const [judge] = isCanary ? inPlace.filter(canJudge).sort(inOrder) : [];
  const inTurn = inPlace.map((entry) => {
    const { group, turn } = entry;
    return { group, ...(judge === undefined || entry === judge ? turn : sparingServing(turn)) };
  });
  return [...inTurn, ...entries.map((entry) => ({ group: entry.group, ...againOf(entry) }))];
}

/**
 * The owners that stand in status: those in their places, and those that have given theirs back and are not finished.
 * One that was refused, or can do nothing, stays as long as there is room, so that its further tries change nothing and its
 * deadline is told, and so does one whose rollout is paused, so that its new Pods are judged once it goes on, and one whose
 * template a user has taken back, where the list of those has no room for it: every process is to know that.
 */
function placesAfter(
  entries: readonly Entry[],
  taken: readonly Entry[],
  input: RestartInput,
): readonly Entry[] {
  const { memory, maxPlaces } = input;
  const others = entries.filter(
    (entry) => entry.place !== undefined && !entry.isBack && !taken.includes(entry),
  );
  const unfinished = [...taken, ...others.filter((entry) => isUnfinished(entry, input))];
  const held = others.filter(
    (entry) =>
      !unfinished.includes(entry) &&
      (refusalOf(memory, entry.group) !== undefined ||
        isRolling(entry.group, input) ||
        (isReverted(entry.group, input) && input.reverted?.includes(entry.group.key) !== true) ||
        isIdle(entry)),
  );
  const kept = [...unfinished, ...held.slice(0, Math.max(0, maxPlaces - unfinished.length))];
  return entries.filter((entry) => kept.includes(entry));
}

function placeOf(
  { place, group, serving, wanted, hadAtStart }: Entry,
  input: RestartInput,
): ConfigWatcherStatusPendingOwner {
  const { kind, name, uid } = group.owner;
  // A status without room lacks kind and name of a place; the owner's Pods tell them.
  const now = { kind, name, uid, wanted: hadAtStart, available: Math.min(serving, wanted), ...place };
  return isRolling(group, input) ? { ...now, templateChanged: true } : now;
}

/** Whether new Pods of an owner that served have shown that the content works. */
function provesContent(entry: Entry): boolean {
  return entry.isBack && entry.hasNew && canJudge(entry);
}

/** Whether the owner, which served before, may yet show that the content works: also one that is refused for a while. */
function mayProve(entry: Entry): boolean {
  const { group, lacks, stall, yields } = entry;
  const isOpen = lacks || group.stale.length > 0;
  return canJudge(entry) && isOpen && stall === undefined && !yields && !isIdle(entry);
}

/** Where a rollout is used if possible, a template that may not be changed does not stop the restart: Pods are evicted. */
function withoutTemplates(input: RestartInput, groups: readonly PodGroup[]): RestartInput {
  if (input.strategy.rollout !== 'WherePossible' || input.rolloutRight !== 'Denied') return input;
  const owners = groups.map(({ key }) => key);
  return { ...input, memory: withoutRefusalsOf(input.memory, owners) };
}

export function planRestart(facts: RestartInput): Plan {
  const present = facts.places.map(({ uid }) => uid);
  const groups = groupPods(facts.pods, facts.sorted, facts.owners, { present, from: facts.from });
  const input = withoutTemplates({ ...facts, places: placesNow(facts.places, groups, facts.owners) }, groups);
  const { memory, strategy, sorted, now } = input;
  const entries = judgeAvailability(groups, input).map((owner) => entryOf(owner, input));
  const proven = input.proven || entries.some((entry) => provesContent(entry));
  const broken = entries.filter((entry) => entry.broken !== undefined);
  const isCanary = strategy.canary && !proven;
  const holders = holdersOf(entries, isCanary, input);
  const isStopped = broken.length > 0;
  const begin = isStopped ? [] : beginners(entries, holders, isCanary, input);
  const turns = isStopped ? [] : turnsOf(entries, [...holders, ...begin], isCanary);
  // It ends what a content does that is taken back: there is nothing in it to wait for, or to try.
  const returns = entries.flatMap(({ group, turn: { restores: value } }) => {
    return value === undefined ? [] : [{ group, value }];
  });
  const inPlace = placesAfter(entries, [...holders, ...begin], input);
  // Nothing brings these back, so there is no batch to wait for; but they can be stuck like any other.
  const waits = isCanary && entries.some(mayProve);
  const alone = groupUnmanaged(sorted).map((group) => unmanagedOf(group, input, waits));
  const orphans = entries.flatMap(({ isAwaited, lacks, group }) => (isAwaited || lacks ? group.orphans : []));
  const mayGo = isStopped || waits ? [] : alone.flatMap(({ group }) => group.stale);
  const unmanaged = mayGo.filter((pod) => !orphans.includes(pod));
  const refused = [...entries.flatMap(({ turn }) => turn.refused), ...unmanaged.map(({ uid }) => uid)];
  const open = entries.filter(({ lacks }) => lacks);
  return {
    batch: ownPodLast(
      [...turns.flatMap(({ due }) => due), ...unmanaged.filter(({ uid }) => !isRefused(input, uid))],
      input,
    ),
    rollouts: turns.filter(({ rollout }) => rollout).map(({ group }) => group),
    returns,
    places: inPlace.map((entry) => placeOf(entry, input)),
    proven,
    unavailable: broken.length,
    records: recordOwners(entries, inPlace, begin, input),
    rollsOut: entries.some(({ group }) => group.outdated.length > 0),
    isDone:
      sorted.stale.length + sorted.terminating.length + open.length + broken.length + orphans.length === 0 &&
      !entries.some((entry) => isToReturn(entry, input)),
    stalled: stallsOf(entries, alone),
    reverted: groups.filter((group) => isReverted(group, input)).map(({ key }) => key),
    blocked: sorted.stale.filter(({ uid }) => isBudgetRefusal(memory, uid)),
    missingRight: missingRightOf(memory, [
      ...sorted.stale.map(({ uid }) => uid),
      ...entries.filter(wantsTemplate).map(({ group }) => group.key),
    ]),
    ownerOf: new Map(entries.flatMap(({ group }) => group.stale.map((pod) => [pod.uid, group] as const))),
    lookAgainAt: earliest([
      ...refused.map((uid) => memory.refusals.get(uid)?.retryAt).filter((time) => (time ?? 0) > now),
      ...inPlace.map(({ nextAvailableAt }) => nextAvailableAt),
      ...entries.filter((entry) => isAwaited(entry, inPlace, input)).map(() => now + behindWaitMs),
      ...[...entries.filter((entry) => isTimed(entry, inPlace, input)), ...(waits ? [] : alone)]
        .filter(({ stall }) => !stall)
        .map((owner) => owner.lateAt)
        .filter((time) => time > now),
    ]),
    progress: new Map([
      ...alone.map(({ group, progress }) => [group.key, progress] as const),
      ...entries.map((entry) => [entry.group.key, progressAfter(entry, inPlace, input)] as const),
    ]),
  };
}

/** Its template is to change: now, or once that may be tried again. */
function wantsTemplate({ group, turn }: Entry): boolean {
  return turn.rollout || turn.restores !== undefined || turn.refused.includes(group.key);
}

/** It goes on, or its template returns, once its controller has seen its newest spec. One that never does is late some day. */
function isAwaited(entry: Entry, inPlace: readonly Entry[], input: RestartInput): boolean {
  const isIts = entry.place !== undefined || inPlace.includes(entry) || isToReturn(entry, input);
  return entry.group.facts.rollout?.isBehind === true && isIts && input.now < entry.lateAt;
}

/** The owners whose Pods go now, or whose template changes. */
export function goingOwners({ rollouts, returns, batch, ownerOf }: Plan): readonly PodGroup[] {
  return [
    ...rollouts,
    ...returns.map(({ group }) => group),
    ...batch.flatMap(({ uid }) => ownerOf.get(uid) ?? []),
  ];
}

/** @param uids of the Pods that are left, and of their owners: what was refused and is gone lacks nothing. */
function missingRightOf({ refusals }: RestartMemory, uids: readonly string[]): string | undefined {
  const known = uids.map((uid) => refusals.get(uid));
  return known.find((refusal) => refusal?.cause === 'Forbidden')?.message;
}

/** The content that breaks its Pods is what matters most. */
function stallsOf(entries: readonly Entry[], alone: readonly Pick<Entry, 'stall'>[]): Stall[] {
  const isOfContent = ({ because }: Stall) => Number(because === 'NewPodsNotAvailable');
  return [...entries, ...alone]
    .flatMap(({ stall }) => stall ?? [])
    .sort((left, right) => isOfContent(right) - isOfContent(left));
}

/**
 * The progress deadline of an owner does not run while all places are taken, unless the owner was refused or is stuck, so
 * that it has had its turn, or could take nothing in it: Pods of it that are missing leave no room. Nor does it run while
 * the owner's own spec holds its rollout and no node has a new Pod of it.
 */
function isTimeStopped(entry: Entry, inPlace: readonly Entry[], input: RestartInput): boolean {
  const { group, stall, turn, yields } = entry;
  const isHeld = turn.held === 'Paused' || turn.held === 'OnDelete';
  if (isHeld && !group.fresh.some((pod) => isOnNode(pod, input))) return true;
  const isIdleInTurn = !hasWork(entry) && turn.held === undefined && !yields;
  const isOver = group.stale.length === 0 || stall !== undefined || turn.refused.length > 0 || isIdleInTurn;
  return !inPlace.includes(entry) && !isOver;
}

/** It is late some day, although nothing else may tell. */
function isTimed(entry: Entry, inPlace: readonly Entry[], input: RestartInput): boolean {
  const isOpen = inPlace.includes(entry) || entry.group.stale.length > 0;
  return isOpen && !isTimeStopped(entry, inPlace, input);
}

function progressAfter(entry: Entry, inPlace: readonly Entry[], input: RestartInput): OwnerProgress {
  const { progress } = entry;
  return isTimeStopped(entry, inPlace, input) ? { ...progress, waits: true } : progress;
}
