/**
 * Informer: keeps a local, indexed copy of one resource (in one namespace or all) and tells handlers what
 * changed. Shared: one per (resource, namespace, selector, metadata-only). It lists and watches for as
 * long as the process lives, whatever the API server does.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { PartialObjectMetadata } from '../client/partial-object.ts';
import type { IndexFunction, Lister } from './lister.ts';

/**
 * A listener of an informer, called synchronously, in the order of the watch, once for each change; what a
 * handler throws is logged and never stops it. An own write reaches handlers when it arrives in the watch,
 * and no sooner, so the lister may be ahead of their notifications. An object that this process has created, and that
 * is gone before the watch has shown it, is an add and a delete once that is known.
 */
export interface InformerHandler<T> {
  /** @param initial true for objects of the first list. */
  onAdd?(object: T, initial: boolean): void;
  onUpdate?(previous: T, current: T): void;
  /** The last state known; after a missed delete that is older than the object's true end. */
  onDelete?(object: T): void;
}

/** What is kept of which objects. The same options mean the same informer. */
export interface InformerOptions<T extends KubernetesObject> {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * Namespaces to watch, so that rights in these are enough. Default: those of the Manager. Empty: all. Without meaning
   * for cluster-scoped resources.
   */
  readonly namespaces?: readonly string[];
  /** Watch {@link PartialObjectMetadata} only. */
  readonly metadataOnly?: boolean;
  /** Named indexes for {@link Lister.byIndex}. An object for which one throws is not found by it. */
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /**
   * Transforms an object before it is stored or shown to handlers. Must be pure and keep metadata's name,
   * namespace, uid and resourceVersion. managedFields are dropped in any case, after it ran. An object for
   * which it throws or returns something else is kept whole.
   */
  readonly transform?: (object: T) => T;
}

/** What is kept of which objects, where only their metadata is read. */
export interface MetadataInformerOptions
  extends Omit<InformerOptions<PartialObjectMetadata>, 'metadataOnly' | 'transform'> {
  readonly metadataOnly: true;
  readonly transform?: (object: KubernetesObject) => KubernetesObject;
}

/**
 * One shared copy of a resource, and the watch that keeps it equal to the API server's; made by {@link
 * Informers.informerFor}.
 */
export interface Informer<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  /** True once the first list is in the store and its handlers have been called. */
  readonly hasSynced: boolean;
  /** Resolves when {@link hasSynced} becomes true; rejects when the signal aborts first. */
  waitForSync(signal: AbortSignal): Promise<void>;
  /** A handler added after the sync is shown every stored object as an initial add. Returns a remover. */
  addHandler(handler: InformerHandler<T>): () => void;
  /**
   * Milliseconds (monotonic) since it last came further: the collection was loaded, a change or a bookmark came, or
   * a watch ended as agreed; `Infinity` before the first time. A refusal (403, 404) of the API server itself counts,
   * too; an open connection, silence, 5xx and the page of a proxy do not.
   */
  sinceLastContact(): number;
  /**
   * Milliseconds (monotonic) since the API server last showed what there is: the collection was loaded, or a change or a
   * bookmark came; `Infinity` before the first time. A change that comes after more than {@link stalenessLimit} does not
   * count, because others may follow it; the next bookmark does. What happened since then may be unknown here. Before a
   * write that cannot be undone, read the object itself when this is more than about a minute, the time between two
   * bookmarks.
   */
  staleness(): number;
}
