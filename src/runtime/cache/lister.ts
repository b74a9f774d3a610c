/**
 * Lister: the read side of an informer's store. Objects are frozen and shared; none is ever mutated, so a
 * caller may keep them. A read after an own write is at least as new as that write.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';

/** Selects objects of a {@link Lister}; both must hold. */
export interface ListFilter<T> {
  /** As text or as a metav1.LabelSelector, where an empty one selects everything. */
  readonly labelSelector?: string | LabelSelector;
  /** Whether an object is wanted, by whatever of its fields. */
  readonly matches?: (object: T) => boolean;
}

/** Reads an informer's copy. It answers at once, from memory; before the first list it is empty. */
export interface Lister<T extends KubernetesObject> {
  /** Empty namespace for cluster-scoped objects. */
  get(namespace: string, name: string): T | undefined;
  /**
   * All objects, or those of one namespace, in no particular order. A filter looks at each of them; an index does not.
   *
   * @throws {SyntaxError} for a label selector that is none.
   */
  list(namespace?: string, filter?: ListFilter<T>): T[];
  /** The objects for which the named index function gave `value`. Throws on an unknown index name. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
}

/** Values under which an object is found by {@link Lister.byIndex}; pure. */
export type IndexFunction<T> = (object: T) => readonly string[];
