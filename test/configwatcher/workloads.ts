/**
 * Workloads: the controllers of a {@link World}, which replace the Pods that go. Deployments, ReplicaSets and
 * Jobs do it at once; StatefulSets, and a kind that the operator does not know, when the old Pod is gone.
 */
import type { KubernetesObject, OwnerReference, Resource } from '../../src/kubernetes/objects.ts';

export type Data = Readonly<Record<string, string>>;

export interface WorldPod {
  readonly uid: string;
  readonly name: string;
  readonly labels: Data;
  readonly controller: OwnerReference | undefined;
  /** Exact, unlike the Pod's creationTimestamp. */
  readonly bornAt: number;
  /** What it serves: the contents when it started. */
  readonly content: string;
  /** Template it was made from. */
  readonly template: Data;
  readyAt: number;
  goneAt: number | undefined;
}

export type WorkloadKind = 'Deployment' | 'ReplicaSet' | 'StatefulSet' | 'Job' | 'Custom';

export interface Workload {
  readonly name: string;
  replicas: number;
  readonly kind: WorkloadKind;
  paused: boolean;
  /** The update strategy of that name: a changed template replaces no Pods. */
  onDelete: boolean;
  /** Its template has a readiness probe. */
  probed: boolean;
  /** Of the Pod template; Pods made with others are replaced one at a time. */
  annotations: Data;
}

/** What a controller needs of the cluster. */
export interface Cluster {
  readonly now: number;
  readonly grace: number;
  readonly pods: ReadonlyMap<string, WorldPod>;
  addPod(options: { controller: OwnerReference; template: Data; name?: string }): WorldPod;
  isReady(pod: WorldPod): boolean;
}

/** The controller reference of the Pods. */
export function controllerOf({ kind, name }: Workload): OwnerReference {
  switch (kind) {
    case 'StatefulSet':
      return { apiVersion: 'apps/v1', kind, name, uid: `${name}-uid`, controller: true };
    case 'Job':
      return { apiVersion: 'batch/v1', kind, name, uid: `${name}-uid`, controller: true };
    case 'Custom':
      return { apiVersion: 'example.org/v1', kind: 'Game', name, uid: `${name}-uid`, controller: true };
    default:
      return {
        ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-rs` },
        ...{ uid: `${name}-rs-uid`, controller: true },
      };
  }
}

/** The object that a GET of this resource and name finds; undefined: none. */
export function objectOf(
  workload: Workload,
  { kind }: Resource,
  name: string,
  resourceVersion: string,
  pods: number,
): KubernetesObject | undefined {
  const { replicas, paused, onDelete, probed, annotations } = workload;
  const containers = [{ name: 'app', ...(probed && { readinessProbe: {} }) }];
  const template = { metadata: { labels: { app: 'web' }, annotations }, spec: { containers } };
  const updateStrategy = { type: onDelete ? 'OnDelete' : 'RollingUpdate' };
  const spec = { replicas, paused, updateStrategy, template };
  const status = { observedGeneration: 1, replicas: pods, updateRevision: 'newest' };
  const annotation = { 'deployment.kubernetes.io/revision': '1' };
  const known = { resourceVersion, generation: 1 };
  const controller = controllerOf(workload);
  if (kind === controller.kind && name === controller.name) {
    const top = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: workload.name,
      uid: `${workload.name}-uid`,
    };
    const ownerReferences = workload.kind === 'Deployment' ? [{ ...top, controller: true }] : [];
    const metadata = { ...known, name, uid: controller.uid, ownerReferences };
    return { metadata, spec, status } as KubernetesObject;
  }
  if (kind !== 'Deployment' || workload.kind !== 'Deployment' || name !== workload.name) return undefined;
  const metadata = { ...known, name, uid: `${name}-uid`, annotations: annotation };
  return { metadata, spec, status } as KubernetesObject;
}

/** One look of the controller of the workload at its Pods. */
export function act(cluster: Cluster, workload: Workload): void {
  const controller = controllerOf(workload);
  const mine = [...cluster.pods.values()].filter((pod) => pod.controller?.uid === controller.uid);
  const live = mine.filter(({ goneAt }) => goneAt === undefined);
  const { kind, name, replicas, annotations: template } = workload;
  const waitsForTheOld = kind === 'StatefulSet' || kind === 'Custom';
  const taken = new Set(mine.map((pod) => pod.name));
  for (let count = (waitsForTheOld ? mine : live).length; count < replicas; count++) {
    let ordinal = 0;
    while (taken.has(`${name}-${ordinal}`)) ordinal++;
    taken.add(`${name}-${ordinal}`);
    cluster.addPod({ controller, template, ...(kind === 'StatefulSet' && { name: `${name}-${ordinal}` }) });
  }
  const lastFirst = live.toSorted((left, right) =>
    right.name.localeCompare(left.name, 'en', { numeric: true }),
  );
  const order = kind === 'StatefulSet' ? lastFirst.toReversed() : live;
  for (const surplus of order.slice(replicas)) surplus.goneAt = cluster.now + cluster.grace;
  const rolls = kind === 'Deployment' || kind === 'StatefulSet';
  if (!rolls || workload.paused || workload.onDelete || live.length !== replicas) return;
  const old = (kind === 'StatefulSet' ? lastFirst : live).find((pod) => pod.template !== template);
  if (old && live.every((pod) => cluster.isReady(pod))) old.goneAt = cluster.now + cluster.grace;
}
