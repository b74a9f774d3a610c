/**
 * Status checks: whether watchers have a status is learned from discovery, at the start and every minute. When
 * the CRD is replaced, every watcher is looked at, so that its state goes where it can be kept by now.
 */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import type { Resource } from '../../kubernetes/objects.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import type { Client } from '../../runtime/client/client.ts';
import { findServed } from '../../runtime/client/discovery.ts';
import { type Clock, sleep } from '../../runtime/clock.ts';
import { initialListPriority, type Source } from '../../runtime/controller/source.ts';

/** Milliseconds between two looks. */
const periodMs = 60_000;

export function statusChecks({
  resource,
  client,
  clock,
  watchers,
  store,
}: {
  readonly resource: Resource<ConfigWatcher>;
  readonly client: Client;
  readonly clock: Clock;
  readonly watchers: Lister<ConfigWatcher>;
  /** What has to know it. */
  readonly store: { readonly hasStatus: boolean; learn(hasStatus: boolean): void };
}): Source {
  const first = Promise.withResolvers<void>();
  return {
    start(enqueue, log, stop) {
      const look = async () => {
        const served = await findServed(client, resource, { signal: stop });
        // While the kind is not served at all there is nothing to keep.
        if (!served || served.status === store.hasStatus) return;
        store.learn(served.status);
        for (const { metadata } of watchers.list()) {
          const { namespace = '', name } = metadata;
          enqueue({ namespace, name }, { priority: initialListPriority });
        }
      };
      const run = async () => {
        while (!stop.aborted) {
          await look().catch((err) => {
            if (!stop.aborted) log.warn({ err, group: resource.group }, 'discovery failed');
          });
          first.resolve();
          await sleep(clock, periodMs, stop).catch(() => {});
        }
      };
      run().then(first.resolve, first.reject);
    },
    waitForSync: () => first.promise,
  };
}
