/**
 * The transport against a server that does what it should not: what is sent, what is certainly not sent,
 * and when a call ends.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import { ApiError, isNotFound, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { WriteGate } from '../../../src/runtime/client/write-gate.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

const key = { namespace: 'n', name: 'a' };
const patch = { type: 'merge', body: { data: { a: '1' } } } as const;
const object = { metadata: key };

/** A gate that a test can close. */
class TestGate implements WriteGate {
  open = true;
  asked = 0;

  assertMayWrite(): void {
    this.asked++;
    if (!this.open) throw new TransportError('this process does not lead', false);
  }
}

/** An error of the transport, with whether the request may have happened. */
function unanswered(sent: boolean, message?: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof TransportError, `a TransportError, not ${error}`);
    assert.equal(error.sent, sent, `sent of ${error.message}`);
    if (message) assert.match(error.message, message);
    return true;
  };
}

let server: FakeApiServer;
beforeEach(async () => {
  server = await FakeApiServer.start();
});
afterEach(() => server.stop());

describe('the write gate', () => {
  test('closed, nothing is sent, and reads go on', async () => {
    const gate = new TestGate();
    const { client } = connectTo(server, { gate });
    await client.create(configMaps, object);
    gate.open = false;
    const writes = [
      () => client.create(configMaps, object),
      () => client.update(configMaps, object),
      () => client.patch(configMaps, key, patch),
      () => client.patchStatus(configMaps, key, { type: 'merge', body: { status: {} } }),
      () => client.delete(configMaps, key),
      () => client.evict(key, {}),
    ];
    for (const write of writes) await assert.rejects(write, unanswered(false, /does not lead/));
    await client.get(configMaps, key);
    assert.deepEqual(
      server.requests.map(({ method }) => method),
      ['POST', 'GET'],
    );
  });

  test('is asked when the connection stands, not when the call is made', async () => {
    const gate = new TestGate();
    const { client } = connectTo(server, { gate });
    const write = client.create(configMaps, object);
    // The call has been made, and the connection is being opened.
    gate.open = false;
    await assert.rejects(write, unanswered(false));
    assert.equal(server.connections.opened, 1);
    assert.equal(server.requests.length, 0);
  });

  test('is asked when a connection is free, not when the call got in line', async () => {
    const gate = new TestGate();
    const { client } = connectTo(server, { gate, maxRequests: 1 });
    server.fail({ method: 'GET' }, { kind: 'delay', ms: 100 });
    const read = client.list(configMaps);
    const write = client.create(configMaps, object);
    await until(() => server.requests.length === 1);
    gate.open = false;
    await read;
    await assert.rejects(write, unanswered(false));
    assert.equal(server.requests.length, 1);
  });

  test('is asked again before a write is repeated', async () => {
    const gate = new TestGate();
    const { client } = connectTo(server, { gate });
    server.fail({ method: 'POST' }, { kind: 'status', code: 429, retryAfter: 1, text: 'Too many requests' });
    const write = client.create(configMaps, object);
    await until(() => server.requests.length === 1);
    gate.open = false;
    await assert.rejects(write, unanswered(false));
    assert.equal(server.requests.length, 1);
  });

  test('is not asked for what needs no leadership, whose writes others hear of', async () => {
    const gate = new TestGate();
    gate.open = false;
    const connection = connectTo(server, { gate });
    const written: string[] = [];
    connection.onWrite((resource) => written.push(resource.plural));
    await connection.ungatedClient.create(configMaps, object, { timeout: 20_000 });
    await connection.ungatedClient.delete(configMaps, key);
    assert.equal(gate.asked, 0);
    assert.equal(server.requests[0]?.query.get('timeout'), '16s');
    assert.deepEqual(written, ['configmaps', 'configmaps']);
    await assert.rejects(connection.client.create(configMaps, object), unanswered(false, /does not lead/));
  });

  test('does not hold up the Lease', async () => {
    const gate = new TestGate();
    gate.open = false;
    const { leaseClient } = connectTo(server, { gate });
    await leaseClient.create(configMaps, object);
    assert.equal(gate.asked, 0);
  });
});

