/** Workload: the kinds of apps/v1 that own Pods, and what a restart looks at in them. */
import {
  apiVersionOf,
  type Condition,
  type Container,
  type KubernetesObject,
  type OwnerReference,
  type PodSpec,
  type Resource,
} from '../../kubernetes/objects.ts';
import type { Labels } from '../../kubernetes/selector.ts';

/** The workload kinds of apps/v1, as far as a restart looks at them. */
export interface Workload extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly minReadySeconds?: number;
    /** Of a Deployment. */
    readonly strategy?: { readonly type?: string };
    /** Of a StatefulSet. */
    readonly ordinals?: { readonly start?: number };
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly template?: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      };
      readonly spec?: Pick<PodSpec, 'containers' | 'readinessGates'>;
    };
  };
  readonly status?: {
    readonly replicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly currentNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberMisscheduled?: number;
    readonly observedGeneration?: number;
    readonly updateRevision?: string;
    readonly conditions?: readonly Pick<Condition, 'type' | 'status'>[];
  };
}

/** What is known of a workload that has rollouts. */
export interface RolloutFacts {
  /** It rolls nothing out as it is configured. */
  readonly held?: 'Paused' | 'OnDelete';
  /** Value of the annotation in its template. */
  readonly restartedFor?: string;
  /** resourceVersion of what was read: a change that was decided on it is made to it or not at all. */
  readonly version?: string;
  /** How many Pods its controller counts, whatever their labels and revision. */
  readonly pods?: number;
  /**
   * Its controller goes on to the next Pod as soon as the containers of a new one run, so that one which crashes, and is
   * Ready for a moment each time, stops nothing.
   */
  readonly isUnchecked?: true;
  /** The API server refuses Pods that its controller would make. */
  readonly lacksPods?: true;
  /** Its controller has not seen its newest spec, so it is not known yet which Pods it is about to replace. */
  readonly isBehind?: true;
  /**
   * The template that its controller replaces Pods for. Present where that replaces Pods of older revisions by
   * RollingUpdate, and has observed the newest template.
   */
  readonly target?: {
    /** Of a Deployment and a DaemonSet a number, of a StatefulSet a hash. */
    readonly revision: string;
    /** Of a StatefulSet: Pods with a lower ordinal keep their revision. */
    readonly partition: number;
    /** Wherever it wants a Pod there is one of the template, whose revision may be an older one: a template can come back. */
    readonly isReached?: true;
  };
}

function workload(kind: string, plural: string): Resource<Workload> {
  return { group: 'apps', version: 'v1', plural, kind, namespaced: true };
}

export const replicaSets = workload('ReplicaSet', 'replicasets');
export const deployments = workload('Deployment', 'deployments');
export const statefulSets = workload('StatefulSet', 'statefulsets');
export const daemonSets = workload('DaemonSet', 'daemonsets');

/** The resource of a reference, if it is a workload that is understood here. */
export function workloadOf({ apiVersion, kind }: OwnerReference): Resource<Workload> | undefined {
  return [replicaSets, deployments, statefulSets, daemonSets].find(
    (resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion,
  );
}

/** What controllers add to the labels of a template: the values are only in the Pods. */
const addedLabels: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['pod-template-hash'],
  StatefulSet: [
    'controller-revision-hash',
    'statefulset.kubernetes.io/pod-name',
    'apps.kubernetes.io/pod-index',
  ],
  DaemonSet: ['controller-revision-hash', 'pod-template-generation'],
};

/** The labels of the Pods that it makes; a value that only the Pod tells is empty. */
export function podLabelsOf({ kind }: Resource, { spec }: Workload): Labels {
  const added = (addedLabels[kind] ?? []).map((name) => [name, ''] as const);
  return { ...Object.fromEntries(added), ...spec?.template?.metadata?.labels };
}

/** How many Pods it wants; undefined where it does not tell. */
export function wantedOf({ kind }: Resource, { spec, status = {} }: Workload): number | undefined {
  // The API server fills in replicas; without it the default is one.
  if (kind !== 'DaemonSet') return spec?.replicas ?? 1;
  // The status of one that its controller has never counted for says 0, whatever it is about to make.
  return status.observedGeneration ? status.desiredNumberScheduled : undefined;
}

/** How many Pods there are, by its controller's count; undefined while that has counted none. A DaemonSet, alone, counts nodes. */
export function podsOf({ status = {} }: Workload): number | undefined {
  const { replicas, currentNumberScheduled, numberMisscheduled = 0 } = status;
  return currentNumberScheduled === undefined ? replicas : currentNumberScheduled + numberMisscheduled;
}

const revisionAnnotation = 'deployment.kubernetes.io/revision';
const generationAnnotation = 'deprecated.daemonset.template.generation';

/** The revision of a ReplicaSet of a Deployment. */
export function revisionOf({ metadata }: Workload): string | undefined {
  return metadata.annotations?.[revisionAnnotation];
}

