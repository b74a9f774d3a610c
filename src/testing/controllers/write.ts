/** Write: one request that a simulated controller wants to make, as a value. */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { creationPath, objectPath } from '../../runtime/client/resource-path.ts';
import type { ApiWrites, WriteAnswer } from '../cluster-ports.ts';

export type Write =
  | { readonly verb: 'create'; readonly resource: Resource; readonly object: KubernetesObject }
  /** A PUT with the resourceVersion of the object that it was made from. */
  | {
      readonly verb: 'update';
      readonly resource: Resource;
      readonly object: KubernetesObject;
      readonly subresource?: string;
    }
  /** A JSON merge patch that holds for one uid only. */
  | {
      readonly verb: 'patch';
      readonly resource: Resource;
      readonly object: KubernetesObject;
      readonly patch: object;
      readonly subresource?: string;
    }
  | {
      readonly verb: 'delete';
      readonly resource: Resource;
      readonly object: KubernetesObject;
      readonly gracePeriodSeconds?: number;
      readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
      /** The object is deleted only as it was when the decision was made. */
      readonly unchanged?: boolean;
    };

export function create(resource: Resource, object: KubernetesObject): Write {
  return { verb: 'create', resource, object };
}

export function update<T extends KubernetesObject>(resource: Resource<T>, object: T): Write {
  return { verb: 'update', resource, object };
}

export function updateStatus<T extends KubernetesObject>(resource: Resource<T>, object: T): Write {
  return { verb: 'update', resource, object, subresource: 'status' };
}

export function patch(resource: Resource, object: KubernetesObject, body: object): Write {
  return { verb: 'patch', resource, object, patch: body };
}

export function patchStatus(resource: Resource, object: KubernetesObject, status: object): Write {
  return { verb: 'patch', resource, object, patch: { status }, subresource: 'status' };
}

export function remove(
  resource: Resource,
  object: KubernetesObject,
  options: Pick<Write & { verb: 'delete' }, 'gracePeriodSeconds' | 'propagationPolicy' | 'unchanged'> = {},
): Write {
  return { verb: 'delete', resource, object, ...options };
}

/** Makes the request as that user. */
export function perform(writes: ApiWrites, user: string, write: Write): WriteAnswer {
  const { resource, object } = write;
  const { namespace = '', name, uid } = object.metadata;
  const key = { namespace, name };
  switch (write.verb) {
    case 'create':
      return writes.request(user, 'POST', creationPath(resource, namespace), object);
    case 'update':
      return writes.request(user, 'PUT', objectPath(resource, key, write.subresource), object);
    case 'patch': {
      const body = { ...write.patch, metadata: { ...metadataOf(write.patch), uid } };
      const path = objectPath(resource, key, write.subresource);
      return writes.request(user, 'PATCH', path, body, 'application/merge-patch+json');
    }
    case 'delete':
      return writes.request(user, 'DELETE', objectPath(resource, key), deleteOptions(write));
  }
}

/** Whether the request was carried out. */
export function isDone({ code }: WriteAnswer): boolean {
  return code < 300;
}

function metadataOf(body: object): object {
  return (body as { metadata?: object }).metadata ?? {};
}

function deleteOptions(write: Write & { verb: 'delete' }): object {
  const { object, gracePeriodSeconds, propagationPolicy, unchanged = false } = write;
  const { uid, resourceVersion } = object.metadata;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid, ...(unchanged && { resourceVersion }) },
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
  };
}
