/**
 * Typed: an object that says what it is. The API server leaves apiVersion and kind out of the items of a
 * list, and writes its own into metadata-only objects.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { partial } from './partial-object.ts';

/** The object with the resource's apiVersion and kind, marked when it is metadata alone. */
export function typed<T extends KubernetesObject>(resource: Resource<T>, object: T): T {
  const apiVersion = apiVersionOf(resource);
  if (object.apiVersion === apiVersion && object.kind === resource.kind) return object;
  const mark = object.kind === 'PartialObjectMetadata' ? { [partial]: true } : {};
  return { ...object, ...mark, apiVersion, kind: resource.kind };
}
