/** HTTPS_PROXY and NO_PROXY, with a proxy in front of a real API server: which way is taken, and that all can go it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { TransportError } from '../../src/runtime/client/api-error.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { ConnectProxy } from '../fake/connect-proxy.ts';
import { informersOn } from './informer-cluster.ts';
import { connectToTestCluster, eventually, newConnection, withNamespace } from './support.ts';

type Environment = Readonly<Record<string, string>>;

/** No host of the loopback to those who look for a proxy, and yet this machine. */
const host = '0.0.0.0';

/** A copy of the test cluster's kubeconfig, by another name of this machine. */
async function kubeconfigFor(t: TestContext, hostname: string): Promise<{ path: string; port: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  t.after(() => rm(folder, { recursive: true }));
  const content = parse(await readFile(process.env.KUBECONFIG ?? '', 'utf8'));
  let port = '';
  for (const { cluster } of content.clusters) {
    const server = new URL(cluster.server);
    server.hostname = hostname;
    cluster.server = server.origin;
    cluster['tls-server-name'] = 'localhost';
    port = server.port;
  }
  const path = join(folder, 'config');
  await writeFile(path, stringify(content));
  return { path, port };
}

async function startProxy(t: TestContext): Promise<ConnectProxy> {
  const proxy = await ConnectProxy.start();
  t.after(() => proxy.stop());
  return proxy;
}

function connected(t: TestContext, KUBECONFIG: string, env: Environment) {
  const connection = newConnection({ kubeConfig: loadKubeConfig({ env: { KUBECONFIG, ...env } }) });
  t.after(() => connection.close());
  return connection;
}

describe('a proxy of the environment, before a real API server', () => {
  it('HTTPS_PROXY: reads, writes and watches go through it, and no other way', async (t) => {
    const namespace = await withNamespace(t);
    const proxy = await startProxy(t);
    const { path, port } = await kubeconfigFor(t, host);
    const HTTPS_PROXY = `http://user:s3cret@${proxy.address}`;
    const connection = connected(t, path, { HTTPS_PROXY });
    const { client } = connection;
    await client.create(configMaps, { metadata: { namespace, name: 'own' }, data: { a: '1' } });
    assert.equal((await client.get(configMaps, { namespace, name: 'own' })).data?.a, '1');

    const { informers, signal } = informersOn(t, connection, [namespace]);
    const { lister } = informers.informerFor(configMaps, { labelSelector: 'foreign' });
    informers.start(signal);
    await informers.waitForSync(AbortSignal.timeout(30_000));
    const createForeign = (name: string) =>
      connectToTestCluster().client.create(configMaps, {
        metadata: { namespace, name, labels: { foreign: '' } },
      });
    await createForeign('first');
    await eventually(() => lister.get(namespace, 'first'), { message: 'the watch shows what comes' });
    const tunnel = `${host}:${port} Basic ${Buffer.from('user:s3cret').toString('base64')}`;
    assert.ok(proxy.asked.length >= 2, 'one for requests, one for the watch');
    assert.deepEqual(new Set(proxy.asked), new Set([tunnel]));

    proxy.refuses = true;
    proxy.cut();
    // A request may still be given to a connection that is cut and does not know it yet; it ends otherwise.
    const answered407 = () =>
      client.getRaw('/version').then(
        () => false,
        ({ message }) => /answered 407/.test(message),
      );
    await eventually(answered407, { message: 'a new tunnel is asked for' });
    await assert.rejects(
      client.create(configMaps, { metadata: { namespace, name: 'refused' } }),
      (error) =>
        error instanceof TransportError &&
        !error.sent &&
        /the proxy 127\.0\.0\.1:\d+ answered 407 to CONNECT/.test(error.message) &&
        !error.message.includes('s3cret'),
    );
    await createForeign('second');
    proxy.refuses = false;
    await eventually(() => lister.get(namespace, 'second'), { message: 'the watch is taken up again' });
    assert.deepEqual(new Set(proxy.asked), new Set([tunnel]));
  });

  it('an address of the loopback is reached directly, whatever HTTPS_PROXY says', async (t) => {
    const proxy = await startProxy(t);
    const { path } = await kubeconfigFor(t, '127.0.0.1');
    const { client } = connected(t, path, { HTTPS_PROXY: `http://${proxy.address}` });
    assert.match(JSON.stringify(await client.getRaw('/version')), /gitVersion/);
    assert.deepEqual(proxy.asked, []);
  });

  it('the way is that of kubectl, whatever NO_PROXY says', async (t) => {
    const proxy = await startProxy(t);
    const { path, port } = await kubeconfigFor(t, host);
    const HTTPS_PROXY = `http://${proxy.address}`;
    const rows: readonly (readonly [env: Environment, goesThrough: boolean])[] = [
      [{ HTTPS_PROXY }, true],
      [{ https_proxy: HTTPS_PROXY }, true],
      [{ HTTPS_PROXY: proxy.address }, true],
      [{ HTTP_PROXY: HTTPS_PROXY }, false],
      [{ HTTPS_PROXY, NO_PROXY: 'example.com,10.0.0.0/8' }, true],
      [{ HTTPS_PROXY, NO_PROXY: `${host}:1` }, true],
      [{ HTTPS_PROXY, NO_PROXY: `example.com, ${host}` }, false],
      [{ HTTPS_PROXY, no_proxy: `${host}:${port}` }, false],
      [{ HTTPS_PROXY, NO_PROXY: '0.0.0.0/8' }, false],
      [{ HTTPS_PROXY, NO_PROXY: '*' }, false],
    ];
    const { PATH = '', HOME = '' } = process.env;
    for (const [env, goesThrough] of rows) {
      const through = async (ask: () => Promise<unknown>) => {
        const before = proxy.asked.length;
        assert.match(JSON.stringify(await ask()), /gitVersion/);
        return proxy.asked.length > before;
      };
      const { client } = connected(t, path, env);
      const ours = await through(() => client.getRaw('/version'));
      const options = { env: { PATH, HOME, KUBECONFIG: path, ...env }, timeout: 30_000 };
      const theirs = await through(async () => {
        return (await promisify(execFile)('kubectl', ['get', '--raw', '/version'], options)).stdout;
      });
      assert.deepEqual([ours, theirs], [goesThrough, goesThrough], JSON.stringify(env));
    }
  });
});
