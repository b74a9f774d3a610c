/**
 * Calls through the proxy of a kubeconfig's proxy-url.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { KubeConfigError } from '../../../src/runtime/client/kubeconfig-entries.ts';
import { loadKubeConfig } from '../../../src/runtime/client/load-kubeconfig.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { ConnectProxy } from '../../fake/connect-proxy.ts';
import { connectTo } from '../../fake/connection.ts';

let server: FakeApiServer;
let proxy: ConnectProxy;

beforeEach(async () => {
  server = await FakeApiServer.start();
  proxy = await ConnectProxy.start();
});
afterEach(async () => {
  await proxy.stop();
  await server.stop();
});

function clientThrough(proxyUrl: string) {
  const kubeConfig = server.kubeConfig();
  kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, proxyUrl }));
  return connectTo(server, { kubeConfig }).leaseClient;
}

test('the proxy is asked for one tunnel, which all requests use', async () => {
  const client = clientThrough(`http://us%40er:secret@${proxy.address}`);
  await client.list(configMaps);
  await client.list(configMaps);
  const credentials = Buffer.from('us@er:secret').toString('base64');
  assert.deepEqual(proxy.asked, [`127.0.0.1:${server.port} Basic ${credentials}`]);
});

test('a proxy that refuses is an error without its password', async () => {
  proxy.refuses = true;
  await assert.rejects(clientThrough(`http://user:secret@${proxy.address}`).list(configMaps), (error) => {
    assert.ok(error instanceof TransportError && !error.sent);
    assert.match(error.message, /the proxy 127\.0\.0\.1:\d+ answered 407 to CONNECT/);
    assert.ok(!error.message.includes('secret'));
    return true;
  });
});

test('a proxy of another kind is refused at the start, without its password', () => {
  for (const url of [`socks5://user:secret@${proxy.address}`, 'nonsense']) {
    assert.throws(
      () => clientThrough(url),
      (error) => {
        assert.ok(error instanceof KubeConfigError && !error.message.includes('secret'));
        assert.match(error.message, /^the proxy (socks5:.*|nonsense) is no URL of an HTTP or HTTPS proxy$/);
        return true;
      },
    );
  }
});

test('the proxy of the environment is used as that of a kubeconfig is', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  const KUBECONFIG = join(directory, 'config');
  // By a name, since the loopback is always reached directly.
  const cluster = { server: server.url.replace('127.0.0.1', '0.0.0.0') };
  const user = { name: 'u', user: {} };
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
  const content = {
    clusters: [{ name: 'c', cluster }],
    users: [user],
    contexts: [context],
    'current-context': 'c',
  };
  writeFileSync(KUBECONFIG, JSON.stringify(content));
  const listWith = async (env: object) => {
    const kubeConfig = loadKubeConfig({ env: { KUBECONFIG, HTTP_PROXY: proxy.address, ...env } });
    await connectTo(server, { kubeConfig }).leaseClient.list(configMaps);
  };
  await listWith({});
  await listWith({ NO_PROXY: '0.0.0.0' });
  rmSync(directory, { recursive: true });
  assert.deepEqual(proxy.asked, [`0.0.0.0:${server.port} -`]);
});
