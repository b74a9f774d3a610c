/**
 * Initial events: the whole collection as the beginning of a watch, instead of a list (KEP-3157,
 * "WatchList"). The server sends one object after the other and closes with an annotated bookmark, so
 * that neither side ever holds the collection as one document.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { WatchEvent } from '../client/client.ts';

/** metav1.InitialEventsAnnotationKey. */
const endAnnotation = 'k8s.io/initial-events-end';

type ObjectEvent<T> = Exclude<WatchEvent<T>, { readonly type: 'ERROR' }>;

export class InitialEvents<T extends KubernetesObject> {
  readonly #prepare: (object: T) => T | undefined;
  readonly #objects = new Map<string, T>();

  constructor(prepare: (object: T) => T | undefined) {
    this.#prepare = prepare;
  }

  get objects(): Iterable<T> {
    return this.#objects.values();
  }

  /** @returns true for the bookmark that closes them; its version is that of the collection. */
  take(event: ObjectEvent<T>): boolean {
    if (event.type === 'BOOKMARK') return event.object.metadata.annotations?.[endAnnotation] === 'true';
    const object = this.#prepare(event.object);
    if (object === undefined) return false;
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    // The collection may change while it is being sent.
    if (event.type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, object);
    return false;
  }
}
