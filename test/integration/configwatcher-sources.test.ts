/** Sources that are missing, optional, immutable or taken back, and watchers without Pods: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { configMaps, pods } from '../../src/kubernetes/objects.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { events, probedContainer, Shop, untilOlderThanEdits } from './configwatcher-shop.ts';
import { HostileProxy, page, page404 } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

function isCondition(status: ConfigWatcherStatus, type: string, value: string): boolean {
  return status.conditions?.some((one) => one.type === type && one.status === value) === true;
}

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('restarts nothing for a content taken back in time, nor twice for one that waits', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(1);
    // A Pod that starts in the second of the edit, or of the look before one that is seen late, give or take a node's
    // clock, may have read it.
    const [pod] = await shop.allReady(1);
    const made = Date.parse(pod?.metadata.creationTimestamp ?? '');
    await eventually(() => Date.now() >= made + 3000, { message: 'the Pod is older than the edit' });
    await shop.startOperator();
    // Longer than a slow machine takes to see one edit and make the next.
    await shop.watch({ ...atOnce, debounce: { quiet: '20s' } });
    const { appliedHash } = await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the edit is seen', ({ pending }) => pending?.reason === 'Debounce');
    await shop.patchConfigMap({ data: { message: 'first' } });
    const back = await shop.until('nothing is owed', ({ pending }) => pending === undefined);
    assert.deepEqual([back.appliedHash, back.history], [appliedHash, []]);

    await shop.edit({ ...atOnce, suspend: true });
    await shop.patchConfigMap({ data: { message: 'third' } });
    const held = await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
    await shop.patchConfigMap({ data: { message: 'fourth' } });
    await shop.until('the edit is recorded', ({ pending }) => {
      return pending !== undefined && pending.hash !== held.pending?.hash;
    });
    assert.equal(shop.seen.length, 1);
    await shop.edit({ suspend: false });
    await shop.restarted(1);
    await shop.allReady(1);
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'once, on the net difference');
  });

  it('waits for a required source, and tells an optional one from it', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.deploy(1);
    await shop.startOperator();
    await shop.watch({ ...atOnce, sources: [{ kind: 'ConfigMap', name: 'extra', optional: true }] });
    const missing = await shop.until('it is told', (status) =>
      isCondition(status, 'SourceAvailable', 'False'),
    );
    assert.equal(isCondition(missing, 'Ready', 'False'), true);
    const state = ({ conditions = [] }: ConfigWatcherStatus) =>
      conditions.find(({ type }) => type === 'Progressing')?.reason;
    assert.equal(state(missing), 'SourceMissing');
    await shop.createConfigMap({ message: 'first' });
    await shop.until('it is there', (status) => isCondition(status, 'SourceAvailable', 'True'));
    await client.delete(configMaps, { namespace, name: 'webapp-config' });
    await shop.until('STATE says that it is gone', (status) => state(status) === 'SourceMissing');
    await shop.createConfigMap({ message: 'first' });
    await shop.until('it is back', (status) => state(status) === 'UpToDate');
    for (const reason of ['SourceMissing', 'SourceRestored']) await shop.untilEvent(reason);
    await shop.quiet();
    assert.equal(shop.seen.length, 1, 'what appears first is the baseline');

    await shop.createConfigMap({ more: 'yes' }, 'extra');
    const { lastRestart } = await shop.restarted(1);
    assert.equal(lastRestart?.trigger?.name, 'extra');
    await client.delete(configMaps, { namespace, name: 'extra' });
    await shop.quiet();
    const without = await shop.status();
    assert.deepEqual([without.restartCount, isCondition(without, 'SourceAvailable', 'True')], [1, true]);

    await shop.createConfigMap({ more: 'yes' }, 'extra');
    await shop.edit({ onDelete: 'Restart' });
    await client.delete(configMaps, { namespace, name: 'extra' });
    await shop.restarted(2);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('tells an optional source without data from one that is absent', { timeout }, async (t) => {
    const sources = [{ kind: 'ConfigMap', name: 'extra', optional: true }] as const;
    const shop = await Shop.watched(t, 1, { sources, onDelete: 'Restart' });
    await shop.createConfigMap({}, 'extra');
    const { lastRestart: appearance } = await shop.restarted(1);
    await shop.allReady(1);
    await shop.client.delete(configMaps, { namespace: shop.namespace, name: 'extra' });
    const { lastRestart: deletion } = await shop.restarted(2);
    await shop.allReady(1);
    assert.deepEqual([appearance?.trigger?.name, deletion?.trigger?.name], ['extra', 'extra']);
    assert.equal(shop.seen.length, 3);
  });

  it('restarts for the deletion of a required source, and for its return, where it is told to', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 1, { onDelete: 'Restart' });
    await shop.client.delete(configMaps, { namespace: shop.namespace, name: 'webapp-config' });
    assert.equal(isCondition(await shop.restarted(1), 'SourceAvailable', 'False'), true);
    await shop.allReady(1);
    await shop.createConfigMap({ message: 'first' });
    assert.equal(isCondition(await shop.restarted(2), 'SourceAvailable', 'True'), true);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 3);
  });

  it('holds the change of one source while another one is missing, and restarts once when that is back', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.createConfigMap({ more: 'first' }, 'extra');
    await shop.deploy(2);
    await shop.olderThanEdits();
    await shop.startOperator();
    await shop.watch({ ...atOnce, sources: [{ kind: 'ConfigMap', name: 'extra' }] });
    await shop.baselined();
    await client.delete(configMaps, { namespace, name: 'extra' });
    await shop.until('it is missed', (status) => isCondition(status, 'SourceAvailable', 'False'));
    await shop.patchConfigMap({ data: { message: 'second' } });
    const held = await shop.until('it waits', ({ pending }) => pending?.reason === 'SourceMissing');
    const progressing = held.conditions?.find(({ type }) => type === 'Progressing');
    assert.deepEqual([progressing?.reason, isCondition(held, 'Ready', 'False')], ['SourceMissing', true]);
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    assert.equal(shop.seen.length, 2, 'a new Pod could not start');
    await shop.createConfigMap({ more: 'first' }, 'extra');
    const { lastRestart, restartCount } = await shop.restarted(1);
    await shop.quiet();
    await shop.allReady(2);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length, restartCount], [2, 4, 1]);
    assert.equal(lastRestart?.trigger?.name, 'webapp-config', 'the one that is back is as it was');
  });

  it('stops between two batches when a source goes, and goes on when that is back', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 3);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 4, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.allReady(3);
    // From its second batch on, a restart goes on as soon as the new Pod is Ready.
    shop.isKubeletSlow = true;
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the second Pod goes' });
    await shop.client.delete(configMaps, { namespace: shop.namespace, name: 'webapp-config' });
    await shop.until('the restart is held', ({ pending }) => pending?.reason === 'SourceMissing');
    shop.isKubeletSlow = false;
    await shop.allReady(3);
    await shop.quiet();
    assert.equal(shop.seen.length, 5);
    await shop.createConfigMap({ message: 'second' });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6]);
  });

  it('looks at its keys alone, and sees other keys for the first time', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 1, { keys: ['message', 'color'] });
    const { appliedHash } = await shop.status();
    await shop.patchConfigMap({ data: { size: 'large' } });
    await shop.quiet();
    await shop.edit({ keys: ['size'], podSelector: { deployment: 'webapp' } });
    await shop.until('the other key is seen', (status) => status.appliedHash !== appliedHash);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.quiet();
    assert.deepEqual([(await shop.status()).restartCount, shop.seen.length], [0, 1]);
    await shop.patchConfigMap({ data: { size: 'medium' } });
    const { lastRestart } = await shop.restarted(1);
    assert.deepEqual(lastRestart?.trigger?.changedKeys, ['size']);
    await shop.allReady(1);
    assert.equal(shop.seen.length, 2);
  });

  it('says of an immutable source that it was replaced', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const key = { namespace, name: 'webapp-config' };
    const create = (message: string) =>
      client.create(configMaps, { metadata: key, data: { message }, immutable: true });
    await create('first');
    await shop.deploy(1);
    // It goes on with the old content, and keeps that alive on its node.
    const bare = { namespace, name: 'bare' };
    const spec = { containers: [probedContainer] };
    await client.create(pods, { metadata: { ...bare, labels: { app: 'webapp' } }, spec });
    // A Pod of the second of the replacement counts as one that has taken an older one's place.
    await untilOlderThanEdits(await shop.allReady(2));
    await shop.startOperator();
    await shop.watch(atOnce);
    await shop.baselined();
    await client.delete(configMaps, key);
    await create('second');
    await shop.restarted(1);
    const told = await eventually(
      async () => {
        const { items } = await client.list(events, { namespace });
        return items.find(({ reason }) => reason === 'ImmutableSource');
      },
      { timeout: 40_000 },
    );
    assert.equal(told.type, 'Warning');
    assert.match(told.note ?? '', /ConfigMap webapp-config .*give .* a new name/);
    await shop.allReady(2);
    assert.equal(shop.seen.length, 3);
    const says = (reason: string) =>
      shop.until(`Progressing says ${reason}`, ({ conditions = [] }) => {
        return conditions.some((one) => one.type === 'Progressing' && one.reason === reason);
      });
    assert.equal((await says('ContentUncertain')).skippedPods, 1);
    await client.delete(pods, bare, { gracePeriodSeconds: 0 });
    await says('UpToDate');
  });

  it('applies a change vacuously where no Pod matches, and says so once', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.startOperator();
    await shop.watch(atOnce);
    const { appliedHash } = await shop.baselined();
    for (const [changes, message] of [
      [1, 'second'],
      [2, 'third'],
    ] as const) {
      await shop.patchConfigMap({ data: { message } });
      await shop.until('it is applied', ({ history, pending }) => history?.length === changes && !pending);
    }
    const status = await shop.status();
    assert.notEqual(status.appliedHash, appliedHash);
    assert.deepEqual([status.restartCount, status.lastRestart?.restarted], [0, 0]);
    assert.equal(isCondition(status, 'PodsMatched', 'False'), true);
    assert.equal(isCondition(status, 'Ready', 'True'), true);
    const told = await eventually(
      async () => {
        const { items } = await client.list(events, { namespace });
        const finished = items.some(({ reason }) => reason === 'RestartCompleted');
        return finished && items.filter(({ reason }) => reason === 'NoPodsMatched');
      },
      { timeout: 40_000 },
    );
    assert.deepEqual(
      told.map(({ series }) => series?.count ?? 1),
      [1],
    );
    await shop.deploy(1);
    await shop.until('the Pod is counted', (now) => isCondition(now, 'PodsMatched', 'True'));
    assert.equal(shop.seen.length, 1);
  });

  it('keeps the status of 32 sources with the longest names below 8 KiB, and restarts once for them all', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    const names = Array.from({ length: 32 }, (_, index) => String(index).padEnd(253, 'n'));
    const editAll = (a: string) =>
      Promise.all(
        names.map((name) =>
          client.patch(configMaps, { namespace, name }, { type: 'merge', body: { data: { a } } }),
        ),
      );
    await shop.createConfigMap({ message: 'first' });
    await Promise.all(names.map((name) => shop.createConfigMap({ a: 'first' }, name)));
    await shop.deploy(2);
    await shop.startOperator();
    const sources = names.map((name) => ({ kind: 'ConfigMap' as const, name, keys: ['a'] }));
    await client.create(configWatchers, {
      metadata: { namespace, name: 'webapp-config-watcher' },
      spec: { podSelector: { app: 'webapp' }, ...atOnce, debounce: { quiet: '3s' }, sources },
    });
    await shop.baselined();
    await editAll('second');
    const waits = await shop.until('all edits are seen', (status) => {
      return status.sources?.every(({ pendingHash }) => pendingHash !== undefined) === true;
    });
    assert.ok(Buffer.byteLength(JSON.stringify(waits)) < 8192);
    const status = await shop.restarted(1);
    assert.deepEqual([status.lastRestart?.restarted, status.sources?.length], [2, 32]);
    await shop.stopOperator();
    await shop.startOperator();
    await shop.quiet();
    await shop.allReady(2);
    assert.deepEqual([(await shop.status()).restartCount, shop.seen.length], [1, 4]);
  });
});

it('a ConfigWatcher waits for a required Secret that is deleted, and compares it when it is back', {
  timeout,
}, async (t) => {
  const shop = await Shop.open(t);
  const { client, namespace } = shop;
  const key = { namespace, name: 'login' };
  const create = (password: string) => client.create(secrets, { metadata: key, stringData: { password } });
  const isState = (wanted: string) => (status: ConfigWatcherStatus) =>
    status.conditions?.some(({ type, reason }) => type === 'Progressing' && reason === wanted) === true;
  const remove = async () => {
    await client.delete(secrets, key);
    const missing = await shop.until('STATE says that it is gone', isState('SourceMissing'));
    for (const type of ['SourceAvailable', 'Ready']) assert.ok(isCondition(missing, type, 'False'), type);
    await shop.quiet();
    const { restartCount, pending } = await shop.status();
    assert.deepEqual([restartCount, pending, shop.seen.length], [0, undefined, 2], 'nothing is restarted');
  };
  await shop.createConfigMap({ message: 'first' });
  await create('first');
  await shop.deploy(2);
  await shop.startOperator({ secretAccess: true });
  await shop.watch({ ...atOnce, sources: [{ kind: 'Secret', name: key.name }] });
  const { appliedHash } = await shop.baselined();
  await remove();
  assert.match((await shop.untilEvent('SourceMissing')).note ?? '', /Secret login/);
  await create('first');
  const back = await shop.until('it is as it was', isState('UpToDate'));
  await shop.untilEvent('SourceRestored');
  assert.equal(back.appliedHash, appliedHash);
  await remove();
  await create('second');
  const { lastRestart, history, ...after } = await shop.restarted(1);
  await shop.allReady(2);
  assert.deepEqual([lastRestart?.restarted, history?.length, shop.seen.length], [2, 1, 4]);
  assert.deepEqual([lastRestart?.trigger?.kind, lastRestart?.trigger?.name], ['Secret', 'login']);
  assert.ok(isCondition(after, 'SourceAvailable', 'True'));
});

describe('a ConfigWatcher whose source is read as', { concurrency: 3 }, () => {
  for (const answer of [page404, page(502, 'Bad Gateway'), page(503, 'Service Unavailable')]) {
    it(`the ${answer.code} page of a proxy takes it neither for gone nor for changed`, {
      timeout,
    }, async (t) => {
      const proxy = await HostileProxy.start(t);
      const shop = await Shop.watched(t, 2, {
        onDelete: 'Restart',
        operator: { kubeConfig: proxy.kubeConfig },
      });
      const { appliedHash } = await shop.status();
      let answered = 0;
      proxy.treat = ({ method, path }) => {
        if (method !== 'GET' || !path.endsWith('/configmaps/webapp-config')) return undefined;
        answered++;
        return answer;
      };
      await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' } } });
      // The client itself tries some of them again, a few times.
      await eventually(() => answered >= 8, { timeout: 60_000, message: 'it is read again' });
      const status = await shop.status();
      assert.deepEqual([status.appliedHash, status.pending], [appliedHash, undefined]);
      assert.equal(isCondition(status, 'SourceAvailable', 'True'), true);
      proxy.treat = () => undefined;
      await shop.patchConfigMap({ data: { message: 'second' } });
      const { history } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([history?.length, shop.seen.length], [1, 4], 'the edit is the only change');
      await shop.untilEvent('RestartCompleted');
      const { items } = await shop.client.list(events, { namespace: shop.namespace });
      assert.equal(
        items.some(({ reason }) => reason === 'SourceMissing'),
        false,
      );
    });
  }
});
