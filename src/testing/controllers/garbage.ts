/**
 * Garbage: what becomes of an object whose owners are gone, or are waiting for it to go. A pure decision,
 * after the garbage collector of kube-controller-manager.
 */
import type { KubernetesObject, OwnerReference, Resource } from '../../kubernetes/objects.ts';
import { owners } from './claim.ts';
import { patch, remove, type Write } from './write.ts';

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

/** What a reference points to. */
export type Owner =
  | { readonly found: KubernetesObject }
  | 'gone'
  /** Its kind is not served: it is not known whether it exists. */
  | 'unknown';

export interface Dependent {
  readonly resource: Resource;
  readonly object: KubernetesObject;
}

export interface GarbageFacts extends Dependent {
  /** Looks at the cluster itself. */
  readonly ownerOf: (reference: OwnerReference) => Owner;
  /** Objects that have a reference to this one. */
  readonly dependents: readonly Dependent[];
}

export interface GarbageDecision {
  readonly writes: readonly Write[];
  /** Something could not be decided. */
  readonly retry: boolean;
}

const nothing: GarbageDecision = { writes: [], retry: false };

export function garbageDecision(facts: GarbageFacts): GarbageDecision {
  const { object, resource, dependents } = facts;
  const { metadata } = object;
  if (metadata.deletionTimestamp !== undefined) return { writes: deletionWrites(facts), retry: false };
  const references = metadata.ownerReferences ?? [];
  if (references.length === 0) return nothing;
  const { solid, dangling, waiting, unknown } = classified(facts);
  if (unknown) return { writes: [], retry: true };
  const lost = [...dangling, ...waiting];
  if (solid.length > 0) {
    if (lost.length === 0) return nothing;
    return { writes: [owners(resource, object, solid)], retry: false };
  }
  if (waiting.length > 0 && dependents.length > 0) {
    // Otherwise the dependants' owner would wait for this object, and this one for them.
    const unblocked = dependents.filter(isWaiting).map((dependent) => unblock(dependent, metadata.uid));
    const foreground = remove(resource, object, { propagationPolicy: 'Foreground', unchanged: true });
    return { writes: [...unblocked.filter((write) => write !== undefined), foreground], retry: false };
  }
  const propagationPolicy = policyOf(metadata.finalizers ?? []);
  return { writes: [remove(resource, object, { propagationPolicy, unchanged: true })], retry: false };
}

/** What an object that is being deleted waits for. */
function deletionWrites({ resource, object, dependents }: GarbageFacts): readonly Write[] {
  const finalizers = object.metadata.finalizers ?? [];
  const { uid } = object.metadata;
  if (finalizers.includes(orphanFinalizer)) {
    const orphaned = dependents.map((dependent) =>
      owners(dependent.resource, dependent.object, referencesBut(dependent.object, uid)),
    );
    return [...orphaned, withoutFinalizer(resource, object, orphanFinalizer)];
  }
  if (!finalizers.includes(foregroundFinalizer)) return [];
  const blocked = dependents.some(({ object: dependent }) =>
    dependent.metadata.ownerReferences?.some(
      (reference) => reference.uid === uid && reference.blockOwnerDeletion === true,
    ),
  );
  return blocked ? [] : [withoutFinalizer(resource, object, foregroundFinalizer)];
}

function classified({ object, ownerOf }: GarbageFacts) {
  const solid: OwnerReference[] = [];
  const dangling: OwnerReference[] = [];
  const waiting: OwnerReference[] = [];
  let unknown = false;
  for (const reference of object.metadata.ownerReferences ?? []) {
    const owner = ownerOf(reference);
    if (owner === 'unknown') unknown = true;
    else if (owner === 'gone') dangling.push(reference);
    else if (isDeletingDependents(owner.found)) waiting.push(reference);
    else solid.push(reference);
  }
  return { solid, dangling, waiting, unknown };
}

/** Being deleted in the foreground. */
export function isDeletingDependents({ metadata }: KubernetesObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes(foregroundFinalizer) ?? false)
  );
}

function isWaiting({ object }: Dependent): boolean {
  return isDeletingDependents(object);
}

function unblock({ resource, object }: Dependent, uid: string | undefined): Write | undefined {
  const references = object.metadata.ownerReferences ?? [];
  if (!references.some((one) => one.uid === uid && one.blockOwnerDeletion === true)) return undefined;
  return owners(
    resource,
    object,
    references.map((one) => (one.uid === uid ? { ...one, blockOwnerDeletion: false } : one)),
  );
}

function policyOf(finalizers: readonly string[]): 'Orphan' | 'Foreground' | 'Background' {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

function referencesBut({ metadata }: KubernetesObject, uid: string | undefined): readonly OwnerReference[] {
  return (metadata.ownerReferences ?? []).filter((reference) => reference.uid !== uid);
}

function withoutFinalizer(resource: Resource, object: KubernetesObject, finalizer: string): Write {
  const { finalizers = [], resourceVersion } = object.metadata;
  const rest = finalizers.filter((one) => one !== finalizer);
  return patch(resource, object, {
    metadata: { finalizers: rest.length === 0 ? null : rest, resourceVersion },
  });
}
