/**
 * Served resource: a REST collection of a simulated API server, and in which ways it behaves.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { Strategy } from './strategy.ts';

/** A resource of the simulated API server, with how its kind differs from a custom resource. */
export interface ServedResource extends Resource {
  /** Default true: there is a status subresource, and other writes leave the status alone. */
  readonly status?: boolean;
  /** Default true: objects are kept. Otherwise one can only be created, as a review of access, and is answered. */
  readonly isStored?: boolean;
  /** Default true: metadata.generation counts the changes of everything but metadata and status. */
  readonly generation?: boolean;
  /** Default true, as for custom resources: a PUT needs metadata.resourceVersion. */
  readonly conditionalUpdate?: boolean;
  /** Default false: a DELETE is answered with the object, as for Pods, and not with a Status. */
  readonly returnsDeleted?: boolean;
  /** Default: the kind with `List` behind it. */
  readonly listKind?: string;
  /** Default false: the items of a list say their kind and apiVersion, as those of custom resources do. */
  readonly typedItems?: boolean;
  /** Fields beyond metadata.name and metadata.namespace that objects can be selected by, such as `spec.nodeName`. */
  readonly selectableFields?: readonly string[];
  /** Default false: metadata.managedFields says who has set what. */
  readonly managedFields?: boolean;
  /** Default false: a write to the status may change labels and annotations as well, as that of a Pod. */
  readonly statusTakesMetadata?: boolean;
  /** Of custom resources: whether their definition is being deleted, so that no more are created. */
  readonly isTerminating?: boolean;
  /** What the kind adds to the rules for all objects. */
  readonly strategy?: Strategy;
  /** Names of the subresources beside status. */
  readonly subresources?: readonly string[];
}

/** Key of the collection in which all versions of a resource are stored. */
export function collectionOf(resource: Pick<Resource, 'group' | 'plural'>): string {
  let collection = collections.get(resource);
  if (collection === undefined) {
    collection = `${resource.group}/${resource.plural}`;
    collections.set(resource, collection);
  }
  return collection;
}

/** The same text each time, whose hash a Map need not work out again. */
const collections = new WeakMap<object, string>();
