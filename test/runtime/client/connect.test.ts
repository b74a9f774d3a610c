import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { configMaps } from '../../../src/api/kubernetes.ts';
import { KubeConfigError } from '../../../src/runtime/client/load-kubeconfig.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

test('the wall clock of the server is told with each answer, until the listener is removed', async () => {
  const server = await FakeApiServer.start();
  const { client, onServerDate } = connectTo(server);
  const times: number[] = [];
  const remove = onServerDate((time) => times.push(time));
  await client.list(configMaps);
  await assert.rejects(client.get(configMaps, { namespace: 'n', name: 'a' }));
  remove();
  await client.list(configMaps);
  assert.equal(times.length, 2);
  for (const time of times) assert.ok(Math.abs(time - Date.now()) < 2000 && time % 1000 === 0, `${time}`);
  await server.stop();
});

test('a configuration without a server is refused at once', async () => {
  const server = await FakeApiServer.start();
  assert.throws(() => connectTo(server, { kubeConfig: new KubeConfig() }), KubeConfigError);
  const nonsense = new KubeConfig();
  nonsense.loadFromClusterAndUser({ name: 'c', server: 'nonsense', skipTLSVerify: false }, { name: 'u' });
  assert.throws(() => connectTo(server, { kubeConfig: nonsense }), /nonsense is no URL/);
  await server.stop();
});
