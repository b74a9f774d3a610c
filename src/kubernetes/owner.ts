/**
 * The controller ownerReference: which object an other one belongs to. It is the uid that decides, never the
 * name, for a re-created owner has the name of the old one.
 */
import {
  apiVersionOf,
  controllerOf,
  type KubernetesObject,
  type OwnerReference,
  type Resource,
} from './objects.ts';

/**
 * The ownerReference that makes `object` the controller of another one. `blockOwnerDeletion` stays unset: it
 * would need a right on the owner's finalizers, and nothing here has to wait for the dependant's end.
 *
 * @throws {TypeError} for an object without a uid, that is one which was never stored.
 */
export function controllerRef(resource: Resource, object: KubernetesObject): OwnerReference {
  const { name, uid } = object.metadata;
  if (uid === undefined) {
    throw new TypeError(`${resource.kind} ${name} has no uid and cannot own anything yet`);
  }
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, controller: true };
}

/** Whether the controller of `object` is the object with this uid. */
export function isControlledBy(object: KubernetesObject, uid: string): boolean {
  return controllerOf(object)?.uid === uid;
}
