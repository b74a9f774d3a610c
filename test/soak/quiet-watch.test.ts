/** A kind of which nothing happens for minutes: too slow for every run of the tests. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configMaps, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import type { Client, WatchEvent } from '../../src/runtime/client/client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { connectToTestCluster, withNamespace } from '../integration/support.ts';

/** Longer than what a load balancer or a proxy of three minutes would cut. */
const quietTime = 200_000;

it('a quiet kind keeps one watch for more than 3 min, and its version moves on by bookmarks', async (t) => {
  const { client } = connectToTestCluster();
  const quiet = await withNamespace(t);
  const noisy = await withNamespace(t);
  const seen = { watches: 0, bookmarks: [] as number[] };
  const watching: Client = Object.assign(Object.create(client), {
    watch: async (...[resource, options]: Parameters<Client['watch']>) => {
      seen.watches++;
      return recorded(await client.watch(resource, options), seen.bookmarks);
    },
  });
  const controller = new AbortController();
  t.after(() => controller.abort());
  const informers = new Informers({
    ...{ client: watching, clock: systemClock, log: silentLogger, namespaces: [quiet] },
  });
  const informer = informers.informerFor(configMaps, { labelSelector: 'quiet=true' });
  informers.start(controller.signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));

  const begun = performance.now();
  let early = 0;
  let silence = 0;
  for (let round = 0; performance.now() - begun < quietTime; round++) {
    const { metadata } = await client.create(configMaps, {
      metadata: { namespace: noisy, name: `noise-${round}` },
    });
    // What is written in the last 90 s may not have been told yet: there is about one bookmark a minute.
    if (performance.now() - begun < quietTime - 90_000) early = Number(metadata.resourceVersion);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    silence = Math.max(silence, informer.sinceLastContact());
  }
  assert.equal(seen.watches, 1);
  assert.ok((seen.bookmarks.at(-1) ?? 0) >= early, `${seen.bookmarks} after ${early}`);
  assert.ok(silence < 90_000, `${silence} ms without contact`);
});

async function* recorded<T extends KubernetesObject>(
  events: AsyncIterable<WatchEvent<T>>,
  bookmarks: number[],
): AsyncGenerator<WatchEvent<T>> {
  for await (const event of events) {
    if (event.type === 'BOOKMARK') bookmarks.push(Number(event.object.metadata.resourceVersion));
    yield event;
  }
}
