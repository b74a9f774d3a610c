/**
 * ApiClient: the {@link Client} over a {@link Transport}: which path, query, content type and body each
 * verb has in the Kubernetes REST API, and what comes back.
 */
import { type KubernetesObject, pods, type Resource } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import { type Asked, deleteAnswer, evictionAnswer, listAnswer, objectAnswer } from './answer.ts';
import type {
  CallOptions,
  Client,
  DeleteOptions,
  ListOptions,
  ListResult,
  ObjectKey,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { deleteBody, evictionBody } from './delete-body.ts';
import type { HttpRequest } from './http-request.ts';
import { JsonRequests, type JsonRequestsOptions } from './json-requests.ts';
import { metadataListType, metadataType } from './media-types.ts';
import { objectBody } from './object-body.ts';
import { listPages } from './paged-list.ts';
import { patchRequest } from './patch-request.ts';
import { isOwnVersion, preconditionOf } from './precondition.ts';
import type { RequestTimeouts } from './request-timeouts.ts';
import { collectionPath, creationPath, objectPath, type QueryValue, withQuery } from './resource-path.ts';
import { typed } from './typed.ts';
import { watchEvents } from './watch-stream.ts';
import { isEnded, type WriteListener, type Written, writtenByDelete } from './written.ts';

export interface ApiClientOptions extends JsonRequestsOptions {
  readonly clock: Clock;
  /** Under which the server records the fields set, unless a call says otherwise. */
  readonly fieldManager: string;
  /** Called for each successful write. */
  readonly listeners: ReadonlySet<WriteListener>;
  readonly timeouts: Required<RequestTimeouts>;
}

type WriteRequest = Asked &
  Pick<HttpRequest, 'method' | 'path' | 'body' | 'contentType'> & {
    /** The version that the write expects; undefined for an unconditional one. */
    readonly precondition: string | undefined;
  };

export class ApiClient implements Client {
  readonly #options: ApiClientOptions;
  readonly #requests: JsonRequests;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#requests = new JsonRequests(options);
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
    options: WatchOptions,
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

  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const { namespace, name, generateName } = object.metadata;
    const path = creationPath(resource, namespace);
    return this.#store(
      resource,
      { method: 'POST', path, nameless: !name && !generateName },
      { object },
      options,
    );
  }

  update<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const path = objectPath(resource, object.metadata);
    return this.#store(resource, { method: 'PUT', path }, { object, replaced: object }, options);
  }

  updateStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T> {
    const path = objectPath(resource, object.metadata, 'status');
    // Of the rest the server takes no notice.
    const replaced = { status: Reflect.get(object, 'status') };
    return this.#store(resource, { method: 'PUT', path }, { object, replaced }, options);
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#patch(resource, objectPath(resource, key), patch, options);
  }

  patchStatus<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#patch(resource, objectPath(resource, key, 'status'), patch, options);
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
    this.#notify(resource, written, 'deleted' in written || isEnded(written));
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

  async #store<T extends KubernetesObject>(
    resource: Resource<T>,
    asked: Asked & { readonly method: 'POST' | 'PUT' },
    { object, replaced }: { readonly object: T; readonly replaced?: unknown },
    options: WriteOptions = {},
  ): Promise<T> {
    const body = objectBody(asked, resource, object, replaced);
    const query = { fieldManager: options.fieldManager ?? this.#options.fieldManager };
    const precondition = object.metadata.resourceVersion;
    return this.#write(resource, { ...asked, body, precondition }, query, options);
  }

  #patch<T extends KubernetesObject>(
    resource: Resource<T>,
    path: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const fieldManager = options.fieldManager ?? this.#options.fieldManager;
    const { query, ...body } = patchRequest(patch, fieldManager);
    const request = { method: 'PATCH', path, ...body } as const;
    return this.#write(resource, { ...request, precondition: preconditionOf(patch) }, query, options);
  }

  async #write<T extends KubernetesObject>(
    resource: Resource<T>,
    { precondition, ...request }: WriteRequest,
    query: Readonly<Record<string, QueryValue>>,
    options: WriteOptions,
  ): Promise<T> {
    const { dryRun, fieldValidation, signal, timeout, sendWithin } = options;
    const path = withQuery(request.path, {
      timeout: this.#requests.serverTimeout(request.method, options),
      dryRun: dryRun ? 'All' : undefined,
      fieldValidation,
      ...query,
    });
    const answer = await this.#requests.send({ ...request, path, signal, timeout, sendWithin });
    const object = typed(resource, objectAnswer(request, resource, answer));
    const isOwn = request.method === 'POST' || isEnded(object) || isOwnVersion(precondition, object);
    if (!dryRun) this.#notify(resource, object, isOwn);
    return object;
  }

  #notify(resource: Resource, written: Written, isOwn: boolean): void {
    for (const listener of this.#options.listeners) listener(resource, written, isOwn);
  }
}
