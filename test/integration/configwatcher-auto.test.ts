/** Strategy Auto with the real controllers: which owners roll out, whose Pods are evicted, and what the right decides. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { deployments, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import { evictingRights, noteEvictions } from './configwatcher-evictions.ts';
import { createOwner, plainContainer, setPaused, setUpdateStrategy } from './configwatcher-owner.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { grant, isAllowed, kubeConfigOf, type Rule } from './rights.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const auto: Partial<ConfigWatcher['spec']> = {
  ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, strategy: { type: 'Auto' } },
};
const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';
const patching: Rule = { apiGroups: ['apps'], resources: ['deployments'], verbs: ['patch'] };

async function opened(...args: Parameters<typeof Shop.open>): Promise<Shop> {
  const shop = await Shop.open(...args);
  await shop.createConfigMap({ message: 'first' });
  return shop;
}

/** A shop whose rollout has made the first of three new Pods, which does not start, when a user pauses it. */
async function pausedInTheMiddle(t: Parameters<typeof Shop.open>[0], evicted: string[]): Promise<Shop> {
  const shop = await opened(t);
  await shop.deploy(3);
  await shop.startOperator({ onConnect: noteEvictions(evicted) });
  await shop.watch(auto);
  await shop.baselined();
  shop.isKubeletSlow = true;
  await shop.patchConfigMap({ data: { message: 'second' } });
  await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the rollout makes a Pod' });
  await setPaused(shop, true);
  return shop;
}

async function restartedFor(shop: Shop, name = 'webapp'): Promise<string | undefined> {
  const { spec } = await shop.client.get(deployments, { namespace: shop.namespace, name });
  return spec?.template?.metadata?.annotations?.[annotation];
}

