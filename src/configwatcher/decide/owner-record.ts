/** Owner record: what status says of the restart of each owner, for people. */

import { ownerReason, watcherReason } from '../../api/configwatcher-constants.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import { isBudgetRefusal, type RestartMemory } from '../facts/restart-memory.ts';
import type { OwnerRecord } from '../facts/state.ts';
import type { Entry } from './owner-entry.ts';
import type { PodGroup } from './pod-groups.ts';
import type { RestartInput } from './restart-input.ts';
import { recordNameOf, recordOf } from './restart-record.ts';

/** Owners that are named; the rest are counted. */
const shownOwners = 10;

/** What the last try met, during its next one as well: a reason that changed with each try would be a write for each. */
function refusalReasonOf({ group, turn }: Entry, memory: RestartMemory): string | undefined {
  const uids = [group.key, ...group.stale.map(({ uid }) => uid)].filter((uid) => memory.refusals.has(uid));
  if (uids.length + turn.refused.length === 0) return undefined;
  return uids.some((uid) => isBudgetRefusal(memory, uid)) ? ownerReason.evictionBlocked : ownerReason.refused;
}

function reasonOf(outcome: Entry, memory: RestartMemory): string {
  const { stall, group, lacks, isAwaited } = outcome;
  if (stall) return stall.because;
  const refused = refusalReasonOf(outcome, memory);
  if (refused !== undefined) return refused;
  if (group.outdated.length > 0) return ownerReason.rolloutInProgress;
  return lacks || isAwaited || group.terminating.length + group.stale.length > 0
    ? ownerReason.inProgress
    : ownerReason.available;
}

/** How far an owner matters to people who look for a cause: what is stuck first, what is done last. */
function rank({ reason }: OwnerRecord): number {
  const { available, inProgress, rolloutInProgress } = ownerReason;
  // The next look rests on it.
  if (reason === watcherReason.newPodsNotAvailable) return -2;
  const goingWell: readonly string[] = [available, inProgress, rolloutInProgress];
  const order = goingWell.indexOf(reason);
  return order < 0 ? -1 : -order + 10;
}

/** Those that wait to be adopted are not restarted yet. */
function staleOf({ stale, orphans }: PodGroup, { cutoff = Number.NEGATIVE_INFINITY }: RestartInput): number {
  return stale.length + orphans.filter(({ created }) => created <= cutoff).length;
}

/** What the new Pods of an owner without a record, and those that are missing, show of how many the restart has taken. */
function shownAsRestarted(
  { group: { stale, fresh, terminating }, wanted, place }: Entry,
  { cutoff }: RestartInput,
): number {
  const isNew = ({ created }: PodFacts) => cutoff !== undefined && created > cutoff;
  const added = fresh.filter(isNew).length;
  const gone = (place?.wanted ?? wanted) - stale.length - (fresh.length - added);
  return Math.max(0, Math.min(gone, added + terminating.length));
}

/**
 * How many Pods of each owner the restart has taken: what the record so far says, and those that have gone since. Owners
 * without a record, which are not among those that are named, share what the others leave: a new Pod of theirs may be
 * one that a scale-up adds.
 */
function countRestarted(
  reached: readonly Entry[],
  begin: readonly Entry[],
  input: RestartInput,
): ReadonlyMap<Entry, number> {
  const { record } = input;
  const counts = new Map<Entry, number>();
  let left = record?.restarted ?? 0;
  const count = (entry: Entry, restarted: number) => {
    counts.set(entry, restarted);
    left -= restarted;
  };
  const unnamed: Entry[] = [];
  for (const entry of reached) {
    const stale = staleOf(entry.group, input);
    const known = recordOf(record, entry.group.owner);
    if (!known) unnamed.push(entry);
    else count(entry, known.restarted + Math.max(0, (known.stale ?? stale) - stale));
  }
  for (const entry of unnamed) {
    const shown = begin.includes(entry) ? 0 : shownAsRestarted(entry, input);
    count(entry, Math.min(Math.max(0, left), shown));
  }
  return counts;
}

function isReached(outcome: Entry, inPlace: readonly Entry[], input: RestartInput): boolean {
  const { cutoff = Number.POSITIVE_INFINITY, memory } = input;
  const { group, stall } = outcome;
  return (
    stall !== undefined ||
    inPlace.includes(outcome) ||
    group.terminating.length > 0 ||
    group.fresh.some(({ created }) => created > cutoff) ||
    refusalReasonOf(outcome, memory) !== undefined
  );
}

/**
 * The owners that the restart has reached. Together they have as many restarted Pods as the restart, apart from Pods
 * without an owner.
 *
 * @param inPlace those in the middle of it.
 * @param begin those of them that begin now.
 */
export function recordOwners(
  entries: readonly Entry[],
  inPlace: readonly Entry[],
  begin: readonly Entry[],
  input: RestartInput,
): readonly OwnerRecord[] {
  const { memory, record: restart } = input;
  const reached = entries.filter((entry) => isReached(entry, inPlace, input));
  const counts = countRestarted(reached, begin, input);
  const records = reached.map((entry): OwnerRecord => {
    const { group, serving } = entry;
    const stale = staleOf(group, input);
    return {
      name: recordNameOf(group.owner),
      restarted: counts.get(entry) ?? 0,
      ...(stale > 0 && { stale }),
      available: serving,
      reason: reasonOf(entry, memory),
    };
  });
  const sorted = records.sort(
    (left, right) => rank(left) - rank(right) || left.name.localeCompare(right.name, 'en'),
  );
  const shown = sorted.slice(0, shownOwners);
  const rest = sorted.slice(shownOwners);
  if (rest.length === 0) return shown;
  const sum = (of: readonly OwnerRecord[], count: (one: OwnerRecord) => number | undefined) =>
    of.reduce((total, one) => total + (count(one) ?? 0), 0);
  const stale = sum(rest, (one) => one.stale);
  return [
    ...shown,
    {
      name: `+${rest.length}`,
      restarted: Math.max(0, (restart?.restarted ?? 0) - sum(shown, ({ restarted }) => restarted)),
      ...(stale > 0 && { stale }),
      available: sum(rest, ({ available }) => available),
      reason: ownerReason.notShown,
    },
  ];
}
