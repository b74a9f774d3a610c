/** Object history: all versions of the objects of a kind in one namespace, in the order in which they were written. */
import type { TestContext } from 'node:test';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';

export interface ObjectVersion<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  /** The resourceVersion, which is later for a later write, of whatever kind. */
  readonly at: number;
}

export function versionOf({ metadata }: KubernetesObject): number {
  return Number(metadata.resourceVersion);
}

/** From now until the end of the test; grows as the API server tells it. */
export async function historyOf<T extends KubernetesObject>(
  t: Pick<TestContext, 'after'>,
  { client, namespace }: { readonly client: Client; readonly namespace: string },
  resource: Resource<T>,
): Promise<readonly ObjectVersion<T>[]> {
  const versions: ObjectVersion<T>[] = [];
  const end = new AbortController();
  const { resourceVersion } = await client.list(resource, { namespace });
  const options = { namespace, resourceVersion, timeoutSeconds: 600, signal: end.signal };
  const events = await client.watch(resource, options);
  const watching = (async () => {
    for await (const event of events) {
      if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
      versions.push({ type: event.type, object: event.object, at: versionOf(event.object) });
    }
  })().catch(() => {});
  t.after(async () => {
    end.abort();
    await watching;
  });
  return versions;
}
