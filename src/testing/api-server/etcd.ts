/**
 * Etcd: the objects of all resources under one growing revision, and the history of their changes. Several
 * API servers can share one. Objects are immutable values: nothing here copies them.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { collectionOf, type ServedResource } from './served-resource.ts';

export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: ServedResource;
  /** As stored, or of a deletion the last state under the revision of the deletion. */
  readonly object: KubernetesObject;
  readonly previous: KubernetesObject | undefined;
}

/** Objects by `namespace/name`, and those keys in the order in which etcd has them. */
interface Collection {
  readonly objects: Map<string, KubernetesObject>;
  readonly keys: string[];
}

/** How many changes are kept at least, unless they are compacted. */
const historyLength = 20_000;

export function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** The store behind all instances of the simulated API server: objects by revision, with a history to watch from. */
export class Etcd {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<(change: Change) => void>();
  #history: Change[] = [];
  #revision = 100;
  #compacted = 0;
  /** The state before this revision cannot be rebuilt. */
  #forgotten = 0;

  get revision(): number {
    return this.#revision;
  }

  /** Nothing can be listed or watched from before this revision. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Forgets what was before a revision, as the API server has etcd do every five minutes. Default: all of it. */
  compact(revision = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
  }

  /** The revision grows without a change here, as it does when others write. */
  skip(revisions = 1): void {
    this.#revision += revisions;
  }

  get(resource: Resource, namespace: string, name: string): KubernetesObject | undefined {
    return this.#collections.get(collectionOf(resource))?.objects.get(`${namespace}/${name}`);
  }

  /** In the order of namespace and name. */
  list(resource: Resource, namespace = ''): KubernetesObject[] {
    const collection = this.#collections.get(collectionOf(resource));
    if (collection === undefined) return [];
    const { objects, keys } = collection;
    const from = namespace === '' ? 0 : indexOf(keys, `${namespace}/`);
    const to = namespace === '' ? keys.length : indexOf(keys, `${namespace}0`);
    const result: KubernetesObject[] = [];
    for (let i = from; i < to; i++) result.push(objects.get(keys[i] as string) as KubernetesObject);
    return result;
  }

  /**
   * As {@link list}, at an earlier revision.
   *
   * @throws RangeError for one so old that it has been forgotten.
   */
  listAt(resource: Resource, namespace: string, revision: number): KubernetesObject[] {
    if (revision >= this.#revision) return this.list(resource, namespace);
    const undone = this.#undoneSince(resource, revision);
    if (undone.size === 0) return this.list(resource, namespace);
    const objects = new Map(this.list(resource, namespace).map((object) => [keyOf(object), object]));
    const prefix = namespace === '' ? '' : `${namespace}/`;
    for (const [key, object] of undone) {
      if (!key.startsWith(prefix)) continue;
      if (object === undefined) objects.delete(key);
      else objects.set(key, object);
    }
    return [...objects.keys()].sort().map((key) => objects.get(key) as KubernetesObject);
  }

  /** As {@link get}, at an earlier revision. @throws RangeError as {@link listAt}. */
  getAt(resource: Resource, namespace: string, name: string, revision: number): KubernetesObject | undefined {
    if (revision >= this.#revision) return this.get(resource, namespace, name);
    const key = `${namespace}/${name}`;
    const undone = this.#undoneSince(resource, revision);
    return undone.has(key) ? undone.get(key) : this.get(resource, namespace, name);
  }

  /** Stores an object under the next revision, and returns it as stored. */
  put(resource: ServedResource, object: KubernetesObject): KubernetesObject {
    const collection = this.#collectionOf(resource);
    const key = keyOf(object);
    const previous = collection.objects.get(key);
    this.#revision++;
    const stored = stamped(resource, object, this.#revision);
    if (previous === undefined) collection.keys.splice(indexOf(collection.keys, key), 0, key);
    collection.objects.set(key, stored);
    this.#publish({
      revision: this.#revision,
      type: previous ? 'MODIFIED' : 'ADDED',
      resource,
      object: stored,
      previous,
    });
    return stored;
  }

  /** Removes an object; its last state carries the revision of the removal. */
  remove(resource: ServedResource, object: KubernetesObject): KubernetesObject {
    this.#revision++;
    return this.#remove(resource, object);
  }

  /** Removes several objects at one revision, as a transaction or an expiring lease does. */
  removeAll(
    removed: readonly { readonly resource: ServedResource; readonly object: KubernetesObject }[],
  ): void {
    if (removed.length === 0) return;
    this.#revision++;
    for (const { resource, object } of removed) this.#remove(resource, object);
  }

  /** What has changed since a revision. */
  since(revision: number): readonly Change[] {
    return this.#history.slice(this.#firstSince(revision));
  }

  /** Called with each change, in the turn of the change. Returns a remover. */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #remove(resource: ServedResource, object: KubernetesObject): KubernetesObject {
    const { objects, keys } = this.#collectionOf(resource);
    const key = keyOf(object);
    const previous = objects.get(key);
    const last = stamped(resource, previous ?? object, this.#revision);
    if (objects.delete(key)) keys.splice(indexOf(keys, key), 1);
    this.#publish({ revision: this.#revision, type: 'DELETED', resource, object: last, previous });
    return last;
  }

  #collectionOf(resource: Resource): Collection {
    const name = collectionOf(resource);
    let collection = this.#collections.get(name);
    if (collection === undefined) {
      collection = { objects: new Map(), keys: [] };
      this.#collections.set(name, collection);
    }
    return collection;
  }

  /** By key, what there was at a revision of everything that has changed since. */
  #undoneSince(resource: Resource, revision: number): Map<string, KubernetesObject | undefined> {
    if (revision < this.#forgotten) throw new RangeError(`revision ${revision} is forgotten`);
    const collection = collectionOf(resource);
    const undone = new Map<string, KubernetesObject | undefined>();
    const first = this.#firstSince(revision);
    for (let i = this.#history.length - 1; i >= first; i--) {
      const change = this.#history[i] as Change;
      if (collectionOf(change.resource) === collection) undone.set(keyOf(change.object), change.previous);
    }
    return undone;
  }

  #firstSince(revision: number): number {
    let low = 0;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#history[middle] as Change).revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #publish(change: Change): void {
    if (this.#history.length >= 2 * historyLength) this.#trim();
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }

  #trim(): void {
    this.#history = this.#history.slice(historyLength);
    this.#forgotten = (this.#history[0] as Change).revision;
    this.compact(this.#forgotten);
  }
}

/** With its type first, as its text begins, and under its revision. */
function stamped(resource: Resource, object: KubernetesObject, revision: number): KubernetesObject {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  const { kind = resource.kind, apiVersion = apiVersionOf(resource) } = object;
  return { kind, apiVersion, ...object, metadata };
}

/** Where a key is, or would be. */
function indexOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
