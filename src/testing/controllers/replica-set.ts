/** ReplicaSet: as many Pods of a template as are wanted. A pure decision, after kube-controller-manager's. */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { selects } from '../../kubernetes/selector.ts';
import { formatTime } from '../../kubernetes/time.ts';
import { equalJson } from '../api-server/json-value.ts';
import type { WriteAnswer } from '../cluster-ports.ts';
import type { Pod, PodTemplate } from '../objects.ts';
import { pods as podResource } from '../objects.ts';
import { isActive, isAvailable, isReady, nextAvailability } from '../pod-facts.ts';
import { type ReplicaSet, replicaSets, type WorkloadCondition } from '../workloads.ts';
import { claim, workloadRef } from './claim.ts';
import { withoutZeros } from './content.ts';
import type { Plan } from './controller.ts';
import { victims } from './replica-set-victims.ts';
import { create, remove, updateStatus, type Write } from './write.ts';

/** More Pods are never created or deleted in one go. */
const burst = 500;

export interface ReplicaSetFacts {
  readonly replicaSet: ReplicaSet;
  /** All Pods of its namespace. */
  readonly pods: readonly Pod[];
  /** Active Pods of all ReplicaSets of the same controller, by which crowded nodes are found. */
  readonly related?: () => readonly Pod[];
  /** Epoch ms. */
  readonly now: number;
}

export function replicaSetPlan({ replicaSet, pods, related, now }: ReplicaSetFacts): Plan {
  const { selector, replicas = 1, minReadySeconds = 0 } = replicaSet.spec;
  const claimed = claim(
    { resource: replicaSets, owner: replicaSet, selector },
    podResource,
    pods.filter(isActive),
  );
  const owned = claimed.owned;
  const dying = replicaSet.metadata.deletionTimestamp !== undefined;
  const missing = dying ? 0 : replicas - owned.length;
  const creations = Math.min(burst, missing);
  const surplus =
    missing < 0 ? victims(owned, Math.min(burst, -missing), { related: related?.() ?? owned, now }) : [];
  return {
    batches: [
      claimed.writes,
      ...slowStart(creations, () => create(podResource, podOf(replicaSets, replicaSet))),
      surplus.map((pod) => remove(podResource, pod)),
    ],
    status: (failure) => statusWrite(replicaSet, owned, missing, failure, now),
    after: nextAvailability(owned, minReadySeconds, now),
  };
}

/** A Pod of a workload's template, owned by it. */
export function podOf(
  resource: Resource,
  owner: KubernetesObject & { readonly spec: { readonly template: PodTemplate } },
): Pod {
  const { name, namespace = '' } = owner.metadata;
  const { metadata = {}, spec } = owner.spec.template;
  const { labels, annotations, finalizers } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: '',
      generateName: `${name}-`,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [workloadRef(resource, owner)],
    },
    spec,
  };
}

/** One, two, four, …: where every creation is refused, few are tried. */
export function slowStart<T>(count: number, make: (index: number) => T): T[][] {
  const batches: T[][] = [];
  for (let done = 0, size = 1; done < count; size *= 2) {
    const batch = Math.min(size, count - done);
    batches.push(Array.from({ length: batch }, (_, index) => make(done + index)));
    done += batch;
  }
  return batches;
}

function statusWrite(
  replicaSet: ReplicaSet,
  owned: readonly Pod[],
  missing: number,
  failure: WriteAnswer | undefined,
  now: number,
): Write | undefined {
  const { status = {}, spec, metadata } = replicaSet;
  const { template, minReadySeconds = 0 } = spec;
  const wanted = { matchLabels: template.metadata?.labels ?? {} };
  const counts = {
    replicas: owned.length,
    fullyLabeledReplicas: owned.filter((pod) => selects(wanted, pod.metadata.labels)).length,
    readyReplicas: owned.filter(isReady).length,
    availableReplicas: owned.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    observedGeneration: metadata.generation ?? 0,
  };
  const told = conditions(status.conditions ?? [], missing, failure, now);
  const next = { ...withoutZeros(counts, ['replicas']), ...(told.length > 0 && { conditions: told }) };
  return equalJson(status, next) ? undefined : updateStatus(replicaSets, { ...replicaSet, status: next });
}

function conditions(
  list: readonly WorkloadCondition[],
  missing: number,
  failure: WriteAnswer | undefined,
  now: number,
): readonly WorkloadCondition[] {
  const rest = list.filter(({ type }) => type !== 'ReplicaFailure');
  if (failure === undefined) return rest;
  if (rest.length < list.length) return list;
  return [
    ...rest,
    {
      type: 'ReplicaFailure',
      status: 'True',
      reason: missing < 0 ? 'FailedDelete' : 'FailedCreate',
      message: messageOf(failure),
      lastTransitionTime: formatTime(now),
    },
  ];
}

/** The sentence of a Status, or the whole text of an answer that is none. */
export function messageOf({ body }: WriteAnswer): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    return typeof message === 'string' ? message : body;
  } catch {
    return body;
  }
}
