/**
 * ApiClient: the {@link Client} over a {@link Transport}: which path, query, content type and body each
 * verb has in the Kubernetes REST API, and what comes back.
 */
import { type KubernetesObject, type ObjectMeta, pods, type Resource } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import { deleteAnswer, evictionAnswer, listAnswer, objectAnswer } from './answer.ts';
import type { CallOptions, WriteOptions } from './call-options.ts';
import type {
  ApplyOptions,
  Client,
  DeleteCollectionOptions,
  DeleteOptions,
  ListOptions,
  ListResult,
  ObjectKey,
  Page,
  PageOptions,
  WatchCallOptions,
  WatchEvent,
} from './client.ts';
import { deleteCollection, readPages } from './collection.ts';
import { deleteBody, evictionBody } from './delete-body.ts';
import { JsonRequests, type JsonRequestsOptions } from './json-requests.ts';
import { metadataListType, metadataType } from './media-types.ts';
import { listPages } from './paged-list.ts';
import { type Applied, applyPatch, type NewObject, type PatchOf, type StatusPatchOf } from './patch.ts';
import type { RequestTimeouts } from './request-timeouts.ts';
import { collectionPath, creationPath, objectPath, withQuery } from './resource-path.ts';
import { Subresource } from './subresource.ts';
import type { SubresourceClient } from './subresource-client.ts';
import { typed } from './typed.ts';
import { watchEvents } from './watch-stream.ts';
import { Writes, type WritesOptions } from './writes.ts';
import { isEnded, writtenByDelete } from './written.ts';

export interface ApiClientOptions extends JsonRequestsOptions, WritesOptions {
  readonly clock: Clock;
  readonly timeouts: Required<RequestTimeouts>;
}

export class ApiClient implements Client {
  readonly #options: ApiClientOptions;
  readonly #requests: JsonRequests;
  readonly #writes: Writes;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#requests = new JsonRequests(options);
    this.#writes = new Writes(options, this.#requests);
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: CallOptions & { readonly metadataOnly?: boolean } = {},
  ): Promise<T> {
    const accept = options.metadataOnly ? metadataType : undefined;
    const path = objectPath(resource, key);
    const answer = await this.#requests.read(path, options, accept);
    return typed(resource, objectAnswer({ method: 'GET', path }, resource, answer));
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    const { clock, transport, timeouts, lane } = this.#options;
    const path = collectionPath(resource, options.namespace);
    const accept = options.metadataOnly ? metadataListType : undefined;
    const { signal, timeout = timeouts.list } = options;
    const request = { method: 'GET', accept, signal, timeout, lane, compressed: true } as const;
    return listPages(
      {
        clock,
        title: `GET ${path}`,
        fetch: (query) => transport.parts({ ...request, path: withQuery(path, query) }),
        check: (answer) => listAnswer<T>({ method: 'GET', path }, resource, answer),
        complete: (item) => typed(resource, item),
      },
      options,
    );
  }

  async watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchCallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const { labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
    const path = withQuery(collectionPath(resource, options.namespace), {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds,
      labelSelector,
      fieldSelector,
      resourceVersion,
      ...(options.sendInitialEvents && { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
    });
    const accept = options.metadataOnly ? metadataType : undefined;
    const stream = await this.#options.transport.stream({ method: 'GET', path, accept, signal });
    return watchEvents<T>(stream, (object) => typed(resource, object), this.#options.clock);
  }

  create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: NewObject<T>,
    options?: WriteOptions,
  ): Promise<T> {
    const { namespace, name = '', generateName } = object.metadata as Partial<ObjectMeta>;
    const path = creationPath(resource, namespace);
    const asked = { method: 'POST', path, nameless: !name && !generateName } as const;
    return this.#writes.store(resource, asked, { object }, options);
  }

  update<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const path = objectPath(resource, object.metadata);
    return this.#writes.store(resource, { method: 'PUT', path }, { object, replaced: object }, options);
  }

  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T> {
    const path = objectPath(resource, object.metadata, 'status');
    // Of the rest the server takes no notice.
    const replaced = { status: Reflect.get(object, 'status') };
    return this.#writes.store(resource, { method: 'PUT', path }, { object, replaced }, options);
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: PatchOf<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#writes.patch(resource, objectPath(resource, key), patch, options);
  }

  patchStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: StatusPatchOf<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#writes.patch(resource, objectPath(resource, key, 'status'), patch, options);
  }

  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Applied<T>,
    { force = false, subresource, ...options }: ApplyOptions = {},
  ): Promise<T> {
    const fieldManager = options.fieldManager ?? this.#options.fieldManager;
    const path = objectPath(resource, object.metadata as ObjectKey, subresource);
    return this.#writes.patch(resource, path, applyPatch(object, { fieldManager, force }), options);
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<void> {
    const { signal, timeout } = options;
    const path = withQuery(objectPath(resource, key), {
      timeout: this.#requests.serverTimeout('DELETE', options),
    });
    const body = JSON.stringify(deleteBody(options));
    const request = { method: 'DELETE', path, body, signal, timeout } as const;
    const answer = deleteAnswer(request, resource, await this.#requests.send(request));
    if (options.dryRun) return;
    const written = writtenByDelete(resource, key, answer, options.uid);
    this.#writes.notify(resource, written, 'deleted' in written || isEnded(written));
  }

  deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options: DeleteCollectionOptions,
  ): Promise<void> {
    return deleteCollection(this.#requests, resource, options);
  }

  pages<T extends KubernetesObject>(
    resource: Resource<T>,
    options: PageOptions = {},
  ): AsyncIterable<Page<T>> {
    return readPages(this.#requests, resource, { timeout: this.#options.timeouts.list, ...options });
  }

  subresource<S extends object>(resource: Resource, key: ObjectKey, name: string): SubresourceClient<S> {
    const { transport, fieldManager } = this.#options;
    return new Subresource<S>({
      ...{ resource, path: objectPath(resource, key, name), requests: this.#requests, writes: this.#writes },
      ...{ transport, fieldManager },
    });
  }

  async evict(key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { dryRun = false, signal, timeout } = options;
    const query = {
      timeout: this.#requests.serverTimeout('POST', options),
      dryRun: dryRun ? 'All' : undefined,
    };
    const body = JSON.stringify(evictionBody(key, options));
    const path = withQuery(objectPath(pods, key, 'eviction'), query);
    const request = { method: 'POST', path, body, signal, timeout } as const;
    evictionAnswer(request, await this.#requests.send(request));
  }

  async getRaw(path: string, options: CallOptions & { readonly text?: boolean } = {}): Promise<unknown> {
    return options.text ? await this.#requests.text(path, options) : await this.#requests.read(path, options);
  }
}
