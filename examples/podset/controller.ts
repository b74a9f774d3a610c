/** The controller: read, decide, write. */
import { isDeepStrictEqual } from 'node:util';
import { controllerManagedBy, controllerOf, type Host, isNotFound } from '@atwatch/runtime';
import { pods } from '@atwatch/runtime/types/core';
import { decide, label, podFor } from './decide.ts';
import { podSets } from './types.generated.ts';

/** In batches of 1, 2, 4, 8, …: where the first is refused, as by a quota, the others are not tried. */
async function slowStart(count: number, one: () => Promise<unknown>): Promise<void> {
  for (let done = 0, batch = 1; done < count; done += batch, batch *= 2) {
    // All of a batch are waited for: the next look must not count while one of them is still on its way.
    const all = await Promise.allSettled(Array.from({ length: Math.min(batch, count - done) }, one));
    const refused = all.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (refused) throw refused.reason;
  }
}

/** Adds the controller to a Manager, which is a Host; it runs when the Manager does. */
export function addController(host: Host): void {
  const { client, clock, informers } = host;
  const setLister = informers.informerFor(podSets).lister;
  const podLister = informers.informerFor(pods, {
    labelSelector: label,
    indexes: { owner: (pod) => [controllerOf(pod)?.uid ?? ''] },
  }).lister;
  controllerManagedBy(host)
    .for(podSets)
    .owns(pods, { labelSelector: label })
    .complete({
      async reconcile({ namespace, name }, { signal }) {
        const podSet = setLister.get(namespace, name);
        if (podSet === undefined || podSet.metadata.deletionTimestamp !== undefined) return {};
        // The copy has what this process wrote, at once: nothing is expected, everything is counted.
        const owned = podLister.byIndex('owner', podSet.metadata.uid ?? '');
        const { create, surplus, status } = decide(podSet, owned, clock.now());
        // Before the writes, so that what is refused shows, too. What they change wakes this again.
        if (!isDeepStrictEqual(status, podSet.status)) {
          const body = { metadata: { resourceVersion: podSet.metadata.resourceVersion }, status };
          await client.patchStatus(podSets, { namespace, name }, { type: 'merge', body }, { signal });
        }
        await slowStart(create, () => client.create(pods, podFor(podSet), { signal }));
        for (const { metadata } of surplus) {
          const key = { namespace, name: metadata.name };
          await client.delete(pods, key, { signal }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
        }
        return {};
      },
    });
}
