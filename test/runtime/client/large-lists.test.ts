/**
 * Lists of many bytes, over real HTTP: compressed where that pays, and read without blocking the event loop.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { KubeConfig } from '@kubernetes/client-node';
import { configMaps, type KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import { type Connection, connect } from '../../../src/runtime/client/connect.ts';
import { isLoopback } from '../../../src/runtime/client/content-encoding.ts';
import { openGate } from '../../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';

let server: Server;
let connection: Connection | undefined;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, resolve));
});

afterEach(() => {
  connection?.close();
  server.close();
});

/** A client of the server under this name. */
function clientOf(host: string) {
  const { port } = server.address() as AddressInfo;
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser(
    { name: 'test', server: `http://${host}:${port}`, skipTLSVerify: false },
    { name: 'test' },
  );
  connection = connect({
    kubeConfig,
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'test',
    fieldManager: 'test',
  });
  return connection.client;
}

function listText(count: number, size: number, next = ''): string {
  const items = Array.from({ length: count }, (_, index) => ({
    metadata: { name: `cm-${index}`, namespace: 'n' },
    data: { text: 'ü"\\'.repeat(size / 4) },
  }));
  const metadata = { resourceVersion: '7', continue: next };
  return JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
}

describe('a list', () => {
  for (const { host, encoding } of [
    { host: '127.0.0.1', encoding: undefined },
    // Not the address of the loopback, although it leads there.
    { host: '0.0.0.0', encoding: 'gzip' },
  ]) {
    test(`is asked for ${encoding ? 'with' : 'without'} compression from ${host}`, async () => {
      const text = listText(20, 4000);
      const asked: (string | undefined)[] = [];
      answer = ({ headers }, response) => {
        asked.push(headers['accept-encoding'] as string | undefined);
        if (headers['accept-encoding'] === 'gzip') {
          response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(text));
        } else response.end(text);
      };
      const { items } = await clientOf(host).list(configMaps);
      assert.deepEqual(asked, [encoding]);
      assert.deepEqual(
        items.map(({ data }) => data),
        JSON.parse(text).items.map(({ data }: { data: object }) => data),
      );
    });
  }

  for (const [what, encoding, body] of [
    ['is no gzip', 'gzip', Buffer.from('no gzip')],
    ['is cut off', 'gzip', gzipSync(listText(20, 4000)).subarray(0, 300)],
    ['was not asked for', 'br', Buffer.from('{}')],
  ] as const) {
    test(`whose compression ${what} is an error of the transport`, async () => {
      answer = (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body);
      await assert.rejects(clientOf('0.0.0.0').list(configMaps), TransportError);
    });
  }

  test('whose compression was not asked for holds no connection', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).write('{');
    await assert.rejects(clientOf('0.0.0.0').list(configMaps), TransportError);
    assert.equal(connection?.isBusy(), false);
  });

  test('of huge objects in one page lets the event loop turn after a few of them, and holds few at once', async () => {
    // Together more than a string can hold.
    const count = 520;
    const size = 1_050_000;
    const text = 'x"'.repeat(10_000) + 'y'.repeat(size - 20_000);
    const item = Buffer.from(JSON.stringify({ metadata: { name: 'cm', namespace: 'n' }, data: { text } }));
    const envelope = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '7' } };
    function* body() {
      yield `${JSON.stringify(envelope).slice(0, -1)},"items":[`;
      for (let index = 0; index < count; index++) {
        if (index > 0) yield ',';
        yield item;
      }
      yield ']}';
    }
    answer = (_, response) => void pipeline(body(), response, () => {});
    const { items, perTurn, peak } = await measured((transform) =>
      clientOf('127.0.0.1').list(configMaps, { transform, timeout: 280_000 }),
    );
    assert.equal(items.length, count);
    assert.ok(Math.max(...perTurn) <= 10, `${Math.max(...perTurn)} objects of 1 MB in one turn`);
    assert.ok(peak < 300, `${peak} MB beyond those of before, of ${count}`);
  });
});

/** Lists with a transform that leaves the metadata; how many objects came in each turn, and the memory, MB. */
async function measured<R>(list: (transform: (object: KubernetesObject) => KubernetesObject) => Promise<R>) {
  const used = () => {
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1_000_000;
  };
  const before = used();
  const perTurn = [0];
  let peak = 0;
  let running = true;
  const count = () => {
    perTurn.push(0);
    peak = Math.max(peak, used() - before);
    if (running) setImmediate(count);
  };
  count();
  const result = await list(({ metadata }) => {
    perTurn.push((perTurn.pop() ?? 0) + 1);
    return { metadata };
  });
  running = false;
  return { ...result, perTurn, peak: Math.round(peak) };
}

test('this machine is known by its names', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]'])
    assert.equal(isLoopback(new URL(`https://${host}:6443`)), true);
  for (const host of ['10.96.0.1', 'kubernetes.default.svc', '127.example.com', '[::2]', '0.0.0.0']) {
    assert.equal(isLoopback(new URL(`https://${host}:6443`)), false);
  }
});
