/**
 * Availability: whether the Pods of an owner are back after a restart, and whether the content that they got
 * breaks them. A restart is done when its Pods work, not when they are gone.
 */

import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import { watcherReason } from '../../api/configwatcher-constants.ts';
import { earliest } from '../../kubernetes/time.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import type { OwnerProgress } from '../facts/restart-memory.ts';
import { lateAt, progressOf } from './owner-progress.ts';
import { isDeleted, type PodGroup } from './pod-groups.ts';
import type { RestartInput } from './restart-input.ts';
import { recordOf } from './restart-record.ts';
import { isAtRisk } from './rollout.ts';

/**
 * Milliseconds without a restart of a container after which the first Pod of a new content counts as available.
 * A container that crashes at once and has no readinessProbe is Ready for a moment each time.
 */
const seasoningMs = 10_000;
/** So many restarts of a container show that the content breaks it. */
const restartsOfACrash = 2;

/** An owner, by how many of its Pods serve. */
export interface OwnerAvailability {
  readonly group: PodGroup;
  /** How many Pods there should be. */
  readonly wanted: number;
  /** Stale ones that are Ready, and others that are available. */
  readonly serving: number;
  /** Present while it is in the middle of a restart. */
  readonly place: ConfigWatcherStatusPendingOwner | undefined;
  /** Those of {@link wanted}, and the Pods beyond that which did not start before its restart: what it had then. */
  readonly hadAtStart: number;
  /** Its restart has taken Pods away that are not back. */
  readonly lacks: boolean;
  /**
   * It has no Pod at the moment: the controller of a custom owner may be about to create the next one, and an owner that
   * was deleted and has left its Pods behind, or whose last Pods end, may be made again.
   */
  readonly isAwaited: boolean;
  /** Its restart is done. */
  readonly isBack: boolean;
  /** Some new Pod is available. */
  readonly hasNew: boolean;
  /**
   * It lacks nothing that it had before, and no more new Pods do not start than were down before: for want of a node, or
   * because they crash.
   */
  readonly isAsBefore: boolean;
  /** New Pods that show that the content breaks them; undefined: it is not known to break any. */
  readonly broken: readonly PodFacts[] | undefined;
  readonly progress: OwnerProgress;
  /** See {@link lateAt}. */
  readonly lateAt: number;
  /** Epoch ms at which a further Pod becomes available if it stays Ready; absent for none. */
  readonly nextAvailableAt: number | undefined;
}

/**
 * How many Pods there should be. What the owner says counts where the Pods it makes are the selected ones.
 * Where only some of its Pods are selected, or it cannot be read, it is as many as when its restart began.
 */
function wantedPods({ facts, live }: PodGroup, place: ConfigWatcherStatusPendingOwner | undefined): number {
  const atStart = place?.wanted ?? live;
  if (facts.wanted === undefined) return atStart;
  return facts.makesSelectedPods ? facts.wanted : Math.min(facts.wanted, atStart);
}

/**
 * How many Pods there should be once some have been missing for the whole deadline. Pods that the owner counts and the
 * selector does not match are not awaited any more: if its controller counts as many as it wants, and the restart lacks
 * none of those it found, the missing ones are such Pods. The last one is not risked for that. Nor are those of an owner of
 * unknown size that has brought back as many as are missing: it may have been scaled down. Without a sign that Pods come
 * back at all, every one of them is awaited; otherwise the restart would take batch after batch.
 */
function stillAwaited(
  wanted: number,
  group: PodGroup,
  place: ConfigWatcherStatusPendingOwner | undefined,
  input: RestartInput,
): number {
  const { facts, live } = group;
  const made = group.fresh.filter((pod) => isNew(pod, input)).length;
  if (facts.wanted === undefined) return made > 0 && made >= wanted - live ? Math.min(wanted, live) : wanted;
  const { pods } = facts.rollout ?? {};
  const isWhole = pods !== undefined && pods >= facts.wanted && live > 1 && live >= (place?.available ?? 0);
  const hasOthers = isWhole || (!facts.makesSelectedPods && facts.wanted > (place?.wanted ?? 0));
  if (pods === undefined || !(made > 0 || hasOthers)) return wanted;
  return Math.min(wanted, live + Math.max(0, facts.wanted - pods));
}

/** Tells of a new Pod from when on it counts as available, epoch ms; undefined while it is not Ready. */
function availableFrom(minReady: number, isSeasoned: boolean): (pod: PodFacts) => number | undefined {
  const atFirst = Math.max(minReady, seasoningMs);
  return ({ stableSince, restarts }) =>
    stableSince === undefined ? undefined : stableSince + (isSeasoned && restarts === 0 ? minReady : atFirst);
}

