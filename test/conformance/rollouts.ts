/** What the rows about workloads look at in a rollout. */
import { controllerOf, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import { type Deployment, deployments, type ReplicaSet, replicaSets } from '../../src/testing/workloads.ts';
import type { WorkloadSubject } from './workload-subject.ts';

/** Resolves when all its Pods are available and of its present template. */
export async function rolledOut(subject: WorkloadSubject, name: string): Promise<Deployment> {
  return subject.until(`the rollout of ${name}`, async () => {
    const deployment = await subject.find(deployments, name);
    const { spec, status = {}, metadata } = deployment ?? {};
    const done =
      status.observedGeneration === metadata?.generation &&
      status.updatedReplicas === spec?.replicas &&
      status.availableReplicas === spec?.replicas &&
      status.replicas === spec?.replicas;
    return done && deployment;
  });
}

/** Those that have a controller. */
export async function owned<T extends KubernetesObject>(
  subject: WorkloadSubject,
  resource: Resource<T>,
): Promise<readonly T[]> {
  const all = await subject.list(resource);
  return all.filter((object) => controllerOf(object) !== undefined);
}

export function condition(object: { status?: { conditions?: readonly { type: string }[] } }, type: string) {
  return object.status?.conditions?.find((one) => one.type === type) as
    | { status: string; reason: string }
    | undefined;
}

/** The states of all ReplicaSets after each of their changes. */
export function* replicaSetStates(subject: WorkloadSubject): Generator<readonly ReplicaSet[]> {
  const states = new Map<string, ReplicaSet>();
  for (const { type, object } of subject.history(replicaSets)) {
    if (type === 'DELETED') states.delete(object.metadata.name);
    else states.set(object.metadata.name, object as ReplicaSet);
    yield [...states.values()];
  }
}

export function total(list: readonly ReplicaSet[], count: (one: ReplicaSet) => number | undefined): number {
  return list.reduce((sum, one) => sum + (count(one) ?? 0), 0);
}
