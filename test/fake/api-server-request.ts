/**
 * Request to the fake API server: what the path, the query and the body ask for.
 */
import type { IncomingMessage } from 'node:http';
import { badRequest } from './api-server-status.ts';
import type { ServedResource } from './api-server-store.ts';

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Undefined when the path is none of a registered resource. */
  readonly target: Target | undefined;
}

export interface Target {
  readonly resource: ServedResource;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** Empty: the collection. */
  readonly name: string;
  readonly subresource: string;
}

export function isWatch(request: FakeRequest): boolean {
  return request.query.get('watch') === 'true';
}

export function wantsMetadataOnly(request: FakeRequest): boolean {
  return (request.headers.accept ?? '').includes('as=PartialObjectMetadata');
}

/** @throws Failure 400 when the body is no JSON. */
export function jsonBody(request: FakeRequest): unknown {
  try {
    return JSON.parse(request.body);
  } catch {
    throw badRequest('the object provided is unrecognized: json parse error');
  }
}

export function targetOf(path: string, resources: Iterable<ServedResource>): Target | undefined {
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(.+)$/.exec(path);
  if (match === null) return undefined;
  const [, group = '', version, rest = ''] = match;
  const parts = rest.split('/').map(decodeURIComponent);
  for (const resource of resources) {
    if (resource.group !== group || resource.version !== version) continue;
    const target = targetIn(resource, parts);
    if (target !== undefined) return target;
  }
  return undefined;
}

function targetIn(resource: ServedResource, parts: readonly string[]): Target | undefined {
  const scoped = resource.namespaced && parts[0] === 'namespaces' && parts.length > 2;
  const [plural, name = '', subresource = ''] = scoped ? parts.slice(2) : parts;
  if (plural !== resource.plural) return undefined;
  return { resource, namespace: scoped ? (parts[1] ?? '') : '', name, subresource };
}
