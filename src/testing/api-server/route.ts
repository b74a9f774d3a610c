/**
 * Route: which resource, object and subresource a path names.
 */
import type { ServedResource } from './served-resource.ts';

export interface Target {
  readonly resource: ServedResource;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  /** Empty: the collection. */
  readonly name: string;
  readonly subresource: string;
}

/** How many paths are remembered: a client asks for the same few again and again. */
const maxPaths = 10_000;

export class Router {
  readonly #resources = new Map<string, ServedResource>();
  readonly #targets = new Map<string, Target | undefined>();
  #all: readonly ServedResource[] | undefined;

  /** The same array until a resource is added or removed. */
  get resources(): readonly ServedResource[] {
    this.#all ??= [...this.#resources.values()];
    return this.#all;
  }

  add(resource: ServedResource): void {
    this.#resources.set(keyOf(resource.group, resource.version, resource.plural), resource);
    this.#forget();
  }

  remove({ group, version, plural }: Pick<ServedResource, 'group' | 'version' | 'plural'>): void {
    this.#resources.delete(keyOf(group, version, plural));
    this.#forget();
  }

  #forget(): void {
    this.#targets.clear();
    this.#all = undefined;
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#resources.get(keyOf(group, version, plural));
  }

  /** Undefined when the path is none of a resource that is served. */
  route(path: string): Target | undefined {
    const known = this.#targets.get(path);
    if (known !== undefined || this.#targets.has(path)) return known;
    const target = this.#parse(path);
    if (this.#targets.size >= maxPaths) this.#targets.clear();
    this.#targets.set(path, target);
    return target;
  }

  #parse(path: string): Target | undefined {
    const [, root, ...rest] = path.split('/').map(decodedSegment);
    if (root === 'api') return this.#inVersion('', rest[0] ?? '', rest.slice(1));
    if (root === 'apis') return this.#inVersion(rest[0] ?? '', rest[1] ?? '', rest.slice(2));
    return undefined;
  }

  #inVersion(group: string, version: string, parts: readonly string[]): Target | undefined {
    if (parts[0] === 'namespaces' && parts.length > 2) {
      const [, namespace = '', plural = '', name = '', subresource = ''] = parts;
      const resource = this.find(group, version, plural);
      if (resource?.namespaced) return { resource, namespace, name, subresource };
    }
    const [plural = '', name = '', subresource = ''] = parts;
    const resource = this.find(group, version, plural);
    return resource && { resource, namespace: '', name, subresource };
  }
}

function keyOf(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}

function decodedSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
