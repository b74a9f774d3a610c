import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { customResourceDefinitions } from '../fixtures/cluster-resources.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { Audience, assertSameAsServer, connectByProxy, informersOn } from './informer-cluster.ts';
import {
  connectToTestCluster,
  eventually,
  newConnection,
  skipWithoutStreams,
  testKubeConfig,
  withNamespace,
} from './support.ts';

function configMap(namespace: string, name: string, value = ''): ConfigMap {
  return { metadata: { namespace, name, labels: { app: 'informer' } }, data: { value } };
}

function valuePatch(value: string) {
  return { type: 'merge', body: { data: { value } } } as const;
}

/** A cluster-scoped kind in a group of its own, and what defines and removes it. */
function thingsOf(group: string, kind = 'Thing') {
  const { client } = connectToTestCluster();
  const plural = `${kind.toLowerCase()}s`;
  const things: Resource = { group, version: 'v1', plural, kind, namespaced: false };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition = {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  return {
    things,
    define: () => client.create<KubernetesObject>(customResourceDefinitions as Resource, definition),
    remove: () => client.delete(customResourceDefinitions, { name: definition.metadata.name }),
  };
}

const skip = await skipWithoutStreams();

describe('an informer on a real API server', () => {
  it('loads 600 objects by one watch and follows what becomes of them', { skip }, async (t) => {
    const namespace = await withNamespace(t);
    const { client } = connectToTestCluster();
    await inParallel(600, 16, (index) => client.create(configMaps, configMap(namespace, `cm-${index}`)));

    const lists: string[] = [];
    const watches: unknown[] = [];
    const counting: Client = Object.assign(Object.create(client), {
      list: (resource: Resource) => lists.push(resource.plural),
      watch: (resource: Resource, options: Parameters<Client['watch']>[1]) => {
        watches.push(options.sendInitialEvents);
        return client.watch(resource, options);
      },
    });
    const controller = new AbortController();
    t.after(() => controller.abort());
    const informers = new Informers({
      client: counting,
      clock: systemClock,
      log: silentLogger,
      namespaces: [namespace],
    });
    const informer = informers.informerFor(configMaps, { labelSelector: 'app=informer' });
    const audience = new Audience(informer);
    informers.start(controller.signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));
    assert.equal(audience.initialAdds, 600);
    assert.deepEqual(
      { lists, watches },
      { lists: [], watches: [true] },
      'the server sent the initial events',
    );

    await inParallel(100, 16, (index) =>
      client.patch(configMaps, { namespace, name: `cm-${index}` }, valuePatch('new')),
    );
    await inParallel(50, 16, (index) => client.delete(configMaps, { namespace, name: `cm-${index}` }));
    await eventually(() => informer.lister.size === 550 && audience.updates === 100, {
      message: 'all events came',
    });
    const { items } = await client.list(configMaps, { namespace, labelSelector: 'app=informer' });
    assert.equal(items.length, 550);
    assert.equal(informer.lister.get(namespace, 'cm-99')?.data?.value, 'new');
    assert.equal(informer.lister.get(namespace, 'cm-99')?.metadata.managedFields, undefined);
    assert.deepEqual(audience.contradictions, []);
    assert.equal(watches.length, 1);
  });

  it('misses nothing and adds nothing twice when its connection is cut 50 times under writes', async (t) => {
    const namespace = await withNamespace(t);
    const { client } = connectToTestCluster();
    const { connection, proxy } = await connectByProxy(t, testKubeConfig());
    const { informers, signal } = informersOn(t, connection, [namespace]);
    const informer = informers.informerFor(configMaps);
    const audience = new Audience(informer);
    informers.start(signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));

    let writing = true;
    const writer = (async () => {
      for (let round = 0; writing; round++) {
        const name = `cm-${round % 7}`;
        await client.create(configMaps, configMap(namespace, name));
        await client.patch(configMaps, { namespace, name }, valuePatch(String(round)));
        await client.delete(configMaps, { namespace, name });
      }
    })();
    try {
      for (let cuts = 0; cuts < 50; cuts++) {
        const before = audience.updates;
        await eventually(() => audience.updates > before, { interval: 5, timeout: 60_000 });
        proxy.cut();
      }
    } finally {
      writing = false;
      await writer;
    }
    await client.create(configMaps, configMap(namespace, 'last'));
    await eventually(() => informer.lister.get(namespace, 'last'), { timeout: 60_000 });
    await assertSameAsServer(client, namespace, informer, audience);
  });

  it('never shows a reader less than what this process has written, 1000 times', async (t) => {
    const namespace = await withNamespace(t);
    const connection = newConnection();
    t.after(() => connection.close());
    const { client } = connection;
    const { informers, signal } = informersOn(t, connection, [namespace]);
    const { lister } = informers.informerFor(configMaps, { labelSelector: 'app=informer' });
    informers.start(signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));
    await inParallel(1000, 16, async (index) => {
      const name = `cm-${index}`;
      await client.create(configMaps, configMap(namespace, name, 'first'));
      assert.equal(lister.get(namespace, name)?.data?.value, 'first');
      await client.patch(configMaps, { namespace, name }, valuePatch('second'));
      assert.equal(lister.get(namespace, name)?.data?.value, 'second');
      if (index % 4 !== 0) return;
      await client.delete(configMaps, { namespace, name });
      assert.equal(lister.get(namespace, name), undefined);
      await client.create(configMaps, configMap(namespace, name, 'third'));
      assert.equal(lister.get(namespace, name)?.data?.value, 'third');
    });
  });

  it('shows what a delete did to a Pod, at once or after its finalizer', async (t) => {
    const namespace = await withNamespace(t);
    const connection = newConnection();
    t.after(() => connection.close());
    const { client } = connection;
    const { informers, signal } = informersOn(t, connection, [namespace]);
    const { lister } = informers.informerFor(pods);
    informers.start(signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));
    for (const { name, finalizers } of [
      { name: 'plain', finalizers: [] },
      { name: 'held', finalizers: ['example.com/hold'] },
    ]) {
      const spec = { containers: [{ name: 'main', image: 'none' }], schedulerName: 'nobody' };
      await client.create(pods, { metadata: { namespace, name, finalizers }, spec });
      await client.delete(pods, { namespace, name });
      const marked = lister.get(namespace, name)?.metadata.deletionTimestamp !== undefined;
      assert.equal(marked, name === 'held', `${name} after the delete`);
    }
    assert.equal(lister.get(namespace, 'plain'), undefined);
    await client.patch(
      pods,
      { namespace, name: 'held' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    );
    assert.equal(lister.get(namespace, 'held'), undefined);
    await eventually(() => lister.size === 0);
  });

  it('watches metadata alone', async (t) => {
    const namespace = await withNamespace(t);
    const connection = newConnection();
    t.after(() => connection.close());
    const { informers, signal } = informersOn(t, connection, [namespace]);
    const { lister } = informers.informerFor(configMaps, { metadataOnly: true });
    informers.start(signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));
    await connectToTestCluster().client.create(configMaps, configMap(namespace, 'foreign', 'secret'));
    const object = await eventually(() => lister.get(namespace, 'foreign'));
    assert.deepEqual(Object.keys(object).sort(), ['apiVersion', 'kind', 'metadata']);
    assert.deepEqual([object.apiVersion, object.kind], ['v1', 'ConfigMap']);
    assert.deepEqual(object.metadata.labels, { app: 'informer' });
  });

  it('takes up a custom resource that is defined later, and defined anew', {
    timeout: 120_000,
  }, async (t) => {
    const { client } = connectToTestCluster();
    const { things, define, remove } = thingsOf(`g${randomBytes(4).toString('hex')}.example.com`);
    const createThing = (name: string) =>
      eventually(() => client.create(things, { metadata: { name } }), { message: 'the CRD is served' });
    t.after(() => remove().catch(() => undefined));

    const connection = newConnection();
    t.after(() => connection.close());
    const { informers, signal } = informersOn(t, connection, []);
    const informer = informers.informerFor(things);
    const audience = new Audience(informer);
    informers.start(signal);
    await eventually(() => informers.problems[0]?.reason === 'NotServed');
    assert.equal(informers.hasSynced, false);

    await define();
    await createThing('one');
    await eventually(() => informer.lister.get('', 'one'), { timeout: 40_000 });
    assert.deepEqual(informers.problems, []);

    await remove();
    await eventually(() => informer.lister.size === 0, { message: 'the end of its objects was seen' });
    await eventually(() => informers.problems[0]?.reason === 'NotServed', { timeout: 40_000 });
    await define();
    await createThing('two');
    await eventually(() => informer.lister.get('', 'two'), { timeout: 40_000 });
    assert.deepEqual([...audience.known.keys()], ['two']);
    assert.deepEqual(audience.contradictions, []);
  });

  for (const [what, others] of [
    ['with its group', []],
    ['from a group that has others', ['Other']],
  ] as const) {
    it(`loses the objects of a kind that went away ${what} while nothing could be heard`, {
      timeout: 120_000,
    }, async (t) => {
      const { client } = connectToTestCluster();
      const group = `g${randomBytes(4).toString('hex')}.example.com`;
      const { things, define, remove } = thingsOf(group);
      t.after(() => remove().catch(() => undefined));
      for (const kind of others) {
        const other = thingsOf(group, kind);
        t.after(() => other.remove());
        await other.define();
        await eventually(() => client.list(other.things), { message: 'the other CRD is served' });
      }
      await define();
      await eventually(() => client.create(things, { metadata: { name: 'one' } }), {
        message: 'the CRD is served',
      });

      const { connection, proxy } = await connectByProxy(t, testKubeConfig());
      const { informers, signal } = informersOn(t, connection, []);
      const informer = informers.informerFor(things);
      const audience = new Audience(informer);
      informers.start(signal);
      await informers.waitForSync(AbortSignal.timeout(30_000));
      assert.equal(informer.lister.size, 1);

      proxy.refuse();
      proxy.cut();
      await remove();
      await eventually(() => client.list(things).then(() => false, isNotFound), {
        message: 'it is not served',
      });
      proxy.refuse(false);
      await eventually(() => informers.problems[0]?.reason === 'NotServed', { timeout: 40_000 });
      assert.equal(informer.lister.size, 1, 'one proof is not enough');
      await eventually(() => informer.lister.size === 0, { timeout: 60_000 });
      assert.deepEqual([...audience.known.keys()], []);
      assert.deepEqual(audience.contradictions, []);
    });
  }
});
