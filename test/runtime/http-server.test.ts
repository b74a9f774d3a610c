import assert from 'node:assert/strict';
import { createConnection, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  type HttpHandler,
  type HttpReply,
  HttpServer,
  ListenError,
  parseBindAddress,
} from '../../src/runtime/http-server.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { until } from '../fake/until.ts';

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

  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

  async function listening(t: TestContext, handler = hello) {
    const server = serve('127.0.0.1:0', handler);
    await server.start();
    t.after(() => server.stop());
    const port = Number(server.address?.split(':').at(-1));
    const connected = async () => {
      const socket = createConnection(port, '127.0.0.1');
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      return socket;
    };
    const closed = (socket: Socket) => {
      socket.resume();
      return socket.closed || new Promise((resolve) => socket.once('close', resolve));
    };
    return { server, connected, closed };
  }

  it('closes a connection after its answer, also when it was asked to keep it', async (t) => {
    const { server, connected } = await listening(t);
    const response = await fetch(`http://${server.address}/`, { headers: { Connection: 'keep-alive' } });
    assert.equal(response.headers.get('connection'), 'close');
    const socket = await connected();
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.write(request);
    await new Promise((resolve) => socket.once('close', resolve));
    assert.match(answer, /\r\n\r\nhello$/);
  });

  for (const [name, firstBytes] of [
    ['silent', ''],
    ['with half a request', 'GET / HTTP/1.1\r\nHost:'],
  ]) {
    it(`answers a request beside 100 connections that are ${name}; the oldest gives way`, async (t) => {
      const { server, connected, closed } = await listening(t);
      const sockets: Socket[] = [];
      for (let count = 0; count < 100; count++) {
        const socket = await connected();
        if (firstBytes) socket.write(firstBytes);
        sockets.push(socket);
      }
      const [oldest, second, ...others] = sockets;
      assert.ok(oldest && second);
      const begun = performance.now();
      assert.equal(await (await fetch(`http://${server.address}/`)).text(), 'hello');
      await closed(oldest);
      assert.equal(await (await fetch(`http://${server.address}/`)).text(), 'hello');
      // Whether a second one had to go depends on whether the answered one was closed by then.
      for (const socket of others) socket.resume();
      assert.ok(performance.now() - begun < 4000, 'at once, not because they were silent');
      assert.ok(others.every(({ closed: isClosed }) => !isClosed));
    });
  }

  it('keeps 100 connections that are being answered, and refuses more', async (t) => {
    const answers: ((reply: HttpReply) => void)[] = [];
    const { connected, closed } = await listening(t, () => new Promise((resolve) => answers.push(resolve)));
    const sockets: Socket[] = [];
    for (let count = 0; count < 100; count++) {
      const socket = await connected();
      socket.write(request);
      sockets.push(socket);
    }
    await until(() => answers.length === 100);
    await closed(await connected());
    assert.ok(sockets.every((socket) => !socket.closed));
    for (const answer of answers) answer({ status: 200, contentType: 'text/plain', body: '' });
    await Promise.all(sockets.map(closed));
  });

  it('a connection whose answer is not read gives way as well', async (t) => {
    const body = 'x'.repeat(10_000_000);
    let served = 0;
    const { server, connected } = await listening(t, (path, query) => {
      served++;
      if (path === '/busy') return new Promise(() => {});
      return path === '/long' ? { status: 200, contentType: 'text/plain', body } : hello(path, query, {});
    });
    for (let count = 0; count < 100; count++) {
      const socket = await connected();
      socket.pause();
      socket.write(request.replace('/', count === 50 ? '/long' : '/busy'));
    }
    await until(() => served === 100);
    assert.equal(await (await fetch(`http://${server.address}/`)).text(), 'hello');
  });

  it('stops at once, whatever clients are still connected, and may be stopped twice', async () => {
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