function minReadyOf(group: PodGroup, { strategy }: RestartInput): number {
  return strategy.minReady ?? group.facts.minReady ?? 0;
}

/** It has been made since the change was seen. */
export function isNew({ created }: PodFacts, { cutoff }: Pick<RestartInput, 'cutoff'>): boolean {
  return cutoff !== undefined && created > cutoff;
}

/** It is new, and a node has it. */
export function isOnNode(pod: PodFacts, input: Pick<RestartInput, 'cutoff'>): boolean {
  return pod.hasNode === true && isNew(pod, input);
}

/** Whether some Pod has run with the content for long enough to trust the next ones as soon as they are Ready. */
function isSeasoned(groups: readonly PodGroup[], input: RestartInput): boolean {
  return groups.some((group) => {
    const from = availableFrom(minReadyOf(group, input), false);
    return group.fresh.some(
      (pod) => isNew(pod, input) && (from(pod) ?? Number.POSITIVE_INFINITY) <= input.now,
    );
  });
}

/** It says nothing of the content. */
function isOfNode({ unschedulable, nodeLost }: PodFacts): boolean {
  return unschedulable || nodeLost;
}

function crashes({ failure, restarts }: PodFacts): boolean {
  return failure?.reason === 'CreateContainerConfigError' || restarts >= restartsOfACrash;
}

/** Status says so, whichever process found it. */
function isFoundBroken({ owner }: PodGroup, { record }: RestartInput): boolean {
  return recordOf(record, owner)?.reason === watcherReason.newPodsNotAvailable;
}

/**
 * A rollout that has failed before the restart has Pods beyond those that are wanted, for which the controller makes
 * others when they go, as broken as they are.
 */
function hadAtStart(
  { stale, live }: PodGroup,
  wanted: number,
  { now, strategy }: Pick<RestartInput, 'now' | 'strategy'>,
): number {
  const failing = stale.filter((pod) => {
    return !pod.ready && (isOfNode(pod) || crashes(pod) || pod.created + strategy.progressDeadline <= now);
  });
  return Math.max(wanted, Math.min(live, wanted + failing.length));
}

/** What a look at the new Pods of an owner has shown. */
interface Looked extends Pick<OwnerAvailability, 'place' | 'wanted' | 'lacks' | 'hasNew'> {
  /** New Pods that are not available. */
  readonly waiting: readonly PodFacts[];
  /** The deadline is over. */
  readonly isLate: boolean;
}

/**
 * The new Pods that do not become available: at once where a container cannot be configured or crashes, at the deadline
 * where it does not get Ready, or does not stay so. undefined: the content is not known to break any.
 */
function brokenPods(
  group: PodGroup,
  { waiting, place, wanted, lacks, hasNew, isLate }: Looked,
  input: RestartInput,
): readonly PodFacts[] | undefined {
  if (place === undefined || isDeleted(group)) return undefined;
  const down = downBefore(place);
  const starting = waiting.filter((pod) => !isOfNode(pod));
  // What takes the place of a broken Pod may have no node, or not be there, and a user may undo the rollout: that shows
  // nothing of the content. New Pods that are available do, and a Pod that a node has lost does not speak against them.
  const isThere = isLate && group.live + group.terminating.length >= wanted;
  const isMended = hasNew && starting.length <= down && (!lacks || isThere);
  if (isFoundBroken(group, input) && !isMended) return waiting;
  const shows = isLate ? ({ hasNode }: PodFacts) => hasNode === true : crashes;
  const broken = starting.filter(shows);
  // A rollout with a surge takes nothing away before its new Pods are available. What was down before proves nothing.
  const breaks = broken.length > 0 && (lacks || (group.stale.length > 0 && broken.length > down));
  return breaks ? broken : undefined;
}

/** The place of an owner, which tells of as many Pods as have served in the restart, once all that are wanted do. */
function placeNow(
  place: ConfigWatcherStatusPendingOwner | undefined,
  wanted: number,
  serving: number,
): ConfigWatcherStatusPendingOwner | undefined {
  const isWhole = serving > 0 && serving >= wanted;
  if (!place || !isWhole) return place;
  return { ...place, available: Math.max(place.available, Math.min(place.wanted, serving)) };
}

/**
 * The deadline of an owner, in view of its new Pods that start. A Pod that came late has the whole progress deadline from its
 * creation, but the owner no more than twice that: its Pods may be replaced again and again.
 */
function withTimeOf(starting: readonly PodFacts[], deadline: number, progressDeadline: number): number {
  const last = Math.max(...starting.map(({ created }) => created + progressDeadline));
  return Math.max(deadline, Math.min(last, deadline + progressDeadline));
}

