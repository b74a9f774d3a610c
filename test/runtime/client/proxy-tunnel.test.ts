/**
 * Calls through the proxy of a kubeconfig's proxy-url.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { configMaps } from '../../../src/api/kubernetes.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';

let server: FakeApiServer;
let proxy: Server;
let asked: string[];
let refuse: boolean;

beforeEach(async () => {
  server = await FakeApiServer.start();
  asked = [];
  refuse = false;
  const sockets = new Set<Socket>();
  proxy = createServer();
  proxy.on('connection', (socket) => sockets.add(socket));
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? '-'}`);
    if (refuse) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const upstream = connectTcp(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => {});
  });
  proxy.on('close', () => {
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  proxy.close();
  proxy.closeAllConnections();
  await server.stop();
});

function clientThrough(proxyUrl: string) {
  const kubeConfig = server.kubeConfig();
  kubeConfig.clusters = kubeConfig.clusters.map((cluster) => ({ ...cluster, proxyUrl }));
  return connectTo(server, { kubeConfig }).leaseClient;
}

function address(): string {
  return `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('the proxy is asked for one tunnel, which all requests use', async () => {
  const client = clientThrough(`http://us%40er:secret@${address()}`);
  await client.list(configMaps);
  await client.list(configMaps);
  const credentials = Buffer.from('us@er:secret').toString('base64');
  assert.deepEqual(asked, [`127.0.0.1:${server.port} Basic ${credentials}`]);
});

test('a proxy that refuses is an error without its password', async () => {
  refuse = true;
  await assert.rejects(clientThrough(`http://user:secret@${address()}`).list(configMaps), (error) => {
    assert.ok(error instanceof TransportError && !error.sent);
    assert.match(error.message, /the proxy 127\.0\.0\.1:\d+ answered 407 to CONNECT/);
    assert.ok(!error.message.includes('secret'));
    return true;
  });
});

test('a proxy of another kind is refused by name', async () => {
  await assert.rejects(clientThrough(`ftp://${address()}`).list(configMaps), /ftp/);
});
