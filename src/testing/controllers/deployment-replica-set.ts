/** The ReplicaSets of a Deployment as objects: a new one, and what changes in those there are. */

import type { LabelSelector } from '../../kubernetes/selector.ts';
import { equalJson } from '../api-server/json-value.ts';
import { type Deployment, deployments, type ReplicaSet } from '../workloads.ts';
import { workloadRef } from './claim.ts';
import { templateHash } from './content.ts';
import {
  desiredAnnotation,
  fenceposts,
  hashLabel,
  maxAnnotation,
  type Rollout,
  replicasOf,
  revisionAnnotation,
  revisionHistoryAnnotation,
  revisionOf,
} from './deployment-facts.ts';
import { newReplicasOf } from './deployment-scaling.ts';

type Annotations = Readonly<Record<string, string>>;

/** Annotations of a Deployment that its ReplicaSets do not take over. */
const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  maxAnnotation,
  'deprecated.deployment.rollback.to',
]);

/** The revision that the newest ReplicaSet has, or must get. */
export function newRevision({ newest, old }: Rollout): number {
  const next = Math.max(0, ...old.map(revisionOf)) + 1;
  return newest === undefined ? next : Math.max(next, revisionOf(newest));
}

export function newReplicaSet(rollout: Rollout): ReplicaSet {
  const { deployment } = rollout;
  const { name, namespace = '' } = deployment.metadata;
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = templateHash(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      annotations: {
        ...copied(deployment),
        [revisionAnnotation]: String(newRevision(rollout)),
        ...sizeAnnotations(deployment),
      },
      ownerReferences: [workloadRef(deployments, deployment)],
    },
    spec: {
      replicas: newReplicasOf(rollout),
      ...(minReadySeconds !== undefined && { minReadySeconds }),
      selector: withHash(selector, hash),
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/** The newest ReplicaSet with the revision, annotations and minReadySeconds that it must have. */
export function broughtUp(rollout: Rollout, newest: ReplicaSet): ReplicaSet | undefined {
  const { deployment } = rollout;
  const before = newest.metadata.annotations ?? {};
  const revision = newRevision(rollout);
  const annotations = { ...before, ...copied(deployment), ...revised(before, revisionOf(newest), revision) };
  const { minReadySeconds } = deployment.spec;
  if (equalJson(annotations, before) && (minReadySeconds ?? 0) === (newest.spec.minReadySeconds ?? 0)) {
    return undefined;
  }
  return {
    ...newest,
    metadata: { ...newest.metadata, annotations },
    spec: { ...newest.spec, ...(minReadySeconds !== undefined && { minReadySeconds }) },
  };
}

/** With a size, and the Deployment's numbers by which a later scaling finds its proportion. */
export function resized(deployment: Deployment, replicaSet: ReplicaSet, replicas: number): ReplicaSet {
  const annotations = { ...replicaSet.metadata.annotations, ...sizeAnnotations(deployment) };
  return {
    ...replicaSet,
    metadata: { ...replicaSet.metadata, annotations },
    spec: { ...replicaSet.spec, replicas },
  };
}

export function hasSizeAnnotations(deployment: Deployment, { metadata }: ReplicaSet): boolean {
  const wanted = Object.entries(sizeAnnotations(deployment));
  return wanted.every(([name, value]) => metadata.annotations?.[name] === value);
}

function sizeAnnotations(deployment: Deployment): Annotations {
  const replicas = replicasOf(deployment);
  const most = replicas + fenceposts(deployment).surge;
  return { [desiredAnnotation]: String(replicas), [maxAnnotation]: String(most) };
}

function copied({ metadata }: Deployment): Annotations {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => !ownAnnotations.has(name)));
}

/** A ReplicaSet that is used again remembers the revisions that it had. */
function revised(before: Annotations, old: number, revision: number): Annotations {
  if (old >= revision) return {};
  const history = before[revisionHistoryAnnotation];
  return {
    [revisionAnnotation]: String(revision),
    ...(old > 0 && { [revisionHistoryAnnotation]: history ? `${history},${old}` : String(old) }),
  };
}

function withHash(selector: LabelSelector, hash: string): LabelSelector {
  return { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } };
}