/** Its template was changed for this content. */
export function isRolling({ facts }: PodGroup, { memory }: Pick<RestartInput, 'memory'>): boolean {
  return facts.rollout?.restartedFor !== undefined && facts.rollout.restartedFor === memory.id;
}

/** How many of its Pods did not serve when its restart began, nor have since. */
function downBefore(place: ConfigWatcherStatusPendingOwner | undefined): number {
  return place ? place.wanted - place.available : 0;
}

/** @param waiting new Pods that are not available. */
function startsNone(waiting: readonly PodFacts[]): boolean {
  return waiting.length > 0 && waiting.every((pod) => isOfNode(pod) || crashes(pod));
}

function availabilityOf(group: PodGroup, seasoned: boolean, input: RestartInput): OwnerAvailability {
  const { now, strategy, memory } = input;
  const known = input.places.find(({ uid }) => uid === group.key);
  const minReady = minReadyOf(group, input);
  const settling = Math.max(minReady, seasoningMs);
  const from = availableFrom(minReady, seasoned);
  const isAvailable = (pod: PodFacts) =>
    isNew(pod, input) ? (from(pod) ?? Number.POSITIVE_INFINITY) <= now : pod.ready;
  const { stale, fresh, terminating, live, facts } = group;
  const serving = [...stale, ...fresh].filter(isAvailable).length;
  const ofUnknownSize = facts.wanted === undefined;
  const waiting = fresh.filter((pod) => isNew(pod, input) && !isAvailable(pod));
  const starting = waiting.filter((pod) => isOnNode(pod, input));
  const counts = {
    left: stale.length + terminating.length,
    // A new Pod that gets its node is a step forward: a quota or a missing node may have used up the time until then.
    reached: 2 * serving + starting.length,
    rolls: isRolling(group, input),
  };
  const progress = progressOf(counts, memory.progress.get(group.key), now);
  const ofOwner = lateAt(progress, terminating, strategy.progressDeadline);
  const toStart = withTimeOf(starting, ofOwner, strategy.progressDeadline);
  // One that is Ready has so much time to stay so.
  const deadline = starting.some((pod) => from(pod) !== undefined) ? toStart + settling : toStart;
  const expected = wantedPods(group, known);
  const place = placeNow(known, expected, serving);
  const isLate = now >= deadline && group.leaving === 0;
  const wanted = isLate ? stillAwaited(expected, group, known, input) : expected;
  // The selector was edited, or the labels of its template: none of its Pods will be seen any more.
  const isNoneThere = live + terminating.length === 0;
  const isUnselected = isNoneThere && !ofUnknownSize && !facts.makesSelectedPods && now >= deadline;
  // An owner that does not say how many Pods it wants lacks none when all that there are serve.
  const lacks =
    place !== undefined &&
    !isUnselected &&
    (ofUnknownSize && stale.length === 0
      ? terminating.length > 0 || fresh.length > serving
      : serving < Math.min(wanted, place.available));
  const hasNew = fresh.some((pod) => isNew(pod, input) && isAvailable(pod));
  const looked = { waiting, place, wanted, lacks, hasNew, isLate: now >= deadline };
  const broken = brokenPods(group, looked, input);
  const isKnownToServe = place !== undefined && place.available > 0;
  const mayReturn = !facts.isGone || group.orphans.length + group.leaving > 0;
  const isAwaited = isKnownToServe && ofUnknownSize && isNoneThere && mayReturn && now < deadline;
  const next = fresh.flatMap((pod) => (isNew(pod, input) ? (from(pod) ?? []) : [])).filter((at) => at > now);
  return {
    ...{ group, wanted, serving, place, lacks, isAwaited, progress, lateAt: deadline },
    hadAtStart: place?.wanted ?? hadAtStart(group, wanted, input),
    isBack: place !== undefined && stale.length === 0 && !lacks && !isAwaited && broken === undefined,
    ...{ hasNew, broken },
    isAsBefore: stale.length > 0 && !lacks && waiting.length <= downBefore(place) && startsNone(waiting),
    nextAvailableAt: earliest(next),
  };
}

/** The availability of each owner, in the order of the groups. */
export function judgeAvailability(
  groups: readonly PodGroup[],
  input: RestartInput,
): readonly OwnerAvailability[] {
  const seasoned = isSeasoned(groups, input);
  // Another program, which may crash with what the first one runs with, is Ready for a moment all the same.
  const isTrusted = (group: PodGroup) =>
    isAtRisk(group.facts) || isFoundBroken(group, input) ? isSeasoned([group], input) : seasoned;
  return groups.map((group) => availabilityOf(group, isTrusted(group), input));
}
