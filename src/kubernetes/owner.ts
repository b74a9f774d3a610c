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

/** The object has another controller already, and would get a second one. */
export class AlreadyOwnedError extends Error {
  override readonly name = 'AlreadyOwnedError';
}

/**
 * A copy of the object that `owner` controls: with its {@link controllerRef}, in the place of an older one of the same
 * owner; the same object when that is there already.
 *
 * @throws {AlreadyOwnedError} when another object controls it: the two controllers would fight over it.
 * @throws {TypeError} for an owner that was never stored, or that may not own it: one of another namespace, or a
 *   namespaced one of a cluster-scoped object. The garbage collector would delete the object.
 */
export function setControllerReference<T extends KubernetesObject>(
  object: T,
  resource: Resource,
  owner: KubernetesObject,
): T {
  const reference = controllerRef(resource, owner);
  const { ownerReferences = [], namespace, name } = object.metadata;
  if (resource.namespaced && owner.metadata.namespace !== namespace) {
    const where =
      namespace === undefined ? 'an object without a namespace' : `objects of namespace ${namespace}`;
    throw new TypeError(`${resource.kind} ${owner.metadata.namespace}/${reference.name} cannot own ${where}`);
  }
  const controller = controllerOf(object);
  if (controller !== undefined && controller.uid !== reference.uid) {
    const other = `${controller.kind} ${controller.name}`;
    throw new AlreadyOwnedError(
      `${name} is controlled by ${other}, and cannot be by ${resource.kind} ${reference.name}`,
    );
  }
  if (controller?.apiVersion === reference.apiVersion && controller.name === reference.name) return object;
  const others = ownerReferences.filter(({ uid }) => uid !== reference.uid);
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } };
}

/** Whether the controller of `object` is the object with this uid. */
export function isControlledBy(object: KubernetesObject, uid: string): boolean {
  return controllerOf(object)?.uid === uid;
}
