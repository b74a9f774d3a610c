/**
 * Client: typed verbs over the Kubernetes REST API. Raw JSON in and out, the content type of every patch
 * explicit, a deadline on every call. Rejections are {@link ApiError} for an answer of the API server and
 * {@link TransportError} when there was none (api-error.ts).
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { CallOptions, WriteOptions } from './call-options.ts';
import type { PartialObjectMetadata, Whole } from './partial-object.ts';
import type { Applied, NewObject, PatchOf, StatusPatchOf } from './patch.ts';
import type { Scale, SubresourceClient } from './subresource-client.ts';

/** Namespace and name; `namespace` is absent for cluster-scoped resources. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Selectors of a collection's objects, in the string form of the API; both must hold. */
export interface SelectorOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** The option of a read that asks for metadata alone. */
export interface MetadataOnly {
  readonly metadataOnly: true;
}

/** What to list, and in which form. */
export interface ListOptions extends CallOptions, SelectorOptions {
  /** Absent or empty: all namespaces. */
  readonly namespace?: string;
  /** Objects per page. Default: 50 at first, then as many as make pages of 4 to 16 MB. All pages are fetched. */
  readonly limit?: number;
  /** Milliseconds for each page. Default 120 000. */
  readonly timeout?: number;
  /** Absent: consistent read from etcd. `'0'`: any version the server has cached. */
  readonly resourceVersion?: string;
  /** Ask for {@link PartialObjectMetadata}: the items carry apiVersion, kind and metadata only. */
  readonly metadataOnly?: boolean;
  /**
   * Transforms an object of the listed type as it arrives, so that of a large list little is ever held as it was sent;
   * undefined leaves it out.
   */
  transform?(object: KubernetesObject): KubernetesObject | undefined;
  /** Called when a part of a page has arrived, which is read once the promise resolves, or at once without one. */
  onPart?(): Promise<void> | undefined;
}

/** All pages of a list as one. */
export interface ListResult<T> {
  readonly items: T[];
  /** Of the whole collection, to start a watch from. */
  readonly resourceVersion: string;
}

/** Which objects to read page by page. */
export interface PageOptions extends CallOptions, SelectorOptions {
  /** Absent or empty: all namespaces. */
  readonly namespace?: string;
  /** Objects per page. Default 500. */
  readonly limit?: number;
}

/** One page of a collection. */
export interface Page<T> extends ListResult<T> {
  /** Objects behind this page, where the server says so: not with selectors. */
  readonly remaining: number | undefined;
}

/** What to watch, and from where. */
export interface WatchCallOptions extends SelectorOptions {
  readonly signal: AbortSignal;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  /** Seconds after which the server ends the watch. */
  readonly timeoutSeconds: number;
  /** WatchList: the watch begins with the whole collection, closed by an annotated bookmark. */
  readonly sendInitialEvents?: boolean;
  readonly metadataOnly?: boolean;
}

/** One line of a watch stream. ERROR carries a metav1.Status as the object. */
export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: KubernetesObject }
  | { readonly type: 'ERROR'; readonly object: Status };

/** metav1.Status. */
export interface Status {
  readonly kind?: 'Status';
  readonly status?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly group?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
}

/** metav1.DeleteOptions, with the preconditions flat. */
export interface DeleteOptions extends CallOptions {
  /** The object is deleted only if it still has this uid; otherwise 409 Conflict. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  readonly dryRun?: boolean;
}

/** Options of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** True: takes over fields that other managers own. Default false: such a conflict is a 409. */
  readonly force?: boolean;
  /** Such as `status`. Default: the object itself, without its subresources. */
  readonly subresource?: string;
}

/** Which objects of a namespace to delete, and how. */
export interface DeleteCollectionOptions
  extends Omit<DeleteOptions, 'uid' | 'resourceVersion'>,
    SelectorOptions {
  /** Required for namespaced resources: the API has no deletion across namespaces. */
  readonly namespace?: string;
}

