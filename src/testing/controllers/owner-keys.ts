/** Owner keys: which controllers a change of an object of theirs concerns. */
import {
  apiVersionOf,
  controllerOf,
  type KubernetesObject,
  type Resource,
} from '../../kubernetes/objects.ts';
import type { ClusterChange } from '../cluster-ports.ts';
import { keyOf } from './controller.ts';

/**
 * The controllers of this resource that own the object now or before; of an orphan those that could adopt it.
 */
export function ownerKeys(
  { object, previous, type }: ClusterChange,
  resource: Resource,
  adopters: (orphan: KubernetesObject) => readonly KubernetesObject[],
): Iterable<string> {
  const keys = new Set<string>();
  for (const state of [object, previous]) {
    const owner = state && controllerOf(state);
    if (owner?.kind === resource.kind && owner.apiVersion === apiVersionOf(resource)) {
      keys.add(`${object.metadata.namespace ?? ''}/${owner.name}`);
    }
  }
  if (type !== 'DELETED' && controllerOf(object) === undefined) {
    for (const adopter of adopters(object)) keys.add(keyOf(adopter));
  }
  return keys;
}
