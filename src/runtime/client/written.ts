/**
 * Written: what a successful write has left behind, for those who must not read older than that.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { ObjectKey, Status } from './client.ts';
import { typed } from './typed.ts';

/** The object as it is stored now, or that it is gone. The namespace is empty for cluster-scoped objects. */
export type Written =
  | KubernetesObject
  | { readonly namespace: string; readonly name: string; readonly deleted: true; readonly uid?: string };

/**
 * Called after each successful write, before the caller of the write gets its result. Must not throw.
 *
 * @param isOwn whether this write has certainly made the version. A write that changes nothing is answered with the
 *   version that is there, which may be another writer's; only a precondition tells the two apart.
 */
export type WriteListener = (resource: Resource, written: Written, isOwn: boolean) => void;

/**
 * Reads the answer to a DELETE. A Status says that the object is gone, and so does an object that nothing is
 * deleting any more: for a Service, a ServiceAccount or a StorageClass the API server answers with what was there
 * last. An object with a deletionTimestamp is still there.
 *
 * @param uid the precondition of the delete, if it had one.
 * @returns without a uid when the answer does not tell which object is gone, or contradicts itself.
 */
export function writtenByDelete(
  resource: Resource,
  key: ObjectKey,
  answer: KubernetesObject | Status,
  uid: string | undefined,
): Written {
  const gone = { namespace: key.namespace ?? '', name: key.name, deleted: true } as const;
  if (isObject(answer)) {
    if (answer.metadata.deletionTimestamp !== undefined) return typed(resource, answer);
    if (answer.metadata.uid === undefined || hasFinalizers(answer)) return gone;
    return { ...gone, uid: answer.metadata.uid };
  }
  const goneUid = isStatus(answer) ? (answer.details?.uid ?? uid) : undefined;
  return goneUid === undefined ? gone : { ...gone, uid: goneUid };
}

/**
 * True for the answer to a write that ended the object, such as the one that takes its last finalizer away. A
 * Namespace has its finalizers in the spec.
 */
export function isEnded(object: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && !hasFinalizers(object);
}

function hasFinalizers({ metadata, ...rest }: KubernetesObject): boolean {
  return (
    isFilled(metadata.finalizers) || ('spec' in rest && isJson(rest.spec) && isFilled(rest.spec.finalizers))
  );
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isObject(answer: unknown): answer is KubernetesObject {
  return isJson(answer) && answer.kind !== 'Status' && isJson(answer.metadata);
}

function isStatus(answer: unknown): answer is Status {
  return isJson(answer) && answer.kind === 'Status';
}

function isJson(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
