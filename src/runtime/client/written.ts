/**
 * Written: what a successful write has left behind, for those who must not read older than that.
 */
import type { KubernetesObject, Resource } from '../../api/kubernetes.ts';
import type { ObjectKey, Status } from './client.ts';
import { typed } from './typed.ts';

/** The object as it is stored now, or that it is gone. The namespace is empty for cluster-scoped objects. */
export type Written =
  | KubernetesObject
  | { readonly namespace: string; readonly name: string; readonly deleted: true; readonly uid?: string };

/** Called after each successful write, before the caller of the write is told. Must not throw. */
export type WriteListener = (resource: Resource, written: Written) => void;

/**
 * Reads the answer to a DELETE: an object means that it is still there, on its way out (finalizers, grace
 * period), a Status that it is gone.
 *
 * @param uid the precondition of the delete, if it had one.
 */
export function writtenByDelete(
  resource: Resource,
  key: ObjectKey,
  answer: KubernetesObject | Status,
  uid: string | undefined,
): Written {
  if (isObject(answer)) return typed(resource, answer);
  const gone = { namespace: key.namespace ?? '', name: key.name, deleted: true } as const;
  const goneUid = answer.details?.uid ?? uid;
  return goneUid === undefined ? gone : { ...gone, uid: goneUid };
}

function isObject(answer: KubernetesObject | Status): answer is KubernetesObject {
  return answer.kind !== 'Status' && 'metadata' in answer;
}
