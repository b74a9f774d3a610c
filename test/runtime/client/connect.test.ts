import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { KubeConfigError } from '../../../src/runtime/client/kubeconfig-entries.ts';
import type { AnswerTime } from '../../../src/runtime/server-clock.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

test('each answer of Kubernetes tells when it was given, until the listener is removed', async () => {
  const server = await FakeApiServer.start();
  const { client, onAnswer } = connectTo(server);
  const answers: AnswerTime[] = [];
  const remove = onAnswer((answer) => answers.push(answer));
  await client.list(configMaps);
  await assert.rejects(client.get(configMaps, { namespace: 'n', name: 'a' }));
  // A proxy's page proves nothing about the clock of the API server.
  server.fail({ method: 'GET' }, { kind: 'status', code: 404, text: 'no such page' });
  await assert.rejects(client.list(configMaps));
  assert.equal(answers.length, 2);
  remove();
  await client.list(configMaps);
  assert.equal(answers.length, 2);
  for (const { date, sentAt, receivedAt } of answers) {
    assert.ok(Math.abs(date - Date.now()) < 5000 && date % 1000 === 0, `${date}`);
    assert.ok(sentAt <= receivedAt);
  }
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
