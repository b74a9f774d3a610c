/** Controllers that share a process and a connection, and a webhook that hangs for one of them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import type { Request } from '../../src/runtime/controller/reconciler.ts';
import type { Source } from '../../src/runtime/controller/source.ts';
import { events } from '../../src/runtime/events/event.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import { Manager } from '../../src/runtime/manager/manager.ts';
import { widgets, widgetsDefinition } from '../conformance/subject.ts';
import { series } from '../runtime/controller/fixtures.ts';
import { applyCrd, connectToTestCluster, eventually, testKubeConfig, withNamespace } from './support.ts';
import { startWebhook } from './webhook.ts';

const { client } = connectToTestCluster();
before(() => applyCrd(client, widgetsDefinition));

/** Asks for each of these objects once. */
function once(requests: readonly Request[]): Source {
  return {
    start(enqueue) {
      for (const request of requests) enqueue(request, {});
    },
    async waitForSync() {},
  };
}

/** Milliseconds for what is not to wait for a call that hangs: that is given up after 5 s. */
const soonMs = 4900;
const seen = { type: 'Normal', reason: 'Seen', action: 'See', note: 'seen' } as const;

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `n-${index}`);
}

test('40 workers of a controller on a webhook that hangs cost another controller nothing', async (t) => {
  const namespace = await withNamespace(t);
  const hung = await withNamespace(t);
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  const webhook = await startWebhook(t, client, hung, async () => {
    await ended.promise;
    return {};
  });
  await eventually(
    async () => {
      client.create(configMaps, { metadata: { namespace: hung, name: 'probe' } }).catch(() => {});
      return webhook.asked > 0;
    },
    { message: 'the webhook is asked' },
  );
  await Promise.all(
    namesOf(200).map((name) => client.create(widgets, { metadata: { namespace, name }, spec: { size: 1 } })),
  );
  const before = webhook.asked;
  let givenUp = 0;
  const patched = new Set<string>();
  const manager = createManager({
    ...{ name: 'fairness', kubeConfig: testKubeConfig(), log: silentLogger },
    ...{ leaderElection: true, leaderElectionNamespace: namespace },
  });
  const recorder = manager.recorder('example.com/patching');
  controllerManagedBy(manager)
    .named('hanging')
    .watchesSource(once(namesOf(40).map((name) => ({ namespace: hung, name }))))
    .withOptions({ maxConcurrentReconciles: 40 })
    .complete({
      async reconcile(metadata, { signal }) {
        try {
          await manager.client.create(configMaps, { metadata }, { signal });
        } finally {
          givenUp++;
        }
        return {};
      },
    });
  controllerManagedBy(manager)
    .named('patching')
    .watchesSource(once(namesOf(200).map((name) => ({ namespace, name }))))
    .withOptions({ maxConcurrentReconciles: 8 })
    .complete({
      async reconcile(key, { signal }) {
        await eventually(() => webhook.asked - before >= 32, {
          message: 'all connections of the other hang',
        });
        const body = { status: { phase: 'Seen' } };
        const object = await manager.client.patchStatus(widgets, key, { type: 'merge', body }, { signal });
        if (key.name === 'n-0') recorder.record(widgets, object, seen);
        patched.add(key.name);
        return {};
      },
    });
  // What is learned is how much longer than usual a create takes.
  await manager.ungatedClient.create(configMaps, { metadata: { namespace, name: 'quick' } });
  const run = manager.start(stop.signal);
  t.after(async () => {
    ended.resolve();
    stop.abort();
    await run;
  });
  // Were a connection not kept free, none would be patched before one of the calls that hang has been given up.
  await eventually(() => patched.size >= 10 || givenUp > 0, { message: 'some are patched' });
  assert.ok(patched.size >= 10, `${patched.size} patched`);
  await eventually(() => patched.size === 200, { message: 'all are patched' });
  await manager.client.getRaw('/apis', { timeout: soonMs });
  const renewal = async () => (await client.get(leases, { namespace, name: 'fairness' })).spec?.renewTime;
  const first = await renewal();
  await eventually(async () => (await renewal()) !== first, {
    timeout: soonMs,
    message: 'the lease is renewed',
  });
  // A call that hangs is given up after 5 s, and the next one hangs.
  await eventually(
    async () => (await client.list(events, { namespace })).items.some(({ reason }) => reason === 'Seen'),
    { timeout: 10_000, message: 'the Event is sent' },
  );
  await eventually(() => givenUp >= 40, { message: 'all 40 have been given up' });
  const limits = await series(manager.registry, 'rest_client_concurrency_limit');
  const limitOf = (verb: string, resource: string) =>
    Object.entries(limits).find(
      ([name]) => name.includes(`verb="${verb}"`) && name.includes(`resource="${resource}"`),
    )?.[1];
  const learned = limitOf('POST', 'configmaps');
  assert.ok(learned !== undefined && learned < 32, `${learned}`);
  assert.equal(limitOf('PATCH', 'widgets.conformance.example.com/status'), 32);
});

/** A manager that watches ConfigMaps in 210 namespaces, with a watch for each. */
function watcherOf(maxWatches?: number): Manager {
  const kubeConfig = testKubeConfig();
  const manager = new Manager({
    ...{ clock: systemClock, log: silentLogger, registry: new Registry(), instance: 'test' },
    connect: (gate) =>
      connect({
        ...{ kubeConfig, gate, clock: systemClock, log: silentLogger },
        ...{ userAgent: 'atwatch-test', fieldManager: 'atwatch-test' },
        ...(maxWatches !== undefined && { maxWatches }),
      }),
    server: kubeConfig.getCurrentCluster()?.server ?? '',
    namespaces: Array.from({ length: 210 }, (_, index) => `watched-${index}`),
    ...{ metricsBindAddress: '0', healthProbeBindAddress: '0' },
  });
  manager.informers.informerFor(configMaps);
  return manager;
}

test('210 watches are all opened', async () => {
  const manager = watcherOf();
  const stop = new AbortController();
  const run = manager.start(stop.signal);
  await Promise.race([
    run,
    eventually(() => manager.informers.hasSynced && manager.informers.problems.length === 0, {
      message: 'all watches are open',
    }),
  ]);
  assert.equal(manager.informers.watches, 210);
  stop.abort();
  await run;
});

test('where fewer are allowed the start fails, and names the limit', async () => {
  await assert.rejects(
    watcherOf(200).start(new AbortController().signal),
    /the informers need 210 watches, and maxWatches allows 200/,
  );
});
