/** What an operator finds at its start of an edit that was made while it was down: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { configMaps, type KubernetesObject, pods } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';
import { type Asked, failure, HostileProxy, lists } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

function reached(time: number): Promise<boolean> {
  return eventually(() => Date.now() >= time, { message: 'a later second' });
}

/** Two Pods that an operator has seen before it was stopped. What happens from now on is later than its last look. */
async function withoutOperator(t: TestContext): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first', extra: 'first' });
  await shop.deploy(2);
  await shop.startOperator();
  await shop.watch(atOnce);
  const { lastChangeTime = '' } = await shop.baselined();
  await shop.stopOperator();
  // Both times are whole seconds, and clocks of API servers may differ by one.
  await reached(Date.parse(lastChangeTime) + 4000);
  return shop;
}

/** Deletes one Pod; resolves with the uid of the one in its place. */
async function replaceOne(shop: Shop): Promise<string> {
  const { client, namespace } = shop;
  const [old] = await shop.allReady(2);
  await client.delete(pods, { namespace, name: old?.metadata.name ?? '' });
  await eventually(() => shop.seen.length === 3, { message: 'another Pod is there' });
  await shop.allReady(2);
  return shop.seen.at(-1) ?? '';
}

/** When each manager has written its fields last. */
function writes({ metadata }: KubernetesObject): (string | undefined)[] {
  return (metadata.managedFields ?? []).map(({ time }) => time);
}

describe('an operator that starts after an edit', { concurrency: 5 }, () => {
  it('restarts a Pod that was made before a key was removed, although the removal has left no time', {
    timeout,
  }, async (t) => {
    const shop = await withoutOperator(t);
    const { client, namespace } = shop;
    const replaced = await replaceOne(shop);
    await shop.olderThanEdits();
    const key = { namespace, name: 'webapp-config' };
    const before = await client.get(configMaps, key);
    const removal = { type: 'merge', body: { data: { extra: null } } } as const;
    // The fields of another manager keep their time.
    const after = await client.patch(configMaps, key, removal, { fieldManager: 'another' });
    assert.deepEqual(writes(after), writes(before));
    await shop.startOperator();
    const { lastRestart } = await shop.restarted(1);
    const left = await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedFresh, shop.seen.length], [2, 0, 5]);
    assert.equal(
      left.some(({ metadata }) => metadata.uid === replaced),
      false,
    );
  });

  it('restarts all Pods where the last look was within 2 s of that edit', { timeout }, async (t) => {
    const shop = await withoutOperator(t);
    const { client, namespace } = shop;
    const edited = await shop.patchConfigMap({ data: { message: 'second' } });
    // The look may have come after an edit of the same moment: times are whole seconds, and clocks of API servers differ.
    const written = writes(edited).map((time = '') => Date.parse(time));
    const status = { lastChangeTime: new Date(Math.max(...written) - 2000).toISOString() };
    const key = { namespace, name: 'webapp-config-watcher' };
    await client.patchStatus(configWatchers, key, { type: 'merge', body: { status } });
    await reached(Math.max(...written) + 3000);
    await replaceOne(shop);
    await shop.olderThanEdits();
    await shop.startOperator();
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedFresh, shop.seen.length], [2, 0, 5]);
  });

  const isPodList = (asked: Asked) => lists(asked, 'pods') && asked.query.has('labelSelector');
  const isStatusWrite = ({ method, path }: Asked) => method === 'PUT' && path.endsWith('/status');
  for (const [what, isMeant, code, reason, times] of [
    // A list is asked for four times before it counts as failed.
    ['list of Pods', isPodList, 503, 'ServiceUnavailable', 4],
    ['write of its status', isStatusWrite, 409, 'Conflict', 1],
    ['write of its status', isStatusWrite, 500, 'InternalError', 1],
  ] as const) {
    it(`spares the Pods that are newer than that, where its first ${what} is answered ${code}`, {
      timeout,
    }, async (t) => {
      const shop = await withoutOperator(t);
      const proxy = await HostileProxy.start(t);
      const edited = Date.now();
      await shop.patchConfigMap({ data: { message: 'second' } });
      await reached(edited + 3000);
      const fresh = await replaceOne(shop);
      let failed = 0;
      proxy.treat = (asked) => {
        if (failed === times || !isMeant(asked)) return undefined;
        failed++;
        return failure(code, reason);
      };
      await shop.startOperator({ kubeConfig: proxy.kubeConfig });
      const { lastRestart } = await shop.restarted(1);
      const left = await shop.allReady(2);
      assert.deepEqual([failed, lastRestart?.restarted, lastRestart?.skippedFresh], [times, 1, 1]);
      assert.equal(shop.seen.length, 4);
      assert.ok(left.some(({ metadata }) => metadata.uid === fresh));
    });
  }
});
