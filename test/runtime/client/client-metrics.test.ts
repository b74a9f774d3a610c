import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

/** The samples whose line begins so, without the host. */
async function samples(registry: Registry, prefix: string): Promise<string[]> {
  const text = await registry.metrics();
  return text
    .split('\n')
    .filter((line) => line.startsWith(prefix))
    .map((line) => line.replace(/,?host="[^"]*"/, ''));
}

test('the usual series exist at 0 from the start', async () => {
  const server = await FakeApiServer.start();
  const registry = new Registry();
  connectTo(server, { registry });
  assert.deepEqual(await samples(registry, 'rest_client_requests_total'), [
    'rest_client_requests_total{code="200",method="GET"} 0',
    'rest_client_requests_total{code="201",method="POST"} 0',
    'rest_client_requests_total{code="200",method="PUT"} 0',
    'rest_client_requests_total{code="200",method="PATCH"} 0',
    'rest_client_requests_total{code="200",method="DELETE"} 0',
  ]);
  const counts = await samples(registry, 'rest_client_request_duration_seconds_count');
  assert.equal(counts.length, 5);
  assert.ok(counts.every((line) => line.endsWith(' 0')));
  await server.stop();
});

test('each request is counted by its outcome, those of the Lease too, and the host is host:port', async () => {
  const server = await FakeApiServer.start();
  const registry = new Registry();
  const { client, leaseClient } = connectTo(server, { registry });
  const object = { metadata: { namespace: 'n', name: 'a' } };
  await client.create(configMaps, object);
  await assert.rejects(leaseClient.create(configMaps, object));
  server.fail({}, { kind: 'status', code: 500 });
  await client.list(configMaps);
  server.fail({}, { kind: 'cut', when: 'before' });
  await assert.rejects(client.delete(configMaps, object.metadata));
  const { signal } = new AbortController();
  await client.watch(configMaps, { timeoutSeconds: 10, signal });
  const counted = (await samples(registry, 'rest_client_requests_total')).filter(
    (line) => !line.endsWith(' 0'),
  );
  assert.deepEqual(counted.sort(), [
    'rest_client_requests_total{code="200",method="GET"} 2',
    'rest_client_requests_total{code="201",method="POST"} 1',
    'rest_client_requests_total{code="409",method="POST"} 1',
    'rest_client_requests_total{code="500",method="GET"} 1',
    'rest_client_requests_total{code="<error>",method="DELETE"} 1',
  ]);
  const counts = await samples(registry, 'rest_client_request_duration_seconds_count{verb="POST"');
  assert.deepEqual(counts, ['rest_client_request_duration_seconds_count{verb="POST"} 2']);
  assert.ok((await registry.metrics()).includes(`host="127.0.0.1:${server.port}"`));
  await server.stop();
});
