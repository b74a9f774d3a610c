/** Owner record: what status says of the restart of each owner, for people. */

import { isBudgetRefusal, type RestartMemory } from '../facts/restart-memory.ts';
import type { OwnerRecord } from '../facts/state.ts';
import type { OwnerAvailability } from './availability.ts';
import type { Turn } from './turn.ts';

export interface OwnerOutcome extends Pick<OwnerAvailability, 'group' | 'serving' | 'lacks'> {
  readonly turn: Turn;
  readonly stall: { readonly because: string } | undefined;
}

/** Owners that are named; the rest are counted. */
const shownOwners = 10;

/** What the last try met, during its next one as well: a reason that changed with each try would be a write for each. */
function refusalReasonOf({ group, turn }: OwnerOutcome, memory: RestartMemory): string | undefined {
  const uids = [group.key, ...group.stale.map(({ uid }) => uid)].filter((uid) => memory.refusals.has(uid));
  if (uids.length + turn.refused.length === 0) return undefined;
  return uids.some((uid) => isBudgetRefusal(memory, uid)) ? 'EvictionBlocked' : 'Refused';
}

function reasonOf(outcome: OwnerOutcome, memory: RestartMemory): string {
  const { stall, group, lacks } = outcome;
  if (stall) return stall.because;
  const refused = refusalReasonOf(outcome, memory);
  if (refused !== undefined) return refused;
  if (group.outdated.length > 0) return 'RolloutInProgress';
  return lacks || group.terminating.length + group.stale.length > 0 ? 'InProgress' : 'Available';
}

/** How far an owner matters to people who look for a cause: what is stuck first, what is done last. */
function rank({ reason }: OwnerRecord): number {
  const order = ['Available', 'InProgress', 'RolloutInProgress'].indexOf(reason);
  return order < 0 ? -1 : -order + 10;
}

/**
 * The owners that the restart has reached.
 *
 * @param inPlace those in the middle of it.
 * @param memory of what the API server refused.
 */
export function recordOwners(
  entries: readonly OwnerOutcome[],
  inPlace: readonly OwnerOutcome[],
  cutoff: number | undefined,
  memory: RestartMemory,
): readonly OwnerRecord[] {
  const records = entries.flatMap((entry): OwnerRecord[] => {
    const { group, serving, stall } = entry;
    const restarted = group.fresh.filter(({ created }) => cutoff !== undefined && created > cutoff).length;
    const isReached =
      restarted > 0 ||
      inPlace.includes(entry) ||
      stall ||
      group.terminating.length > 0 ||
      refusalReasonOf(entry, memory) !== undefined;
    if (!isReached) return [];
    const { kind, name } = group.owner;
    return [
      {
        name: `${kind}/${name}`.slice(0, 128),
        restarted,
        available: serving,
        reason: reasonOf(entry, memory),
      },
    ];
  });
  const sorted = records.sort(
    (left, right) => rank(left) - rank(right) || left.name.localeCompare(right.name, 'en'),
  );
  const rest = sorted.slice(shownOwners);
  if (rest.length === 0) return sorted;
  const restarted = rest.reduce((sum, one) => sum + one.restarted, 0);
  const available = rest.reduce((sum, one) => sum + one.available, 0);
  return [
    ...sorted.slice(0, shownOwners),
    { name: `+${rest.length}`, restarted, available, reason: 'NotShown' },
  ];
}
