/** Profiles over real HTTP: what they hold, who gets them, and how much at a time. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { ListenError } from '../../../src/runtime/http-server.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { createManager } from '../../../src/runtime/manager/create-manager.ts';
import { profilingServer } from '../../../src/runtime/profiling/profiling-server.ts';
import { FakeClock } from '../../fake/clock.ts';
import { until } from '../../fake/until.ts';

async function serve(t: TestContext, clock: Clock = systemClock): Promise<string> {
  const server = profilingServer({ bindAddress: '127.0.0.1:0', clock, log: silentLogger });
  await server.start();
  t.after(() => server.stop());
  return `http://${server.address}`;
}

test('a CPU profile is what the developer tools read', async (t) => {
  const clock = new FakeClock();
  const url = await serve(t, clock);
  const answer = fetch(`${url}/debug/cpu?seconds=2`);
  await until(() => clock.pendingTimers === 1);
  clock.advance(2000);
  const profile = (await (await answer).json()) as { nodes: unknown[]; startTime: number; endTime: number };
  assert.ok(profile.nodes.length > 0);
  assert.ok(profile.endTime > profile.startTime);
});

test('a CPU profile has a limit', async (t) => {
  const url = await serve(t);
  for (const seconds of ['0', '26', '-1', 'NaN', 'Infinity', 'x']) {
    assert.equal((await fetch(`${url}/debug/cpu?seconds=${seconds}`)).status, 400, seconds);
  }
});

test('a heap snapshot has the objects of this process', async (t) => {
  const url = await serve(t);
  class FindMeInTheSnapshot {}
  const found = new FindMeInTheSnapshot();
  const snapshot = await (await fetch(`${url}/debug/heap`)).text();
  const { nodes, strings } = JSON.parse(snapshot);
  assert.ok(nodes.length > 1000);
  assert.ok(strings.includes('FindMeInTheSnapshot'), String(found));
});

test('a heap snapshot that is read too slowly breaks off, and the next one is made', async (t) => {
  const clock = new FakeClock();
  const url = await serve(t, clock);
  const slow = get(`${url}/debug/heap`);
  const response = await new Promise<NodeJS.ReadableStream>((resolve) => slow.once('response', resolve));
  const broken = new Promise((resolve) => response.once('error', resolve));
  assert.equal((await fetch(`${url}/debug/heap`)).status, 429);
  clock.advance(60_000);
  response.resume();
  await broken;
  await until(() => clock.pendingTimers === 0);
  assert.equal((await fetch(`${url}/debug/heap`)).status, 200);
});

test('one profile is taken at a time', async (t) => {
  const clock = new FakeClock();
  const url = await serve(t, clock);
  const first = fetch(`${url}/debug/cpu`);
  await until(() => clock.pendingTimers === 1);
  const second = await fetch(`${url}/debug/cpu`);
  assert.equal(second.status, 429);
  assert.match(await second.text(), /one at a time/);
  clock.advance(10_000);
  assert.equal((await first).status, 200);
});

test('a request by another host name gets nothing: it is that of a web page whose name leads here', async (t) => {
  const url = await serve(t);
  const answer = await new Promise<IncomingMessage>((resolve) =>
    get(`${url}/debug/heap`, { headers: { host: 'attacker.example:6060' } }, resolve),
  );
  assert.equal(answer.statusCode, 403);
  assert.doesNotMatch(await text(answer), /snapshot/);
});

test('other machines cannot be let in', () => {
  const log = silentLogger;
  for (const bindAddress of [':6060', '0.0.0.0:6060', '10.0.0.1:6060', '[::]:6060', 'example.com:6060']) {
    assert.throws(
      () => profilingServer({ bindAddress, clock: systemClock, log }),
      (error) => error instanceof ListenError && /holds Secrets; choose 127\.0\.0\.1/.test(error.message),
      bindAddress,
    );
  }
});

test('a Manager serves none unless it is told to, and refuses an address that others reach', () => {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: 'https://c', skipTLSVerify: false }, { name: 'u' });
  const options = { name: 'profiled', kubeConfig, log: silentLogger };
  createManager(options);
  createManager({ ...options, profilingBindAddress: '127.0.0.1:0' });
  assert.throws(() => createManager({ ...options, profilingBindAddress: ':6060' }), ListenError);
});
