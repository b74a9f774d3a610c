/** Diagnostics: what subscribers of a process are told. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type TestContext, test } from 'node:test';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { Informers } from '../../src/runtime/cache/informers.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import {
  asReconcile,
  asRequest,
  type LeaseDiagnostic,
  tellLease,
  tellWatch,
} from '../../src/runtime/diagnostics.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { LeaseLock } from '../../src/runtime/leader/lease-lock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { FakeApiServer } from '../fake/api-server.ts';
import { FakeClock } from '../fake/clock.ts';
import { connectTo } from '../fake/connection.ts';
import { until } from '../fake/until.ts';

function heard<E>(t: TestContext, channel: string): E[] {
  const events: E[] = [];
  const listener = (event: unknown) => void events.push(event as E);
  subscribe(channel, listener);
  t.after(() => unsubscribe(channel, listener));
  return events;
}

test('without a subscriber no event is made', async () => {
  const never = () => assert.fail('an event was made');
  assert.equal(await asReconcile(never, async (event) => event), undefined);
  assert.equal(await asRequest(never, async (event) => event), undefined);
  tellWatch(never);
  tellLease(never);
});

test('the lease: acquired, renewed, released', async (t) => {
  const events = heard<LeaseDiagnostic>(t, 'atwatch.runtime.lease');
  const server = await FakeApiServer.start({ resources: [leases] });
  t.after(() => server.stop());
  const holder = { namespace: 'n', name: 'l', identity: 'me', leaseDurationSeconds: 15 };
  const lock = new LeaseLock(connectTo(server).client, new FakeClock(), holder, 5000);
  const { signal } = new AbortController();
  await lock.take(undefined, signal);
  await lock.take(lock.known, signal);
  await lock.giveBack(signal);
  const about = { lease: 'n/l', identity: 'me' };
  assert.deepEqual(events, [
    { type: 'acquired', ...about },
    { type: 'renewed', ...about },
    { type: 'released', ...about },
  ]);
});

test('a watch: opened, ended', async (t) => {
  const events = heard<{ readonly type: string; readonly resource: string }>(t, 'atwatch.runtime.watch');
  const server = await FakeApiServer.start();
  t.after(() => server.stop());
  const { client } = connectTo(server);
  const informers = new Informers({ client, clock: systemClock, log: silentLogger, namespaces: [] });
  informers.informerFor(configMaps);
  const stop = new AbortController();
  informers.start(stop.signal);
  await until(() => events.some(({ type }) => type === 'opened'));
  stop.abort();
  await until(() => events.at(-1)?.type === 'ended');
  assert.ok(events.every(({ resource }) => resource === 'configmaps'));
});
