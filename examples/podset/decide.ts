/** Decide: which Pods a PodSet lacks or has too many of. Pure: the time comes in, nothing goes out. */
import { controllerRef, type NewCondition, setCondition } from '@atwatch/runtime';
import type { Pod, PodSpec } from '@atwatch/runtime/types/core';
import { type PodSet, type PodSetStatus, podSets } from './types.generated.ts';

export interface Decision {
  /** How many Pods to create. */
  readonly create: number;
  /** Pods to delete. */
  readonly surplus: readonly Pod[];
  readonly status: PodSetStatus;
}

/** The label that Pods carry; its value is the PodSet's name. */
export const label = 'sets.example.com/podset';

const isOver = (pod: Pod) => ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '');
const isReady = (pod: Pod) =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** @param owned all Pods whose controller this PodSet is. @param now epoch milliseconds. */
export function decide(podSet: PodSet, owned: readonly Pod[], now: number): Decision {
  const { replicas = 1 } = podSet.spec;
  const live = owned.filter((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod));
  const ready = live.filter(isReady);
  // Those that serve nothing go first, the youngest first among equals.
  const age = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  const byWorth = live.toSorted(
    (one, other) => Number(isReady(one)) - Number(isReady(other)) || age(other).localeCompare(age(one)),
  );
  const isComplete = live.length === replicas && ready.length === replicas;
  const condition: NewCondition = {
    type: 'Ready',
    status: isComplete ? 'True' : 'False',
    reason: isComplete ? 'AllReady' : 'WaitingForPods',
    message: '',
  };
  return {
    create: Math.max(0, replicas - live.length),
    surplus: byWorth.slice(0, Math.max(0, live.length - replicas)),
    status: {
      ...{ replicas: live.length, readyReplicas: ready.length },
      selector: `${label}=${podSet.metadata.name}`,
      conditions: setCondition(podSet.status?.conditions, condition, now),
    },
  };
}

/** The API server makes its name. */
export function podFor(podSet: PodSet): Pod {
  const { name, namespace = '' } = podSet.metadata;
  const { metadata, spec } = podSet.spec.template;
  return {
    metadata: {
      ...metadata,
      ...{ name: '', generateName: `${name}-`, namespace },
      labels: { ...metadata?.labels, [label]: name },
      ownerReferences: [controllerRef(podSets, podSet)],
    },
    spec: spec as unknown as PodSpec,
  };
}
