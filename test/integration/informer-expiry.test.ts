/**
 * Each needs a control plane of its own: they write to etcd, compact it, and kill the API server.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { base64, compact, etcd } from './etcd.ts';
import { Audience, assertSameAsServer, connectByProxy, informersOn } from './informer-cluster.ts';
import { eventually } from './support.ts';

it('finds what it missed when its resource version was compacted away', { timeout: 180_000 }, async (t) => {
  const plane = await startControlPlane({ controllerManager: false, scheduler: false, signal: t.signal });
  t.after(() => plane.stop());
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(plane.kubeconfig);
  const direct = connect({
    kubeConfig,
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test',
    fieldManager: 'atwatch-test',
  });
  t.after(() => direct.close());
  const proxied = new KubeConfig();
  proxied.loadFromFile(plane.kubeconfig);
  const { connection, proxy } = await connectByProxy(t, proxied);

  const namespace = 'default';
  const { client } = direct;
  const create = (name: string) => client.create(configMaps, { metadata: { namespace, name } });
  for (const name of ['kept', 'deleted', 'again']) await create(name);

  const controller = new AbortController();
  t.after(() => controller.abort());
  const registry = new Registry();
  const informers = new Informers({
    client: connection.client,
    clock: systemClock,
    log: silentLogger,
    namespaces: [namespace],
    registry,
  });
  const informer = informers.informerFor(configMaps);
  const audience = new Audience(informer);
  informers.start(controller.signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));
  const before = informer.lister.get(namespace, 'again')?.metadata.uid;

  proxy.refuse();
  proxy.cut();
  for (const name of ['deleted', 'again']) await client.delete(configMaps, { namespace, name });
  await create('again');
  await create('new');
  await compact(plane);
  // Without the restart the API server would serve the past from its memory.
  await plane.stopApiServer();
  await plane.startApiServer();
  assert.ok(informer.lister.get(namespace, 'deleted'), 'the informer cannot know yet');

  proxy.refuse(false);
  await eventually(() => informer.lister.get(namespace, 'new'), { timeout: 90_000 });
  assert.equal(informer.lister.get(namespace, 'deleted'), undefined);
  assert.notEqual(informer.lister.get(namespace, 'again')?.metadata.uid, before);
  await assertSameAsServer(client, namespace, informer, audience);
  assert.match(await registry.metrics(), /^informer_expired_total\{resource="configmaps"\} 1$/m);
});

it('hears of every object that one revision deleted', { timeout: 180_000 }, async (t) => {
  const plane = await startControlPlane({ controllerManager: false, scheduler: false, signal: t.signal });
  t.after(() => plane.stop());
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(plane.kubeconfig);
  const { connection } = await connectByProxy(t, kubeConfig);
  const { client } = connection;
  const names = ['e1', 'e2', 'e3', 'e4', 'e5'];
  for (const name of names) await client.create(configMaps, { metadata: { namespace: 'default', name } });

  const { informers, signal } = informersOn(t, connection, ['default']);
  const informer = informers.informerFor(configMaps);
  const deleted: string[] = [];
  let last = false;
  informer.addHandler({
    onAdd: ({ metadata }) => {
      last ||= metadata.name === 'last';
    },
    onDelete: ({ metadata }) => void deleted.push(metadata.name),
  });
  informers.start(signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));

  // As etcd itself does when a lease expires.
  await etcd(plane, '/v3/kv/txn', {
    success: names.map((name) => ({
      requestDeleteRange: { key: base64(`/registry/configmaps/default/${name}`) },
    })),
  });
  await client.create(configMaps, { metadata: { namespace: 'default', name: 'last' } });
  await eventually(() => last, { message: 'the watch has shown what came after' });
  assert.deepEqual(deleted.sort(), names);
  assert.deepEqual(
    (await client.list(configMaps, { namespace: 'default' })).items.map(({ metadata }) => metadata.name),
    ['last'],
  );
  assert.equal(informer.lister.size, 1);
});
