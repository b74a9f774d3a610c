/** Pods that have ended and stay in the list, as a node under pressure leaves them: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { noteEvictions } from './configwatcher-evictions.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';

/** A shop of three Pods that its kubelet does not touch again, so that one of them can stay ended. */
async function opened(t: TestContext): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  shop.breaksPods = true;
  await shop.createWorkload(3, 'Deployment', 'webapp');
  const hasStarted = ({ status }: Pod) => status?.phase === 'Running';
  await eventually(async () => (await shop.pods()).filter(hasStarted).length === 3, {
    message: 'the kubelet is done with three Pods',
  });
  shop.breaksPods = false;
  for (const { metadata } of await shop.pods()) await shop.getsReady(metadata.name);
  await shop.allReady(3);
  return shop;
}

/** As the kubelet of a node under pressure does. Resolves when its ReplicaSet has made another one. */
async function endOne(shop: Shop, serving: number): Promise<Pod> {
  const { client, namespace } = shop;
  const [pod = assert.fail('it has Pods')] = await shop.pods();
  const status = {
    ...{ phase: 'Failed' as const, reason: 'Evicted', message: 'The node was low on resource: memory.' },
    conditions: [{ type: 'Ready', status: 'False' }],
  };
  const key = { namespace, name: pod.metadata.name };
  await client.patchStatus(pods, key, { type: 'merge', body: { status } });
  await untilServing(shop, serving);
  return await client.get(pods, key);
}

/** Resolves when so many Pods are Ready and as many have not ended. */
function untilServing(shop: Shop, count: number): Promise<Pod[]> {
  return eventually(
    async () => {
      const live = (await shop.pods()).filter(({ status }) => status?.phase !== 'Failed');
      const ready = live.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
      return live.length === count && ready.length === count && live;
    },
    { message: `${count} Pods serve` },
  );
}

async function isUntouched({ client, namespace }: Shop, { metadata }: Pod): Promise<boolean> {
  const { metadata: now } = await client.get(pods, { namespace, name: metadata.name });
  return now.resourceVersion === metadata.resourceVersion;
}

describe('a ConfigWatcher whose Deployment has a Pod that was evicted for want of memory', {
  concurrency: 2,
}, () => {
  for (const type of ['Evict', 'Delete', 'Auto'] as const) {
    it(`by ${type} restarts the Pods that serve, and neither touches nor counts the ended one`, {
      timeout,
    }, async (t) => {
      const shop = await opened(t);
      const evicted: string[] = [];
      await shop.startOperator({ onConnect: noteEvictions(evicted) });
      await shop.watch({ ...atOnce, suspend: true, strategy: { type } });
      await shop.baselined();
      const ended = await endOne(shop, 3);
      const old = (await untilServing(shop, 3)).map(({ metadata }) => metadata.name);
      await shop.olderThanEdits();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const held = await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
      assert.equal(held.stalePods, 3);
      await shop.edit({ suspend: false });
      const { lastRestart, stalePods, strategyInUse } = await shop.restarted(1);
      const left = await untilServing(shop, 3);
      assert.deepEqual(
        [lastRestart?.restarted, lastRestart?.skippedFresh, lastRestart?.skippedUnmanaged, stalePods],
        [3, 0, 0, 0],
      );
      assert.ok(left.every(({ metadata }) => !old.includes(metadata.name)));
      assert.equal(await isUntouched(shop, ended), true);
      assert.equal(shop.seen.length, 7, 'each Pod that served was replaced once');
      // What has ended is no Pod that a rollout would take against the spec.
      assert.deepEqual(evicted.sort(), type === 'Evict' ? old.sort() : []);
      const { spec } = await shop.client.get(deployments, { namespace: shop.namespace, name: 'webapp' });
      const expected = type === 'Auto' ? lastRestart?.id : undefined;
      assert.deepEqual(
        [spec?.template?.metadata?.annotations?.[annotation], strategyInUse],
        [expected, type],
      );
    });
  }

  it('goes on when a Pod with the old content ends in mid-restart', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.olderThanEdits();
    await shop.startOperator();
    await shop.watch({ ...atOnce });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the first Pod goes' });
    const stale = (await shop.pods()).find(isReady) ?? assert.fail('it has one');
    const status = { phase: 'Failed' as const, reason: 'Evicted', conditions: [] };
    const key = { namespace: shop.namespace, name: stale.metadata.name };
    await shop.client.patchStatus(pods, key, { type: 'merge', body: { status } });
    await eventually(() => shop.seen.length === 5, { message: 'its ReplicaSet makes another one' });
    shop.isKubeletSlow = false;
    const { stalePods } = await shop.restarted(1);
    await untilServing(shop, 3);
    assert.deepEqual([stalePods, shop.seen.length], [0, 6]);
    const phases = (await shop.pods()).map((pod) => pod.status?.phase).sort();
    assert.deepEqual(phases, ['Failed', 'Running', 'Running', 'Running']);
  });
});
