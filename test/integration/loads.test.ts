/** How collections are loaded from a real API server: in pages that fit, piece by piece, and a few at a time. */
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { test } from 'node:test';
import { configMaps, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { TransportError } from '../../src/runtime/client/api-error.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { HostileProxy } from './hostile-proxy.ts';
import { connectToTestCluster, newConnection, skipWithoutStreams, withNamespace } from './support.ts';

const { client } = connectToTestCluster();

/** Holds an answer back, ms. */
function late(ms: number): Transform {
  let held = false;
  return new Transform({
    transform(chunk, _, next) {
      setTimeout(() => next(null, chunk), held ? 0 : ms);
      held = true;
    },
  });
}

for (const { what, count, bytes, limits } of [
  { what: 'doubles while pages are small', count: 400, bytes: 100, limits: ['50', '100', '200', '400'] },
  { what: 'halves after a huge one', count: 60, bytes: 700_000, limits: ['50', '25'] },
]) {
  test(`a list begins with 50 objects, ${what}, and lets the event loop turn`, async (t) => {
    const namespace = await withNamespace(t);
    const labels = { test: 'pages' };
    const data = { text: 'x'.repeat(bytes) };
    const created = (index: number) => ({ metadata: { namespace, name: `cm-${index}`, labels }, data });
    await inParallel(count, 16, (index) => client.create(configMaps, created(index)));
    const proxy = await HostileProxy.start(t);
    const connection = newConnection({ kubeConfig: proxy.kubeConfig });
    t.after(() => connection.close());
    const perTurn = [0];
    let running = true;
    const turn = () => {
      perTurn.push(0);
      if (running) setImmediate(turn);
    };
    turn();
    const { items } = await connection.client.list(configMaps, {
      ...{ namespace, labelSelector: 'test=pages' },
      transform({ metadata }: KubernetesObject) {
        perTurn.push((perTurn.pop() ?? 0) + 1);
        return { metadata };
      },
    });
    running = false;
    assert.equal(items.length, count);
    assert.deepEqual(
      proxy.asked.map(({ query }) => query.get('limit')),
      limits,
    );
    const most = Math.max(...perTurn) * bytes;
    assert.ok(most <= 10_000_000, `${most} bytes in one turn`);
  });
}

test('the time of a read is for its answer, that of a list for each page', async (t) => {
  const namespace = await withNamespace(t);
  const labels = { test: 'times' };
  await inParallel(150, 16, (index) =>
    client.create(configMaps, { metadata: { namespace, name: `cm-${index}`, labels } }),
  );
  const proxy = await HostileProxy.start(t);
  proxy.treat = () => ({ through: late(4000) });
  const connected = (requestTimeouts: { read?: number; list?: number }) => {
    const connection = newConnection({ kubeConfig: proxy.kubeConfig, requestTimeouts });
    t.after(() => connection.close());
    return connection.client;
  };
  const selection = { namespace, labelSelector: 'test=times' };
  // Less than two pages take, and with room for a busy machine.
  const limit = 7500;
  const begun = performance.now();
  const { items } = await connected({ list: limit }).list(configMaps, selection);
  assert.equal(items.length, 150);
  assert.ok(performance.now() - begun > limit, 'the pages together took longer');
  const failed = (error: unknown) =>
    error instanceof TransportError && /no answer within 0\.3 s/.test(error.message);
  const key = { namespace, name: 'cm-0' };
  await assert.rejects(connected({ list: 300 }).list(configMaps, selection), failed);
  await assert.rejects(connected({ read: 300 }).get(configMaps, key), failed);
  assert.ok(await connected({ read: limit }).get(configMaps, key));
});

const skip = await skipWithoutStreams();

test('four collections are loaded at a time, and all are followed', { skip }, async (t) => {
  const namespaces = await Promise.all(Array.from({ length: 12 }, () => withNamespace(t)));
  for (const namespace of namespaces) await client.create(configMaps, { metadata: { namespace, name: 'a' } });
  const proxy = await HostileProxy.start(t);
  let underWay = 0;
  let most = 0;
  proxy.treat = ({ query }) => {
    if (query.get('sendInitialEvents') !== 'true') return undefined;
    most = Math.max(most, ++underWay);
    let tail = '';
    const through = new Transform({
      transform(chunk: Buffer, _, next) {
        const text = tail + chunk.toString('latin1');
        const isEnd = text.includes('initial-events-end');
        tail = isEnd ? '' : text.slice(-100);
        // Long enough for others to begin beside it, if they may.
        setTimeout(() => {
          if (isEnd) underWay--;
          next(null, chunk);
        }, 200);
      },
    });
    return { through };
  };
  const connection = newConnection({ kubeConfig: proxy.kubeConfig });
  const stop = new AbortController();
  t.after(() => {
    stop.abort(new Error('the test has ended'));
    connection.close();
  });
  const informers = new Informers({
    ...{ client: connection.client, clock: systemClock, log: silentLogger, namespaces },
  });
  const { lister } = informers.informerFor(configMaps, { fieldSelector: 'metadata.name=a' });
  informers.start(stop.signal);
  await informers.waitForSync(AbortSignal.timeout(30_000));
  assert.equal(lister.size, 12);
  assert.equal(most, 4);
});
