import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { configMaps } from '../../../src/api/kubernetes.ts';
import { KubeConfigError } from '../../../src/runtime/client/kubeconfig-entries.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

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

test('it is busy while requests are under way, watches apart', async () => {
  const server = await FakeApiServer.start();
  const connection = connectTo(server);
  const { client } = connection;
  const stop = new AbortController();
  const { signal } = stop;
  const watch = await client.watch(configMaps, { signal, timeoutSeconds: 60 });
  assert.equal(connection.isBusy(), false);
  server.fail({ method: 'GET' }, { kind: 'hang' });
  const end = new AbortController();
  const hanging = assert.rejects(client.list(configMaps, { signal: end.signal }));
  await until(() => connection.isBusy());
  end.abort();
  await hanging;
  await until(() => !connection.isBusy());
  stop.abort();
  await assert.rejects(async () => {
    for await (const _ of watch);
  });
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
