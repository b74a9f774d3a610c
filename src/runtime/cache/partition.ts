/**
 * Partition: the part of a store that one reflector fills, which is one namespace or all of them.
 *
 * It tells apart what the watch has shown and what this process has written itself and not yet seen in
 * the watch. Readers of the store see own writes at once. Handlers see the watch alone, so that each
 * change reaches them exactly once, in its order, and with the true previous object; an own write reaches
 * them when it arrives in the watch. What this process has created and the watch never shows, because it was gone
 * when a list came, reaches them as an add and a delete: what depends on it would otherwise never be looked at again.
 *
 * All objects passed in are in their cached form (cached-object.ts).
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { OwnWrites } from './own-writes.ts';
import { compareResourceVersions } from './resource-version.ts';
import type { Store } from './store.ts';

/** The notifications of handlers. */
export type Change<T> =
  | { readonly type: 'add'; readonly object: T }
  | { readonly type: 'update'; readonly previous: T; readonly object: T }
  | { readonly type: 'delete'; readonly object: T };

export class Partition<T extends KubernetesObject> {
  readonly #store: Store<T>;
  readonly #ownWrites: OwnWrites<T>;
  readonly #namespace: string | undefined;
  #position: string | undefined;
  #resumeFrom: string | undefined;

  /** @param namespace undefined for all of them, or for a cluster-scoped resource. */
  constructor(store: Store<T>, namespace: string | undefined) {
    this.#store = store;
    this.#namespace = namespace;
    this.#ownWrites = new OwnWrites(store);
  }

  /** The newest resource version that has been shown; undefined before the first list. */
  get position(): string | undefined {
    return this.#position;
  }

  /**
   * Where a watch goes on: the newest version of which nothing can be missing. One revision may change many
   * objects (an expiring lease deletes all that hang on it), and a connection may break between two of them.
   */
  get resumeFrom(): string | undefined {
    return this.#resumeFrom;
  }

  /** How many own writes the watch has not shown yet. */
  get pendingOwnWrites(): number {
    return this.#ownWrites.size;
  }