/** What it replaces its Pods for, as far as its status speaks of the template that it has now. */
function targetOf(
  { kind }: Resource,
  { metadata, spec = {}, status = {} }: Workload,
): RolloutFacts['target'] {
  const { generation, annotations = {} } = metadata;
  const { strategy, updateStrategy, paused } = spec;
  const { type = 'RollingUpdate' } = (kind === 'Deployment' ? strategy : updateStrategy) ?? {};
  if (type !== 'RollingUpdate' || paused || status.observedGeneration !== generation) return undefined;
  const revision = {
    Deployment: annotations[revisionAnnotation],
    StatefulSet: status.updateRevision,
    DaemonSet: annotations[generationAnnotation],
  }[kind];
  const { partition = 0 } = updateStrategy?.rollingUpdate ?? {};
  const { start = 0 } = spec.ordinals ?? {}; // From there on the partition counts Pods.
  if (revision === undefined) return undefined;
  // Of the others the revision is that of the template again, and tells.
  const { desiredNumberScheduled = 0, updatedNumberScheduled = -1 } = kind === 'DaemonSet' ? status : {};
  return {
    revision,
    partition: partition > 0 ? start + partition : 0,
    ...(updatedNumberScheduled >= desiredNumberScheduled && { isReached: true }),
  };
}

/** Whether its controller has yet to look at its newest spec. A controller that does not say what it has seen is never late. */
export function isBehind({ metadata: { generation = 0 }, status = {} }: Workload): boolean {
  return status.observedGeneration !== undefined && status.observedGeneration < generation;
}

/** A container that crashes and has no probe is Ready for a moment each time; in so many seconds it has crashed. */
const tellingReadySeconds = 10;

/** Whether a Pod that does not work is found out by its not being Ready, or not being so for long enough. */
function isChecked({ minReadySeconds = 0, template }: NonNullable<Workload['spec']>): boolean {
  const { containers = [], readinessGates = [] }: Partial<PodSpec> = template?.spec ?? {};
  const isProbed = ({ readinessProbe, startupProbe }: Container) =>
    readinessProbe !== undefined || startupProbe !== undefined;
  const areProbed = containers.length > 0 && containers.every(isProbed);
  return minReadySeconds >= tellingReadySeconds || areProbed || readinessGates.length > 0;
}

function isReplicaFailure({ type, status }: Pick<Condition, 'type' | 'status'>): boolean {
  return type === 'ReplicaFailure' && status === 'True';
}

/** A ReplicaSet has no rollout: a changed template concerns its next Pods only. */
export function rolloutOf(
  resource: Resource,
  workload: Workload,
  annotation: string,
): { readonly rollout?: RolloutFacts } {
  if (resource === replicaSets) return {};
  const { metadata, spec = {}, status = {} } = workload;
  const target = targetOf(resource, workload);
  const onDelete = spec.updateStrategy?.type === 'OnDelete' ? 'OnDelete' : undefined;
  const held = spec.paused === true ? 'Paused' : onDelete;
  const restartedFor = spec.template?.metadata?.annotations?.[annotation];
  const version = metadata.resourceVersion;
  const pods = podsOf(workload);
  return {
    rollout: {
      ...(held && { held }),
      ...(restartedFor !== undefined && { restartedFor }),
      ...(version !== undefined && { version }),
      ...(pods !== undefined && { pods }),
      ...(!isChecked(spec) && { isUnchecked: true }),
      ...(status.conditions?.some(isReplicaFailure) && { lacksPods: true }),
      ...(isBehind(workload) && { isBehind: true }),
      ...(target && { target }),
    },
  };
}

/** The spec that is kept of a template whose Pods {@link isChecked}. */
const probed: PodSpec = { containers: [{ name: '', readinessProbe: {} }] };

function transformSpec(spec: NonNullable<Workload['spec']>): NonNullable<Workload['spec']> {
  const { labels, annotations } = spec.template?.metadata ?? {};
  const metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  return { ...spec, template: { metadata, ...(isChecked(spec) && { spec: probed }) } };
}

/** Of an owner what is looked at here. */
export function transformWorkload({ metadata, spec = {}, status = {} }: Workload): Workload {
  const { name, uid = '', resourceVersion, ownerReferences, generation } = metadata;
  const revisions = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key === revisionAnnotation || key === generationAnnotation,
  );
  const { replicas, desiredNumberScheduled, currentNumberScheduled, numberMisscheduled } = status;
  const { observedGeneration, updateRevision, updatedNumberScheduled } = status;
  const conditions = (status.conditions ?? []).filter(isReplicaFailure);
  return {
    metadata: {
      name,
      uid,
      ...(generation !== undefined && { generation }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(ownerReferences && { ownerReferences }),
      ...(revisions.length > 0 && { annotations: Object.fromEntries(revisions) }),
    },
    spec: transformSpec(spec),
    status: {
      ...(replicas !== undefined && { replicas }),
      ...(desiredNumberScheduled !== undefined && { desiredNumberScheduled }),
      ...(currentNumberScheduled !== undefined && { currentNumberScheduled }),
      ...(updatedNumberScheduled !== undefined && { updatedNumberScheduled }),
      ...(numberMisscheduled !== undefined && { numberMisscheduled }),
      ...(observedGeneration !== undefined && { observedGeneration }),
      ...(updateRevision !== undefined && { updateRevision }),
      ...(conditions.length > 0 && { conditions }),
    },
  };
}
