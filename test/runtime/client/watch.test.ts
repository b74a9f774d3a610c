/**
 * Watches of the client against a server whose watches break in every way.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { type ConfigMap, configMaps } from '../../../src/kubernetes/objects.ts';
import {
  ApiError,
  isExpired,
  isTooManyRequests,
  TransportError,
} from '../../../src/runtime/client/api-error.ts';
import type { Client, WatchCallOptions, WatchEvent } from '../../../src/runtime/client/client.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

type Options = Partial<WatchCallOptions>;

/** A watch that is read in the background. */
class Reading {
  readonly events: WatchEvent<ConfigMap>[] = [];
  readonly controller = new AbortController();
  /** Resolves with undefined at a regular end, otherwise with the error. */
  readonly end: Promise<unknown>;

  constructor(client: Client, options: Options = {}) {
    this.end = this.#read(client, options).catch((error) => error);
  }

  get lines(): string[] {
    return this.events.map(
      ({ type, object }) => `${type} ${'metadata' in object ? object.metadata?.name : ''}`,
    );
  }

  async #read(client: Client, options: Options): Promise<void> {
    const { signal } = this.controller;
    for await (const event of await client.watch(configMaps, { timeoutSeconds: 60, signal, ...options })) {
      this.events.push(event);
    }
  }
}

function named(name: string, data: Record<string, string> = {}): ConfigMap {
  return { metadata: { namespace: 'n', name }, data };
}

let server: FakeApiServer;
let client: Client;
beforeEach(async () => {
  server = await FakeApiServer.start();
  client = connectTo(server).client;
});
afterEach(() => server.stop());

test('text of every kind of character comes through, in chunks of three bytes', async () => {
  server.fail({ watch: true }, { kind: 'drip', size: 3 });
  const reading = new Reading(client);
  await until(() => server.watches.length === 1);
  const data = { text: 'é€𝄞\u2028\u2029\r\n"\\' };
  server.put(configMaps, named('a', data));
  await until(() => reading.events.length === 1);
  const [event] = reading.events;
  assert.ok(event?.type === 'ADDED');
  assert.deepEqual(event.object.data, data);
  server.watches[0]?.end();
  assert.equal(await reading.end, undefined);
});

describe('the end of a watch', () => {
  test('an abort releases the socket at once', async () => {
    const reading = new Reading(client);
    await until(() => server.watches.length === 1);
    reading.controller.abort(new Error('enough'));
    assert.match(String(await reading.end), /enough/);
    await until(() => server.connections.open === 0);
  });

  test('a watch that is answered but never read is released by its abort, too', async () => {
    const { signal } = new AbortController();
    const controller = new AbortController();
    await client.watch(configMaps, { timeoutSeconds: 60, signal: controller.signal });
    await client.list(configMaps, { signal });
    assert.equal(server.connections.open, 2);
    controller.abort();
    await until(() => server.connections.open === 1);
  });

  test('leaving the loop releases the socket', async () => {
    server.put(configMaps, named('a'));
    const { signal } = new AbortController();
    for await (const event of await client.watch(configMaps, { timeoutSeconds: 60, signal })) {
      assert.equal(event.type, 'ADDED');
      break;
    }
    await until(() => server.connections.open === 0);
  });

  test('a regular end keeps the connection for the next watch', async () => {
    for (let i = 0; i < 3; i++) {
      const reading = new Reading(client);
      await until(() => server.watches.length === 1);
      server.watches[0]?.end();
      assert.equal(await reading.end, undefined);
      await until(() => server.watches.length === 0);
    }
    assert.equal(server.connections.opened, 1);
  });

  test('what came before a break is still delivered', async () => {
    const reading = new Reading(client);
    await until(() => server.watches.length === 1);
    server.put(configMaps, named('a'));
    server.put(configMaps, named('b'));
    await until(() => reading.events.length === 2);
    server.watches[0]?.cut();
    const error = await reading.end;
    assert.ok(error instanceof TransportError && error.sent);
    assert.deepEqual(reading.lines, ['ADDED a', 'ADDED b']);
  });

  test('an end in the middle of a line is no regular end', async () => {
    const reading = new Reading(client);
    await until(() => server.watches.length === 1);
    server.watches[0]?.write('{"type":"ADDED","object":{"metad');
    server.watches[0]?.end();
    assert.match(String(await reading.end), /in the middle of an event/);
    assert.deepEqual(reading.events, []);
  });

  test('there is no time limit once the answer has begun', async () => {
    const reading = new Reading(client);
    await until(() => server.watches.length === 1);
    server.watches[0]?.mute();
    const ended = await Promise.race([
      reading.end,
      new Promise((resolve) => setTimeout(resolve, 300, 'open')),
    ]);
    assert.equal(ended, 'open');
    reading.controller.abort();
    await reading.end;
  });
});

