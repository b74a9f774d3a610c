/** An edit that a running operator has seen, and cannot record before it is taken back: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';
import { type Asked, failure, HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const selector = 'k8spatterns.io/podDeleteSelector';

/** Where each kind of watcher keeps its state. */
const kinds = [
  {
    what: 'a ConfigWatcher',
    isRecord: ({ method, path }: Asked) => method === 'PUT' && path.endsWith('-watcher/status'),
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
      await eventually(() => shop.ownState(), { message: 'its content is recorded' });
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
      proxy.treat = (asked) => {
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
});
