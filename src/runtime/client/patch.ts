/**
 * Patch: what a write of a part of an object may hold, as types and as pure builders. A builder returns plain data, so
 * that a decision can carry it and a test can compare it.
 */
import type { KubernetesObject, ObjectMeta } from '../../kubernetes/objects.ts';

/** One operation of RFC 6902. `path` and `from` are JSON Pointers. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test' | 'move' | 'copy';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** RFC 6902. A failing `test` refuses the whole patch with 422. */
export interface JsonPatch {
  readonly type: 'json';
  readonly operations: readonly JsonPatchOperation[];
}

/** RFC 7386: null removes a field, a list replaces the whole list. */
export interface MergePatch<B extends object = object> {
  readonly type: 'merge';
  readonly body: B;
}

/** Server-side apply. apiVersion and kind are filled in when it is sent. */
export interface ApplyPatch<B extends object = object> {
  readonly type: 'apply';
  readonly body: B;
  readonly fieldManager: string;
  readonly force?: boolean;
}

/** The three patch types in use, of any kind. Strategic merge is left out: custom resources do not have it. */
export type Patch = MergePatch | JsonPatch | ApplyPatch;

/** A type of which every field may be left out, at every depth. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/** What a merge patch may say of a value: a part of it, or null to remove a field; lists are whole. */
export type Merged<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Merged<T[K]> | null | undefined }
    : T;

/** The body of a merge patch for a kind. For objects of an unknown kind it is any object. */
export type MergeBody<T extends KubernetesObject> = KubernetesObject extends T ? object : Merged<T>;

/** {@link Patch} for one kind: its bodies have the fields of the kind. */
export type PatchOf<T extends KubernetesObject> =
  | MergePatch<MergeBody<T>>
  | JsonPatch
  | ApplyPatch<KubernetesObject extends T ? object : DeepPartial<T>>;

/** A body for the status subresource, which ignores everything but `status` and the precondition. */
export interface StatusBody<S> {
  readonly metadata?: { readonly resourceVersion?: string | undefined };
  readonly status: S;
}

/** The status of a kind; any object where the kind has none. */
export type StatusOf<T> = T extends { readonly status?: infer S } ? NonNullable<S> : object;

/** {@link PatchOf} for the status subresource: without its `status` a body does not compile. */
export type StatusPatchOf<T extends KubernetesObject> =
  | MergePatch<StatusBody<Merged<StatusOf<T>> | null>>
  | JsonPatch
  | ApplyPatch<StatusBody<DeepPartial<StatusOf<T>>>>;

/** What is applied: the fields that the caller decides, of an object with a name. */
export type Applied<T extends KubernetesObject> = (KubernetesObject extends T
  ? { readonly [field: string]: unknown }
  : Omit<DeepPartial<T>, 'metadata'>) & {
  readonly metadata: Omit<DeepPartial<ObjectMeta>, 'name' | 'managedFields'> & { readonly name: string };
};

/** What is created: an object with a name, or with the `generateName` that the server makes one of. */
export type NewObject<T extends KubernetesObject> =
  | T
  | (Omit<T, 'metadata'> & {
      readonly metadata: Omit<ObjectMeta, 'name' | 'generateName'> & { readonly generateName: string };
    });

/**
 * Merge patch of the status that was decided from this object. It is conditional: when the object has another version
 * by then, the API server answers 409, and the decision is made again.
 */
export function statusPatch<T extends KubernetesObject>(
  object: T,
  status: Merged<StatusOf<T>>,
): MergePatch<StatusBody<Merged<StatusOf<T>>>> {
  const { resourceVersion } = object.metadata;
  return { type: 'merge', body: { metadata: { resourceVersion }, status } };
}

/** Apply patch of these fields in the name of a field manager. */
export function applyPatch<B extends object>(
  body: B,
  { fieldManager, force = false }: { readonly fieldManager: string; readonly force?: boolean },
): ApplyPatch<B> {
  return { type: 'apply', body, fieldManager, force };
}
