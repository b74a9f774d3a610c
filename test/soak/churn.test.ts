/**
 * Ten minutes of objects that come, change and go, under a controller whose connections keep breaking. What
 * it holds must not grow, and in the end it must know what a fresh list knows. SOAK_MINUTES changes the time.
 */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { controllerManagedBy } from '../../src/runtime/controller/builder.ts';
import type { Request, Result } from '../../src/runtime/controller/reconciler.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { Manager } from '../../src/runtime/manager/manager.ts';
import { TcpProxy } from '../fake/tcp-proxy.ts';
import { Audience, assertSameAsServer } from '../integration/informer-cluster.ts';
import { connectToTestCluster, eventually, testKubeConfig, withNamespace } from '../integration/support.ts';
import { assertFlat, describeSize, type ProcessSize, processSize } from './process-size.ts';

const minutes = Number(process.env.SOAK_MINUTES ?? 10);
/** Of the objects' names, one for each of those who write at the same time. */
const prefixes = ['a', 'b'];
/** Objects of each of them that are there at a time. */
const population = 150;
const samplesPerRun = 60;
const timeBetweenCuts = 3000;

/** Copies `data.value` to `data.seen` of every ConfigMap of a namespace, and tells of it. */
async function startOperator(t: TestContext, namespace: string) {
  const kubeConfig = testKubeConfig();
  const cluster = kubeConfig.getCurrentCluster();
  const user = kubeConfig.getCurrentUser();
  assert.ok(cluster && user);
  const proxy = await TcpProxy.start(cluster.server);
  kubeConfig.loadFromClusterAndUser({ ...cluster, server: proxy.url }, user);
  const shared = { clock: systemClock, log: silentLogger, registry: new Registry() };
  const manager = new Manager({
    ...{ ...shared, server: proxy.url, namespaces: [namespace], instance: 'soak' },
    ...{ metricsBindAddress: '0', healthProbeBindAddress: '0' },
    connect: (gate) => connect({ ...shared, kubeConfig, gate, userAgent: 'soak', fieldManager: 'soak' }),
  });
  const informer = manager.informers.informerFor(configMaps);
  const recorder = manager.recorder('soak');
  const reconcile = async (key: Request): Promise<Result> => {
    const object = informer.lister.get(key.namespace, key.name);
    const { value, seen } = object?.data ?? {};
    if (object === undefined || value === undefined || seen === value) return {};
    const patch = { type: 'merge', body: { data: { seen: value } } } as const;
    await manager.client.patch(configMaps, key, patch).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    recorder.record(configMaps, object, { type: 'Normal', reason: 'Seen', action: 'Copy', note: value });
    return { requeueAfter: 3_600_000 };
  };
  controllerManagedBy(manager)
    .for(configMaps)
    .withOptions({ maxConcurrentReconciles: 4, maxBackoff: 5000 })
    .complete({ reconcile });
  const audience = new Audience(informer);
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
    await proxy.stop();
  });
  await manager.informers.waitForSync(AbortSignal.timeout(30_000));
  return { manager, informer, audience, proxy };
}

/**
 * Creates objects, changes each of them twice and deletes it, until the signal is aborted. Every object has a
 * name of its own, so that whatever is kept of a name adds up; one in five is made again under its name.
 */
async function churn(
  client: Client,
  namespace: string,
  prefix: string,
  signal: AbortSignal,
): Promise<number> {
  let writes = 0;
  const key = (index: number) => ({ namespace, name: `${prefix}-${index}` });
  const write = async (index: number, work: () => Promise<unknown>) => {
    if (index < 0) return;
    await work();
    writes++;
    await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const create = (index: number) => {
    const data = { value: String(writes) };
    return write(index, () => client.create(configMaps, { metadata: key(index), data }));
  };
  const change = (index: number) => {
    const body = { data: { value: String(writes) } };
    return write(index, () => client.patch(configMaps, key(index), { type: 'merge', body }));
  };
  const end = (index: number) => write(index, () => client.delete(configMaps, key(index)));
  for (let newest = 0; !signal.aborted; newest++) {
    const oldest = newest - population;
    await create(newest);
    await change(newest - population / 3);
    await change(newest - (2 * population) / 3);
    await end(oldest);
    if (oldest % 5 === 0) {
      await create(oldest);
      await end(oldest - population);
    }
  }
  return writes;
}

it(`${minutes} min of churn: heap and descriptors stay, and nothing was missed`, async (t) => {
  const namespace = await withNamespace(t);
  const { client } = connectToTestCluster();
  const { informer, audience, proxy } = await startOperator(t, namespace);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const churned = Promise.all(prefixes.map((prefix) => churn(client, namespace, prefix, stop.signal)));
  const cutting = setInterval(() => proxy.cut(), timeBetweenCuts);
  const samples: ProcessSize[] = [];
  for (let sample = 0; sample < samplesPerRun; sample++) {
    const pause = new Promise((resolve) => setTimeout(resolve, (minutes * 60_000) / samplesPerRun));
    await Promise.race([pause, churned]);
    samples.push(await processSize());
  }
  clearInterval(cutting);
  stop.abort();
  const writes = (await churned).reduce((sum, count) => sum + count, 0);
  t.diagnostic(`${writes} writes, ${audience.updates} updates seen`);
  t.diagnostic(`heap/RSS in MB/descriptors: ${samples.map(describeSize).join(' ')}`);
  await eventually(
    async () => {
      const { items } = await client.list<ConfigMap>(configMaps, { namespace });
      return items.every(({ data }) => data?.seen === data?.value);
    },
    { timeout: 60_000, message: 'the controller has caught up' },
  );
  await eventually(() => assertSameAsServer(client, namespace, informer, audience).then(() => true));
  assertFlat(samples);
});
