/** How large the status of a ConfigWatcher gets, which has names of users in it: on a real API server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { Shop } from './configwatcher-shop.ts';
import { historyOf } from './object-history.ts';
import { eventually } from './support.ts';

const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

it('a ConfigWatcher keeps its status below 8 KiB whatever names it has to tell, through six restarts of twelve owners', {
  timeout: 240_000,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  const names = Array.from({ length: 32 }, (_, index) => String(index).padEnd(253, 'n'));
  const keys = Array.from({ length: 30 }, (_, index) => String(index).padEnd(253, 'k'));
  const dataOf = (value: string) => Object.fromEntries(keys.map((key) => [key, value]));
  await shop.createConfigMap({ message: 'first' });
  await Promise.all(names.map((name) => shop.createConfigMap(dataOf('first'), name)));
  for (let index = 0; index < 12; index++) {
    await shop.createWorkload(1, 'Deployment', String(index).padStart(60, 'w'));
  }
  await shop.allReady(12);
  const versions = await historyOf(t, shop, configWatchers);
  await shop.startOperator();
  const sources = names.map((name) => ({ kind: 'ConfigMap' as const, name }));
  await client.create(configWatchers, {
    metadata: { namespace, name: 'webapp-config-watcher' },
    spec: {
      ...{ podSelector: { app: 'webapp' }, ...atOnce, sources },
      strategy: { type: 'Evict', canary: false, maxOwners: 50 },
    },
  });
  await shop.baselined();
  for (let change = 1; change <= 6; change++) {
    await shop.edit({ suspend: true });
    for (const name of names) await shop.patchConfigMap({ data: dataOf(`change ${change}`) }, name);
    await shop.until('all edits are seen', (status) => {
      return status.sources?.every(({ pendingHash }) => pendingHash !== undefined) === true;
    });
    await shop.edit({ suspend: false });
    const { lastRestart } = await shop.restarted(change);
    assert.equal(lastRestart?.restarted, 12);
    await shop.allReady(12);
  }
  const { resourceVersion } = (await shop.watcher()).metadata;
  await eventually(() => versions.some(({ at }) => at === Number(resourceVersion)));
  for (const { object } of versions) {
    const { status = {} } = object;
    const size = Buffer.byteLength(JSON.stringify(status));
    assert.ok(size < 8192, `${size} bytes: ${JSON.stringify(status)}`);
    const { history = [] } = status;
    assert.ok(history.length <= 5);
    assert.equal(JSON.stringify(history).includes('changedKeys'), false);
  }
  assert.equal(shop.seen.length, 7 * 12);
});
