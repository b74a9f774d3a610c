/** Resources that the plugins read and that no controller of this project knows. */
import type { KubernetesObject, ObjectMeta, PodSpec, Resource } from '../../kubernetes/objects.ts';

export interface PodTemplate {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec: PodSpec;
}

/** Deployment, StatefulSet, DaemonSet, ReplicaSet or Job. */
export interface Workload extends KubernetesObject {
  readonly spec: {
    readonly selector?: {
      readonly matchLabels?: Readonly<Record<string, string>>;
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
        readonly values?: readonly string[];
      }[];
    };
    readonly template: PodTemplate;
  };
}

export interface CronJob extends KubernetesObject {
  readonly spec: { readonly jobTemplate: { readonly spec: { readonly template: PodTemplate } } };
}

function workload(group: string, plural: string, kind: string): Resource<Workload> {
  return { group, version: 'v1', plural, kind, namespaced: true };
}

/** By the names that kubectl knows them under. */
export const workloads: Readonly<Record<string, Resource<Workload>>> = {
  deployment: workload('apps', 'deployments', 'Deployment'),
  deploy: workload('apps', 'deployments', 'Deployment'),
  statefulset: workload('apps', 'statefulsets', 'StatefulSet'),
  sts: workload('apps', 'statefulsets', 'StatefulSet'),
  daemonset: workload('apps', 'daemonsets', 'DaemonSet'),
  ds: workload('apps', 'daemonsets', 'DaemonSet'),
  replicaset: workload('apps', 'replicasets', 'ReplicaSet'),
  rs: workload('apps', 'replicasets', 'ReplicaSet'),
  job: workload('batch', 'jobs', 'Job'),
};

export const cronJobs: Resource<CronJob> = {
  group: 'batch',
  version: 'v1',
  plural: 'cronjobs',
  kind: 'CronJob',
  namespaced: true,
};

/** v1.Event, which shows those of both APIs. */
export interface CoreEvent extends KubernetesObject {
  readonly involvedObject?: { readonly kind?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly eventTime?: string | null;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

export const coreEvents: Resource<CoreEvent> = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

export const secrets: Resource = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};

export const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

export interface AccessReview extends KubernetesObject {
  readonly spec: {
    readonly resourceAttributes: {
      readonly namespace?: string;
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string;
    };
  };
  readonly status?: { readonly allowed: boolean };
}

/** "May I?" */
export const selfAccessReviews: Resource<AccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

export interface PolicyBinding extends KubernetesObject {
  readonly spec: { readonly policyName: string; readonly validationActions?: readonly string[] };
}

export const policyBindings: Resource<PolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
  namespaced: false,
};

export interface CustomResourceDefinition extends KubernetesObject {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema?: { readonly openAPIV3Schema?: Readonly<Record<string, unknown>> };
    }[];
  };
}

export const crds: Resource<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
