/** What the decisions about a Deployment have in common: its numbers, revisions and annotations. */

import { equalJson } from '../api-server/json-value.ts';
import { scaled } from '../int-or-percent.ts';
import type { PodTemplate } from '../objects.ts';
import type { Deployment, DeploymentStatus, ReplicaSet } from '../workloads.ts';

export const revisionAnnotation = 'deployment.kubernetes.io/revision';
export const revisionHistoryAnnotation = 'deployment.kubernetes.io/revision-history';
export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
export const maxAnnotation = 'deployment.kubernetes.io/max-replicas';
export const hashLabel = 'pod-template-hash';

const defaultShare = '25%';

/** The Deployment with its ReplicaSets, sorted by age. */
export interface Rollout {
  readonly deployment: Deployment;
  /** The one of the present template, if there is one. */
  readonly newest: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

export function replicasOf({ spec }: Deployment | ReplicaSet): number {
  return spec.replicas ?? 1;
}

export function isRolling({ spec }: Deployment): boolean {
  return (spec.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

/** How many Pods more, and how many fewer, a rolling update allows. Both 0 would allow no update. */
export function fenceposts(deployment: Deployment): { readonly surge: number; readonly unavailable: number } {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment)) return { surge: 0, unavailable: 0 };
  const { maxSurge = defaultShare, maxUnavailable = defaultShare } =
    deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaled(maxSurge, replicas, 'up');
  const unavailable = scaled(maxUnavailable, replicas, 'down');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** As {@link fenceposts}, never more than there are. */
export function maxUnavailableOf(deployment: Deployment): number {
  const replicas = replicasOf(deployment);
  return replicas === 0 ? 0 : Math.min(replicas, fenceposts(deployment).unavailable);
}

/** Sorts and finds the one whose template is the Deployment's. */
export function rolloutOf(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Rollout {
  const sorted = byAge(replicaSets);
  const newest = sorted.find(({ spec }) => isSameTemplate(spec.template, deployment.spec.template));
  return { deployment, newest, old: sorted.filter((one) => one !== newest) };
}

export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return equalJson(withoutHash(a), withoutHash(b));
}

function withoutHash({ metadata = {}, spec }: PodTemplate): PodTemplate {
  const { labels = {}, annotations = {} } = metadata;
  const { [hashLabel]: _, ...rest } = labels;
  return { metadata: { labels: rest, annotations }, spec };
}

export function byAge<T extends ReplicaSet>(replicaSets: readonly T[]): readonly T[] {
  return [...replicaSets].sort((a, b) => compareText(ageOf(a), ageOf(b)));
}

/** Creation times are texts of one form, so that their order is that of the instants. */
function ageOf({ metadata }: ReplicaSet): string {
  return `${metadata.creationTimestamp} ${metadata.name}`;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function all({ newest, old }: Rollout): readonly ReplicaSet[] {
  return newest === undefined ? old : [...old, newest];
}

export function revisionOf({ metadata }: Deployment | ReplicaSet): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0) || 0;
}

export function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}

/** Everything is updated, available and seen. */
export function isComplete({ spec, metadata }: Deployment, status: DeploymentStatus): boolean {
  const replicas = spec.replicas ?? 1;
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

export function progressDeadlineOf({ spec }: Deployment): number | undefined {
  const { progressDeadlineSeconds = 600 } = spec;
  return progressDeadlineSeconds === 2 ** 31 - 1 ? undefined : progressDeadlineSeconds;
}
