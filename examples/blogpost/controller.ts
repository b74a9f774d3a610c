/** The controller: read, decide, write. */
import { isDeepStrictEqual } from 'node:util';
import { controllerManagedBy, type Host } from '@atwatch/runtime';
import { configMaps } from '@atwatch/runtime/types/core';
import { decide } from './decide.ts';
import { blogPosts } from './types.generated.ts';

/** Adds the controller to a Manager, which is a Host; it runs when the Manager does. */
export function addController(host: Host): void {
  const { client, clock, informers } = host;
  const postLister = informers.informerFor(blogPosts).lister;
  const pageLister = informers.informerFor(configMaps).lister;
  controllerManagedBy(host)
    .for(blogPosts)
    .owns(configMaps)
    .complete({
      async reconcile({ namespace, name }, { signal }) {
        const post = postLister.get(namespace, name);
        if (post === undefined || post.metadata.deletionTimestamp !== undefined) return {};
        const key = { namespace, name };
        const found = pageLister.get(namespace, name);
        const { page, withdraw, status, requeueAt } = decide(post, found, clock.now());
        const resourceVersion = found?.metadata.resourceVersion;
        if (page && !found) await client.create(configMaps, page, { signal });
        else if (page) {
          const body = { metadata: { resourceVersion }, data: page.data };
          await client.patch(configMaps, key, { type: 'merge', body }, { signal });
        } else if (withdraw) await client.delete(configMaps, key, { signal });
        // Crash window: readers see what they may, the status does not say so. The next pass does.
        if (!isDeepStrictEqual(status, post.status)) {
          const body = { metadata: { resourceVersion: post.metadata.resourceVersion }, status };
          await client.patchStatus(blogPosts, key, { type: 'merge', body }, { signal });
        }
        return requeueAt === undefined ? {} : { requeueAt };
      },
    });
}
