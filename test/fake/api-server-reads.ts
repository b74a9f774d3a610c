/**
 * Reads of the fake API server: get, list with pages, and metadata-only forms.
 */
import { apiVersionOf, type KubernetesObject } from '../../src/api/kubernetes.ts';
import { type FakeRequest, type Target, wantsMetadataOnly } from './api-server-request.ts';
import { matcher } from './api-server-selectors.ts';
import { badRequest, expired, Failure, notFound, versionTooLarge } from './api-server-status.ts';
import type { FakeStore } from './api-server-store.ts';

interface Page {
  readonly revision: number;
  readonly rest: readonly KubernetesObject[];
}

/** The form in which an object is sent: with its type, or its metadata alone. */
export function presented(request: FakeRequest, target: Target, object: KubernetesObject): object {
  if (wantsMetadataOnly(request)) {
    return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
  }
  return { ...object, kind: target.resource.kind, apiVersion: apiVersionOf(target.resource) };
}

/** The revision that a resourceVersion parameter means. @throws Failure for one that is none. */
export function revisionOf(store: FakeStore, text: string): number {
  if (!/^\d+$/.test(text))
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: "${text}"`);
  if (Number(text) > store.revision) throw versionTooLarge(text, store.revision);
  return Number(text);
}

export class FakeReads {
  readonly #store: FakeStore;
  /** Lists that have been begun, by continue token. */
  readonly #pages = new Map<string, Page>();

  constructor(store: FakeStore) {
    this.#store = store;
  }

  get(request: FakeRequest, target: Target): object {
    const { resource, namespace, name } = target;
    const object = this.#store.get(resource, namespace, name);
    if (object === undefined) throw notFound(resource.plural, name);
    return presented(request, target, object);
  }

  list(request: FakeRequest, target: Target): object {
    const { query } = request;
    const limit = Number(query.get('limit') ?? 0);
    const page = this.#page(query, target);
    const items = limit === 0 ? page.rest : page.rest.slice(0, limit);
    const rest = page.rest.slice(items.length);
    const metadata = { resourceVersion: String(page.revision) };
    const partial = wantsMetadataOnly(request);
    return {
      kind: partial ? 'PartialObjectMetadataList' : `${target.resource.kind}List`,
      apiVersion: partial ? 'meta.k8s.io/v1' : apiVersionOf(target.resource),
      metadata: rest.length === 0 ? metadata : { ...metadata, ...this.#continued({ ...page, rest }) },
      items: items.map((object) => (partial ? presented(request, target, object) : untyped(object))),
    };
  }

  #page(query: URLSearchParams, target: Target): Page {
    const token = query.get('continue') ?? '';
    const resourceVersion = query.get('resourceVersion') ?? '';
    if (token === '') {
      if (resourceVersion !== '') revisionOf(this.#store, resourceVersion);
      const matches = matcher(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '');
      const inScope = (object: KubernetesObject) =>
        target.namespace === '' || object.metadata.namespace === target.namespace;
      const rest = this.#store.list(target.resource).filter((object) => inScope(object) && matches(object));
      return { revision: this.#store.revision, rest };
    }
    if (resourceVersion !== '') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const page = this.#pages.get(token);
    if (page === undefined) throw badRequest('invalid continue token: continue key is not valid');
    if (page.revision < this.#store.compacted) {
      const { message } = expired(String(page.revision), this.#store.compacted);
      throw new Failure(410, 'Expired', `The provided continue parameter is too old: ${message}`);
    }
    return page;
  }

  #continued(page: Page): { continue: string; remainingItemCount: number } {
    const token = `${page.revision}-${this.#pages.size}`;
    this.#pages.set(token, page);
    return { continue: token, remainingItemCount: page.rest.length };
  }
}

/** Items of a list say neither apiVersion nor kind. */
function untyped({ apiVersion, kind, ...object }: KubernetesObject): object {
  return object;
}
