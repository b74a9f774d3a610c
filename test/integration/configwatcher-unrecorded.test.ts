/** An edit that a running operator has seen, and cannot record before it is taken back: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';
import { type Asked, failure, HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const selector = 'k8spatterns.io/podDeleteSelector';

function isStatus({ method, path }: Asked): boolean {
  return method === 'PUT' && path.endsWith('-watcher/status');
}

function isRead({ method, path }: Asked): boolean {
  return method === 'GET' && path.endsWith('/configmaps/webapp-config');
}

/** Where each kind of watcher keeps its state. */
const kinds = [
  {
    what: 'a ConfigWatcher',
    isRecord: isStatus,
    async watch(shop: Shop) {
      await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
      await shop.baselined();
    },
    async state(shop: Shop) {
      return shop.status();
    },
  },
  {
    what: 'an annotated ConfigMap',
    isRecord: ({ method, path }: Asked) => method === 'PATCH' && path.endsWith('/configmaps/webapp-config'),
    async watch(shop: Shop) {
      await shop.patchConfigMap({ metadata: { annotations: { [selector]: 'app=webapp' } } });
      await eventually(async () => (await shop.ownState()) !== '', { message: 'its content is recorded' });
    },
    async state(shop: Shop) {
      return JSON.parse(await shop.ownState());
    },
  },
] as const;

describe('an edit that cannot be recorded before it is taken back', { concurrency: 2 }, () => {
  for (const { what, isRecord, watch, state } of kinds) {
    it(`restarts the Pod that was made in between, and no other one, for ${what}`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const proxy = await HostileProxy.start(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2);
      await shop.startOperator({ kubeConfig: proxy.kubeConfig, annotationController: true });
      await watch(shop);
      await shop.olderThanEdits();
      const [gone, older] = await shop.allReady(2);
      let refused = 0;
      let reads = 0;
      proxy.treat = (asked) => {
        if (isRead(asked)) reads++;
        if (!isRecord(asked)) return undefined;
        refused++;
        return failure(500, 'InternalError');
      };
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => refused > 0, { message: 'the edit is seen' });
      await shop.client.delete(pods, { namespace: shop.namespace, name: gone?.metadata.name ?? '' });
      const isNext = ({ metadata: { uid } }: Pod) =>
        uid !== gone?.metadata.uid && uid !== older?.metadata.uid;
      const between = await eventually(async () => (await shop.pods()).find(isNext), { interval: 20 });
      await shop.allReady(2);
      await shop.patchConfigMap({ data: { message: 'first' } });
      const readBefore = reads;
      await eventually(() => reads > readBefore, { message: 'that it is taken back is seen' });
      const refusedBefore = refused;
      await eventually(() => refused > refusedBefore, { message: 'it cannot be recorded either' });
      proxy.treat = () => undefined;
      const { lastRestart } = await eventually(
        async () => {
          const { restartCount, pending, ...rest } = await state(shop);
          return restartCount === 1 && pending === undefined && rest;
        },
        { timeout: 60_000, message: 'it is restarted' },
      );
      const left = (await shop.allReady(2)).map(({ metadata }) => metadata.uid);
      assert.deepEqual(
        [lastRestart?.restarted, left.includes(older?.metadata.uid), left.includes(between.metadata.uid)],
        [1, true, false],
      );
      await shop.quiet();
      assert.equal((await state(shop)).restartCount, 1);
    });
  }

  it('is not forgotten when the keys that count are edited meanwhile', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const proxy = await HostileProxy.start(t);
    await shop.createConfigMap({ message: 'first', other: 'same' });
    await shop.deploy(2);
    await shop.startOperator({ kubeConfig: proxy.kubeConfig });
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
    await shop.baselined();
    let refused = 0;
    proxy.treat = (asked) => {
      if (!isStatus(asked)) return undefined;
      refused++;
      return failure(500, 'InternalError');
    };
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => refused > 0, { message: 'the edit is seen' });
    const { generation } = (await shop.edit({ keys: ['message'] })).metadata;
    // A record that is on its way may still be one by the keys of before.
    const before = refused;
    await eventually(() => refused > before + 1, { message: 'the new keys are seen' });
    proxy.treat = () => undefined;
    const { lastRestart, observedGeneration, sources } = await shop.restarted(1);
    assert.deepEqual([lastRestart?.restarted, observedGeneration], [2, generation]);
    assert.notEqual(sources?.[0]?.keysHash, undefined);
    await shop.allReady(2);
    await shop.quiet();
    assert.deepEqual([(await shop.status()).restartCount, shop.seen.length], [1, 4]);
  });
});
