/** Workload: the kinds of apps/v1 that own Pods, and what a restart looks at in them. */
import {
  apiVersionOf,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from '../../kubernetes/objects.ts';
import type { RolloutFacts } from '../decide/rollout.ts';

/** The workload kinds of apps/v1, as far as a restart looks at them. */
export interface Workload extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly updateStrategy?: { readonly type?: string };
    readonly template?: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      };
    };
  };
  readonly status?: { readonly desiredNumberScheduled?: number };
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

/** How many Pods it wants; undefined where it does not tell. */
export function wantedOf({ kind }: Resource, { spec, status }: Workload): number | undefined {
  // The API server fills in replicas; without it the default is one.
  return kind === 'DaemonSet' ? status?.desiredNumberScheduled : (spec?.replicas ?? 1);
}

/** A ReplicaSet has no rollout: a changed template concerns its next Pods only. */
export function rolloutOf(
  resource: Resource,
  { metadata, spec }: Workload,
  annotation: string,
): { readonly rollout?: RolloutFacts } {
  if (resource === replicaSets) return {};
  const onDelete = spec?.updateStrategy?.type === 'OnDelete' ? 'OnDelete' : undefined;
  const held = spec?.paused === true ? 'Paused' : onDelete;
  const restartedFor = spec?.template?.metadata?.annotations?.[annotation];
  const version = metadata.resourceVersion;
  return {
    rollout: {
      ...(held && { held }),
      ...(restartedFor !== undefined && { restartedFor }),
      ...(version !== undefined && { version }),
    },
  };
}

/** Of an owner what is looked at here. */
export function slimWorkload({ metadata, spec = {}, status }: Workload): Workload {
  const { name, uid = '', resourceVersion, ownerReferences } = metadata;
  const { labels, annotations } = spec.template?.metadata ?? {};
  const template = { metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } };
  return {
    metadata: {
      name,
      uid,
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(ownerReferences && { ownerReferences }),
    },
    spec: { ...spec, template },
    ...(status?.desiredNumberScheduled !== undefined && {
      status: { desiredNumberScheduled: status.desiredNumberScheduled },
    }),
  };
}

/** How a Deployment names its ReplicaSets: after itself and a hash of the template, in these characters. */
const replicaSetName = /^(.+)-[bcdfghjklmnpqrstvwxz2456789]{1,10}$/;

/** The Deployment that the name of a ReplicaSet speaks of; whose it is, only the ReplicaSet itself tells. */
export function deploymentNamedBy(replicaSet: string): string | undefined {
  return replicaSetName.exec(replicaSet)?.[1];
}
