/** Subresource: the {@link SubresourceClient} over a {@link Transport}. */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { isObjectOf } from './answer.ts';
import type { WriteOptions } from './call-options.ts';
import type { HttpRequest } from './http-request.ts';
import type { JsonRequests } from './json-requests.ts';
import { patchContentTypes } from './media-types.ts';
import type { Patch } from './patch.ts';
import { withQuery } from './resource-path.ts';
import type { SubresourceClient, SubresourceReadOptions } from './subresource-client.ts';
import type { Transport } from './transport.ts';
import type { Writes } from './writes.ts';

export interface SubresourceOptions {
  readonly resource: Resource;
  readonly path: string;
  readonly requests: JsonRequests;
  readonly writes: Writes;
  readonly transport: Transport;
  /** Of writes that name none. */
  readonly fieldManager: string;
}

export class Subresource<S extends object> implements SubresourceClient<S> {
  readonly #options: SubresourceOptions;

  constructor(options: SubresourceOptions) {
    this.#options = options;
  }

  async get({ query = {}, ...options }: SubresourceReadOptions = {}): Promise<S> {
    const { requests, path } = this.#options;
    return (await requests.read(withQuery(path, query), options)) as S;
  }

  create(body: S, options: WriteOptions = {}): Promise<S> {
    return this.#write({ method: 'POST', body: JSON.stringify(body) }, options);
  }

  update(body: S, options: WriteOptions = {}): Promise<S> {
    return this.#write({ method: 'PUT', body: JSON.stringify(body) }, options);
  }

  patch(patch: Patch, options: WriteOptions = {}): Promise<S> {
    const body = JSON.stringify(patch.type === 'json' ? patch.operations : patch.body);
    const request = { method: 'PATCH', body, contentType: patchContentTypes[patch.type] } as const;
    if (patch.type !== 'apply') return this.#write(request, options);
    const { fieldManager, force = false } = patch;
    return this.#write(request, { ...options, fieldManager }, force);
  }

  text({ query = {}, ...options }: SubresourceReadOptions = {}): Promise<string> {
    const { requests, path } = this.#options;
    return requests.text(withQuery(path, query), options);
  }

  stream({ query = {}, signal, timeout }: SubresourceReadOptions = {}): Promise<AsyncIterable<Buffer>> {
    const { transport, path } = this.#options;
    return transport.stream({ method: 'GET', path: withQuery(path, query), accept: '*/*', signal, timeout });
  }

  async #write(
    request: Pick<HttpRequest, 'method' | 'body' | 'contentType'>,
    options: WriteOptions,
    force = false,
  ): Promise<S> {
    const { requests, resource, writes } = this.#options;
    const {
      fieldManager = this.#options.fieldManager,
      fieldValidation,
      dryRun,
      signal,
      timeout,
      sendWithin,
    } = options;
    const path = withQuery(this.#options.path, {
      timeout: requests.serverTimeout(request.method, options),
      dryRun: dryRun ? 'All' : undefined,
      fieldValidation,
      fieldManager,
      force: force || undefined,
    });
    const answer = await requests.send({ ...request, path, signal, timeout, sendWithin });
    // Some answer with the object itself, such as `resize` of a Pod, and reads must not be older than that. Whether
    // its version is that of this write is not known.
    if (!dryRun && isObjectOf(resource, answer)) writes.notify(resource, answer as KubernetesObject, false);
    return answer as S;
  }
}
