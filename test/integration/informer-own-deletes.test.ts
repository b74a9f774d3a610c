/**
 * What a Lister shows after an own delete. The watch has no say in these tests: its connection is cut before.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { configMaps, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import type { Lister } from '../../src/runtime/cache/lister.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { namespaces, serviceAccounts, services, storageClasses } from '../fixtures/cluster-resources.ts';
import { informersOn } from './informer-cluster.ts';
import { isGone, newConnection, withNamespace } from './support.ts';

interface Cached {
  readonly client: Client;
  readonly lister: Lister<KubernetesObject>;
  /** From now on the lister has own writes alone. */
  stopWatching(): void;
}

async function cached(t: TestContext, resource: Resource, namespace?: string): Promise<Cached> {
  const watching = newConnection();
  const writing = newConnection();
  t.after(() => {
    watching.close();
    writing.close();
  });
  const { informers, signal } = informersOn(t, watching, namespace === undefined ? [] : [namespace]);
  const { lister } = informers.informerFor(resource, { metadataOnly: true });
  writing.onWrite((written, object) => informers.observeWrite(written, object));
  informers.start(signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));
  return { client: writing.client, lister, stopWatching: () => watching.close() };
}

describe('an own delete on a real API server', () => {
  for (const { resource, spec } of [
    { resource: services, spec: { ports: [{ port: 80 }] } },
    { resource: serviceAccounts, spec: undefined },
  ]) {
    it(`hides a ${resource.kind}, which the API server answers with`, async (t) => {
      const namespace = await withNamespace(t);
      const { client, lister, stopWatching } = await cached(t, resource, namespace);
      stopWatching();
      const object = { metadata: { namespace, name: 'own' }, ...(spec && { spec }) };
      await client.create(resource, object);
      assert.ok(lister.get(namespace, 'own'));
      await client.delete(resource, { namespace, name: 'own' });
      assert.equal(lister.get(namespace, 'own'), undefined);
    });
  }

  it('hides a StorageClass, which the API server answers with', async (t) => {
    const { client, lister, stopWatching } = await cached(t, storageClasses);
    stopWatching();
    const name = `test-${randomBytes(5).toString('hex')}`;
    const object = { metadata: { name }, provisioner: 'example.com/none' };
    await client.create(storageClasses, object);
    assert.ok(lister.get('', name));
    await client.delete(storageClasses, { name });
    assert.equal(lister.get('', name), undefined);
  });

  it('shows a Namespace as terminating, also after a patch', async (t) => {
    const { client, lister, stopWatching } = await cached(t, namespaces);
    stopWatching();
    const name = `test-${randomBytes(5).toString('hex')}`;
    await client.create(namespaces, { metadata: { name } });
    // Without it the Namespace could end before the patch.
    const held = { namespace: name, name: 'held' };
    await client.create(configMaps, { metadata: { ...held, finalizers: ['example.com/hold'] } });
    await client.delete(namespaces, { name });
    assert.ok(lister.get('', name)?.metadata.deletionTimestamp, 'after the delete');
    const body = { metadata: { labels: { touched: 'yes' } } };
    await client.patch(namespaces, { name }, { type: 'merge', body });
    assert.equal(lister.get('', name)?.metadata.labels?.touched, 'yes', 'after the patch');
    await client.patch(configMaps, held, { type: 'merge', body: { metadata: { finalizers: null } } });
  });

  it('hides a ConfigMap whose last finalizer an own patch takes away', async (t) => {
    const namespace = await withNamespace(t);
    const { client, lister, stopWatching } = await cached(t, configMaps, namespace);
    stopWatching();
    const key = { namespace, name: 'held' };
    await client.create(configMaps, {
      metadata: { ...key, finalizers: ['example.com/one', 'example.com/two'] },
    });
    await client.delete(configMaps, key);
    await client.patch(configMaps, key, {
      type: 'merge',
      body: { metadata: { finalizers: ['example.com/two'] } },
    });
    assert.deepEqual(lister.get(namespace, 'held')?.metadata.finalizers, ['example.com/two']);
    await client.patch(configMaps, key, { type: 'merge', body: { metadata: { finalizers: null } } });
    assert.equal(lister.get(namespace, 'held'), undefined);
    assert.equal(await isGone(client, configMaps, namespace, 'held'), true);
  });
});
