import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { TcpProxy } from '../fake/tcp-proxy.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { connectToTestCluster, testKubeConfig, withNamespace } from './support.ts';

/** What a list takes in bytes, when the API server is asked for it under this name of this machine. */
async function bytesOfList(
  t: TestContext,
  host: string,
  namespace: string,
  objects: number,
): Promise<number> {
  const kubeConfig = testKubeConfig();
  const cluster = kubeConfig.getCurrentCluster();
  const user = kubeConfig.getCurrentUser();
  assert.ok(cluster && user);
  const proxy = await TcpProxy.start(cluster.server);
  t.after(() => proxy.stop());
  const server = proxy.url.replace('127.0.0.1', host);
  // The certificate does not know every name.
  kubeConfig.loadFromClusterAndUser({ ...cluster, server, tlsServerName: 'localhost' }, user);
  const connection = connect({
    kubeConfig,
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test',
    fieldManager: 'atwatch-test',
  });
  t.after(() => connection.close());
  const { items } = await connection.client.list(configMaps, { namespace, labelSelector: 'test=large' });
  assert.equal(items.length, objects);
  assert.equal(items.filter(({ data }) => data?.text === 'x'.repeat(5000)).length, objects);
  return proxy.received;
}

test('a list comes compressed, unless the API server is on this machine', async (t) => {
  const namespace = await withNamespace(t);
  const { client } = connectToTestCluster();
  const labels = { test: 'large' };
  const data = { text: 'x'.repeat(5000) };
  await inParallel(300, 16, (index) =>
    client.create(configMaps, { metadata: { namespace, name: `cm-${index}`, labels }, data }),
  );
  const plain = await bytesOfList(t, '127.0.0.1', namespace, 300);
  const compressed = await bytesOfList(t, '0.0.0.0', namespace, 300);
  assert.ok(plain > 300 * 5000, `${plain} bytes`);
  assert.ok(compressed < plain / 5, `${compressed} of ${plain} bytes`);
});
