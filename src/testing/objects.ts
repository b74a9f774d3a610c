/**
 * The Kubernetes objects that the simulated controllers and nodes work with: raw JSON, as in
 * `src/kubernetes/objects.ts`, with the fields that a controller or a kubelet reads beyond those.
 */
import type {
  KubernetesObject,
  Container as NarrowContainer,
  ContainerStatus as NarrowContainerStatus,
  PodSpec as NarrowPodSpec,
  PodStatus as NarrowPodStatus,
  Volume as NarrowVolume,
  ObjectMeta,
  PodCondition,
  Resource,
} from '../kubernetes/objects.ts';

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

export interface ConfigMapVolumeSource {
  readonly name?: string;
  readonly optional?: boolean;
  readonly items?: readonly KeyToPath[];
}

export interface SecretVolumeSource {
  readonly secretName?: string;
  readonly optional?: boolean;
  readonly items?: readonly KeyToPath[];
}

export interface Volume extends NarrowVolume {
  readonly configMap?: ConfigMapVolumeSource;
  readonly secret?: SecretVolumeSource;
  readonly projected?: {
    readonly sources?: readonly {
      readonly configMap?: ConfigMapVolumeSource;
      readonly secret?: ConfigMapVolumeSource;
    }[];
  };
}

export interface Container extends NarrowContainer {
  readonly imagePullPolicy?: string;
  /** `Always` makes a native sidecar of an init container. */
  readonly restartPolicy?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface PodSpec extends NarrowPodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: unknown;
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly priority?: number;
  readonly hostname?: string;
  readonly subdomain?: string;
}

export interface ContainerStatus extends NarrowContainerStatus {
  readonly started?: boolean;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
}

export interface PodStatus extends NarrowPodStatus {
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PodTemplate {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec: PodSpec;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface Node extends KubernetesObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly conditions?: readonly (PodCondition & { readonly lastHeartbeatTime?: string })[];
  };
}

export interface Namespace extends KubernetesObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

/** A Secret; values are base64. */
export interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export const pods: Resource<Pod> = coreResource('pods', 'Pod');
export const secrets: Resource<Secret> = coreResource('secrets', 'Secret');
export const nodes: Resource<Node> = coreResource('nodes', 'Node', false);
export const namespaces: Resource<Namespace> = coreResource('namespaces', 'Namespace', false);

function coreResource<T extends KubernetesObject>(
  plural: string,
  kind: string,
  namespaced = true,
): Resource<T> {
  return { group: '', version: 'v1', plural, kind, namespaced };
}
