/**
 * Discovery: which resources the API server serves in a group and version, for example whether a CRD is
 * installed, and with a status subresource.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { isNotFound, TransportError } from './api-error.ts';
import type { CallOptions } from './call-options.ts';
import type { Client } from './client.ts';
import { groupVersionPath } from './resource-path.ts';

/** A resource as the API server describes it. */
export interface ServedResource {
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Lower-case verbs: `get`, `list`, `watch`, … */
  readonly verbs: readonly string[];
  /** Whether there is a `/status` subresource. */
  readonly status: boolean;
}

/** metav1.APIResource, as far as it is read. */
interface ApiResource {
  /** `plural` or `plural/subresource`. */
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs?: readonly string[];
}

/** All resources of a group and version by their plural; none when the group or version is not served. */
export async function discover(
  client: Client,
  groupVersion: Pick<Resource, 'group' | 'version'>,
  options?: CallOptions,
): Promise<ReadonlyMap<string, ServedResource>> {
  const path = groupVersionPath(groupVersion);
  let answer: unknown;
  try {
    answer = await client.getRaw(path, options);
  } catch (error) {
    if (isNotFound(error)) return new Map();
    throw error;
  }
  const list = resourcesOf(answer);
  if (list === undefined) throw new TransportError(`GET ${path}: the answer is no list of resources`, true);
  const names = new Set(list.map(({ name }) => name));
  const served = list
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, verbs = [] }): [string, ServedResource] => [
      name,
      { plural: name, kind, namespaced, verbs, status: names.has(`${name}/status`) },
    ]);
  return new Map(served);
}

/** What the server serves of this resource, or undefined: its CRD is not installed. */
export async function findServed(
  client: Client,
  resource: Resource,
  options?: CallOptions,
): Promise<ServedResource | undefined> {
  return (await discover(client, resource, options)).get(resource.plural);
}

/**
 * The resource of a kind that is known by its names only, `resourceFor(client, 'apps/v1', 'Deployment')`, as the API
 * server has it. Ask once and keep it.
 *
 * @throws {NotServedError} when no such kind is served. Rejects with what the client throws, too.
 */
export async function resourceFor<T extends KubernetesObject = KubernetesObject>(
  client: Client,
  apiVersion: string,
  kind: string,
  options?: CallOptions,
): Promise<Resource<T>> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const served = await discover(client, { group, version }, options);
  const found = [...served.values()].find((resource) => resource.kind === kind);
  if (found === undefined) {
    const why = served.size === 0 ? 'there is no such group and version' : 'the group has no such kind';
    throw new NotServedError(`${kind} of ${apiVersion} is not served: ${why}`);
  }
  return { group, version, kind, plural: found.plural, namespaced: found.namespaced };
}

/** The API server has no such kind. */
export class NotServedError extends Error {
  override readonly name = 'NotServedError';
}

function resourcesOf(answer: unknown): readonly ApiResource[] | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (!('kind' in answer && answer.kind === 'APIResourceList' && 'resources' in answer)) return undefined;
  return Array.isArray(answer.resources) && answer.resources.every(isApiResource)
    ? answer.resources
    : undefined;
}

function isApiResource(value: unknown): value is ApiResource {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}