describe('strategy Auto', { concurrency: 4 }, () => {
  it('is the default, and lets a Deployment replace its Pods by its own rollout', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(3);
    await shop.startOperator();
    const watcher = await shop.watch(auto);
    assert.equal(watcher.spec.strategy?.type, 'Auto');
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart, strategyInUse } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, strategyInUse, shop.seen.length], [3, 'Auto', 6]);
    assert.equal(await restartedFor(shop), lastRestart?.id);
  });

  it('evicts one owner and rolls out the other, and of a paused or OnDelete one it evicts', {
    timeout,
  }, async (t) => {
    const shop = await opened(t);
    const { client, namespace } = shop;
    await shop.deploy(2);
    await shop.deploy(2, 'Deployment', 'held');
    await shop.deploy(1, 'StatefulSet', 'db');
    await setPaused(shop, true, 'held');
    await setUpdateStrategy(shop, statefulSets, { type: 'OnDelete', rollingUpdate: null }, 'db');
    await shop.startOperator();
    await shop.watch(auto);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(5);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [5, 10]);
    assert.equal(await restartedFor(shop), lastRestart?.id);
    assert.equal(await restartedFor(shop, 'held'), undefined);
    const { spec } = await client.get(statefulSets, { namespace, name: 'db' });
    assert.equal(spec?.template?.metadata?.annotations, undefined);
  });

  // The owner wants three Pods: one that is not selected counts as missing, for the whole deadline at least.
  for (const [when, room] of [
    ['at once where two may be missing', { maxUnavailable: 2 }],
    ['after the deadline where one may be missing', { progressDeadlineSeconds: 15 }],
  ] as const) {
    it(`evicts where the owner has a Pod that is not selected, and leaves that alone, ${when}`, {
      timeout,
    }, async (t) => {
      const shop = await opened(t);
      await shop.deploy(3);
      const [other] = await shop.pods();
      await shop.label(other?.metadata.name ?? '', { track: 'canary' });
      await shop.startOperator();
      const podSelectorExpressions = [{ key: 'track', operator: 'NotIn' as const, values: ['canary'] }];
      await shop.watch({ ...auto, strategy: { type: 'Auto', ...room }, podSelectorExpressions });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { lastRestart } = await shop.restarted(1);
      assert.deepEqual([lastRestart?.restarted, await restartedFor(shop)], [2, undefined]);
      const left = await shop.allReady(3);
      assert.equal(shop.seen.length, 5);
      assert.ok(left.some(({ metadata }) => metadata.uid === other?.metadata.uid));
    });
  }

  it('evicts the Pods of an owner whose rollout looks at none of them, unless there is only one', {
    timeout,
  }, async (t) => {
    const shop = await opened(t);
    for (const [name, replicas] of Object.entries({ single: 1, several: 3 })) {
      await createOwner(shop, deployments, name, replicas, { containers: [plainContainer] });
    }
    await shop.allReady(4);
    await shop.startOperator();
    await shop.watch(auto);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 8]);
    assert.deepEqual(
      [await restartedFor(shop, 'single'), await restartedFor(shop, 'several')],
      [lastRestart?.id, undefined],
    );
  });

  it('evicts without the right, says so once, and is Ready', { timeout }, async (t) => {
    const shop = await opened(t);
    const user = `auto-${shop.namespace}`;
    await grant(t, shop.client, user, evictingRights);
    await eventually(() => isAllowed(shop.client, user, { ...patching, verbs: ['get'] }));
    await shop.deploy(2);
    await shop.startOperator({ kubeConfig: kubeConfigOf(user) });
    await shop.watch(auto);
    await shop.baselined();
    for (const [count, message] of [
      [1, 'second'],
      [2, 'third'],
    ] as const) {
      await shop.patchConfigMap({ data: { message } });
      const status = await shop.restarted(count);
      assert.deepEqual([status.strategyInUse, status.lastRestart?.restarted], ['Evict', 2]);
      assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
      await shop.allReady(2);
    }
    assert.equal(await restartedFor(shop), undefined);
    await shop.untilEvent('AutoEvicts');
    const { items } = await shop.client.list(events, { namespace: shop.namespace });
    const told = items.filter(({ reason }) => reason === 'AutoEvicts');
    assert.deepEqual([told.length, told[0]?.series], [1, undefined]);
  });

  it('evicts what is left of an owner whose template a user takes back in mid-restart, and does not fight', {
    timeout,
  }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(2);
    await shop.startOperator();
    await shop.watch(auto);
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 3, { message: 'the rollout has made a Pod' });
    const template = { metadata: { annotations: { [annotation]: null } } };
    const key = { namespace: shop.namespace, name: 'webapp' };
    await shop.client.patch(deployments, key, { type: 'merge', body: { spec: { template } } });
    const generation = await shop.generation('Deployment');
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    const left = await shop.allReady(2);
    assert.deepEqual(
      [await restartedFor(shop), await shop.generation('Deployment')],
      [undefined, generation],
      'the template is as the user left it',
    );
    const started = Date.parse(lastRestart?.startTime ?? '');
    assert.ok(left.every((pod) => Date.parse(pod.metadata.creationTimestamp ?? '') >= started - 1000));
    assert.equal(lastRestart?.restarted, 2);
  });

  it('evicts the Pods of an owner whose rollout is paused in the middle, and lets that go on once it is resumed', {
    timeout,
  }, async (t) => {
    const evicted: string[] = [];
    const shop = await pausedInTheMiddle(t, evicted);
    const { client, namespace } = shop;
    await eventually(() => shop.seen.length === 5, { timeout: 60_000, message: 'a Pod is evicted' });
    await shop.quiet();
    const { pending, conditions } = await shop.status();
    assert.deepEqual([pending?.reason, evicted.length, shop.seen.length], ['InProgress', 1, 5]);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    await setPaused(shop, false);
    const isResumed = async () => {
      const { metadata, status } = await client.get(deployments, { namespace, name: 'webapp' });
      return status?.observedGeneration === metadata.generation;
    };
    await eventually(isResumed, { message: 'its controller knows that it is resumed' });
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [3, 0, 7]);
    assert.deepEqual(
      [evicted.length, await shop.generation('Deployment')],
      [1, 4],
      'the rollout did the rest',
    );
    assert.equal(await restartedFor(shop), lastRestart?.id);
  });

  it('evicts all Pods of an owner whose rollout stays paused in the middle, and none when it is resumed later', {
    timeout,
  }, async (t) => {
    const evicted: string[] = [];
    const shop = await pausedInTheMiddle(t, evicted);
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, evicted.length, shop.seen.length], [3, 3, 7]);
    await setPaused(shop, false);
    await eventually(() => shop.seen.length === 9, { timeout: 40_000, message: 'the rollout goes on' });
    await shop.allReady(3);
    await shop.quiet();
    const { restartCount, pending } = await shop.status();
    assert.deepEqual([restartCount, pending, evicted.length, shop.seen.length], [1, undefined, 3, 9]);
    assert.equal(await shop.generation('Deployment'), 4);
  });

  it('evicts while no policy keeps the right in bounds', { timeout }, async (t) => {
    const shop = await opened(t);
    await shop.deploy(2);
    await shop.startOperator({ isPatchJailed: () => false });
    await shop.watch(auto);
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { strategyInUse, lastRestart } = await shop.restarted(1);
    assert.deepEqual([strategyInUse, lastRestart?.restarted], ['Evict', 2]);
    assert.equal(await restartedFor(shop), undefined);
  });
});

