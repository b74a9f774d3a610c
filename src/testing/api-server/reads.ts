/**
 * Reads of a simulated API server: get, and list with pages, in all versions that one may ask for.
 */
import { apiVersionOf, type KubernetesObject } from '../../kubernetes/objects.ts';
import { type ApiRequest, wantsMetadataOnly } from './api-message.ts';
import type { Etcd } from './etcd.ts';
import {
  badRequest,
  expiredList,
  expiredPage,
  type FieldError,
  forbiddenValue,
  invalid,
  notFound,
  unsupportedValue,
} from './failure.ts';
import { textOf, untypedText } from './object-text.ts';
import type { Target } from './route.ts';
import { matcher } from './selectors.ts';
import { AwaitsRevision } from './wait.ts';
import type { WatchCache } from './watch-cache.ts';

/** Where a list goes on: at which revision, and after which key. */
interface ContinueToken {
  readonly rv: number;
  readonly start: string;
}

/** Of a token that goes on with what is there now. */
const anyRevision = -1;

/** @throws Failure 400 for a version that is no number. */
export function revisionOf(text: string): number {
  if (!/^\d+$/.test(text)) {
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: "${text}"`);
  }
  return Number(text);
}

export class Reads {
  readonly #etcd: Etcd;
  readonly #cache: WatchCache;

  constructor(etcd: Etcd, cache: WatchCache) {
    this.#etcd = etcd;
    this.#cache = cache;
  }

  /** The object as text. */
  get(request: ApiRequest, target: Target): string {
    const { resource, namespace, name } = target;
    const version = request.query.get('resourceVersion') ?? '';
    if (version !== '') this.#awaitCache(revisionOf(version));
    const source = version === '' ? this.#etcd : this.#cache;
    const object = source.get(resource, namespace, name);
    if (object === undefined) throw notFound(resource, name);
    return textOf(object, resource, wantsMetadataOnly(request) ? 'metadata' : 'whole');
  }

  /** The list as text. */
  list(request: ApiRequest, target: Target): string {
    const { query } = request;
    const { resource } = target;
    const [labels, fields] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? ''];
    const matches = matcher(labels, fields, resource.selectableFields ?? []);
    const { revision, objects } = this.#read(query, target);
    const selected = labels === '' && fields === '' ? objects : objects.filter(matches);
    const limit = limitOf(query);
    const items = limit === 0 ? selected : selected.slice(0, limit);
    const metadata: Record<string, unknown> = { resourceVersion: String(revision) };
    const last = items.at(-1);
    if (items.length < selected.length && last !== undefined) {
      metadata.continue = tokenOf({ rv: revision, start: keyIn(last) });
      // What a selector leaves out cannot be counted in advance.
      if (labels === '' && fields === '') metadata.remainingItemCount = selected.length - items.length;
    }
    return listText(request, target, metadata, items);
  }

  #read(
    query: ReadonlyMap<string, string>,
    { resource, namespace }: Target,
  ): { revision: number; objects: readonly KubernetesObject[] } {
    assertListOptions(query);
    const token = query.get('continue') ?? '';
    const version = query.get('resourceVersion') ?? '';
    const match = query.get('resourceVersionMatch') ?? '';
    if (token !== '') return this.#continued(token, version, { resource, namespace });
    if (version === '') {
      return { revision: this.#etcd.revision, objects: this.#etcd.list(resource, namespace) };
    }
    const revision = revisionOf(version);
    const isExact = match === 'Exact' || (match === '' && limitOf(query) > 0);
    if (isExact) return { revision, objects: this.#exact(revision, { resource, namespace }) };
    this.#awaitCache(revision);
    return { revision: this.#cache.revision, objects: this.#cache.list(resource, namespace) };
  }

  #continued(
    text: string,
    version: string,
    { resource, namespace }: Pick<Target, 'resource' | 'namespace'>,
  ): { revision: number; objects: readonly KubernetesObject[] } {
    if (version !== '') throw badRequest('specifying resource version is not allowed when using continue');
    const { rv, start } = tokenFrom(text);
    const revision = rv === anyRevision ? this.#etcd.revision : rv;
    if (revision < this.#etcd.compacted) throw expiredPage(tokenOf({ rv: anyRevision, start }));
    const objects = this.#etcd.listAt(resource, namespace, revision);
    return { revision, objects: objects.filter((object) => keyIn(object) > start) };
  }

  #exact(revision: number, { resource, namespace }: Pick<Target, 'resource' | 'namespace'>) {
    if (revision > this.#etcd.revision) throw new AwaitsRevision(revision);
    if (revision < this.#etcd.compacted) throw expiredList();
    return this.#etcd.listAt(resource, namespace, revision);
  }

  #awaitCache(revision: number): void {
    if (revision > this.#cache.revision) throw new AwaitsRevision(revision);
  }
}

/** 0: none, as for a list of any version, which comes from the cache. */
function limitOf(query: ReadonlyMap<string, string>): number {
  return query.get('resourceVersion') === '0' ? 0 : Number(query.get('limit') ?? 0);
}

const versionMatches = ['Exact', 'NotOlderThan', ''];

/** @throws Failure 422 for options that do not go with a list. */
function assertListOptions(query: ReadonlyMap<string, string>): void {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const refuse = (error: FieldError) => invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [error]);
  if (query.has('sendInitialEvents')) {
    throw refuse(forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (match === '') return;
  const field = 'resourceVersionMatch';
  if (version === '') {
    throw refuse(
      forbiddenValue(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  }
  if (!versionMatches.includes(match)) throw refuse(unsupportedValue(field, match, versionMatches));
  if (match === 'Exact' && version === '0') {
    const why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
    throw refuse(forbiddenValue(field, why));
  }
}

function keyIn({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

function tokenOf({ rv, start }: ContinueToken): string {
  return btoa(JSON.stringify({ v: 'meta.k8s.io/v1', rv, start })).replaceAll('=', '');
}

function tokenFrom(text: string): ContinueToken {
  try {
    const { rv, start } = JSON.parse(atob(text));
    if (typeof rv === 'number' && typeof start === 'string') return { rv, start };
  } catch {
    // Falls through to the answer for all that is no token.
  }
  throw badRequest('invalid continue token: continue key is not valid: illegal base64 data at input byte 0');
}

function listText(
  request: ApiRequest,
  { resource }: Target,
  metadata: object,
  items: readonly KubernetesObject[],
): string {
  const partial = wantsMetadataOnly(request);
  const kind = partial ? 'PartialObjectMetadataList' : (resource.listKind ?? `${resource.kind}List`);
  const apiVersion = partial ? 'meta.k8s.io/v1' : apiVersionOf(resource);
  const text = (object: KubernetesObject) => {
    if (partial) return textOf(object, resource, 'metadata');
    return resource.typedItems ? textOf(object, resource, 'whole') : untypedText(object, resource);
  };
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)}`;
  return `${head},"items":[${items.map(text).join(',')}]}`;
}
