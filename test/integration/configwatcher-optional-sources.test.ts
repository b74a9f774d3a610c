/** Optional sources that go, and come back, while a change waits or a restart runs: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { Shop } from './configwatcher-shop.ts';

const timeout = 120_000;
const sources = [{ kind: 'ConfigMap', name: 'extra', optional: true }] as const;

/** A watched Deployment of one Pod, with an optional source that is there. */
async function watched(t: TestContext, spec: Partial<ConfigWatcher['spec']> = {}): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  await shop.createConfigMap({ more: 'one' }, 'extra');
  await shop.deploy(1);
  await shop.startOperator();
  await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, sources, ...spec });
  await shop.baselined();
  return shop;
}

function remove({ client, namespace }: Shop): Promise<unknown> {
  return client.delete(configMaps, { namespace, name: 'extra' });
}

describe('an optional source', { concurrency: true }, () => {
  it('that a restart for another one did without is a change when it is back as it was', {
    timeout,
  }, async (t) => {
    const shop = await watched(t);
    await remove(shop);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.restarted(1);
    await shop.allReady(1);
    await shop.createConfigMap({ more: 'one' }, 'extra');
    const { lastRestart } = await shop.restarted(2);
    await shop.allReady(1);
    assert.deepEqual([lastRestart?.trigger?.name, shop.seen.length], ['extra', 3]);
  });

  it('takes an edit of its own along that waits: nothing is owed until it is back with that', {
    timeout,
  }, async (t) => {
    const shop = await watched(t, { suspend: true });
    await shop.patchConfigMap({ data: { more: 'two' } }, 'extra');
    await shop.until('it waits', ({ pending }) => pending?.reason === 'Suspended');
    await remove(shop);
    await shop.until('nothing is owed', ({ pending }) => pending === undefined);
    await shop.edit({ suspend: false });
    await shop.quiet();
    assert.equal(shop.seen.length, 1);
    await shop.createConfigMap({ more: 'two' }, 'extra');
    await shop.restarted(1);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
  });

  it('that goes in the restart for its own edit is a change when it is back with that', {
    timeout,
  }, async (t) => {
    const shop = await watched(t);
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { more: 'two' } }, 'extra');
    await shop.until('it is under way', ({ pending }) => pending?.started !== undefined);
    await remove(shop);
    await shop.quiet();
    assert.equal((await shop.status()).pending?.reason, 'InProgress');
    shop.isKubeletSlow = false;
    await shop.restarted(1);
    await shop.createConfigMap({ more: 'two' }, 'extra');
    await shop.restarted(2);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });
});
