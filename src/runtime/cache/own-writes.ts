/**
 * Own writes: what this process has written and the watch has not shown yet, laid over the store.
 *
 * The store holds what readers see. For each object with a pending own write this remembers beside it
 * what the watch has shown last, so that the write can be taken off again. Entries leave when the watch
 * or a list has caught up; none outlives the second list after it.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { isAtLeast } from './resource-version.ts';
import type { Store } from './store.ts';

interface OwnWrite<T> {
  readonly uid: string | undefined;
  /** Version the write led to; undefined for one that ended the object, whose answer does not tell. */
  readonly resourceVersion: string | undefined;
  /** The version that readers saw when the write was made, which the write is certainly newer than. */
  readonly after: string | undefined;
  /** The object as the watch has shown it last. */
  watched: T | undefined;
  /** The watch has never shown an object of this uid. */
  isUnseen: boolean;
  /** Lists that came since. The first may have begun before the write, the second cannot. */
  lists: number;
}

interface Key {
  readonly namespace?: string;
  readonly name: string;
}

function keyOf({ namespace = '', name }: Key): string {
  return `${namespace}/${name}`;
}

export class OwnWrites<T extends KubernetesObject> {
  readonly #store: Store<T>;
  readonly #pending = new Map<string, OwnWrite<T>>();

  constructor(store: Store<T>) {
    this.#store = store;
  }

  get size(): number {
    return this.#pending.size;
  }

  has(object: T): boolean {
    return this.#pending.size > 0 && this.#pending.has(keyOf(object.metadata));
  }

  /** What the watch has shown of the objects with a pending write. */
  *watched(): Generator<T, void, undefined> {
    for (const { watched } of this.#pending.values()) if (watched !== undefined) yield watched;
  }

  /** What the watch has shown last under a name. */
  lastWatched(key: Key): T | undefined {
    const pending = this.#of(key);
    return pending === undefined ? this.#store.get(key.namespace ?? '', key.name) : pending.watched;
  }

  /** An answer of the API server to an own write. */
  write(object: T, resourceVersion: string): void {
    const { metadata } = object;
    const pending = this.#of(metadata);
    // Answers may overtake each other: an older one must not undo a newer, nor bring back what was deleted.
    if (pending !== undefined && isOvertaken(pending, metadata.uid, resourceVersion)) return;
    this.#remember(metadata, resourceVersion);
    this.#store.set(object);
  }

  /**
   * An own write after which the object is not there any more, or not in the selection.
   *
   * @param resourceVersion of the write; undefined when it has ended the object.
   */
  hide(key: Key & { readonly uid?: string }, resourceVersion: string | undefined): void {
    const visible = this.#store.get(key.namespace ?? '', key.name);
    if (visible === undefined || visible.metadata.uid !== key.uid) return;
    this.#remember(visible.metadata, resourceVersion);
    this.#store.delete(key.namespace ?? '', key.name);
  }

  /** The watch or a list has shown `object`. */
  shown(object: T): void {
    const pending = this.#of(object.metadata);
    if (pending !== undefined && !hasCaughtUp(pending, object)) {
      pending.watched = object;
      pending.isUnseen &&= object.metadata.uid !== pending.uid;
      return;
    }
    if (pending !== undefined) this.#pending.delete(keyOf(object.metadata));
    this.#store.set(object);
  }

  /** The watch or a list has shown that nothing has the name of `object` any more. */
  removed({ metadata }: T): void {
    const pending = this.#of(metadata);
    if (pending !== undefined && isAhead(pending, metadata)) {
      pending.watched = undefined;
      return;
    }
    if (pending !== undefined) this.#pending.delete(keyOf(metadata));
    this.#store.delete(metadata.namespace ?? '', metadata.name);
  }

  /**
   * The watch has shown everything up to `resourceVersion`.
   *
   * @returns the objects that are gone without the watch having shown them, as they were written.
   */
  passed(resourceVersion: string): T[] {
    return this.#takeOff((pending) => {
      return pending.resourceVersion !== undefined && isAtLeast(resourceVersion, pending.resourceVersion);
    });
  }

  /** A list of `resourceVersion` has been shown. Returns the same as {@link passed}. */
  listed(resourceVersion: string): T[] {
    const unseen = this.passed(resourceVersion);
    for (const pending of this.#pending.values()) pending.lists++;
    return unseen.concat(
      this.#takeOff((pending) => pending.lists > 1 || isDeleteListed(pending, resourceVersion)),
    );
  }

  /** Takes off all own writes. Returns the same as {@link passed}. */
  clear(): T[] {
    return this.#takeOff(() => true);
  }

  #remember(metadata: T['metadata'], resourceVersion: string | undefined): void {
    const { uid } = metadata;
    const before = this.#of(metadata);
    const watched = this.lastWatched(metadata);
    this.#pending.set(keyOf(metadata), {
      uid,
      resourceVersion,
      after: metadata.resourceVersion,
      watched,
      isUnseen: before !== undefined && before.uid === uid ? before.isUnseen : watched?.metadata.uid !== uid,
      lists: 0,
    });
  }

  #of(key: Key): OwnWrite<T> | undefined {
    return this.#pending.size === 0 ? undefined : this.#pending.get(keyOf(key));
  }

  #takeOff(isOver: (pending: OwnWrite<T>) => boolean): T[] {
    const unseen: T[] = [];
    for (const [key, pending] of this.#pending) {
      if (!isOver(pending)) continue;
      this.#pending.delete(key);
      const slash = key.indexOf('/');
      const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
      const visible = this.#store.get(namespace, name);
      if (pending.isUnseen && visible !== undefined) unseen.push(visible);
      if (pending.watched !== undefined) this.#store.set(pending.watched);
      else this.#store.delete(namespace, name);
    }
    return unseen;
  }
}

/** Whether an answer of `uid` and `resourceVersion` is older than an own write that is known already. */
function isOvertaken(pending: OwnWrite<unknown>, uid: string | undefined, resourceVersion: string): boolean {
  if (pending.resourceVersion !== undefined) return isAtLeast(pending.resourceVersion, resourceVersion);
  return uid === pending.uid || isAtLeast(pending.after ?? '', resourceVersion);
}

/** Whether a list that lacks the object is new enough to have known it: then it confirms the delete. */
function isDeleteListed(pending: OwnWrite<unknown>, listVersion: string): boolean {
  if (pending.resourceVersion !== undefined || pending.watched !== undefined) return false;
  return pending.after === undefined || isAtLeast(listVersion, pending.after);
}

/** Whether an own write came after the deletion that the watch shows. */
function isAhead(
  pending: OwnWrite<unknown>,
  { uid, resourceVersion }: KubernetesObject['metadata'],
): boolean {
  if (pending.resourceVersion === undefined) return uid !== pending.uid;
  return resourceVersion !== undefined && !isAtLeast(resourceVersion, pending.resourceVersion);
}

/** Whether the watch, which shows this object, is at an own write or past it. */
function hasCaughtUp<T extends KubernetesObject>(pending: OwnWrite<T>, { metadata }: T): boolean {
  const { uid, resourceVersion } = metadata;
  if (pending.resourceVersion !== undefined) {
    return resourceVersion === undefined || isAtLeast(resourceVersion, pending.resourceVersion);
  }
  // The object was ended: only a successor can be there. What is not newer than what readers had seen by
  // then is a predecessor.
  return uid !== pending.uid && !isAtLeast(pending.after ?? '', resourceVersion ?? '');
}
