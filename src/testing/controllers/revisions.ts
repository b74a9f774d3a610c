/**
 * Revisions: the ControllerRevisions of a StatefulSet or DaemonSet, one for each Pod template that it had.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';
import { equalJson } from '../api-server/json-value.ts';
import type { PodTemplate } from '../objects.ts';
import { type ControllerRevision, controllerRevisions } from '../workloads.ts';
import { type Claim, claim, workloadRef } from './claim.ts';
import { templateHash } from './content.ts';
import { create, patch, remove, type Write } from './write.ts';

export const revisionLabel = 'controller-revision-hash';

interface Revisioned extends KubernetesObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: { readonly collisionCount?: number };
}

export interface RevisionPlan {
  /** The one of the present template: as stored, or as it will be. */
  readonly current: ControllerRevision;
  readonly all: readonly ControllerRevision[];
  readonly writes: readonly Write[];
  /** The name is taken by an other template: nothing else can be done before it has another one. */
  readonly collides: boolean;
}

/** @param present all ControllerRevisions of the namespace */
export function revisionPlan(
  resource: Resource,
  owner: Revisioned,
  present: readonly ControllerRevision[],
): RevisionPlan {
  const { owned, writes } = ownedRevisions(resource, owner, present);
  const next = Math.max(0, ...owned.map(({ revision }) => revision)) + 1;
  const same = owned.filter(({ data }) => equalJson(data, dataOf(owner.spec.template))).at(-1);
  if (same !== undefined) {
    if (same.revision === next - 1) return { current: same, all: owned, writes, collides: false };
    const raised = patch(controllerRevisions, same, { revision: next });
    return {
      current: { ...same, revision: next },
      all: owned.map((one) => (one === same ? { ...one, revision: next } : one)),
      writes: [...writes, raised],
      collides: false,
    };
  }
  const current = newRevision(resource, owner, next);
  const collides = present.some(({ metadata }) => metadata.name === current.metadata.name);
  return {
    current,
    all: [...owned, current],
    writes: [...writes, create(controllerRevisions, current)],
    collides,
  };
}

function ownedRevisions(
  resource: Resource,
  owner: Revisioned,
  present: readonly ControllerRevision[],
): Claim<ControllerRevision> {
  const claimant = { resource, owner, selector: owner.spec.selector };
  const { owned, writes } = claim(claimant, controllerRevisions, present);
  return { owned: [...owned].sort((a, b) => a.revision - b.revision), writes };
}

function newRevision(resource: Resource, owner: Revisioned, revision: number): ControllerRevision {
  const { name, namespace = '' } = owner.metadata;
  const { template } = owner.spec;
  const hash = templateHash(template, owner.status?.collisionCount);
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [revisionLabel]: hash },
      ownerReferences: [workloadRef(resource, owner)],
    },
    data: dataOf(template),
    revision,
  };
}

function dataOf(template: PodTemplate): object {
  return { spec: { template: { ...template, $patch: 'replace' } } };
}

/** The template that a revision stands for. */
export function templateOf({ data }: ControllerRevision): PodTemplate {
  const { $patch: _, ...template } = (data as { spec: { template: PodTemplate & { $patch?: string } } }).spec
    .template;
  return template;
}

/** Deletes the oldest that nothing uses, beyond the limit. @param used names, or hashes, of what is used */
export function truncated(
  owner: Revisioned,
  { all, current }: RevisionPlan,
  used: ReadonlySet<string>,
): Write[] {
  const { revisionHistoryLimit = 10 } = owner.spec;
  const unused = all.filter(
    (revision) =>
      revision !== current &&
      !used.has(revision.metadata.name) &&
      !used.has(revision.metadata.labels?.[revisionLabel] ?? ''),
  );
  const surplus = unused.length - revisionHistoryLimit;
  return unused.slice(0, Math.max(0, surplus)).map((revision) => remove(controllerRevisions, revision));
}
