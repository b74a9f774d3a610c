/**
 * Pod groups: the selected Pods sorted by what a restart owes them, and grouped by the controller that
 * replaces them.
 */
import type { OwnerReference } from '../../kubernetes/objects.ts';
import type { WatcherSpec } from '../plan/spec.ts';
import type { OwnerFacts } from './observed.ts';
import { type PodFacts, referenceKey } from './pod-facts.ts';
import type { RolloutFacts } from './rollout.ts';

/** Every selected Pod is in exactly one of the lists. */
export interface SortedPods {
  /** Run with an older content and are to be restarted. */
  readonly stale: readonly PodFacts[];
  /** The same, but already on their way out. */
  readonly leaving: readonly PodFacts[];
  /** Made after the cutoff: they have the new content and are never touched. */
  readonly fresh: readonly PodFacts[];
  /** Stale, but nothing would bring them back. */
  readonly unmanaged: readonly PodFacts[];
  /** Stale, but of a Job, whose work a restart would undo. */
  readonly ofJobs: readonly PodFacts[];
  /** Ended, or (under onlyReferencing) without a use for the sources. */
  readonly unconcerned: readonly PodFacts[];
}

type Category = keyof SortedPods;

export function isOfJob({ controller }: PodFacts): boolean {
  return controller?.kind === 'Job' && controller.apiVersion.startsWith('batch/');
}

function categoryOf(
  pod: PodFacts,
  spec: WatcherSpec,
  cutoff: number | undefined,
  sources: ReadonlySet<string>,
): Category {
  if (pod.finished) return 'unconcerned';
  if (spec.onlyReferencing && !pod.references.some((reference) => sources.has(reference)))
    return 'unconcerned';
  if (cutoff === undefined || pod.created > cutoff) return 'fresh';
  if (!pod.controller && !spec.strategy.deleteUnmanaged) return 'unmanaged';
  if (isOfJob(pod) && !spec.strategy.deleteJobPods) return 'ofJobs';
  return pod.terminating ? 'leaving' : 'stale';
}

/** @param cutoff undefined: there was no Pod when the change was seen, so none is stale. */
export function sortPods(
  pods: readonly PodFacts[],
  spec: WatcherSpec,
  cutoff: number | undefined,
): SortedPods {
  const sources = new Set(spec.sources.map(({ kind, name }) => referenceKey(kind, name)));
  const sorted: Record<Category, PodFacts[]> = {
    stale: [],
    leaving: [],
    fresh: [],
    unmanaged: [],
    ofJobs: [],
    unconcerned: [],
  };
  for (const pod of pods) sorted[categoryOf(pod, spec, cutoff, sources)].push(pod);
  return sorted;
}

/** Whether it says how many of the selected Pods it wants. */
function isUnread({ wanted, makesSelectedPods }: Pick<OwnerFacts, 'wanted' | 'makesSelectedPods'>): boolean {
  return wanted === undefined || !makesSelectedPods;
}

/** How many live Pods there are of owners that do not say how many of them they want. */
export function countUnread(pods: readonly PodFacts[], owners: ReadonlyMap<string, OwnerFacts>): number {
  return pods.filter((pod) => {
    const facts = pod.controller && !isOfJob(pod) && isLive(pod) && ownerOf(pod.controller, owners);
    return facts && isUnread(facts);
  }).length;
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
  /** Stale ones on their way out. */
  readonly leaving: number;
  /** Ready and not on their way out, stale or not. */
  readonly ready: number;
  /** Neither ended nor on their way out. */
  readonly live: number;
  /** What the owner wants, as far as it can be known and concerns the selected Pods. */
  readonly wanted: number | undefined;
  readonly makesSelectedPods: boolean;
  readonly rollout: RolloutFacts | undefined;
}

/**
 * The Pods under a controller that replaces them, grouped by it; ReplicaSets of one Deployment count
 * together. Only groups with something left to do.
 */
export function groupPods(
  pods: readonly PodFacts[],
  sorted: SortedPods,
  owners: ReadonlyMap<string, OwnerFacts>,
): PodGroup[] {
  const stale = new Set(sorted.stale);
  const leaving = new Set(sorted.leaving);
  const groups = new Map<string, { facts: OwnerFacts; pods: PodFacts[] }>();
  for (const pod of pods) {
    if (!pod.controller || isOfJob(pod)) continue;
    const facts = ownerOf(pod.controller, owners);
    const group = groups.get(facts.reference.uid) ?? { facts, pods: [] };
    group.pods.push(pod);
    groups.set(facts.reference.uid, group);
  }
  return [...groups].flatMap(([key, { facts, pods: members }]) => {
    const toGo = members.filter((pod) => stale.has(pod));
    const going = members.filter((pod) => leaving.has(pod)).length;
    const live = members.filter(isLive);
    if (toGo.length + going === 0) return [];
    return {
      key,
      owner: facts.reference,
      stale: toGo,
      leaving: going,
      ready: live.filter(({ ready }) => ready).length,
      live: live.length,
      wanted: facts.wanted,
      makesSelectedPods: facts.makesSelectedPods,
      rollout: facts.rollout,
    };
  });
}

/**
 * The Pods that are to go and that no controller replaces (or only a Job does, in its own time), each a
 * group of its own.
 */
export function groupLoners({ stale, leaving }: SortedPods): PodGroup[] {
  const isAlone = (pod: PodFacts) => !pod.controller || isOfJob(pod);
  const groupOf = (pod: PodFacts, isLeaving: boolean): PodGroup => ({
    key: pod.uid,
    owner: { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid },
    stale: isLeaving ? [] : [pod],
    leaving: Number(isLeaving),
    ready: 0,
    live: Number(!isLeaving),
    wanted: undefined,
    makesSelectedPods: false,
    rollout: undefined,
  });
  return [
    ...stale.filter(isAlone).map((pod) => groupOf(pod, false)),
    ...leaving.filter(isAlone).map((pod) => groupOf(pod, true)),
  ];
}
