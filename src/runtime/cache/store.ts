/**
 * Store: frozen objects by namespace and name, with named indexes. It answers every read of a
 * {@link Lister}; what goes in, and when, is decided by the {@link Partition}s that fill it.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { labelMatcher } from '../../kubernetes/selector.ts';
import type { IndexFunction, Lister, ListFilter } from './lister.ts';

/** One named index. Most values lead to a single object, which is then held without a Set around it. */
class ObjectIndex<T extends KubernetesObject> {
  readonly valuesOf: IndexFunction<T>;
  readonly #objects = new Map<string, T | Set<T>>();

  constructor(valuesOf: IndexFunction<T>) {
    this.valuesOf = valuesOf;
  }

  get(value: string): T[] {
    const found = this.#objects.get(value);
    if (found === undefined) return [];
    return found instanceof Set ? [...found] : [found];
  }

  add(object: T): void {
    for (const value of this.valuesOf(object)) {
      const found = this.#objects.get(value);
      if (found === undefined) this.#objects.set(value, object);
      else if (found instanceof Set) found.add(object);
      else if (found !== object) this.#objects.set(value, new Set([found, object]));
    }
  }

  remove(object: T): void {
    for (const value of this.valuesOf(object)) {
      const found = this.#objects.get(value);
      if (found instanceof Set) {
        found.delete(object);
        if (found.size === 0) this.#objects.delete(value);
      } else if (found === object) {
        this.#objects.delete(value);
      }
    }
  }
}

export class Store<T extends KubernetesObject> implements Lister<T> {
  readonly #namespaces = new Map<string, Map<string, T>>();
  readonly #indexes = new Map<string, ObjectIndex<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  list(namespace?: string, filter?: ListFilter<T>): T[] {
    if (filter === undefined) return this.#all(namespace);
    const { labelSelector = '', matches = () => true } = filter;
    const isSelected = labelMatcher(labelSelector);
    const found: T[] = [];
    for (const object of this.objects(namespace)) {
      if (isSelected(object) && matches(object)) found.push(object);
    }
    return found;
  }

  /** Without a generator, at a third of its cost: periodic looks list everything. */
  #all(namespace: string | undefined): T[] {
    if (namespace !== undefined) return [...(this.#namespaces.get(namespace)?.values() ?? [])];
    const found: T[] = [];
    for (const objects of this.#namespaces.values())
      for (const object of objects.values()) found.push(object);
    return found;
  }

  byIndex(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new RangeError(`there is no index named "${index}"`);
    return found.get(value);
  }

  /** Like {@link list}, without the copy: valid until the next change. */
  *objects(namespace?: string): Generator<T, void, undefined> {
    if (namespace !== undefined) {
      yield* this.#namespaces.get(namespace)?.values() ?? [];
      return;
    }
    for (const objects of this.#namespaces.values()) yield* objects.values();
  }

  /**
   * Adds an index over the objects of now and later.
   *
   * @param valuesOf must give the same values for the same object each time, and not throw.
   * @throws {RangeError} when another function has that name already.
   */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    if (this.#indexes.has(name)) throw new RangeError(`there is already an index named "${name}"`);
    const index = new ObjectIndex(valuesOf);
    for (const object of this.objects()) index.add(object);
    this.#indexes.set(name, index);
  }

  /** Puts an object in the place of the one that has its namespace and name, if any. */
  set(object: T): void {
    const { namespace = '', name } = object.metadata;
    let objects = this.#namespaces.get(namespace);
    if (objects === undefined) {
      objects = new Map();
      this.#namespaces.set(namespace, objects);
    }
    const previous = objects.get(name);
    objects.set(name, object);
    if (previous === undefined) this.#size++;
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) index.remove(previous);
      index.add(object);
    }
  }

  delete(namespace: string, name: string): void {
    const objects = this.#namespaces.get(namespace);
    const previous = objects?.get(name);
    if (objects === undefined || previous === undefined) return;
    objects.delete(name);
    if (objects.size === 0) this.#namespaces.delete(namespace);
    this.#size--;
    for (const index of this.#indexes.values()) index.remove(previous);
  }
}
