/**
 * StatefulSet: Pods with ordinals, one after the other. A pure decision, after kube-controller-manager's,
 * whose stuck rollout it has, too: under OrderedReady a Pod that does not become ready keeps even its own
 * replacement from being made (kubernetes#67250).
 */

import { equalJson } from '../api-server/json-value.ts';
import { type Pod, pods as podResource } from '../objects.ts';
import { isAvailable, isTerminal, isTerminating, nextAvailability } from '../pod-facts.ts';
import {
  type ControllerRevision,
  type StatefulSet,
  type StatefulSetStatus,
  statefulSets,
} from '../workloads.ts';
import { claim } from './claim.ts';
import { withoutZeros } from './content.ts';
import type { Plan } from './controller.ts';
import { type RevisionPlan, revisionPlan, truncated } from './revisions.ts';
import {
  isHealthy,
  isMember,
  isRunningAndReady,
  ordinalOf,
  podOfOrdinal,
  podRevisionOf,
} from './stateful-set-pods.ts';
import { create, remove, updateStatus, type Write } from './write.ts';

export interface StatefulSetFacts {
  readonly set: StatefulSet;
  /** All Pods of its namespace. */
  readonly pods: readonly Pod[];
  /** All ControllerRevisions of its namespace. */
  readonly revisions: readonly ControllerRevision[];
  /** Epoch ms. */
  readonly now: number;
}

/** The set, its Pods by place, and its two revisions. */
interface Layout {
  readonly set: StatefulSet;
  readonly now: number;
  readonly owned: readonly Pod[];
  /** By ordinal, from the first; undefined: there is none. */
  readonly wanted: readonly (Pod | undefined)[];
  /** Beyond the wanted ones, the highest ordinal first. */
  readonly condemned: readonly Pod[];
  readonly start: number;
  readonly currentRevision: ControllerRevision;
  readonly updateRevision: ControllerRevision;
}

export function statefulSetPlan({ set, pods, revisions, now }: StatefulSetFacts): Plan {
  const claimed = claim(
    { resource: statefulSets, owner: set, selector: set.spec.selector, isMember: isMember(set) },
    podResource,
    pods,
  );
  const history = revisionPlan(statefulSets, set, revisions);
  if (history.collides) return { status: () => collision(set) };
  const layout = layoutOf(set, claimed.owned, history, now);
  const status = statusOf(layout);
  const dying = set.metadata.deletionTimestamp !== undefined;
  const used = new Set([...claimed.owned.map(podRevisionOf), status.currentRevision ?? '']);
  return {
    batches: [
      [...claimed.writes, ...history.writes],
      dying ? [] : podWrites(layout),
      dying ? [] : truncated(set, history, used),
    ],
    status: () =>
      equalJson(status, set.status ?? {}) ? undefined : updateStatus(statefulSets, { ...set, status }),
    after: nextAvailability(claimed.owned, set.spec.minReadySeconds ?? 0, now),
  };
}

function layoutOf(set: StatefulSet, owned: readonly Pod[], history: RevisionPlan, now: number): Layout {
  const { replicas = 1, ordinals } = set.spec;
  const start = ordinals?.start ?? 0;
  const byOrdinal = new Map(owned.map((pod) => [ordinalOf(set.metadata.name, pod.metadata.name) ?? -1, pod]));
  const beyond = [...byOrdinal].filter(([ordinal]) => ordinal < start || ordinal >= start + replicas);
  const current = history.all.find(({ metadata }) => metadata.name === set.status?.currentRevision);
  return {
    set,
    now,
    owned,
    wanted: Array.from({ length: replicas }, (_, index) => byOrdinal.get(start + index)),
    condemned: beyond.sort(([a], [b]) => b - a).map(([, pod]) => pod),
    start,
    currentRevision: current ?? history.current,
    updateRevision: history.current,
  };
}

