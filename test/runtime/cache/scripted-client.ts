/**
 * ScriptedClient: a Client whose lists and watches a test answers by hand, one after the other, so that it
 * decides when the API server is silent, slow, gone or wrong.
 */
import assert from 'node:assert/strict';
import type { KubernetesObject, Resource } from '../../../src/kubernetes/objects.ts';
import { ApiError } from '../../../src/runtime/client/api-error.ts';
import type {
  Client,
  ListOptions,
  ListResult,
  Status,
  WatchCallOptions,
  WatchEvent,
} from '../../../src/runtime/client/client.ts';
import { settle } from '../../fake/clock.ts';

function rejectOnAbort(signal: AbortSignal | undefined, reject: (reason: unknown) => void): void {
  if (signal?.aborted) reject(signal.reason);
  else signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
}

/** Copies of the items as a client that was asked with these options returns them. */
export function listed(items: Iterable<KubernetesObject>, { transform }: ListOptions): KubernetesObject[] {
  const copies = structuredClone([...items]);
  return transform === undefined ? copies : copies.map(transform).filter((object) => object !== undefined);
}

export class ScriptedList {
  readonly kind = 'list';
  readonly resource: Resource;
  readonly options: ListOptions;
  readonly #result = Promise.withResolvers<ListResult<KubernetesObject>>();

  constructor(resource: Resource, options: ListOptions) {
    this.resource = resource;
    this.options = options;
    rejectOnAbort(options.signal, this.#result.reject);
    this.#result.promise.catch(() => undefined);
  }

  get result(): Promise<ListResult<KubernetesObject>> {
    return this.#result.promise;
  }

  answer(items: readonly KubernetesObject[], resourceVersion: string): Promise<void> {
    this.#result.resolve({ items: listed(items, this.options), resourceVersion });
    return settle();
  }

  refuse(error: unknown): Promise<void> {
    this.#result.reject(error);
    return settle();
  }
}

export class ScriptedWatch {
  readonly kind = 'watch';
  readonly resource: Resource;
  readonly options: WatchCallOptions;
  readonly #opened = Promise.withResolvers<AsyncIterable<WatchEvent<KubernetesObject>>>();
  readonly #lines: WatchEvent<KubernetesObject>[] = [];
  #end: { readonly error: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(resource: Resource, options: WatchCallOptions) {
    this.resource = resource;
    this.options = options;
    rejectOnAbort(options.signal, (reason) => {
      this.#opened.reject(reason);
      this.#end ??= { error: reason };
      this.#wake.resolve();
    });
    this.#opened.promise.catch(() => undefined);
  }

  get opened(): Promise<AsyncIterable<WatchEvent<KubernetesObject>>> {
    return this.#opened.promise;
  }

  get isAborted(): boolean {
    return this.options.signal.aborted;
  }

  /** 200, and then these lines. */
  accept(...events: WatchEvent<KubernetesObject>[]): Promise<void> {
    this.#opened.resolve(this.#stream());
    return this.send(...events);
  }

  refuse(error: unknown): Promise<void> {
    this.#opened.reject(error);
    return settle();
  }

  send(...events: WatchEvent<KubernetesObject>[]): Promise<void> {
    this.#lines.push(...structuredClone(events));
    this.#wake.resolve();
    return settle();
  }

  /** The server ends the stream. */
  end(): Promise<void> {
    return this.break(undefined);
  }

  /** The connection breaks. */
  break(error: unknown): Promise<void> {
    this.#end ??= { error };
    this.#wake.resolve();
    return settle();
  }

  async *#stream(): AsyncGenerator<WatchEvent<KubernetesObject>> {
    for (;;) {
      for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) yield line;
      if (this.#end !== undefined) break;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    if (this.#end.error !== undefined) throw this.#end.error;
  }
}

const notScripted = () => {
  throw new Error('this call is not scripted');
};
const unscripted = () => Promise.reject(new Error('this call is not scripted'));

export class ScriptedClient implements Client {
  readonly get = unscripted;
  readonly create = unscripted;
  readonly update = unscripted;
  readonly updateStatus = unscripted;
  readonly patch = unscripted;
  readonly patchStatus = unscripted;
  readonly delete = unscripted;
  readonly evict = unscripted;
  readonly apply = unscripted;
  readonly deleteCollection = unscripted;
  readonly pages = notScripted;
  readonly subresource = notScripted;
  /** What is answered to GETs of paths that are no collections, such as `/apis`; the others with 404. */
  readonly documents = new Map<string, unknown>();
  readonly #calls: (ScriptedList | ScriptedWatch)[] = [];

  list<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    const call = new ScriptedList(resource, options);
    this.#calls.push(call);
    return call.result as Promise<ListResult<T>>;
  }

  watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchCallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const call = new ScriptedWatch(resource, options);
    this.#calls.push(call);
    return call.opened as Promise<AsyncIterable<WatchEvent<T>>>;
  }

  async getRaw(path: string): Promise<unknown> {
    if (this.documents.has(path)) return this.documents.get(path);
    throw foreignError(404);
  }

  /** How many calls wait for the test's answer. */
  get pending(): number {
    return this.#calls.length;
  }

  /** The next call, which must be there and a list. */
  async nextList(): Promise<ScriptedList> {
    const call = await this.#next();
    assert.equal(call.kind, 'list');
    return call as ScriptedList;
  }

  /** The next call, which must be there and a watch. */
  async nextWatch(): Promise<ScriptedWatch> {
    const call = await this.#next();
    assert.equal(call.kind, 'watch');
    return call as ScriptedWatch;
  }

  async #next(): Promise<ScriptedList | ScriptedWatch> {
    await settle();
    const call = this.#calls.shift();
    assert.ok(call, 'there is no call to the API server');
    return call;
  }
}

/** An answer of the API server itself, as its Status says. */
export function apiError(code: number, status: Status = {}, retryAfter?: number): ApiError {
  return new ApiError(status.message ?? `answer ${code}`, code, { kind: 'Status', ...status }, retryAfter);
}

/** An answer of something else. */
export function foreignError(code: number): ApiError {
  return new ApiError(`HTTP ${code}: a page`, code, { code, message: 'a page' });
}