/**
 * All ways to one API server. Nothing is cached: what may be read from the cache is read from a Lister.
 *
 * @throws every method rejects with an {@link ApiError} or a {@link TransportError}; a write from a process
 *   that does not lead with the latter, not sent.
 */
export interface Client {
  /** The object as the API server has it now. */
  get(
    resource: Resource,
    key: ObjectKey,
    options: CallOptions & MetadataOnly,
  ): Promise<PartialObjectMetadata>;
  get<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options?: CallOptions & { readonly metadataOnly?: false },
  ): Promise<T>;
  /** The whole collection, page by page. */
  list(resource: Resource, options: ListOptions & MetadataOnly): Promise<ListResult<PartialObjectMetadata>>;
  list<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & { readonly metadataOnly?: false },
  ): Promise<ListResult<T>>;
  /** Whether they are whole is known at run time only. */
  list<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions,
  ): Promise<ListResult<T | PartialObjectMetadata>>;
  /**
   * Opens a watch. The returned promise resolves once the server has answered 200; the iterable ends when
   * the server ends the stream and throws when it breaks.
   */
  watch(
    resource: Resource,
    options: WatchCallOptions & MetadataOnly,
  ): Promise<AsyncIterable<WatchEvent<PartialObjectMetadata>>>;
  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchCallOptions & { readonly metadataOnly?: false },
  ): Promise<AsyncIterable<WatchEvent<T>>>;
  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchCallOptions,
  ): Promise<AsyncIterable<WatchEvent<T | PartialObjectMetadata>>>;
  /** The collection page by page, so that little of a large one is held at once. A 410 means: begin again. */
  pages<T extends KubernetesObject>(resource: Resource<T>, options?: PageOptions): AsyncIterable<Page<T>>;
  /** `object.metadata.namespace` says where; the server appends to `generateName` what makes the name unique. */
  create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: NewObject<NoInfer<T>>,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Server-side apply: the object is created, or gets these fields, of which this field manager is then the owner; a
   * field that it applied before and leaves out now is removed. 409 while another manager owns one of them, unless
   * `force` takes it over. apiVersion and kind are filled in.
   */
  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Applied<NoInfer<T>>,
    options?: ApplyOptions,
  ): Promise<T>;
  /**
   * PUT; `object.metadata.resourceVersion` makes it conditional. What was read with `metadataOnly` is refused, since
   * it would empty the object, and so is an object with an integer beyond ±2^53, which is not what is stored any more.
   */
  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Whole<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** PUT of the status subresource: everything but the status is ignored. */
  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Whole<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** `metadata.resourceVersion` in a merge or apply body makes it conditional, a `test` a JSON patch. */
  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: PatchOf<NoInfer<T>>,
    options?: WriteOptions,
  ): Promise<T>;
  /** {@link patch} of the status subresource. */
  patchStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: StatusPatchOf<NoInfer<T>>,
    options?: WriteOptions,
  ): Promise<T>;
  /** Resolves when the server has accepted the deletion, not when the object is gone. */
  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<void>;
  /**
   * Deletes what the selectors select, without any all objects of the namespace. What the caches show of it comes
   * through the watch.
   */
  deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options: DeleteCollectionOptions,
  ): Promise<void>;
  /** A subresource of one object: `scale`, `log`, `eviction`, `token`, or any other. */
  subresource(resource: Resource, key: ObjectKey, name: 'scale'): SubresourceClient<Scale>;
  subresource<S extends object>(resource: Resource, key: ObjectKey, name: string): SubresourceClient<S>;
  /** policy/v1 Eviction of a Pod, with the uid as precondition. 429 when a disruption budget forbids it. */
  evict(key: ObjectKey, options: DeleteOptions): Promise<void>;
  /** Plain GET of a path that is no object, such as `/apis/apps/v1`. With `text` the body as it is, as of `/readyz`. */
  getRaw(path: string, options?: CallOptions & { readonly text?: boolean }): Promise<unknown>;
}
