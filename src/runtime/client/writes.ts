/**
 * Writes: how an object or a part of it is sent to be stored, and who learns of the answer.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { type Asked, objectAnswer } from './answer.ts';
import type { WriteOptions } from './call-options.ts';
import type { HttpRequest } from './http-request.ts';
import type { JsonRequests } from './json-requests.ts';
import { objectBody } from './object-body.ts';
import type { NewObject, Patch } from './patch.ts';
import { patchRequest } from './patch-request.ts';
import { isOwnVersion, preconditionOf } from './precondition.ts';
import { type QueryValue, withQuery } from './resource-path.ts';
import { typed } from './typed.ts';
import { isEnded, type WriteListener, type Written } from './written.ts';

export interface WritesOptions {
  /** Under which the server records the fields set, unless a call says otherwise. */
  readonly fieldManager: string;
  /** Called for each successful write. */
  readonly listeners: ReadonlySet<WriteListener>;
}

type WriteRequest = Asked &
  Pick<HttpRequest, 'method' | 'path' | 'body' | 'contentType'> & {
    /** The version that the write expects; undefined for an unconditional one. */
    readonly precondition: string | undefined;
  };

export class Writes {
  readonly #options: WritesOptions;
  readonly #requests: JsonRequests;

  constructor(options: WritesOptions, requests: JsonRequests) {
    this.#options = options;
    this.#requests = requests;
  }

  async store<T extends KubernetesObject>(
    resource: Resource<T>,
    asked: Asked & { readonly method: 'POST' | 'PUT' },
    { object, replaced }: { readonly object: NewObject<T>; readonly replaced?: unknown },
    options: WriteOptions = {},
  ): Promise<T> {
    // One that has no name yet is an object in all else.
    const body = objectBody(asked, resource, object as T, replaced);
    const query = { fieldManager: options.fieldManager ?? this.#options.fieldManager };
    const precondition = object.metadata.resourceVersion;
    return this.#write(resource, { ...asked, body, precondition }, query, options);
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    path: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const fieldManager = options.fieldManager ?? this.#options.fieldManager;
    const { query, ...body } = patchRequest(resource, patch, fieldManager);
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
    if (!dryRun) this.notify(resource, object, isOwn);
    return object;
  }

  /** Lets the caches know. @param isOwn as {@link WriteListener} says. */
  notify(resource: Resource, written: Written, isOwn: boolean): void {
    for (const listener of this.#options.listeners) listener(resource, written, isOwn);
  }
}
