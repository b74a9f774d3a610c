/** Left behind: ReplicaSets of a Deployment that was deleted in the middle of its restart, and their Pods. */
import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import type { OwnerFacts } from './observed.ts';
import { deployments, replicaSets } from './workload.ts';

/** One that a Deployment or another controller has is known by that. */
function isLeftBy({ reference: { kind, name } }: OwnerFacts, deployment: string | undefined): boolean {
  return kind === replicaSets.kind && deployment !== undefined && deploymentNamedBy(name) === deployment;
}

/** How many Pods they want together; undefined where they are gone as well. */
function wantedOf(sets: readonly OwnerFacts[]): number | undefined {
  const wanted = sets.flatMap((set) => set.wanted ?? []);
  return wanted.length === 0 ? undefined : wanted.reduce((sum, one) => sum + one);
}

/**
 * Counts them as the Deployment of the place: what the restart has taken from it is to come back, and what its Pods have
 * shown of the content stands, until all of them are gone or the next Deployment of its name adopts them.
 *
 * @param owners by uid of the Pods' own controllers, and of the places.
 */
export function withLeftBehind(
  owners: ReadonlyMap<string, OwnerFacts>,
  places: readonly ConfigWatcherStatusPendingOwner[],
): ReadonlyMap<string, OwnerFacts> {
  const counted = new Map(owners);
  for (const { uid, kind, name } of places) {
    const deployment = owners.get(uid);
    if (kind !== deployments.kind || deployment?.isGone !== true) continue;
    const left = [...owners].filter(([, facts]) => isLeftBy(facts, name));
    const sets = left.map(([, facts]) => facts);
    const wanted = wantedOf(sets);
    const present = sets.find((set) => set.isGone !== true);
    const facts = { ...(present ?? deployment), reference: deployment.reference };
    const together = wanted === undefined ? facts : { ...facts, wanted };
    for (const [set] of left) counted.set(set, together);
    if (present) counted.set(uid, together);
  }
  return counted;
}

/** How a Deployment names its ReplicaSets: after itself and a hash of the template, in these characters. */
const replicaSetName = /^(.+)-[bcdfghjklmnpqrstvwxz2456789]{1,10}$/;

/** The Deployment that the name of a ReplicaSet speaks of; whose it is, only the ReplicaSet itself tells. */
export function deploymentNamedBy(replicaSet: string): string | undefined {
  return replicaSetName.exec(replicaSet)?.[1];
}
