/** DaemonSet: one Pod on every node that it fits. A pure decision, after kube-controller-manager's. */

import { equalJson } from '../api-server/json-value.ts';
import { scaled } from '../int-or-percent.ts';
import { affineNode, affinityTo, matchesNode, untolerated } from '../node-fit.ts';
import { type Node, type Pod, pods as podResource, type Toleration } from '../objects.ts';
import {
  createdAt,
  isAvailable,
  isReady,
  isTerminal,
  isTerminating,
  nextAvailability,
} from '../pod-facts.ts';
import { type ControllerRevision, type DaemonSet, type DaemonSetStatus, daemonSets } from '../workloads.ts';
import { claim } from './claim.ts';
import { withoutZeros } from './content.ts';
import type { Plan } from './controller.ts';
import { podOf, slowStart } from './replica-set.ts';
import { revisionLabel, revisionPlan, truncated } from './revisions.ts';
import { create, remove, updateStatus, type Write } from './write.ts';

export const generationAnnotation = 'deprecated.daemonset.template.generation';
const generationLabel = 'pod-template-generation';

export interface DaemonSetFacts {
  readonly daemonSet: DaemonSet;
  readonly nodes: readonly Node[];
  /** All Pods of its namespace. */
  readonly pods: readonly Pod[];
  /** All ControllerRevisions of its namespace. */
  readonly revisions: readonly ControllerRevision[];
  /** Epoch ms. */
  readonly now: number;
}

interface Layout {
  readonly daemonSet: DaemonSet;
  readonly nodes: readonly Node[];
  /** Its Pods by the node where they run, or are to run. */
  readonly byNode: ReadonlyMap<string, readonly Pod[]>;
  readonly hash: string;
  readonly now: number;
}

export function daemonSetPlan({ daemonSet, nodes, pods, revisions, now }: DaemonSetFacts): Plan {
  const { selector, minReadySeconds = 0 } = daemonSet.spec;
  const claimed = claim({ resource: daemonSets, owner: daemonSet, selector }, podResource, pods);
  const history = revisionPlan(daemonSets, daemonSet, revisions);
  if (history.collides) return { status: () => collision(daemonSet) };
  const hash = history.current.metadata.labels?.[revisionLabel] ?? '';
  const byNode = Map.groupBy(claimed.owned, ({ spec }) => spec.nodeName ?? affineNode(spec) ?? '');
  const layout = { daemonSet, nodes, byNode, hash, now };
  const dying = daemonSet.metadata.deletionTimestamp !== undefined;
  const used = new Set(claimed.owned.map(({ metadata }) => metadata.labels?.[revisionLabel] ?? ''));
  const status = statusOf(layout);
  return {
    batches: [
      [...claimed.writes, ...history.writes],
      ...(dying ? [] : [...nodeWrites(layout), rollingUpdate(layout), truncated(daemonSet, history, used)]),
    ],
    status: () =>
      equalJson(status, daemonSet.status ?? {})
        ? undefined
        : updateStatus(daemonSets, { ...daemonSet, status }),
    after: nextAvailability(claimed.owned, minReadySeconds, now),
  };
}

/** Creates where a Pod is missing, deletes what has ended, what is double, and what fits no more. */
function nodeWrites(layout: Layout): readonly (readonly Write[])[] {
  const { daemonSet, nodes, byNode } = layout;
  const missing: string[] = [];
  const surplus: Pod[] = [];
  for (const node of nodes) {
    const present = byNode.get(node.metadata.name) ?? [];
    const { runs, stays } = placeOf(daemonSet, node);
    if (runs && present.length === 0) missing.push(node.metadata.name);
    else if (stays) surplus.push(...endedOrDouble(present));
    else surplus.push(...present.filter((pod) => !isTerminating(pod)));
  }
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  for (const [name, present] of byNode) {
    // A Pod that is bound to a node that is gone is the Pod garbage collector's.
    if (!known.has(name)) surplus.push(...present.filter((pod) => !isTerminating(pod) && !pod.spec.nodeName));
  }
  return [
    ...slowStart(missing.length, (index) => create(podResource, podOn(layout, missing[index] ?? ''))),
    surplus.map((pod) => remove(podResource, pod)),
  ];
}

function endedOrDouble(present: readonly Pod[]): readonly Pod[] {
  const staying = present.filter((pod) => !isTerminating(pod));
  const [, ...double] = staying.filter((pod) => !isTerminal(pod)).sort(oldestFirst);
  return [...staying.filter(isTerminal), ...double];
}

