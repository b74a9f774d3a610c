/**
 * Pod groups: the selected Pods sorted by what a restart owes them, and grouped by the controller that
 * replaces them.
 */
import type { ConfigWatcherStatusPendingOwner } from '../../api/configwatcher.generated.ts';
import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { OwnerFacts } from '../facts/observed.ts';
import type { PodFacts } from '../facts/pod-facts.ts';
import { referenceKey } from '../facts/pod-references.ts';
import type { WatcherState } from '../facts/state.ts';
import { isNamed } from '../plan/config-hash.ts';
import type { WatchedSource, WatcherSpec } from '../plan/spec.ts';
import { isOutdated } from './rollout.ts';

/** Every selected Pod is in exactly one of the lists. */
export interface SortedPods {
  /** Run with an older content and are to be restarted. */
  readonly stale: readonly PodFacts[];
  /** The same, but already on their way out. */
  readonly terminating: readonly PodFacts[];
  /** They have the content that is to be applied, and are never touched. */
  readonly fresh: readonly PodFacts[];
  /** Stale, but nothing would bring them back. */
  readonly unmanaged: readonly PodFacts[];
  /** Stale, but they run to an end, as Pods of Jobs do: a restart would undo their work. */
  readonly ofJobs: readonly PodFacts[];
  /** Ended, or (under onlyReferencing) without a use for the sources. */
  readonly unconcerned: readonly PodFacts[];
}

/** Whether its work has an end: a Job, an At, a workflow or a build made it, and replaces it in its own time if at all. */
function runsToEnd({ controller, runsToEnd: ends }: PodFacts): boolean {
  return ends || (controller?.kind === 'Job' && controller.apiVersion.startsWith('batch/'));
}

/** Milliseconds by which a node's clock may differ from the API server's. */
const clockMarginMs = 1000;

/** Whether none of its containers can have read a content that came and went. */
function neverLeft({ created, starts }: PodFacts, { from, until = Number.POSITIVE_INFINITY }: Staleness) {
  if (from === undefined || created >= from) return false;
  return !starts.some((start) => start >= from - clockMarginMs && start <= until + clockMarginMs);
}

/** A status may have shortened the names of sources. */
function refersTo({ references }: PodFacts, { sources }: SortingSpec): boolean {
  return sources.some(({ kind, name }) =>
    references.some((one) => one === referenceKey(kind, name) || isReferenceTo(kind, name, one)),
  );
}

function isReferenceTo(kind: WatchedSource['kind'], inStatus: string, reference: string): boolean {
  const prefix = referenceKey(kind, '');
  return reference.startsWith(prefix) && isNamed(inStatus, reference.slice(prefix.length));
}

function categoryOf(pod: PodFacts, spec: SortingSpec, staleness: Staleness): keyof SortedPods {
  if (pod.finished || (spec.onlyReferencing && !refersTo(pod, spec))) return 'unconcerned';
  const { cutoff } = staleness;
  if (cutoff === undefined || pod.created > cutoff || neverLeft(pod, staleness)) return 'fresh';
  if (pod.isMirror || (!pod.controller && !spec.strategy.deleteUnmanaged)) return 'unmanaged';
  if (runsToEnd(pod) && !spec.strategy.deleteJobPods) return 'ofJobs';
  return pod.terminating ? 'terminating' : 'stale';
}

/** Which Pods run with an older content, by the second in which they were created, epoch ms. */
export interface Staleness {
  /**
   * Pods whose containers started earlier run with the content that is applied again; absent while another one is to
   * be applied.
   */
  readonly from?: number | undefined;
  /** With {@link from}: when the applied content was seen again; containers that start later read that. */
  readonly until?: number | undefined;
  /** Pods created later run with the current content. Absent: there was no Pod when the change was seen. */
  readonly cutoff?: number | undefined;
}

/** By the change that is pending. */
export function stalenessOf({ appliedHash, lastChange, pending }: WatcherState): Staleness {
  const isReturn = pending?.hash === appliedHash;
  return { cutoff: pending?.cutoff, ...(isReturn && { from: pending?.from, until: lastChange }) };
}