/** The next write, or for Parallel all that can be made at once. */
function podWrites(layout: Layout): readonly Write[] {
  const ordered = layout.set.spec.podManagementPolicy !== 'Parallel';
  const writes: Write[] = [];
  for (const [index, pod] of layout.wanted.entries()) {
    const made = replacement(layout, pod, index);
    if (made !== undefined) writes.push(made);
    if (ordered && (made !== undefined || isInTheWay(layout, pod))) return writes;
  }
  if (layout.condemned.length > 0 && ordered) return nextCondemned(layout);
  const surplus = layout.condemned.filter((pod) => !isTerminating(pod));
  writes.push(...surplus.map((pod) => remove(podResource, pod)));
  return writes.length > 0 ? writes : rollingUpdate(layout);
}

/** The highest ordinal goes first, and only a healthy one or the lowest that is not. */
function nextCondemned(layout: Layout): readonly Write[] {
  const [pod] = layout.condemned;
  if (pod === undefined || isTerminating(pod)) return [];
  if (!isRunningAndReady(pod) && pod !== lowestUnhealthy(layout)) return [];
  return [remove(podResource, pod)];
}

/** Creates what is missing, deletes what has ended: its successor can be made once it is gone. */
function replacement(layout: Layout, pod: Pod | undefined, index: number): Write | undefined {
  const ordinal = layout.start + index;
  if (pod === undefined) {
    return create(podResource, podOfOrdinal(layout.set, revisionFor(layout, index), ordinal));
  }
  return isTerminal(pod) && !isTerminating(pod) ? remove(podResource, pod) : undefined;
}

/** The revision of a new Pod: below the partition the current one. */
function revisionFor({ set, currentRevision, updateRevision }: Layout, index: number): ControllerRevision {
  const { type = 'RollingUpdate', rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return updateRevision;
  return index < (rollingUpdate?.partition ?? 0) ? currentRevision : updateRevision;
}

function isInTheWay({ set, now }: Layout, pod: Pod | undefined): boolean {
  if (pod === undefined || isTerminating(pod) || !isRunningAndReady(pod)) return true;
  return !isAvailable(pod, set.spec.minReadySeconds ?? 0, now);
}

function lowestUnhealthy({ wanted, condemned }: Layout): Pod | undefined {
  const ascending = [...wanted, ...[...condemned].reverse()];
  return ascending.find((pod) => pod !== undefined && !isHealthy(pod));
}

/** The highest ordinal of another revision, once all above it are healthy. */
function rollingUpdate({ set, wanted, updateRevision, now }: Layout): readonly Write[] {
  const { type = 'RollingUpdate', rollingUpdate: rolling } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return [];
  for (let index = wanted.length - 1; index >= (rolling?.partition ?? 0); index--) {
    const pod = wanted[index];
    if (pod === undefined) return [];
    if (podRevisionOf(pod) !== updateRevision.metadata.name && !isTerminating(pod)) {
      return [remove(podResource, pod)];
    }
    if (!isHealthy(pod) || !isAvailable(pod, set.spec.minReadySeconds ?? 0, now)) return [];
  }
  return [];
}

function statusOf({ set, owned, currentRevision, updateRevision, now }: Layout): StatefulSetStatus {
  const { replicas = 1, minReadySeconds = 0, updateStrategy } = set.spec;
  const ready = owned.filter(isRunningAndReady);
  const staying = owned.filter((pod) => !isTerminating(pod));
  const ofRevision = ({ metadata }: ControllerRevision) =>
    staying.filter((pod) => podRevisionOf(pod) === metadata.name).length;
  const updatedReplicas = ofRevision(updateRevision);
  const rolling = (updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
  const complete = rolling && updatedReplicas === owned.length && ready.length === owned.length;
  const finished = complete && owned.length === replicas;
  const { collisionCount } = set.status ?? {};
  return withoutZeros(
    {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: owned.length,
      readyReplicas: ready.length,
      availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
      currentReplicas: finished ? updatedReplicas : ofRevision(currentRevision),
      updatedReplicas,
      currentRevision: (finished ? updateRevision : currentRevision).metadata.name,
      updateRevision: updateRevision.metadata.name,
      collisionCount: collisionCount ?? 0,
    },
    ['replicas', 'availableReplicas'],
  );
}

/** Another count gives another hash, and so another name. */
function collision(set: StatefulSet): Write {
  const collisionCount = (set.status?.collisionCount ?? 0) + 1;
  const status = { replicas: 0, ...set.status, collisionCount };
  return updateStatus(statefulSets, { ...set, status });
}