describe('a write that must be sent soon', () => {
  for (const [name, pass] of [
    ['both clocks', (clock: FakeClock) => clock.advance(1000)],
    ['the wall clock alone, on a machine that sleeps', (clock: FakeClock) => clock.suspend(1000)],
  ] as const) {
    test(`is not sent when its time has passed by ${name}`, async () => {
      const clock = new FakeClock();
      const { client } = connectTo(server, { clock });
      const late = client.create(configMaps, object, { sendWithin: 1000 });
      // The call has been made, and the connection is being opened.
      pass(clock);
      await assert.rejects(late, unanswered(false, /too late to be sent/));
      assert.equal(server.requests.length, 0);
      await client.create(configMaps, object, { sendWithin: 1000 });
      assert.equal(server.requests.length, 1);
    });
  }
});

describe('the end of a call', () => {
  test('a hanging read ends at its deadline', async () => {
    server.fail({ times: 9 }, { kind: 'hang' });
    const { client } = connectTo(server);
    await assert.rejects(
      client.get(configMaps, key, { timeout: 1000 }),
      unanswered(true, /no answer within 1 s/),
    );
  });

  test('a hanging write ends at its deadline, and frees its connection', async () => {
    server.fail({ method: 'POST' }, { kind: 'hang' });
    const { client } = connectTo(server, { maxRequests: 1 });
    await assert.rejects(client.create(configMaps, object, { timeout: 1000 }), unanswered(true));
    await client.create(configMaps, object);
    await until(() => server.connections.open === 1);
  });

  test('the callers signal ends a call in progress, one in line, and one not begun', async () => {
    const { client } = connectTo(server, { maxRequests: 1 });
    server.fail({}, { kind: 'hang' });
    const controller = new AbortController();
    const { signal } = controller;
    const inProgress = assert.rejects(client.get(configMaps, key, { signal }), unanswered(true, /enough/));
    await until(() => server.requests.length === 1);
    const inLine = assert.rejects(client.get(configMaps, key, { signal }), unanswered(false, /enough/));
    controller.abort(new Error('enough'));
    await Promise.all([inProgress, inLine]);
    await assert.rejects(client.get(configMaps, key, { signal }), unanswered(false, /enough/));
    assert.equal(server.requests.length, 1);
  });

  test('a signal that outlives its calls is left without their listeners, however they end', async () => {
    const { client } = connectTo(server, { maxRequests: 1 });
    const { signal } = new AbortController();
    server.put(configMaps, object);
    await Promise.all([1, 2, 3].map(() => client.get(configMaps, key, { signal })));
    server.fail({}, { kind: 'hang' });
    await assert.rejects(client.get(configMaps, key, { signal, timeout: 50 }), unanswered(true));
    await assert.rejects(client.get(configMaps, { ...key, name: 'b' }, { signal }), isNotFound);
    for await (const event of await client.watch(configMaps, { signal, timeoutSeconds: 60 })) {
      assert.equal(event.type, 'ADDED');
      break;
    }
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  test('close breaks off what is in progress, and refuses the rest', async () => {
    const connection = connectTo(server, { maxRequests: 1 });
    server.fail({ times: 9 }, { kind: 'hang' });
    const inProgress = assert.rejects(connection.client.create(configMaps, object), unanswered(true));
    const inLine = assert.rejects(connection.client.create(configMaps, object), unanswered(false));
    await until(() => server.requests.length === 1);
    connection.close();
    await Promise.all([inProgress, inLine]);
    await assert.rejects(connection.client.get(configMaps, key), unanswered(false, /closed/));
    await until(() => server.connections.open === 0);
  });

  test('close refuses also a call whose turn has come in that very moment', async () => {
    const connection = connectTo(server, { maxRequests: 1 });
    server.fail({}, { kind: 'hang' });
    const first = new AbortController();
    const { client } = connection;
    const inProgress = assert.rejects(
      client.get(configMaps, key, { signal: first.signal }),
      unanswered(true),
    );
    await until(() => server.requests.length === 1);
    const inLine = assert.rejects(client.create(configMaps, object), unanswered(false, /closed/));
    first.abort(new Error('enough'));
    connection.close();
    await Promise.all([inProgress, inLine]);
    assert.equal(server.requests.length, 1);
  });

  test('a server that does not listen was sent nothing', async () => {
    const { client } = connectTo(server);
    await server.stop();
    await assert.rejects(client.create(configMaps, object), unanswered(false, /ECONNREFUSED/));
    server = await FakeApiServer.start();
  });

  test('a connection that breaks may have done the write', async () => {
    const { client } = connectTo(server);
    server.fail({ method: 'POST' }, { kind: 'cut', when: 'after' });
    await assert.rejects(client.create(configMaps, object), unanswered(true));
    await client.get(configMaps, key);
  });
});

describe('retries', () => {
  test('a read survives three failures of different kinds', async () => {
    const { client } = connectTo(server);
    server.put(configMaps, object);
    server.fail({}, { kind: 'cut', when: 'before' });
    server.fail({}, { kind: 'status', code: 503, text: 'no healthy upstream' });
    server.fail({}, { kind: 'status', code: 429, reason: 'TooManyRequests' });
    assert.equal((await client.get(configMaps, key)).metadata.name, 'a');
    assert.equal(server.requests.length, 4);
  });

  test('a read that cannot wait as long as the server asks fails with what the server said', async () => {
    const { client } = connectTo(server);
    server.fail({}, { kind: 'status', code: 429, retryAfter: 60 });
    const startedAt = performance.now();
    await assert.rejects(client.get(configMaps, key), (error) => {
      return error instanceof ApiError && error.code === 429 && error.retryAfter === 60_000;
    });
    assert.ok(performance.now() - startedAt < 5000);
    assert.equal(server.requests.length, 1);
  });

  for (const fault of [
    { kind: 'cut', when: 'before' },
    { kind: 'status', code: 500 },
    { kind: 'status', code: 503, retryAfter: 1 },
    { kind: 'status', code: 429, retryAfter: 1 },
  ] as const) {
    test(`a write is not repeated after ${JSON.stringify(fault)}`, async () => {
      const { client } = connectTo(server);
      server.fail({}, fault);
      await assert.rejects(client.create(configMaps, object));
      assert.equal(server.requests.length, 1);
    });
  }

  test('the Lease client leaves retrying to the elector', async () => {
    const { leaseClient } = connectTo(server);
    server.fail({}, { kind: 'status', code: 503 });
    await assert.rejects(leaseClient.get(configMaps, key));
    assert.equal(server.requests.length, 1);
  });
});

describe('a write that was given up can not be done later', () => {
  test('its connection is reset, so that the kernel drops what is not delivered yet', async () => {
    const { client } = connectTo(server);
    server.fail({}, { kind: 'hang' });
    await assert.rejects(client.create(configMaps, object, { timeout: 1000 }), unanswered(true));
    await until(() => server.connections.resets === 1);
  });

  const leading = { assertMayWrite() {} };
  for (const [title, connection, call, limit] of [
    ['after 5 s', {}, {}, 5],
    ['as late as its caller says', {}, { timeout: 60_000 }, 60],
    ['as late as the connection says', { requestTimeouts: { write: 20_000 } }, {}, 20],
    [
      'after 5 s, whatever its caller says, while others may come to lead',
      { gate: leading },
      { timeout: 60_000 },
      5,
    ],
    ['after what the gate allows', { gate: { ...leading, writeLimit: 3000 } }, {}, 3],
  ] as const) {
    test(`it is given up ${title}`, async () => {
      const clock = new FakeClock();
      const { client } = connectTo(server, { clock, ...connection });
      server.fail({}, { kind: 'hang' });
      const write = client.create(configMaps, object, call);
      await until(() => server.requests.length === 1);
      assert.equal(server.requests[0]?.query.get('timeout'), `${(limit * 8) / 10}s`);
      clock.advance(limit * 1000 - 1);
      await settle();
      assert.equal(server.connections.resets, 0);
      clock.advance(1);
      await assert.rejects(write, unanswered(true, new RegExp(`no answer within ${limit} s`)));
      await until(() => server.connections.resets === 1);
    });
  }

  test('every write tells the server when to give up by itself', async () => {
    const { client } = connectTo(server);
    await client.create(configMaps, object);
    await client.update(configMaps, object);
    await client.patch(configMaps, key, patch);
    await client.delete(configMaps, key);
    await client.evict({ namespace: 'n', name: 'p' }, {}).catch(() => {});
    await client.list(configMaps);
    assert.deepEqual(
      server.requests.map(({ method, query }) => `${method} ${query.get('timeout')}`),
      ['POST 4s', 'PUT 4s', 'PATCH 4s', 'DELETE 4s', 'POST 4s', 'GET null'],
    );
  });

  test('a write may have the server give up sooner, and no later', async () => {
    const { client } = connectTo(server);
    for (const options of [
      ...[1000, 2345, 9000].map((serverTimeout) => ({ serverTimeout })),
      { serverTimeout: 3000, timeout: 3500 },
      { serverTimeout: 9000, timeout: 10_000 },
    ]) {
      await client.patch(configMaps, key, patch, options).catch(() => {});
    }
    assert.deepEqual(
      server.requests.map(({ query }) => query.get('timeout')),
      ['1s', '2.345s', '4s', '3s', '8s'],
    );
  });

  test('the time of a read is that of the connection, or of its call', async () => {
    const clock = new FakeClock();
    const { client } = connectTo(server, { clock, requestTimeouts: { read: 7000, list: 9000 } });
    server.fail({ times: 9 }, { kind: 'hang' });
    const reads = [
      assert.rejects(client.get(configMaps, key), unanswered(true, /within 7 s/)),
      assert.rejects(client.list(configMaps), unanswered(true, /within 9 s/)),
      assert.rejects(client.get(configMaps, key, { timeout: 8000 }), unanswered(true, /within 8 s/)),
    ];
    await until(() => server.requests.length === 3);
    clock.advance(9000);
    await Promise.all(reads);
  });

  test('times that are too long for a timer are refused at once', () => {
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(
        () => connectTo(server, { requestTimeouts: { write: value } }),
        /requestTimeouts\.write must be/,
      );
    }
  });
});

describe('connections', () => {
  test('400 calls, 40 at a time, use no more connections than allowed, and each many times', async () => {
    const { client } = connectTo(server, { maxRequests: 8 });
    server.put(configMaps, object);
    let calls = 0;
    const caller = async () => {
      while (calls++ < 400) await client.get(configMaps, key);
    };
    await Promise.all(Array.from({ length: 40 }, caller));
    assert.deepEqual(server.connections, { open: 8, most: 8, opened: 8, resets: 0 });
  });

  test('hanging requests and many watches do not hold up the Lease', async () => {
    const { client, leaseClient } = connectTo(server, { maxRequests: 2, maxWatches: 2 });
    const controller = new AbortController();
    const { signal } = controller;
    server.fail({ method: 'GET', times: 9 }, { kind: 'hang' });
    const hanging = [1, 2, 3, 4].map(() => client.get(configMaps, key, { signal }));
    const watching = [1, 2, 3].map(() => client.watch(configMaps, { timeoutSeconds: 60, signal }));
    await until(() => server.requests.length === 4);
    await leaseClient.create(configMaps, object, { timeout: 1000 });
    controller.abort();
    await Promise.allSettled([...hanging, ...watching]);
  });
});