describe('lines that are no events', () => {
  for (const text of [
    '{"type":"ADDED"',
    'null',
    '[]',
    '"x"',
    '{"type":"ADDED","object":{"data":{"password":s3cret}}}',
    '{"type":"ADDED"}',
    '{"type":"OTHER","object":{}}',
    '{"object":{}}',
  ]) {
    test(`${text} ends the watch with an error that does not quote it`, async () => {
      server.fail({ watch: true }, { kind: 'text', text: `${text}\n` });
      const error = await new Reading(client).end;
      assert.ok(error instanceof TransportError, String(error));
      assert.equal(error.message, 'a line of the watch is no watch event');
      assert.ok(!inspect(error).includes('s3cret'));
      await until(() => server.connections.open === 0);
    });
  }
});

describe('errors of the server', () => {
  test('an ERROR event is an event', async () => {
    const { resourceVersion } = await client.list(configMaps);
    server.put(configMaps, named('a'));
    server.store.compact();
    const reading = new Reading(client, { resourceVersion });
    assert.equal(await reading.end, undefined);
    const [event] = reading.events;
    assert.ok(event?.type === 'ERROR');
    assert.deepEqual([event.object.code, event.object.reason], [410, 'Expired']);
  });

  test('an HTTP 410 is an ApiError', async () => {
    server.fail({ watch: true }, { kind: 'status', code: 410, reason: 'Expired' });
    assert.ok(isExpired(await new Reading(client).end));
  });

  test('a refusal carries how long to wait, is not repeated here, and keeps the connection', async () => {
    server.fail({ watch: true }, { kind: 'status', code: 429, retryAfter: 7, text: 'Too many requests' });
    const error = await new Reading(client).end;
    assert.ok(isTooManyRequests(error));
    assert.equal(error instanceof ApiError && error.retryAfter, 7000);
    assert.equal(server.requests.length, 1);
    await client.watch(configMaps, { timeoutSeconds: 1, signal: AbortSignal.timeout(50) }).catch(() => {});
    assert.equal(server.connections.opened, 1);
  });
});

test('a slow reader slows the server down instead of filling the memory', async () => {
  const { signal } = new AbortController();
  const stream = await client.watch(configMaps, { timeoutSeconds: 60, signal });
  const [watch] = server.watches;
  assert.ok(watch);
  const big = 'x'.repeat(100_000);
  const total = 400;
  // 40 MB: the kernel's buffers take some of it, the client must not take the rest.
  for (let i = 0; i < total; i++) server.put(configMaps, named(`a${i}`, { big }));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(watch.unsent > 20_000_000, `${watch.unsent} bytes unsent`);
  let seen = 0;
  for await (const event of stream) {
    assert.equal(event.type, 'ADDED');
    if (++seen === total) break;
  }
  assert.equal(seen, total);
});

test('a watch says what it wants', async () => {
  const { signal } = new AbortController();
  const selectors = { labelSelector: 'a=b', fieldSelector: 'metadata.name=x' };
  await client.watch(configMaps, {
    ...selectors,
    namespace: 'n',
    timeoutSeconds: 300,
    resourceVersion: '100',
    signal,
  });
  await client.watch(configMaps, {
    timeoutSeconds: 301,
    sendInitialEvents: true,
    metadataOnly: true,
    signal,
  });
  const [first, second] = server.requests;
  assert.equal(first?.path, '/api/v1/namespaces/n/configmaps');
  assert.deepEqual(Object.fromEntries(first?.query ?? []), {
    ...selectors,
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: '300',
    resourceVersion: '100',
  });
  assert.deepEqual(Object.fromEntries(second?.query ?? []), {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: '301',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
  });
  assert.equal(second?.headers.accept, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
});
