/**
 * Claim: which objects belong to a controller (ControllerRefManager). It adopts orphans that its selector
 * matches, and releases what it owns and its selector matches no more.
 */
import {
  apiVersionOf,
  controllerOf,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';
import { selects } from '../../kubernetes/selector.ts';
import { patch, type Write } from './write.ts';

/** The reference of a workload on what it makes. */
export function workloadRef(resource: Resource, owner: KubernetesObject): OwnerReference {
  const { name, uid = '' } = owner.metadata;
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

export interface Claim<T> {
  /** Owned, and still matched. */
  readonly owned: readonly T[];
  /** Adoptions and releases. */
  readonly writes: readonly Write[];
}

export interface Claimant {
  readonly resource: Resource;
  readonly owner: KubernetesObject;
  readonly selector: LabelSelector;
  /** What else must hold, for StatefulSets the name. */
  readonly isMember?: (object: KubernetesObject) => boolean;
}

/** @param candidates objects of the owner's namespace */
export function claim<T extends KubernetesObject>(
  { resource, owner, selector, isMember = () => true }: Claimant,
  claimed: Resource,
  candidates: readonly T[],
): Claim<T> {
  const owned: T[] = [];
  const writes: Write[] = [];
  const dying = owner.metadata.deletionTimestamp !== undefined;
  for (const object of candidates) {
    const uid = controllerOf(object)?.uid;
    if (uid !== undefined && uid !== owner.metadata.uid) continue;
    const matches = selects(selector, object.metadata.labels) && isMember(object);
    if (uid !== undefined && matches) owned.push(object);
    if (dying || matches === (uid !== undefined)) continue;
    if (uid !== undefined) {
      writes.push(released(claimed, object, uid));
    } else if (object.metadata.deletionTimestamp === undefined) {
      writes.push(owners(claimed, object, [...ownersOf(object), workloadRef(resource, owner)]));
      owned.push(object);
    }
  }
  return { owned, writes };
}

function released(resource: Resource, object: KubernetesObject, uid: string): Write {
  return owners(
    resource,
    object,
    ownersOf(object).filter((owner) => owner.uid !== uid),
  );
}

function ownersOf({ metadata }: KubernetesObject): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

/** A list is replaced as a whole, so that the patch holds for the version that was looked at only. */
export function owners(
  resource: Resource,
  object: KubernetesObject,
  references: readonly OwnerReference[],
): Write {
  const ownerReferences = references.length === 0 ? null : references;
  const { resourceVersion } = object.metadata;
  return patch(resource, object, { metadata: { ownerReferences, resourceVersion } });
}
