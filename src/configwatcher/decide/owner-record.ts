/** Owner record: what status says of the restart of each owner, for people. */
import type { OwnerAvailability } from './availability.ts';
import type { OwnerRecord } from './state.ts';
import type { Turn } from './turn.ts';

export interface OwnerOutcome extends Pick<OwnerAvailability, 'group' | 'serving' | 'lacks'> {
  readonly turn: Turn;
  readonly stall: { readonly because: string } | undefined;
}

/** Owners that are named; the rest are counted. */
const shownOwners = 10;

function reasonOf({ stall, turn, group, lacks }: OwnerOutcome): string {
  if (stall) return stall.because;
  if (turn.refused.length > 0) return 'EvictionBlocked';
  if (group.outdated.length > 0) return 'RolloutInProgress';
  return lacks || group.terminating.length + group.stale.length > 0 ? 'InProgress' : 'Available';
}

/** How far an owner matters to people who look for trouble: what is stuck first, what is done last. */
function rank({ reason }: OwnerRecord): number {
  const order = ['Available', 'InProgress', 'RolloutInProgress'].indexOf(reason);
  return order < 0 ? -1 : -order + 10;
}

/**
 * The owners that the restart has reached.
 *
 * @param inPlace those in the middle of it.
 */
export function recordOwners(
  entries: readonly OwnerOutcome[],
  inPlace: readonly OwnerOutcome[],
  cutoff: number | undefined,
): readonly OwnerRecord[] {
  const records = entries.flatMap((entry): OwnerRecord[] => {
    const { group, serving, stall, turn } = entry;
    const restarted = group.fresh.filter(({ created }) => cutoff !== undefined && created > cutoff).length;
    const isReached =
      restarted > 0 || inPlace.includes(entry) || stall || turn.refused.length + group.terminating.length > 0;
    if (!isReached) return [];
    const { kind, name } = group.owner;
    return [
      { name: `${kind}/${name}`.slice(0, 128), restarted, available: serving, reason: reasonOf(entry) },
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
