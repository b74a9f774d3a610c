/**
 * EventHandler: turns what happened to one object into requests for the objects that have to be looked at
 * because of it. Pure.
 */
import { controllerOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { type Request, requestFor, requestKey } from './reconciler.ts';

/** What an informer saw. `object` is the newest state known. */
export type ObjectEvent<T extends KubernetesObject> =
  | {
      readonly type: 'create';
      readonly object: T;
      /** True for objects of the first list. */
      readonly initial: boolean;
    }
  | { readonly type: 'update'; readonly previous: T; readonly object: T }
  | { readonly type: 'delete'; readonly object: T };

/**
 * The requests that follow from an event; there may be none. One that throws loses its event, and a log line
 * says so.
 */
export type EventHandler<T extends KubernetesObject> = (event: ObjectEvent<T>) => readonly Request[];

/** An event handler: a request for the object itself. */
export const enqueueRequestForObject: EventHandler<KubernetesObject> = ({ object }) => [requestFor(object)];

/**
 * An event handler: the requests that `map` gives for the object; of an update for its old and its new state,
 * because what the object no longer points to has to be looked at as well. Each once: the queue folds only
 * what waits in it, and of two equal requests a worker without work would take the first at once.
 */
export function enqueueRequestsFromMap<T extends KubernetesObject>(
  map: (object: T) => readonly Request[],
): EventHandler<T> {
  return (event) =>
    distinct(event.type === 'update' ? [...map(event.previous), ...map(event.object)] : map(event.object));
}

function distinct(requests: readonly Request[]): readonly Request[] {
  if (requests.length < 2) return requests;
  return [...new Map(requests.map((request) => [requestKey(request), request])).values()];
}

/**
 * An event handler: a request for the object's controller owner, if that is of the given kind. As in
 * Kubernetes an owner is in the namespace of the object or cluster-scoped; references to anything else are
 * ignored. The version does not count: an owner created through another version of its API is the same
 * object.
 */
export function enqueueRequestForOwner(owner: Resource): EventHandler<KubernetesObject> {
  return enqueueRequestsFromMap((object) => {
    const reference = controllerOf(object);
    if (reference?.kind !== owner.kind || groupOf(reference.apiVersion) !== owner.group) return [];
    if (!owner.namespaced) return [{ namespace: '', name: reference.name }];
    const { namespace } = object.metadata;
    return namespace ? [{ namespace, name: reference.name }] : [];
  });
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