function oldestFirst(a: Pod, b: Pod): number {
  return createdAt(a) - createdAt(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}

function podOn({ daemonSet, hash }: Layout, node: string): Pod {
  const pod = podOf(daemonSets, daemonSet);
  const generation = generationOf(daemonSet);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        [revisionLabel]: hash,
        ...(generation !== undefined && { [generationLabel]: generation }),
      },
    },
    spec: {
      ...pod.spec,
      affinity: affinityTo(node),
      tolerations: [...(pod.spec.tolerations ?? []), ...daemonTolerations],
    },
  };
}

/** A Pod of a DaemonSet stays where others would be evicted, and starts where others would not. */
const daemonTolerations: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

function placeOf({ spec }: DaemonSet, node: Node): { readonly runs: boolean; readonly stays: boolean } {
  const { template } = spec;
  const podSpec = {
    ...template.spec,
    tolerations: [...(template.spec.tolerations ?? []), ...daemonTolerations],
  };
  if (!matchesNode(podSpec, node)) return { runs: false, stays: false };
  return {
    runs: untolerated(podSpec, node, ['NoSchedule', 'NoExecute']).length === 0,
    stays: untolerated(podSpec, node, ['NoExecute']).length === 0,
  };
}

/** Of the old Pods those that are not available, and as many others as maxUnavailable leaves. */
function rollingUpdate({ daemonSet, nodes, byNode, hash, now }: Layout): readonly Write[] {
  const { updateStrategy = {}, minReadySeconds = 0 } = daemonSet.spec;
  if ((updateStrategy.type ?? 'RollingUpdate') !== 'RollingUpdate') return [];
  const desired = nodes.filter((node) => placeOf(daemonSet, node).runs).length;
  const { maxUnavailable = 1 } = updateStrategy.rollingUpdate ?? {};
  const most = Math.max(1, scaled(maxUnavailable, desired, 'up'));
  let unavailable = 0;
  const broken: Pod[] = [];
  const serving: Pod[] = [];
  for (const present of byNode.values()) {
    const [only] = present;
    const single = present.length === 1 && only !== undefined && !isTerminating(only) ? only : undefined;
    const serves = single !== undefined && isAvailable(single, minReadySeconds, now);
    if (!serves) unavailable++;
    if (single === undefined || isTerminal(single) || isUpdated(single, daemonSet, hash)) continue;
    (serves ? serving : broken).push(single);
  }
  const room = Math.max(0, most - unavailable);
  return [...broken, ...serving.slice(0, room)].map((pod) => remove(podResource, pod));
}

function isUpdated({ metadata }: Pod, daemonSet: DaemonSet, hash: string): boolean {
  const generation = generationOf(daemonSet);
  const { labels = {} } = metadata;
  return (
    (generation !== undefined && labels[generationLabel] === generation) || labels[revisionLabel] === hash
  );
}

function generationOf({ metadata }: DaemonSet): string | undefined {
  return metadata.annotations?.[generationAnnotation];
}

function statusOf({ daemonSet, nodes, byNode, hash, now }: Layout): DaemonSetStatus {
  const { minReadySeconds = 0 } = daemonSet.spec;
  const wanted = nodes.filter((node) => placeOf(daemonSet, node).runs);
  const oldest = wanted
    .map(({ metadata }) => [...(byNode.get(metadata.name) ?? [])].sort(oldestFirst)[0])
    .filter((pod) => pod !== undefined);
  const available = oldest.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
  const misplaced = nodes.filter((node) => !wanted.includes(node) && byNode.has(node.metadata.name));
  return withoutZeros(
    {
      observedGeneration: daemonSet.metadata.generation ?? 0,
      currentNumberScheduled: oldest.length,
      desiredNumberScheduled: wanted.length,
      numberMisscheduled: misplaced.length,
      numberReady: oldest.filter(isReady).length,
      updatedNumberScheduled: oldest.filter((pod) => isUpdated(pod, daemonSet, hash)).length,
      numberAvailable: available,
      numberUnavailable: wanted.length - available,
      collisionCount: daemonSet.status?.collisionCount ?? 0,
    },
    ['currentNumberScheduled', 'desiredNumberScheduled', 'numberMisscheduled', 'numberReady'],
  );
}

/** Another count gives another hash, and so another name. */
function collision(daemonSet: DaemonSet): Write {
  const status = { ...daemonSet.status, collisionCount: (daemonSet.status?.collisionCount ?? 0) + 1 };
  return updateStatus(daemonSets, { ...daemonSet, status });
}
