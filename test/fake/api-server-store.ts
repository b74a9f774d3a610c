/**
 * Store of the fake API server: the objects of all resources under one growing revision, as in etcd, and
 * the history of their changes as far back as it has not been compacted.
 */
import type { KubernetesObject, Resource } from '../../src/api/kubernetes.ts';

/** A resource of the fake server, and in which ways it behaves. */
export interface ServedResource extends Resource {
  /** Default true: there is a status subresource, and other writes leave the status alone. */
  readonly status?: boolean;
  /** Default true: metadata.generation counts the changes of everything but metadata and status. */
  readonly generation?: boolean;
  /** Default true, as for custom resources: a PUT needs metadata.resourceVersion. */
  readonly conditionalUpdate?: boolean;
  /** Default false: a DELETE is answered with the object, as for Pods, and not with a Status. */
  readonly returnsDeleted?: boolean;
  /** Default false: a delete with a grace period only marks the object when it runs on a node. */
  readonly graceful?: boolean;
}

export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: ServedResource;
  readonly object: KubernetesObject;
  readonly previous: KubernetesObject | undefined;
}

export function collectionOf(resource: Pick<Resource, 'group' | 'plural'>): string {
  return `${resource.group}/${resource.plural}`;
}

export class FakeStore {
  readonly #collections = new Map<string, Map<string, KubernetesObject>>();
  #history: Change[] = [];
  #revision = 100;
  #compacted = 0;
  readonly #listeners = new Set<(change: Change) => void>();

  get revision(): number {
    return this.#revision;
  }

  /** Nothing can be watched from before this revision. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Forgets the history, as etcd does every five minutes. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
  }

  /** The revision grows without a change here, as it does when others write. */
  skip(revisions = 1): void {
    this.#revision += revisions;
  }

  get(resource: Resource, namespace: string, name: string): KubernetesObject | undefined {
    return this.#collections.get(collectionOf(resource))?.get(`${namespace}/${name}`);
  }

  /** In the order of namespace and name, as etcd sorts them. */
  list(resource: Resource): KubernetesObject[] {
    const collection = this.#collections.get(collectionOf(resource)) ?? new Map<string, KubernetesObject>();
    return [...collection.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Stores an object under the next revision, and returns it as stored. */
  put(resource: ServedResource, object: KubernetesObject): KubernetesObject {
    const { namespace = '', name } = object.metadata;
    const previous = this.get(resource, namespace, name);
    const stored = this.#stamped(object);
    let collection = this.#collections.get(collectionOf(resource));
    if (collection === undefined) {
      collection = new Map();
      this.#collections.set(collectionOf(resource), collection);
    }
    collection.set(`${namespace}/${name}`, stored);
    this.#publish({ type: previous ? 'MODIFIED' : 'ADDED', resource, object: stored, previous });
    return stored;
  }

  /** Removes an object; its last state carries the revision of the removal. */
  remove(resource: ServedResource, object: KubernetesObject): KubernetesObject {
    const { namespace = '', name } = object.metadata;
    this.#collections.get(collectionOf(resource))?.delete(`${namespace}/${name}`);
    const last = this.#stamped(object);
    this.#publish({ type: 'DELETED', resource, object: last, previous: object });
    return last;
  }

  /** What has changed since a revision. */
  since(revision: number): readonly Change[] {
    return this.#history.filter((change) => change.revision > revision);
  }

  /** Called with each change, in the turn of the change. Returns a remover. */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stamped(object: KubernetesObject): KubernetesObject {
    this.#revision++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #publish(change: Omit<Change, 'revision'>): void {
    const published = { ...change, revision: this.#revision };
    this.#history.push(published);
    for (const listener of this.#listeners) listener(published);
  }
}
