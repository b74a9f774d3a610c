/**
 * Partial object: what is read with `metadataOnly`. It looks like an object whose spec is empty, and an update with it
 * would empty the spec; so it has a type of its own, which update does not take, and a mark at run time.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';

/** The mark. Spreading keeps it, JSON does not show it. */
export const partial: unique symbol = Symbol('metadataOnly');

/** An object of which only apiVersion, kind and metadata were read (meta.k8s.io/v1 PartialObjectMetadata). */
export interface PartialObjectMetadata extends KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [partial]: true;
}

/** An object that was read as a whole, or made. */
export type Whole<T extends KubernetesObject> = T & { readonly [partial]?: never };

export function isPartial(object: object): boolean {
  return partial in object;
}
