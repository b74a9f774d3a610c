/**
 * Custom resources of one API server: what the definitions in its cache make it serve, and the end of a definition:
 * its objects go first.
 */
import type { Change, Etcd } from '../etcd.ts';
import type { Registry } from '../registry.ts';
import type { Router } from '../route.ts';
import { collectionOf, type ServedResource } from '../served-resource.ts';
import {
  cleanupFinalizer,
  type Definition,
  isDefinition,
  resourcesOf,
  servedDefinitions,
} from './definitions.ts';

export interface CustomResourcesOptions {
  readonly etcd: Etcd;
  readonly registry: Registry;
  readonly router: Router;
  /** Called when a resource is served no more. */
  readonly onGone: (resource: ServedResource) => void;
}

const definitions = collectionOf(servedDefinitions);
const collector = { user: 'system:apiserver', manager: 'kube-apiserver', dryRun: false };

export class CustomResources {
  readonly #options: CustomResourcesOptions;
  /** By the name of the definition. */
  readonly #served = new Map<string, readonly ServedResource[]>();

  constructor(options: CustomResourcesOptions) {
    this.#options = options;
    for (const object of options.etcd.list(servedDefinitions)) if (isDefinition(object)) this.#serve(object);
  }

  /** A change as the cache takes it up. */
  see({ type, resource, object }: Change): void {
    const collection = collectionOf(resource);
    if (collection === definitions) this.#seeDefinition(type, object);
    else if (type === 'DELETED' && resource.isTerminating !== undefined) this.#collect();
  }

  #seeDefinition(type: Change['type'], object: unknown): void {
    if (!isDefinition(object)) return;
    if (type === 'DELETED') {
      this.#replace(object.metadata.name, []);
      return;
    }
    this.#serve(object);
    if (object.metadata.deletionTimestamp !== undefined) this.#collect();
  }

  #serve(definition: Definition): void {
    this.#replace(definition.metadata.name, resourcesOf(definition));
  }

  #replace(name: string, resources: readonly ServedResource[]): void {
    const { router, onGone } = this.#options;
    const isServed = ({ version }: ServedResource) => resources.some((other) => other.version === version);
    for (const resource of this.#served.get(name) ?? []) {
      if (isServed(resource)) continue;
      router.remove(resource);
      onGone(resource);
    }
    for (const resource of resources) router.add(resource);
    if (resources.length === 0) this.#served.delete(name);
    else this.#served.set(name, resources);
  }

  /** Deletes the objects of definitions that are being deleted, and then takes the finalizer off. */
  #collect(): void {
    const { etcd, registry } = this.#options;
    for (const definition of etcd.list(servedDefinitions)) {
      const { name, finalizers = [], deletionTimestamp } = definition.metadata;
      const [resource] = this.#served.get(name) ?? [];
      if (deletionTimestamp === undefined || !finalizers.includes(cleanupFinalizer) || !resource) continue;
      for (const { metadata } of etcd.list(resource)) {
        if (metadata.deletionTimestamp !== undefined) continue;
        const target = {
          resource,
          namespace: metadata.namespace ?? '',
          name: metadata.name,
          subresource: '',
        };
        registry.delete(target, {}, collector);
      }
      if (etcd.list(resource).length > 0) continue;
      const current = etcd.get(servedDefinitions, '', name);
      if (current?.metadata.finalizers?.includes(cleanupFinalizer) !== true) continue;
      const rest = {
        ...current.metadata,
        finalizers: finalizers.filter((other) => other !== cleanupFinalizer),
      };
      const target = { resource: servedDefinitions, namespace: '', name, subresource: '' };
      registry.replace(target, current, { ...current, metadata: rest }, collector);
    }
  }
}