/** What sorts the Pods. */
export interface SortingSpec extends Pick<WatcherSpec, 'onlyReferencing' | 'strategy'> {
  readonly sources: readonly Pick<WatchedSource, 'kind' | 'name'>[];
}

export function sortPods(pods: readonly PodFacts[], spec: SortingSpec, staleness: Staleness): SortedPods {
  const sorted: Record<keyof SortedPods, PodFacts[]> = {
    stale: [],
    terminating: [],
    fresh: [],
    unmanaged: [],
    ofJobs: [],
    unconcerned: [],
  };
  for (const pod of pods) sorted[categoryOf(pod, spec, staleness)].push(pod);
  return sorted;
}

function isLive({ terminating, finished }: PodFacts): boolean {
  return !terminating && !finished;
}

function ownerOf(controller: OwnerReference, owners: ReadonlyMap<string, OwnerFacts>): OwnerFacts {
  return owners.get(controller.uid) ?? { reference: controller, makesSelectedPods: false };
}

/** The Pods of one controller. */
export interface PodGroup {
  /** uid of the topmost known controller. */
  readonly key: string;
  readonly owner: OwnerReference;
  /** To be restarted. */
  readonly stale: readonly PodFacts[];
  /** Stale ones that the owner's own rollout replaces. */
  readonly outdated: readonly PodFacts[];
  /** Stale ones on their way out. */
  readonly terminating: readonly PodFacts[];
  /** Neither stale nor ended nor on their way out. */
  readonly fresh: readonly PodFacts[];
  /** Fresh ones from before a content that was taken back, which the owner's rollout for that content still replaces. */
  readonly endangered: readonly PodFacts[];
  /** Neither ended nor on their way out. */
  readonly live: number;
  /** On their way out, with whichever content. */
  readonly leaving: number;
  /** Where the owner was deleted with `--cascade=orphan`: Pods that it has made, which the next one of its name adopts. */
  readonly orphans: readonly PodFacts[];
  /** What the owner says, as far as it can be read. */
  readonly facts: OwnerFacts;
}

/** A controller of that name has made it, and is not there any more. */
function isOrphanOf({ name: owner }: OwnerReference, { controller, revision, name }: PodFacts): boolean {
  return controller === undefined && revision !== undefined && name.startsWith(`${owner}-`);
}

/**
 * The Pods under a controller that replaces them, grouped by it; ReplicaSets of one Deployment count
 * together.
 *
 * @param options.present uids of owners that have a group even without any Pod, as far as they could be read.
 * @param options.from see {@link Staleness}.
 */
export function groupPods(
  pods: readonly PodFacts[],
  sorted: SortedPods,
  owners: ReadonlyMap<string, OwnerFacts>,
  {
    present = [],
    from = Number.NEGATIVE_INFINITY,
  }: { present?: readonly string[]; from?: number | undefined } = {},
): PodGroup[] {
  const stale = new Set(sorted.stale);
  const terminating = new Set(sorted.terminating);
  const groups = new Map<string, Pick<PodGroup, 'facts'> & { pods: PodFacts[]; outdated: PodFacts[] }>();
  for (const pod of pods) {
    if (!pod.controller || runsToEnd(pod)) continue;
    const facts = ownerOf(pod.controller, owners);
    const { reference, rollout, revision } = facts;
    const group = groups.get(reference.uid) ?? { facts, pods: [], outdated: [] };
    group.pods.push(pod);
    const matters = stale.has(pod) || pod.created < from;
    if (matters && isOutdated(pod, reference.kind, rollout?.target, revision)) {
      group.outdated.push(pod);
    }
    groups.set(reference.uid, group);
  }
  for (const uid of present) {
    const facts = owners.get(uid);
    const key = facts?.reference.uid ?? uid;
    if (facts && !groups.has(key)) groups.set(key, { facts, pods: [], outdated: [] });
  }
  return [...groups].map(([key, { facts, pods: members, outdated }]) => {
    const live = members.filter(isLive);
    const { target, pods: counted = 0 } = facts.rollout ?? {};
    // Its controller counts nodes: with a surge one that has a Pod of the template may still have an older one.
    const isReached = target?.isReached === true && live.length <= counted;
    const replaced = isReached ? [] : outdated;
    return {
      key,
      owner: facts.reference,
      stale: members.filter((pod) => stale.has(pod)),
      outdated: replaced.filter((pod) => stale.has(pod)),
      endangered: replaced.filter((pod) => isLive(pod) && !stale.has(pod)),
      terminating: members.filter((pod) => terminating.has(pod)),
      fresh: live.filter((pod) => !stale.has(pod)),
      live: live.length,
      leaving: members.filter((pod) => pod.terminating && !pod.finished).length,
      // Of one that was read a moment ago it may not be known yet.
      orphans:
        live.length < (facts.wanted ?? Number.POSITIVE_INFINITY)
          ? pods.filter((pod) => isLive(pod) && isOrphanOf(facts.reference, pod))
          : [],
      facts,
    };
  });
}

