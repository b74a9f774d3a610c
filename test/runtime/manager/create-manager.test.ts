import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { configMaps, type KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { controllerManagedBy } from '../../../src/runtime/controller/builder.ts';
import { leases } from '../../../src/runtime/leader/lease.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { type CreateManagerOptions, createManager } from '../../../src/runtime/manager/create-manager.ts';
import { microTime } from '../../../src/runtime/micro-time.ts';
import { aborted } from '../../../src/runtime/time-limit.ts';
import { FakeApiServer } from '../../fake/api-server.ts';
import { until } from '../../fake/until.ts';

const fakeLeases = { ...leases, status: false, generation: false, conditionalUpdate: false };

/** An operator that marks each ConfigMap it sees, run until the test ends; resolves once it has done so. */
async function operate(t: TestContext, options: Partial<CreateManagerOptions> = {}) {
  const server = await FakeApiServer.start({ resources: [fakeLeases] });
  const kubeConfig = server.kubeConfig();
  kubeConfig.contexts = kubeConfig.contexts.map((context) => ({ ...context, namespace: 'of-context' }));
  const manager = createManager({
    ...{ name: 'marker', kubeConfig, log: silentLogger, instance: 'host' },
    ...options,
  });
  const seen: string[] = [];
  controllerManagedBy(manager)
    .for(configMaps)
    .complete({
      async reconcile({ namespace, name }, { signal }) {
        const body = { metadata: { labels: { marked: 'true' } } };
        await manager.client.patch(configMaps, { namespace, name }, { type: 'merge', body }, { signal });
        seen.push(`${namespace}/${name}`);
        return {};
      },
    });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
    await server.stop();
  });
  for (const namespace of ['one', 'two']) {
    server.put(configMaps, { metadata: { namespace, name: 'a' } });
  }
  await until(() => seen.length > 0);
  return { server, manager, seen };
}

test('with a name, a cluster and a log it works, in all namespaces, and without a Lease', async (t) => {
  const { server, manager, seen } = await operate(t);
  await until(() => seen.length >= 2);
  assert.deepEqual([...new Set(seen)].sort(), ['one/a', 'two/a']);
  assert.ok(!server.requests.some(({ path }) => path.includes('/leases')));
  const patch = server.requests.find(({ method }) => method === 'PATCH');
  assert.equal(patch?.query.get('fieldManager'), 'marker');
  assert.match(await manager.registry.metrics(), /controller_runtime_reconcile_total/);
});

test('watches only the namespaces it was told', async (t) => {
  const { server } = await operate(t, { namespaces: ['two'] });
  const lists = server.requests.filter(({ method, path }) => method === 'GET' && path.includes('configmaps'));
  assert.ok(lists.length > 0);
  assert.ok(lists.every(({ path }) => path.includes('/namespaces/two/')));
});

test('takes part in an election in the namespace of its context', async (t) => {
  const { manager } = await operate(t, { leaderElection: true });
  const key = { namespace: 'of-context', name: 'marker' };
  const { spec } = await manager.connection.leaseClient.get(leases, key);
  assert.match(spec?.holderIdentity ?? '', /^host_[0-9a-f-]{36}$/);
});

test('or in another', async (t) => {
  const { manager } = await operate(t, { leaderElection: true, leaderElectionNamespace: 'elsewhere' });
  await manager.connection.leaseClient.get(leases, { namespace: 'elsewhere', name: 'marker' });
});

test('what needs no leader election writes on a standby, by a client of its own', async (t) => {
  const server = await FakeApiServer.start({ resources: [fakeLeases] });
  const held = { holderIdentity: 'somebody', leaseDurationSeconds: 15, renewTime: microTime(Date.now()) };
  server.put(fakeLeases, {
    metadata: { namespace: 'default', name: 'marker' },
    spec: held,
  } as KubernetesObject);
  const manager = createManager({
    ...{ name: 'marker', kubeConfig: server.kubeConfig(), log: silentLogger, leaderElection: true },
    requestTimeouts: { write: 4000 },
  });
  const writes = Promise.withResolvers<[PromiseSettledResult<unknown>, PromiseSettledResult<unknown>]>();
  manager.add({
    ...{ name: 'everywhere', needsLeaderElection: false },
    async start(stop) {
      const create = (client: Client, name: string) =>
        Promise.allSettled([client.create(configMaps, { metadata: { namespace: 'default', name } })]);
      const [[gated], [ungated]] = await Promise.all([
        create(manager.client, 'gated'),
        create(manager.ungatedClient, 'ungated'),
      ]);
      writes.resolve([gated, ungated]);
      await aborted(stop);
    },
  });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
    await server.stop();
  });
  const [gated, ungated] = await writes.promise;
  assert.equal(ungated.status, 'fulfilled');
  assert.match(String((gated as PromiseRejectedResult).reason), /does not hold the leader lease/);
  const post = server.requests.filter(({ method }) => method === 'POST');
  assert.deepEqual(
    post.map(({ query }) => query.get('timeout')),
    ['3.2s'],
  );
});
