/**
 * The Kubernetes objects that this project reads and writes, as the API server sends them: raw JSON,
 * instants as RFC 3339 strings, unknown fields kept. Only the fields that are used here are named.
 */

/** metav1.OwnerReference. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** metav1.ManagedFieldsEntry: which fields a client has set. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
  readonly subresource?: string;
}

/** metav1.ObjectMeta. */
export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** What every API object has. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339, whole seconds. */
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/**
 * Which REST collection an object type lives in. `T` is the shape of one object; it exists for the type
 * checker only.
 */
export interface Resource<T extends KubernetesObject = KubernetesObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** True: it has a status subresource. A Manager does not start where the API server has none. */
  readonly status?: boolean;
  /** Never present at run time: ties the descriptor to the type of its objects. */
  readonly objectType?: T;
}

/** `apiVersion` of a resource: `v1`, `apps/v1`, … */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The controller ownerReference of an object, or undefined when it has none (metav1.GetControllerOf). */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** v1.EnvVar, with the sources that are a ConfigMap or a Secret. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly configMapKeyRef?: { readonly name?: string; readonly key: string; readonly optional?: boolean };
    readonly secretKeyRef?: { readonly name?: string; readonly key: string; readonly optional?: boolean };
  };
}

/** v1.EnvFromSource. */
export interface EnvFromSource {
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean };
}

/** What v1.SecurityContext and v1.PodSecurityContext have in common, and more of the first. */
export interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string };
}

/** v1.Container, as far as it is read or written here. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly volumeMounts?: readonly { readonly name: string }[];
  readonly securityContext?: SecurityContext;
  readonly readinessProbe?: object;
  readonly startupProbe?: object;
  readonly terminationMessagePolicy?: string;
  /** `Always` makes a native sidecar of an init container. */
  readonly restartPolicy?: string;
}

/** What a volume shows of a ConfigMap or Secret. */
export interface VolumeItems {
  /** Absent: every key. */
  readonly items?: readonly { readonly key: string }[];
  readonly optional?: boolean;
}

/** v1.VolumeProjection of a ConfigMap or Secret. */
export interface ProjectedVolumeSource {
  readonly configMap?: VolumeItems & { readonly name?: string };
  readonly secret?: VolumeItems & { readonly name?: string };
}

/** v1.Volume of a ConfigMap or Secret; of a CSI driver only its attributes. */
export interface Volume {
  readonly name: string;
  readonly configMap?: VolumeItems & { readonly name?: string };
  readonly secret?: VolumeItems & { readonly secretName?: string };
  readonly projected?: { readonly sources?: readonly ProjectedVolumeSource[] };
  readonly csi?: { readonly volumeAttributes?: Readonly<Record<string, string>> };
}

/** v1.PodSpec, as far as it is read or written here. */
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly restartPolicy?: string;
  readonly nodeName?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly readinessGates?: readonly object[];
  readonly activeDeadlineSeconds?: number;
  readonly terminationGracePeriodSeconds?: number;
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: SecurityContext;
}

/** v1.ContainerStateTerminated: how a container ended. */
export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

/** v1.ContainerState: one of the three. */
export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: ContainerStateTerminated;
}

/** v1.ContainerStatus, as far as it is read here. */
export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

/** v1.PodCondition. */
export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** v1.PodPhase. */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** v1.PodStatus, as far as it is read here. */
export interface PodStatus {
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly startTime?: string;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
}

/** v1.Pod, as far as it is read or written here. */
export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

/** v1.ConfigMap. */
export interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
  /** Values are base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

/** Pods of the core group. */
export const pods: Resource<Pod> = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
};

/** ConfigMaps of the core group. */
export const configMaps: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
