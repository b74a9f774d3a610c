/** The workload kinds of the apps group and their budgets, as far as their simulated controllers read them. */
import type { KubernetesObject, Resource } from '../kubernetes/objects.ts';
import type { LabelSelector } from '../kubernetes/selector.ts';
import type { PodTemplate } from './objects.ts';

/** A condition of the apps and policy groups. */
export interface WorkloadCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly observedGeneration?: number;
}

export type IntOrPercent = number | string;

export interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly replicas?: number;
    readonly fullyLabeledReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly WorkloadCondition[];
  };
}

export interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly conditions?: readonly WorkloadCondition[];
  readonly collisionCount?: number;
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly progressDeadlineSeconds?: number;
    readonly paused?: boolean;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: IntOrPercent; readonly maxUnavailable?: IntOrPercent };
    };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: DeploymentStatus;
}

export interface StatefulSetStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly currentReplicas?: number;
  readonly updatedReplicas?: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly collisionCount?: number;
}

export interface StatefulSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly ordinals?: { readonly start?: number };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: StatefulSetStatus;
}

export interface DaemonSetStatus {
  readonly observedGeneration?: number;
  readonly currentNumberScheduled?: number;
  readonly desiredNumberScheduled?: number;
  readonly numberMisscheduled?: number;
  readonly numberReady?: number;
  readonly updatedNumberScheduled?: number;
  readonly numberAvailable?: number;
  readonly numberUnavailable?: number;
  readonly collisionCount?: number;
}

export interface DaemonSet extends KubernetesObject {
  readonly spec: {
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: IntOrPercent };
    };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: DaemonSetStatus;
}

export interface ControllerRevision extends KubernetesObject {
  readonly data?: unknown;
  readonly revision: number;
}

export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec: {
    readonly minAvailable?: IntOrPercent;
    readonly maxUnavailable?: IntOrPercent;
    readonly selector?: LabelSelector;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    /** Pods whose eviction was granted, with the time of that. */
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: readonly WorkloadCondition[];
  };
}

export const deployments: Resource<Deployment> = appsResource('deployments', 'Deployment');
export const replicaSets: Resource<ReplicaSet> = appsResource('replicasets', 'ReplicaSet');
export const statefulSets: Resource<StatefulSet> = appsResource('statefulsets', 'StatefulSet');
export const daemonSets: Resource<DaemonSet> = appsResource('daemonsets', 'DaemonSet');
export const controllerRevisions: Resource<ControllerRevision> = appsResource(
  'controllerrevisions',
  'ControllerRevision',
);
export const podDisruptionBudgets: Resource<PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
};

function appsResource<T extends KubernetesObject>(plural: string, kind: string): Resource<T> {
  return { group: 'apps', version: 'v1', plural, kind, namespaced: true };
}
