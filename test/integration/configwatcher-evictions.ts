/**
 * Evictions by a ConfigWatcher: which there were, what it may do to make them, a budget that allows none, and a Pod that
 * goes before its own.
 */
import { pods } from '../../src/kubernetes/objects.ts';
import type { Client, ObjectKey } from '../../src/runtime/client/client.ts';
import { podDisruptionBudgets, type Shop } from './configwatcher-shop.ts';
import type { Rule } from './rights.ts';
import { eventually, isGone } from './support.ts';

/** All that an operator needs that evicts, and rolls nothing out. */
export const evictingRights: readonly Rule[] = [
  { apiGroups: [''], resources: ['pods', 'configmaps'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['k8spatterns.io'], resources: ['configwatchers'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['k8spatterns.io'], resources: ['configwatchers/status'], verbs: ['update'] },
  { apiGroups: ['apps'], resources: ['replicasets', 'deployments'], verbs: ['get'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** For `onConnect` of an operator: notes every Pod that it asks to be evicted, by its name. */
export function noteEvictions(evicted: string[]): (client: Client) => void {
  return (client) => {
    const evict = client.evict.bind(client);
    client.evict = (key, options) => {
      evicted.push(key.name);
      return evict(key, options);
    };
  };
}

/** Creates a budget over the Pods of the shop, as many of which are there; resolves when it is in force. */
export async function forbidEvictions(
  { client, namespace }: Shop,
  minAvailable: number,
  matchLabels: Readonly<Record<string, string>> = { app: 'webapp' },
): Promise<ObjectKey> {
  const key = { namespace, name: 'webapp' };
  const spec = { minAvailable, selector: { matchLabels } };
  await client.create(podDisruptionBudgets, { metadata: key, spec });
  await eventually(async () => {
    // Before its controller has seen it, the API server asks to wait for ten seconds.
    const { metadata, status } = await client.get(podDisruptionBudgets, key);
    return status?.observedGeneration === metadata.generation && status?.disruptionsAllowed === 0;
  });
  return key;
}

/** Resolves when the Pod is gone, and when there is another one of its name where one comes. */
export async function deletePod(
  { client, namespace }: Shop,
  name: string,
  { comesBack }: { readonly comesBack: boolean },
): Promise<void> {
  const key = { namespace, name };
  const { metadata } = await client.get(pods, key);
  await client.delete(pods, key);
  await eventually(async () => {
    if (await isGone(client, pods, namespace, name)) return !comesBack;
    return comesBack && (await client.get(pods, key)).metadata.uid !== metadata.uid;
  });
}