/**
 * The Pods that are to go and that no controller replaces (or only a Job does, in its own time), each a
 * group of its own.
 */
export function groupUnmanaged({ stale, terminating }: SortedPods): PodGroup[] {
  const isAlone = (pod: PodFacts) => !pod.controller || runsToEnd(pod);
  const groupOf = (pod: PodFacts, isTerminating: boolean): PodGroup => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid };
    return {
      key: pod.uid,
      owner,
      stale: isTerminating ? [] : [pod],
      outdated: [],
      endangered: [],
      terminating: isTerminating ? [pod] : [],
      fresh: [],
      live: Number(!isTerminating),
      leaving: Number(isTerminating),
      orphans: [],
      facts: { reference: owner, makesSelectedPods: false },
    };
  };
  return [
    ...stale.filter(isAlone).map((pod) => groupOf(pod, false)),
    ...terminating.filter(isAlone).map((pod) => groupOf(pod, true)),
  ];
}

/** The owner is deleted, and nothing of it is left to judge, or to wait for. */
export function isDeleted({ facts, live, leaving, orphans }: PodGroup): boolean {
  return facts.isGone === true && live + leaving + orphans.length === 0;
}

/**
 * The places of now. An owner that was deleted and created again under its name has the place of the former one, and the
 * Deployment that has adopted a ReplicaSet that of the ReplicaSet. One whose Pods wait to be adopted keeps its own.
 */
export function placesNow(
  places: readonly ConfigWatcherStatusPendingOwner[],
  groups: readonly PodGroup[],
  owners: ReadonlyMap<string, OwnerFacts>,
): readonly ConfigWatcherStatusPendingOwner[] {
  const taken = new Set(places.map(({ uid }) => uid));
  return places.flatMap((place) => {
    const owner = owners.get(place.uid)?.reference;
    const former = groups.find(({ key }) => key === place.uid);
    const adopter = owner?.uid === place.uid ? undefined : owner;
    const next = adopter ?? successorOf(former, groups, taken);
    if (next === undefined) return former && isDeleted(former) ? [] : [place];
    if (taken.has(next.uid)) return [];
    taken.add(next.uid);
    const { templateChanged, ...kept } = place;
    const { kind, name, uid } = next;
    return [{ ...kept, kind, name, uid }];
  });
}

/** The next owner of the name of one that is gone, also while the last Pods of that end. */
function successorOf(
  former: PodGroup | undefined,
  groups: readonly PodGroup[],
  taken: ReadonlySet<string>,
): OwnerReference | undefined {
  if (former?.facts.isGone !== true || former.live > 0) return undefined;
  const { kind, name } = former.owner;
  const isNext = ({ key, owner }: PodGroup) => !taken.has(key) && owner.kind === kind && owner.name === name;
  return groups.find(isNext)?.owner;
}