  /** The objects as the watch has shown them, which is what handlers know. */
  *watched(): Generator<T, void, undefined> {
    for (const object of this.#store.objects(this.#namespace)) {
      if (!this.#ownWrites.has(object)) yield object;
    }
    yield* this.#ownWrites.watched();
  }

  /**
   * Makes a whole list the state. The store has all of it before the first change is returned; an object
   * that was deleted and made again in between is a delete and an add.
   *
   * @param resourceVersion of the list; undefined when there is none because the resource is gone.
   */
  replace(objects: Iterable<T>, resourceVersion: string | undefined): Change<T>[] {
    const next = new Map<string, Map<string, T>>();
    for (const object of objects) {
      const { namespace = '', name } = object.metadata;
      const names = next.get(namespace) ?? new Map<string, T>();
      next.set(namespace, names.set(name, object));
    }
    const gone = [...this.watched()].filter(({ metadata }) => {
      return next.get(metadata.namespace ?? '')?.has(metadata.name) !== true;
    });

    const changes: Change<T>[] = [];
    const isReset = resourceVersion === undefined || this.#isBehind(resourceVersion);
    if (isReset) changes.push(...this.#ownWrites.clear().flatMap(cameAndWent));
    if (resourceVersion !== undefined) this.#position = this.#resumeFrom = resourceVersion;
    for (const object of gone) this.#remove(object, changes);
    for (const names of next.values()) {
      for (const object of names.values()) this.#put(object, changes);
    }
    if (resourceVersion !== undefined) {
      changes.push(...this.#ownWrites.listed(resourceVersion).flatMap(cameAndWent));
    }
    return changes;
  }

  /** One event of the watch. A replay of what was shown before changes nothing. */
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): Change<T>[] {
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined) {
      const order = this.#compareToPosition(resourceVersion);
      if (order !== undefined && (order < 0 || (order === 0 && this.#isApplied(type, object)))) return [];
      if (order === undefined) this.#resumeFrom = resourceVersion;
      else if (order > 0) this.#resumeFrom = this.#position;
      this.#position = resourceVersion;
    }
    const changes: Change<T>[] = [];
    if (type === 'DELETED') this.#remove(object, changes);
    else this.#put(object, changes);
    return changes;
  }

  /** A bookmark: everything up to `resourceVersion` has been shown. */
  advance(resourceVersion: string): Change<T>[] {
    const order = this.#compareToPosition(resourceVersion);
    if (order !== undefined && order <= 0) return [];
    this.#position = this.#resumeFrom = resourceVersion;
    return this.#ownWrites.passed(resourceVersion).flatMap(cameAndWent);
  }

  /** An own write: visible to readers from now on, until the watch shows it or something newer. */
  observeWrite(object: T): void {
    const { resourceVersion } = object.metadata;
    if (resourceVersion === undefined || !this.#isAhead(resourceVersion)) return;
    this.#ownWrites.write(object, resourceVersion);
  }

  /** An own write that took the object out of what is watched, such as out of the label selector. */
  observeExit(object: T): void {
    const { resourceVersion } = object.metadata;
    if (resourceVersion === undefined || !this.#isAhead(resourceVersion)) return;
    this.#ownWrites.hide(object.metadata, resourceVersion);
  }

  /** An own write that ended the object: hidden from readers from now on. */
  observeEnd(key: { readonly namespace?: string; readonly name: string; readonly uid?: string }): void {
    this.#ownWrites.hide(key, undefined);
  }

  /** Undefined before the first version, and when the versions cannot be compared. */
  #compareToPosition(resourceVersion: string): number | undefined {
    if (this.#position === undefined) return undefined;
    return compareResourceVersions(resourceVersion, this.#position);
  }

  /** Whether the copy is as the event leaves it: for an event of the version that was shown last. */
  #isApplied(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): boolean {
    const known = this.#ownWrites.lastWatched(object.metadata);
    const isKnown = known !== undefined && known.metadata.uid === object.metadata.uid;
    return type === 'DELETED' ? !isKnown : isKnown && isSameVersion(known, object);
  }

  /** True for a version that the watch has yet to show; false also when the versions cannot be compared. */
  #isAhead(resourceVersion: string): boolean {
    const order = compareResourceVersions(resourceVersion, this.#position ?? '0');
    return order !== undefined && order > 0;
  }

  /** True for a list from before what was shown: the API server's storage was restored from a backup. */
  #isBehind(resourceVersion: string): boolean {
    if (this.#position === undefined) return false;
    const order = compareResourceVersions(resourceVersion, this.#position);
    return order === undefined || order < 0;
  }

  #put(object: T, changes: Change<T>[]): void {
    const previous = this.#ownWrites.lastWatched(object.metadata);
    if (previous === undefined) {
      changes.push({ type: 'add', object });
    } else if (previous.metadata.uid !== object.metadata.uid) {
      changes.push({ type: 'delete', object: previous }, { type: 'add', object });
    } else if (isSameVersion(previous, object)) {
      return;
    } else {
      changes.push({ type: 'update', previous, object });
    }
    this.#ownWrites.shown(object);
  }

  #remove(object: T, changes: Change<T>[]): void {
    const previous = this.#ownWrites.lastWatched(object.metadata);
    if (previous !== undefined) changes.push({ type: 'delete', object });
    this.#ownWrites.removed(object);
  }
}

function cameAndWent<T>(object: T): Change<T>[] {
  return [
    { type: 'add', object },
    { type: 'delete', object },
  ];
}

function isSameVersion(one: KubernetesObject, other: KubernetesObject): boolean {
  const version = one.metadata.resourceVersion;
  return version !== undefined && version === other.metadata.resourceVersion;
}
