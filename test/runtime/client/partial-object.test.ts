import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { Informers } from '../../../src/runtime/cache/informers.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

const key = { namespace: 'n', name: 'a' };

let server: FakeApiServer;
let client: Client;
beforeEach(async () => {
  server = await FakeApiServer.start();
  client = connectTo(server).client;
  server.put(configMaps, { metadata: key, data: { kept: 'yes' } });
});
afterEach(() => server.stop());

function isRefused(error: unknown): boolean {
  return error instanceof TransportError && !error.sent && /only the metadata was read/.test(error.message);
}

describe('an object of which only the metadata was read', () => {
  test('is refused by update, in types and when it is sent', async () => {
    const got = await client.get(configMaps, key, { metadataOnly: true });
    // @ts-expect-error: it would empty the ConfigMap.
    await assert.rejects(client.update(configMaps, got), isRefused);
    const copy = { ...got, metadata: { ...got.metadata, labels: {} } };
    // @ts-expect-error: a copy of it is no better.
    await assert.rejects(client.update(configMaps, copy), isRefused);
    // @ts-expect-error: nor has it a status.
    await assert.rejects(client.updateStatus(configMaps, got), isRefused);
    const { items } = await client.list(configMaps, { metadataOnly: true });
    for (const item of items) {
      // @ts-expect-error: those of a list are the same.
      await assert.rejects(client.update(configMaps, item), isRefused);
    }
    assert.equal(items.length, 1);
    assert.deepEqual((await client.get(configMaps, key)).data, { kept: 'yes' });
  });

  test('so it is from a watch', async () => {
    const stop = new AbortController();
    const options = { metadataOnly: true, timeoutSeconds: 60, signal: stop.signal } as const;
    for await (const event of await client.watch(configMaps, options)) {
      assert.ok(event.type === 'ADDED');
      // @ts-expect-error: it is no ConfigMap.
      await assert.rejects(client.update(configMaps, event.object), isRefused);
      break;
    }
  });

  test('so it is from an informer', async () => {
    const informers = new Informers({ client, clock: systemClock, log: silentLogger, namespaces: [] });
    const stop = new AbortController();
    const { lister } = informers.informerFor(configMaps, { metadataOnly: true });
    informers.start(stop.signal);
    await informers.waitForSync(stop.signal);
    const cached = lister.get('n', 'a');
    assert.ok(cached);
    // @ts-expect-error: it is no ConfigMap.
    await assert.rejects(client.update(configMaps, { ...cached, data: {} }), isRefused);
    stop.abort();
  });

  test('says what it is, and is patched as any other', async () => {
    const { apiVersion, kind, metadata } = await client.get(configMaps, key, { metadataOnly: true });
    assert.deepEqual([apiVersion, kind], ['v1', 'ConfigMap']);
    const body = { metadata: { resourceVersion: metadata.resourceVersion, labels: { a: 'b' } } };
    const patched = await client.patch(configMaps, key, { type: 'merge', body });
    assert.deepEqual(patched.data, { kept: 'yes' });
    await client.update(configMaps, patched);
  });
});
