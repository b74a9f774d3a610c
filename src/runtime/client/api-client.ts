/**
 * ApiClient: the {@link Client} over a {@link Transport}: which path, query, content type and body each
 * verb has in the Kubernetes REST API, and what comes back.
 */
import { type KubernetesObject, pods, type Resource } from '../../kubernetes/objects.ts';
import type { Clock } from '../clock.ts';
import { type Asked, deleteAnswer, evictionAnswer, listAnswer, objectAnswer } from './answer.ts';
import { TransportError } from './api-error.ts';
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
import { metadataListType, metadataType, patchContentTypes } from './media-types.ts';
import { objectBody } from './object-body.ts';
import { listPages } from './paged-list.ts';
import { type RequestTimeouts, serverTimeout } from './request-timeouts.ts';
import { collectionPath, creationPath, objectPath, type QueryValue, withQuery } from './resource-path.ts';
import type { Transport } from './transport.ts';
import { typed } from './typed.ts';
import { watchEvents } from './watch-stream.ts';
import { type WriteListener, type Written, writtenByDelete } from './written.ts';

export interface ApiClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Under which the server records the fields set, unless a call says otherwise. */
  readonly fieldManager: string;
  /** Told each successful write. */
  readonly listeners: ReadonlySet<WriteListener>;
  /** In which lane its requests wait. Default: that of the code that calls it. */
  readonly lane?: string;
  /** True: its writes do not ask the gate. */
  readonly ungated?: boolean;
  readonly timeouts: Required<RequestTimeouts>;
}

export class ApiClient implements Client {
  readonly #options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: CallOptions & { readonly metadataOnly?: boolean } = {},
  ): Promise<T> {
    const accept = options.metadataOnly ? metadataType : undefined;
    const path = objectPath(resource, key);
    const answer = await this.#read(path, options, accept);
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
    const path = withQuery(objectPath(resource, key), { timeout: this.#serverTimeout('DELETE', options) });
    const body = JSON.stringify(deleteBody(options));
    const request = { method: 'DELETE', path, body, signal, timeout } as const;
    const answer = deleteAnswer(request, resource, await this.#json(request));
    if (options.dryRun) return;
    this.#notify(resource, writtenByDelete(resource, key, answer, options.uid));
  }

  async evict(key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { dryRun = false, signal, timeout } = options;
    const query = { timeout: this.#serverTimeout('POST', options), dryRun: dryRun ? 'All' : undefined };
    const body = JSON.stringify(evictionBody(key, options));
    const path = withQuery(objectPath(pods, key, 'eviction'), query);
    const request = { method: 'POST', path, body, signal, timeout } as const;
    evictionAnswer(request, await this.#json(request));
  }

  async getRaw(path: string, options: CallOptions & { readonly text?: boolean } = {}): Promise<unknown> {
    if (!options.text) return await this.#read(path, options);
    const { signal, timeout } = options;
    const { transport, lane } = this.#options;
    const request = { method: 'GET', path, accept: '*/*', signal, timeout, lane } as const;
    return (await transport.request(request)).toString();
  }

  async #store<T extends KubernetesObject>(
    resource: Resource<T>,
    asked: Asked & { readonly method: 'POST' | 'PUT' },
    { object, replaced }: { readonly object: T; readonly replaced?: unknown },
    options: WriteOptions = {},
  ): Promise<T> {
    const body = objectBody(asked, resource, object, replaced);
    const query = { fieldManager: options.fieldManager ?? this.#options.fieldManager };
    return this.#write(resource, { ...asked, body }, query, options);
  }

  #patch<T extends KubernetesObject>(
    resource: Resource<T>,
    path: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const contentType = patchContentTypes[patch.type];
    const fieldManager = options.fieldManager ?? this.#options.fieldManager;
    if (patch.type === 'json') {
      const body = JSON.stringify(patch.operations);
      return this.#write(resource, { method: 'PATCH', path, body, contentType }, { fieldManager }, options);
    }
    const query =
      patch.type === 'apply'
        ? { fieldManager: patch.fieldManager, force: patch.force || undefined }
        : { fieldManager };
    const body = JSON.stringify(patch.body);
    return this.#write(resource, { method: 'PATCH', path, body, contentType }, query, options);
  }

  async #write<T extends KubernetesObject>(
    resource: Resource<T>,
    request: Asked & Pick<HttpRequest, 'method' | 'path' | 'body' | 'contentType'>,
    query: Readonly<Record<string, QueryValue>>,
    options: WriteOptions,
  ): Promise<T> {
    const { dryRun, fieldValidation, signal, timeout, sendWithin } = options;
    const path = withQuery(request.path, {
      timeout: this.#serverTimeout(request.method, options),
      dryRun: dryRun ? 'All' : undefined,
      fieldValidation,
      ...query,
    });
    const answer = await this.#json({ ...request, path, signal, timeout, sendWithin });
    const object = typed(resource, objectAnswer(request, resource, answer));
    if (!dryRun) this.#notify(resource, object);
    return object;
  }

  #read(path: string, { signal, timeout }: CallOptions, accept?: string): Promise<unknown> {
    return this.#json({ method: 'GET', path, accept, signal, timeout });
  }

  async #json(request: HttpRequest): Promise<unknown> {
    const { transport, lane, ungated } = this.#options;
    const body = await transport.request({ ...request, lane, ungated });
    try {
      return JSON.parse(body.toString('utf8'));
    } catch {
      // The cause would quote the answer, which may be a Secret.
      throw new TransportError(`${request.method} ${request.path}: the answer is not JSON`, true);
    }
  }

  /** Sent with every write, so that the API server itself gives up one that it could only do late. */
  #serverTimeout(method: HttpRequest['method'], options: WriteOptions): string {
    const { transport, ungated } = this.#options;
    const limit = transport.timeLimit({ method, timeout: options.timeout, ungated });
    return serverTimeout(limit, transport.timeLimit({ method, ungated }), options.serverTimeout);
  }

  #notify(resource: Resource, written: Written): void {
    for (const listener of this.#options.listeners) listener(resource, written);
  }
}
