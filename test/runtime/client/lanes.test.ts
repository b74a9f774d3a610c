/**
 * Two controllers on one connection, and a webhook that hangs for one of them.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { configMaps, pods } from '../../../src/kubernetes/objects.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import type { Connection } from '../../../src/runtime/client/connect.ts';
import { inLane } from '../../../src/runtime/client/lane.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { FakeClock, settle } from '../../fake/clock.ts';
import { connectTo } from '../../fake/connection.ts';
import { until } from '../../fake/until.ts';

const patch = { type: 'merge', body: { data: { a: '1' } } } as const;

let server: FakeApiServer;
let connection: Connection;
beforeEach(async () => {
  server = await FakeApiServer.start();
  server.put(configMaps, { metadata: { namespace: 'n', name: 'a' } });
});
afterEach(() => {
  connection.close();
  return server.stop();
});

/** 40 workers of a controller on a webhook that never answers; resolves once they have all the connections they get. */
async function hang(): Promise<Promise<unknown>[]> {
  server.fail({ method: 'POST', resource: 'pods', times: 999 }, { kind: 'hang' });
  const pod = { metadata: { namespace: 'n', name: 'p' }, spec: { containers: [] } };
  const calls = inLane('hanging', () =>
    Array.from({ length: 40 }, () => connection.client.create(pods, pod)),
  );
  await until(() => server.requests.filter(({ method }) => method === 'POST').length === 32);
  return calls.map((call) => assert.rejects(call, TransportError));
}

function patchIn(lane: string): Promise<unknown> {
  return inLane(lane, async () => {
    // However many awaits away.
    await Promise.resolve();
    return connection.client.patch(configMaps, { namespace: 'n', name: 'a' }, patch);
  });
}

describe('while one controller hangs', () => {
  test('another one is served at once', async () => {
    const clock = new FakeClock();
    connection = connectTo(server, { clock });
    const hanging = await hang();
    // The clock stands still: had they to wait for one that hangs, they would wait for ever.
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 32 }, () => patchIn('other')));
    clock.advance(5000);
    await Promise.all(hanging);
    assert.equal(server.requests.filter(({ code }) => code === 200).length, 320);
  });

  test('so are reads and lists of informers, Events, and what belongs to no controller', async () => {
    const clock = new FakeClock();
    connection = connectTo(server, { clock });
    const hanging = await hang();
    await connection.clientFor('informers').list(configMaps);
    await connection.clientFor('events').create(configMaps, { metadata: { namespace: 'n', name: 'event' } });
    await connection.client.getRaw('/version');
    await connection.leaseClient.list(configMaps);
    clock.advance(5000);
    await Promise.all(hanging);
  });

  test('a lane that is named is meant, also within another one', async () => {
    const clock = new FakeClock();
    connection = connectTo(server, { clock });
    const hanging = await hang();
    const events = connection.clientFor('events');
    await inLane('hanging', () => events.create(configMaps, { metadata: { namespace: 'n', name: 'event' } }));
    clock.advance(5000);
    await Promise.all(hanging);
  });

  test('what is learned from it is said of its verb and resource alone', async () => {
    const clock = new FakeClock();
    const registry = new Registry();
    connection = connectTo(server, { clock, registry });
    const hanging = await hang();
    await patchIn('other');
    clock.advance(5000);
    await Promise.all(hanging);
    const limits = (await registry.metrics()).match(/(?<=^rest_client_concurrency_limit.*,).*$/gm) ?? [];
    const [post, patched] = limits.map((sample) => sample.split(' '));
    assert.equal(post?.[0], 'verb="POST",resource="pods"}');
    assert.ok(Number(post?.[1]) < 32);
    assert.deepEqual(patched, ['verb="PATCH",resource="configmaps"}', '32']);
  });
});

test('a call whose time is over while it waits in line says so', async () => {
  const clock = new FakeClock();
  connection = connectTo(server, { clock, maxRequests: 1 });
  server.fail({ method: 'GET' }, { kind: 'hang' });
  const first = assert.rejects(
    connection.client.list(configMaps, { timeout: 30_000 }),
    /no answer within 30 s$/,
  );
  await until(() => server.requests.length === 1);
  const inLine = connection.client.list(configMaps, { timeout: 1000 });
  const second = assert.rejects(inLine, /no answer within 1 s: all connections were in use$/);
  await settle();
  clock.advance(30_000);
  await Promise.all([first, second]);
});
