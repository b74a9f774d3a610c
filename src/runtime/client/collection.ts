/**
 * Collection: what is done with many objects of a resource in one request, or in one after the other.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { listAnswer } from './answer.ts';
import type { DeleteCollectionOptions, Page, PageOptions } from './client.ts';
import { deleteBody } from './delete-body.ts';
import type { JsonRequests } from './json-requests.ts';
import { collectionPath, creationPath, withQuery } from './resource-path.ts';
import { typed } from './typed.ts';

/** As client-go's pager has it. */
const defaultLimit = 500;

/** Each page is asked for when the reader wants it. */
export async function* readPages<T extends KubernetesObject>(
  requests: JsonRequests,
  resource: Resource<T>,
  { namespace, labelSelector, fieldSelector, limit = defaultLimit, ...options }: PageOptions,
): AsyncGenerator<Page<T>, void, undefined> {
  const path = collectionPath(resource, namespace);
  let token: string | undefined;
  do {
    const query = { limit, labelSelector, fieldSelector, continue: token };
    const answer = await requests.read(withQuery(path, query), options);
    const { items, metadata } = listAnswer<T>({ method: 'GET', path }, resource, answer);
    token = metadata?.continue;
    yield {
      items: (items ?? []).map((item) => typed(resource, item)),
      resourceVersion: metadata?.resourceVersion ?? '',
      remaining: token ? metadata?.remainingItemCount : 0,
    };
  } while (token);
}

/** @throws {TypeError} for a namespaced resource without a namespace. */
export async function deleteCollection(
  requests: JsonRequests,
  resource: Resource,
  { namespace, labelSelector, fieldSelector, ...options }: DeleteCollectionOptions,
): Promise<void> {
  const { signal, timeout } = options;
  const path = withQuery(creationPath(resource, namespace), {
    timeout: requests.serverTimeout('DELETE', options),
    labelSelector,
    fieldSelector,
  });
  // The answer lists the objects as they were before, which tells of none whether it is gone.
  await requests.send({ method: 'DELETE', path, body: JSON.stringify(deleteBody(options)), signal, timeout });
}
