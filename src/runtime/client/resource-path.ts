/**
 * Resource path: where an object or a collection lives in the REST API, as a URL path with its query.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { ObjectKey } from './client.ts';

/** Root with the **group**, namespace, **resource**, name, **subresource**. */
const apiPath =
  /^\/(?:api\/[^/]+|apis\/([^/]+)\/[^/]+)\/(?:namespaces\/[^/]+\/)?([^/?]+)(?:\/[^/?]+(\/[^/?]+)?)?/;

export type QueryValue = string | number | boolean | undefined;

/** `/api/v1`, `/apis/apps/v1`, … */
export function groupVersionPath(resource: Pick<Resource, 'group' | 'version'>): string {
  return resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
}

/** @param namespace absent or empty: all namespaces. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = groupVersionPath(resource);
  if (!resource.namespaced || namespace === undefined || namespace === '')
    return `${root}/${resource.plural}`;
  return `${root}/namespaces/${segment(namespace)}/${resource.plural}`;
}

/** @throws {TypeError} without a name or, for a namespaced resource, without a namespace. */
export function objectPath(resource: Resource, key: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(resource, namespaceOf(resource, key.namespace))}/${segment(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Where objects of this namespace are created. @throws {TypeError} when the namespace is missing. */
export function creationPath(resource: Resource, namespace: string | undefined): string {
  return collectionPath(resource, namespaceOf(resource, namespace));
}

/** What a path is about, whichever object it names: `pods`, `ats.example.com/status`. Undefined for other paths. */
export function resourceOf(path: string): string | undefined {
  const [, group, resource, subresource = ''] = apiPath.exec(path) ?? [];
  if (resource === undefined) return undefined;
  return group === undefined ? `${resource}${subresource}` : `${resource}.${group}${subresource}`;
}

/** The path with `?key=value&…` of the parameters that have a value. */
export function withQuery(path: string, parameters: Readonly<Record<string, QueryValue>>): string {
  let query = '';
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === '') continue;
    query += `${query === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`;
  }
  return path + query;
}

/** Without this check a forgotten namespace would turn one object's path into that of another resource. */
function namespaceOf(resource: Resource, namespace: string | undefined): string | undefined {
  if (resource.namespaced && (namespace === undefined || namespace === '')) {
    throw new TypeError(`a namespace is needed for ${resource.plural}`);
  }
  return namespace;
}

/** An empty name would address the whole collection, `..` something else: a DELETE must never do that. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('%')) {
    throw new TypeError(`${JSON.stringify(name)} cannot be the name of an object`);
  }
  return encodeURIComponent(name);
}
