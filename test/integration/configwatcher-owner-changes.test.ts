/** Owners that are deleted and made again, or undone, in the middle of their restart: on a real API server with the real controllers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments, replicaSets, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import type { Resource } from '../../src/kubernetes/objects.ts';
import type { Client, ObjectKey } from '../../src/runtime/client/client.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually, isGone } from './support.ts';

const timeout = 240_000;
const strategy = { type: 'Evict' } as const;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy };

/**
 * A restart of three Pods whose first one is gone, and whose next one does not start.
 *
 * @returns how many reads of an object of that kind have failed since.
 */
async function underWay(shop: Shop, owner: Resource): Promise<() => number> {
  let misses = 0;
  const onConnect = (client: Client) => {
    const get = client.get.bind(client);
    const counted = (resource: Resource, key: ObjectKey, options?: { readonly metadataOnly?: false }) =>
      get(resource, key, options).catch((error: unknown) => {
        if (resource === owner) misses += 1;
        throw error;
      });
    client.get = counted as Client['get'];
  };
  await shop.startOperator({ onConnect });
  await shop.watch(atOnce);
  await shop.baselined();
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message: 'second' } });
  await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the first Pod is replaced' });
  misses = 0;
  return () => misses;
}

describe('a ConfigWatcher of an owner', { concurrency: true }, () => {
  it('whose template is taken back while no operator runs does not change it again', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const key = { namespace: shop.namespace, name: 'webapp' };
    const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3);
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart' } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the change of the template is told', ({ pending }) => {
      return pending?.owners?.[0]?.templateChanged === true;
    });
    await shop.stopOperator();
    const body = { spec: { template: { metadata: { annotations: { [annotation]: null } } } } };
    const { metadata } = await shop.client.patch(deployments, key, { type: 'merge', body });
    await shop.startOperator();
    const held = await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
    assert.equal(held.conditions?.find(({ type }) => type === 'Stalled')?.reason, 'Reverted');
    await shop.quiet();
    assert.equal(await shop.generation('Deployment'), metadata.generation);
  });

  it('that leaves its Pods behind, and is made again, restarts the others of them', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const key = { namespace: shop.namespace, name: 'webapp' };
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(3, 'StatefulSet');
    const misses = await underWay(shop, statefulSets);
    await shop.client.delete(statefulSets, key, { propagationPolicy: 'Orphan' });
    await eventually(() => isGone(shop.client, statefulSets, key.namespace, key.name));
    const isAlone = async () =>
      (await shop.pods()).every(({ metadata }) => !metadata.ownerReferences?.length);
    await eventually(isAlone, { timeout: 40_000, message: 'its Pods are orphans' });
    shop.isKubeletSlow = false;
    await eventually(() => misses() > 0, { timeout: 40_000, message: 'the operator looks for the owner' });
    await shop.quiet();
    assert.equal((await shop.status()).pending?.reason, 'InProgress');
    await shop.createWorkload(3, 'StatefulSet', 'webapp');
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6], 'each Pod was restarted once');
  });

  for (const [when, kind] of [
    ['before its restart', 'ReplicaSet'],
    ['in the middle of it', 'Deployment'],
  ] as const) {
    it(`whose Deployment leaves its ReplicaSet behind ${when}, and is made again, comes to its end`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const key = { namespace: shop.namespace, name: 'webapp' };
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(3);
      const setsAre = (isOwned: boolean) => async () => {
        const { items } = await shop.client.list(replicaSets, { namespace: shop.namespace });
        return items.every(({ metadata }) => Boolean(metadata.ownerReferences?.length) === isOwned);
      };
      const leaveBehind = async () => {
        await shop.client.delete(deployments, key, { propagationPolicy: 'Orphan' });
        await eventually(setsAre(false), { timeout: 40_000, message: 'its ReplicaSet is an orphan' });
      };
      if (kind === 'ReplicaSet') await leaveBehind();
      const misses = await underWay(shop, deployments);
      if (kind === 'Deployment') {
        await leaveBehind();
        await eventually(() => misses() > 0, {
          timeout: 40_000,
          message: 'the operator looks for the owner',
        });
        await shop.quiet();
      }
      const places = (await shop.status()).pending?.owners?.map((place) => place.kind);
      assert.deepEqual(places, [kind]);
      await shop.createWorkload(3, 'Deployment', 'webapp');
      await eventually(setsAre(true), { timeout: 40_000, message: 'the Deployment has adopted it' });
      shop.isKubeletSlow = false;
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(3);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6], 'each Pod was restarted once');
    });
  }
});
