/**
 * Object body: an object as create and update send it, unless what was read of it is not what would be written.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import type { Asked } from './answer.ts';
import { TransportError } from './api-error.ts';
import { isPartial } from './partial-object.ts';
import { unsafeInteger } from './unsafe-integers.ts';

/**
 * @param replaced what of the object takes the place of what is stored; undefined for a creation.
 * @throws {TransportError} not sent, for an object that is metadata alone, and for an integer in `replaced` that may
 *   have been rounded when it was read.
 */
export function objectBody<T extends KubernetesObject>(
  { method, path }: Asked,
  resource: Resource<T>,
  object: T,
  replaced: unknown,
): string {
  if (isPartial(object)) {
    const why = 'of the object only the metadata was read, and the rest would be lost';
    throw new TransportError(`${method} ${path}: ${why}`, false);
  }
  const body = JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
  const unsafe = unsafeInteger(replaced, body);
  if (unsafe === undefined) return body;
  const why = `${unsafe} is an integer beyond 2^53, which was rounded when it was read; patch the other fields instead`;
  throw new TransportError(`${method} ${path}: ${why}`, false);
}
