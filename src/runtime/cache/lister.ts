/**
 * Lister: the read side of an informer's store. Objects are frozen and shared; none is ever mutated, so a
 * caller may keep them. A read after an own write is at least as new as that write.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';

/** Answers at once, from memory; before the first list it is empty. */
export interface Lister<T extends KubernetesObject> {
  /** Empty namespace for cluster-scoped objects. */
  get(namespace: string, name: string): T | undefined;
  /** All objects, or those of one namespace, in no particular order. */
  list(namespace?: string): T[];
  /** The objects for which the named index function gave `value`. Throws on an unknown index name. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
}

/** Values under which an object is found by {@link Lister.byIndex}; pure. */
export type IndexFunction<T> = (object: T) => readonly string[];
