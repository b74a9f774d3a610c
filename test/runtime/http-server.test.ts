import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { describe, it } from 'node:test';
import {
  type HttpHandler,
  HttpServer,
  ListenError,
  parseBindAddress,
} from '../../src/runtime/http-server.ts';
import { silentLogger } from '../../src/runtime/logger.ts';

const log = silentLogger;
const hello: HttpHandler = () => ({ status: 200, contentType: 'text/plain', body: 'hello' });

function serve(bindAddress: string, handler = hello) {
  return new HttpServer({ name: 'greetings', bindAddress, handler, log });
}

describe('parseBindAddress', () => {
  it('knows the forms of an address', () => {
    assert.deepEqual(parseBindAddress(':8080'), { port: 8080 });
    assert.deepEqual(parseBindAddress('127.0.0.1:8080'), { host: '127.0.0.1', port: 8080 });
    assert.deepEqual(parseBindAddress('localhost:0'), { host: 'localhost', port: 0 });
    assert.deepEqual(parseBindAddress('[::1]:8080'), { host: '::1', port: 8080 });
    assert.equal(parseBindAddress('0'), undefined);
    assert.equal(parseBindAddress(''), undefined);
  });

  it('refuses everything else', () => {
    for (const text of ['8080', '::1:8080', 'a:b', ':', 'host:', ':65536', 'http://a:80', '1.2.3.4']) {
      assert.throws(() => parseBindAddress(text), ListenError, text);
    }
  });
});

describe('HttpServer', () => {
  it('serves nowhere when switched off', async () => {
    const server = serve('0');
    await server.start();
    assert.equal(server.address, undefined);
    await server.stop();
  });

  it('listens on every interface, both families', async () => {
    const server = serve(':0');
    await server.start();
    const port = server.address?.split(':').at(-1);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello');
    await server.stop();
  });

  it('listens on IPv6', async (t) => {
    const server = serve('[::1]:0');
    try {
      await server.start();
    } catch (error) {
      if ((error as ListenError).message.includes('does not have')) return t.skip('no IPv6 here');
      throw error;
    }
    assert.match(server.address ?? '', /^\[::1\]:\d+$/);
    assert.equal((await fetch(`http://${server.address}/`)).status, 200);
    await server.stop();
  });

  it('says in one sentence that the address is in use', async () => {
    const first = serve('127.0.0.1:0');
    await first.start();
    const address = first.address ?? '';
    await assert.rejects(serve(address).start(), {
      name: 'ListenError',
      message: `cannot serve greetings on ${address}: the address is in use; choose another address, or 0 to switch it off`,
    });
    await first.stop();
  });

  it('answers 500 without details when the handler fails, and goes on', async () => {
    let healthy = false;
    const server = serve('127.0.0.1:0', (...args) => {
      if (!healthy) throw new Error('secret detail');
      return hello(...args);
    });
    await server.start();
    const response = await fetch(`http://${server.address}/`);
    assert.equal(response.status, 500);
    assert.equal(await response.text(), 'internal error\n');
    healthy = true;
    assert.equal((await fetch(`http://${server.address}/`)).status, 200);
    await server.stop();
  });

  it('serves 100 connections at once, and drops more', async (t) => {
    const server = serve('127.0.0.1:0');
    await server.start();
    t.after(() => server.stop());
    const port = Number(server.address?.split(':').at(-1));
    const connected = async () => {
      const socket = createConnection(port, '127.0.0.1');
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      return socket;
    };
    const sockets = await Promise.all(Array.from({ length: 100 }, connected));
    for (const socket of sockets) socket.resume();
    const begun = performance.now();
    const oneMore = await connected();
    oneMore.resume();
    await new Promise((resolve) => oneMore.once('close', resolve));
    assert.ok(performance.now() - begun < 3000, 'at once, not because it was silent');
    assert.ok(sockets.every((socket) => !socket.closed));
  });

  it('stops at once, whoever is still connected, and may be stopped twice', async () => {
    const server = serve('127.0.0.1:0', () => new Promise(() => {}));
    await server.start();
    const port = Number(server.address?.split(':').at(-1));
    const socket = createConnection(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setImmediate(resolve));
    await server.stop();
    await closed;
    await server.stop();
    assert.equal(server.address, undefined);
  });
});