describe('two ConfigWatchers with a content each, by Auto on one Deployment', { concurrency: 2 }, () => {
  const second = 'second-watcher';

  /** Each has its own ConfigMap. */
  async function both(t: Parameters<typeof Shop.open>[0]): Promise<Shop> {
    const shop = await opened(t);
    await shop.createConfigMap({ message: 'first' }, 'second-config');
    await shop.deploy(3);
    await shop.startOperator();
    await shop.watch(auto);
    await shop.watch({ ...auto, configMap: 'second-config' }, second);
    await shop.baselined();
    await shop.baselined(second);
    await shop.olderThanEdits();
    return shop;
  }

  const done = (shop: Shop, name: string) =>
    shop.until('it is done', ({ pending, history }) => history?.length === 1 && !pending, { name });

  it('make one rollout of two edits that come together', { timeout }, async (t) => {
    const shop = await both(t);
    // A new Pod that starts before a watcher has recorded its change counts as one of before.
    shop.isKubeletSlow = true;
    await Promise.all([
      shop.patchConfigMap({ data: { message: 'second' } }),
      shop.patchConfigMap({ data: { message: 'second' } }, 'second-config'),
    ]);
    for (const name of ['webapp-config-watcher', second]) {
      await shop.until('its change is recorded', ({ pending }) => pending !== undefined, { name });
    }
    shop.isKubeletSlow = false;
    await done(shop, 'webapp-config-watcher');
    await done(shop, second);
    await shop.allReady(3);
    assert.deepEqual([shop.seen.length, await shop.generation('Deployment')], [6, 2]);
  });

  it('make one rollout, and evict the new Pod that had started, where the second edit comes in the middle', {
    timeout,
  }, async (t) => {
    const shop = await both(t);
    const before = new Set(shop.seen);
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    const isMade = (count: number) => () => shop.seen.length === 3 + count;
    await eventually(isMade(1), { timeout: 40_000, message: 'the rollout makes a Pod' });
    const started = (await shop.pods()).find(({ metadata }) => !before.has(metadata.uid ?? ''));
    // Of two Pods of one second the later one would count as started, too.
    await shop.olderThanEdits();
    await shop.getsReady(started?.metadata.name ?? '');
    await eventually(isMade(2), { timeout: 40_000, message: 'and the next one, which has yet to start' });
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } }, 'second-config');
    await shop.until('it waits', ({ pending }) => pending?.reason === 'RolloutInProgress', { name: second });
    shop.isKubeletSlow = false;
    await done(shop, 'webapp-config-watcher');
    await done(shop, second);
    const left = await shop.allReady(3);
    assert.deepEqual([shop.seen.length, await shop.generation('Deployment')], [7, 2]);
    assert.ok(!left.some(({ metadata }) => metadata.uid === started?.metadata.uid));
  });
});
