/**
 * A content that has broken Pods stays known for that, whatever people do to the owner that it has broken: on a real API
 * server with the real controllers.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { rolloutAnnotation } from '../../src/configwatcher/facts/rollout-annotation.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { eventually, isGone } from './support.ts';

const timeout = 240_000;
const names = ['web-0', 'web-1', 'web-2'];
/** Closed, but for one minute of June. */
const windows = [{ schedule: '0 0 1 6 *', duration: '1m' }];

const isBroken = ({ conditions }: ConfigWatcherStatus) =>
  findCondition(conditions, 'Stalled')?.reason === 'NewPodsNotAvailable';

/** Three Deployments of one Pod, of which one has a Pod that the content has broken. */
async function broken(t: TestContext, type: 'Auto' | 'Evict' | 'RolloutRestart') {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  for (const name of names) await shop.createWorkload(1, 'Deployment', name);
  await shop.allReady(3);
  await shop.startOperator();
  const cooldown = { base: '10m' };
  await shop.watch({ debounce: { quiet: '0s' }, cooldown, strategy: { type, progressDeadlineSeconds: 12 } });
  await shop.baselined();
  const before = [...shop.seen];
  shop.breaksPods = true;
  await shop.patchConfigMap({ data: { message: 'bad' } });
  await shop.until('a Pod is broken', isBroken);
  const pod = (await shop.pods()).find((one) => !isReady(one)) ?? assert.fail('it has a Pod');
  const owner = pod.metadata.labels?.deployment ?? '';
  /** How many of the Pods from before serve, and how many specs each of the other owners has had. */
  const others = async () => ({
    serving: (await shop.pods()).filter((one) => isReady(one) && before.includes(one.metadata.uid ?? ''))
      .length,
    generations: await Promise.all(
      names.filter((name) => name !== owner).map((name) => shop.generation('Deployment', name)),
    ),
  });
  return { shop, owner, pod: pod.metadata.name, others };
}

/** Changes the spec of the owner, and resolves when this Pod of it is gone. */
async function withoutPod({ client, namespace }: Shop, owner: string, pod: string, spec: object) {
  await client.patch(deployments, { namespace, name: owner }, { type: 'merge', body: { spec } });
  await eventually(() => isGone(client, pods, namespace, pod), { message: 'its Pod is gone' });
}

const deeds = {
  'the broken Pod is deleted': async (shop: Shop, _owner: string, name: string) => {
    const made = shop.seen.length;
    await shop.client.delete(pods, { namespace: shop.namespace, name });
    await eventually(() => shop.seen.length > made, { timeout: 30_000, message: 'the next Pod' });
  },
  'no node takes the next Pod': async (shop: Shop, owner: string, name: string) => {
    shop.isFull = true;
    await deeds['the broken Pod is deleted'](shop, owner, name);
  },
  'its owner is scaled to none': (shop: Shop, owner: string, name: string) =>
    withoutPod(shop, owner, name, { replicas: 0 }),
  'its owner is replaced': async (shop: Shop, owner: string, name: string) => {
    const key = { namespace: shop.namespace, name };
    const hold = (finalizers: string[]) =>
      shop.client.patch(pods, key, { type: 'merge', body: { metadata: { finalizers } } });
    // An owner that is gone with its last Pod keeps nothing, where the next one is not seen yet.
    await hold(['example.com/hold']);
    const made = shop.seen.length;
    await shop.client.delete(deployments, { namespace: shop.namespace, name: owner });
    await shop.createWorkload(1, 'Deployment', owner);
    await eventually(() => shop.seen.length > made, { timeout: 30_000, message: 'the Pod of the new one' });
    await hold([]);
  },
  'its rollout is undone': (shop: Shop, owner: string, name: string) => {
    const annotation = rolloutAnnotation('k8spatterns.io', 'webapp-config-watcher');
    return withoutPod(shop, owner, name, { template: { metadata: { annotations: { [annotation]: null } } } });
  },
};

describe('a content that has broken Pods', { concurrency: 4 }, () => {
  for (const [type, deed, left] of [
    ['Evict', 'the broken Pod is deleted', 2],
    ['Evict', 'no node takes the next Pod', 2],
    ['Evict', 'its owner is scaled to none', 2],
    ['Evict', 'its owner is replaced', 2],
    // With a surge the Pod from before is still there.
    ['Auto', 'its rollout is undone', 3],
    ['RolloutRestart', 'its rollout is undone', 3],
  ] as const) {
    it(`by ${type} takes no further one where ${deed}, and the next edit is applied at once`, {
      timeout,
    }, async (t) => {
      const { shop, owner, pod, others } = await broken(t, type);
      const before = await others();
      assert.equal(before.serving, left);
      await deeds[deed](shop, owner, pod);
      // Longer than the deadline, after which an owner that is stuck for another reason gives its place back.
      const quietFrom = Date.now();
      await eventually(() => Date.now() - quietFrom > 15_000, { timeout: 20_000, interval: 500 });
      assert.ok(isBroken(await shop.status()));
      assert.deepEqual(await others(), before);

      Object.assign(shop, { breaksPods: false, isFull: false });
      await shop.edit({ windows });
      await shop.patchConfigMap({ data: { message: 'good' } });
      if (deed === 'no node takes the next Pod') {
        // It has not read any content yet: a node takes it now, and it starts with the good one.
        for (const { metadata } of (await shop.pods()).filter((one) => !isReady(one))) {
          await shop.getsReady(metadata.name);
        }
      }
      await shop.until('the good content is applied', ({ pending }) => pending === undefined, {
        timeout: 90_000,
      });
      const serving = (await shop.pods()).filter(isReady);
      assert.equal(serving.length, deed === 'its owner is scaled to none' ? 2 : 3);
      assert.equal((await shop.status()).lastRestart?.unavailable, undefined);
    });
  }
});
