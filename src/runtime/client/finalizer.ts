/**
 * Finalizer: a name in an object's metadata without which the API server does not remove the object. These functions
 * write nothing: the patch is sent by its caller, where the crash windows around it can be seen.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { JsonPatch, JsonPatchOperation } from './patch.ts';

/** Whether the object has this finalizer. */
export function hasFinalizer({ metadata }: KubernetesObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * JSON Patch that makes the finalizer present or absent, and tests that the object is still the version it was
 * decided from; undefined when it is so already, and for a new finalizer of an object that is being deleted, which
 * the API server refuses.
 *
 * @throws {TypeError} for an object without a resourceVersion, that is one which was never stored.
 */
export function finalizerPatch(
  object: KubernetesObject,
  finalizer: string,
  wanted: 'present' | 'absent',
): JsonPatch | undefined {
  const { finalizers, resourceVersion, deletionTimestamp, name } = object.metadata;
  if (hasFinalizer(object, finalizer) === (wanted === 'present')) return undefined;
  if (wanted === 'present' && deletionTimestamp !== undefined) return undefined;
  if (resourceVersion === undefined) {
    throw new TypeError(
      `${object.kind ?? 'object'} ${name} has no resourceVersion, so nothing can be tested`,
    );
  }
  const test: JsonPatchOperation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion };
  return { type: 'json', operations: [test, change(finalizers ?? [], finalizer, wanted)] };
}

function change(
  finalizers: readonly string[],
  finalizer: string,
  wanted: 'present' | 'absent',
): JsonPatchOperation {
  const path = '/metadata/finalizers';
  if (wanted === 'absent') return { op: 'remove', path: `${path}/${finalizers.indexOf(finalizer)}` };
  // Of a list that is missing there is no end to add to.
  if (finalizers.length === 0) return { op: 'add', path, value: [finalizer] };
  return { op: 'add', path: `${path}/-`, value: finalizer };
}
