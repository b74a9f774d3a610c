/** What holds a restart back although its content is known, and what lets it go on: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configWatchers } from '../../src/api/resources.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { forbidEvictions } from './configwatcher-evictions.ts';
import { events, isReady, podDisruptionBudgets, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
/** Never now: it opens on the first of January. */
const closed = [{ schedule: '0 0 1 1 *', duration: '1m' }];

/** Edits the spec; resolves when the operator works by it, so that a later edit of the content meets it. */
async function editSeen(shop: Shop, spec: Parameters<Shop['edit']>[0]): Promise<void> {
  const { generation } = (await shop.edit(spec)).metadata;
  const isSeen = ({ observedGeneration }: { readonly observedGeneration?: number }) =>
    observedGeneration === generation;
  await shop.until('the spec is seen', isSeen);
}

describe('a ConfigWatcher outside its window', { concurrency: 3 }, () => {
  it('mends a content that breaks its Pods, and has the edit after one that works wait', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    for (const name of ['web-0', 'web-1', 'web-2']) await shop.createWorkload(1, 'Deployment', name);
    await shop.allReady(3);
    await shop.startOperator();
    // So that the second owner, whose new Pod is Ready, is still in the middle of its restart.
    await shop.watch({ ...atOnce, strategy: { maxOwners: 1, minReadySeconds: 15 } });
    await shop.baselined();
    shop.crashesPods = true;
    await shop.patchConfigMap({ data: { message: 'bad' } });
    await shop.until('the broken Pod is told', ({ conditions }) =>
      Boolean(conditions?.some(({ reason }) => reason === 'NewPodsNotAvailable')),
    );
    shop.crashesPods = false;
    await editSeen(shop, { windows: closed });
    await shop.patchConfigMap({ data: { message: 'good' } });
    await eventually(() => shop.seen.length === 6, { timeout: 60_000, message: 'the second owner begins' });
    await shop.allReady(3);
    const { pending: good } = await shop.status();
    assert.deepEqual([good?.proven, good?.owners?.length], [true, 1], 'the first owner is available');
    await shop.patchConfigMap({ data: { message: 'better' } });
    await shop.until('it waits for the window', ({ pending }) => pending?.reason === 'Window');
    await shop.quiet();
    const { pending, conditions } = await shop.status();
    assert.deepEqual([pending?.reason, shop.seen.length], ['Window', 6]);
    assert.equal(
      conditions?.some(({ type }) => type === 'Stalled'),
      false,
    );
    await shop.edit({ windows: [] });
    await shop.until('it is applied', (status) => status.pending === undefined);
    await shop.allReady(3);
    assert.equal(shop.seen.length, 9);
  });

  for (const [when, progressDeadlineSeconds] of [
    ['in time', 600],
    ['past its deadline', 10],
  ] as const) {
    it(`whose restart a budget holds up ${when} opens no window by another edit`, { timeout }, async (t) => {
      const shop = await Shop.watched(t, 2, { strategy: { progressDeadlineSeconds } });
      const budget = await forbidEvictions(shop, 2);
      await shop.patchConfigMap({ data: { message: 'second' } });
      const reason = when === 'in time' ? 'EvictionBlocked' : 'Stalled';
      await shop.until('the restart is held up', ({ pending }) => pending?.reason === reason);
      await editSeen(shop, { windows: closed });
      await shop.patchConfigMap({ data: { message: 'third' } });
      await shop.until('it waits for the window', ({ pending }) => pending?.reason === 'Window');
      await shop.client.delete(podDisruptionBudgets, budget);
      await shop.quiet();
      assert.equal(shop.seen.length, 2);
      await shop.edit({ windows: [] });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
    });
  }
});

describe('a ConfigWatcher', { concurrency: 5 }, () => {
  it('that is asked to begins at once, in the debounce and in the cooldown', { timeout }, async (t) => {
    const spec = { debounce: { quiet: '5m', max: '5m' }, cooldown: { base: '10m' } };
    const shop = await Shop.watched(t, 1, spec);
    const key = { namespace: shop.namespace, name: 'webapp-config-watcher' };
    for (const [index, reason] of (['Debounce', 'Cooldown'] as const).entries()) {
      await shop.patchConfigMap({ data: { message: `edit ${index}` } });
      await shop.until(`the ${reason} holds it back`, ({ pending }) => pending?.reason === reason);
      await shop.quiet();
      assert.equal(shop.seen.length, 1 + index);
      const body = { metadata: { annotations: { 'k8spatterns.io/restart-now': reason } } };
      await shop.client.patch(configWatchers, key, { type: 'merge', body });
      const { restartNow } = await shop.restarted(1 + index);
      await shop.allReady(1);
      assert.deepEqual([restartNow, shop.seen.length], [reason, 2 + index]);
    }
  });

  it('that is suspended in mid-restart stops between two batches, and goes on when that ends', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 4);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.allReady(4);
    // The content has shown that it works by then, so that only the suspension keeps the third one.
    shop.isKubeletSlow = true;
    await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the second Pod goes' });
    // Nothing is counted any more while it is suspended.
    const running = await shop.until('both are counted', ({ stalePods }) => stalePods === 2);
    const ready = findCondition(running.conditions, 'Ready');
    assert.deepEqual(
      [running.pending?.reason, ready?.status, ready?.reason],
      ['InProgress', 'True', 'Watching'],
    );
    await shop.edit({ suspend: true });
    await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
    shop.isKubeletSlow = false;
    await shop.allReady(4);
    await shop.quiet();
    const { pending, stalePods } = await shop.status();
    assert.deepEqual([pending?.reason, stalePods, shop.seen.length], ['Suspended', 2, 6]);
    await shop.edit({ suspend: false });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 8], 'each Pod was replaced once');
  });

  it('has what is left of a restart wait for the cooldown after an edit, as a second restart', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 4, { cooldown: { base: '40s' } });
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.olderThanEdits();
    const { pending: before } = await shop.status();
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until(
      'the edit is seen',
      ({ pending }) => pending !== undefined && pending.hash !== before?.hash,
    );
    shop.isKubeletSlow = false;
    await shop.until('the rest waits', ({ pending }) => pending?.reason === 'Cooldown');
    await shop.allReady(4);
    await shop.quiet();
    const { pending, cooldownUntil } = await shop.status();
    assert.deepEqual([pending?.reason, shop.seen.length], ['Cooldown', 5]);
    const { history, lastRestart } = await shop.restarted(2);
    await shop.allReady(4);
    assert.deepEqual([history?.map(({ restarted }) => restarted), shop.seen.length], [[3, 1], 8]);
    const [second, first] = history?.map(({ startTime }) => Date.parse(startTime ?? '')) ?? [];
    assert.ok((second ?? 0) - (first ?? 0) >= 40_000, JSON.stringify(history));
    assert.ok(Date.parse(lastRestart?.startTime ?? '') >= Date.parse(cooldownUntil ?? ''));
  });

  it('begins with no other owner after an edit before the Pod that has gone is back, and then has all at the last content', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2);
    await shop.deploy(3, 'Deployment', 'other');
    await shop.olderThanEdits();
    const old = await shop.pods();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the first Pod goes' });
    const { pending: before } = await shop.status();
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('the restart for the edit has begun', ({ pending }) => {
      return pending?.reason === 'InProgress' && pending.hash !== before?.hash;
    });
    await shop.quiet();
    // The other owner serves as it did: without the place of the first one it would be the next.
    assert.equal(shop.seen.length, 6, 'the first owner keeps its place');
    shop.isKubeletSlow = false;
    const { history } = await shop.restarted(2);
    const left = await shop.allReady(5);
    assert.deepEqual([history?.map(({ restarted }) => restarted), shop.seen.length], [[4, 1], 10]);
    const isOld = (uid = '') => old.some(({ metadata }) => metadata.uid === uid);
    // The Pod in between had not started before the last edit.
    assert.equal(
      left.some(({ metadata }) => isOld(metadata.uid)),
      false,
    );
  });

  it('has what is left of a restart wait for the debounce after an edit', { timeout }, async (t) => {
    // However slow the test is, the first restart does not go on before the edit.
    const shop = await Shop.watched(t, 4, { strategy: { minReadySeconds: 60 } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.allReady(4);
    const { metadata } = await shop.edit({ debounce: { quiet: '15s' } });
    const { lastRestart: first } = await shop.until('the debounce is seen', ({ observedGeneration }) => {
      return observedGeneration === metadata.generation;
    });
    const edited = Date.now();
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('the rest waits', ({ pending }) => pending?.reason === 'Debounce');
    await shop.quiet();
    const { pending, stalePods } = await shop.status();
    assert.deepEqual([pending?.reason, stalePods, shop.seen.length], ['Debounce', 4, 5]);
    await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the next Pod goes' });
    const waited = Date.now() - edited;
    const { lastRestart, lastChangeTime = '' } = await shop.status();
    assert.notEqual(lastRestart?.id, first?.id, 'it is a second restart');
    const bySelf = Date.parse(lastRestart?.startTime ?? '') - Date.parse(lastChangeTime);
    assert.ok(bySelf >= 15_000, `after ${bySelf} ms by its own account`);
    // What it knows of the API server's clock may become better by a second meanwhile.
    assert.ok(waited >= 14_000, `after ${waited} ms`);
  });

  it('in a dry run tells each content once, and applies none', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2, { dryRun: true });
    const { client, namespace } = shop;
    const { appliedHash } = await shop.status();
    const told = async () => {
      const { items } = await client.list(events, { namespace });
      const dry = items.filter(({ note }) => note === 'dry run: 2 Pods would be restarted');
      // Equal ones are a series.
      return dry.reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
    };
    const hashes = new Set<string | undefined>([appliedHash]);
    for (const [index, message] of ['second', 'third'].entries()) {
      await shop.patchConfigMap({ data: { message } });
      const { pending } = await shop.until(`${message} is held`, (status) => {
        return status.pending?.reason === 'DryRun' && !hashes.has(status.pending.hash);
      });
      hashes.add(pending?.hash);
      await eventually(async () => (await told()) === index + 1, {
        message: `an Event says what ${message} would restart`,
      });
    }
    await shop.patchConfigMap({ metadata: { labels: { touched: 'yes' } } });
    await client.delete(configMaps, { namespace, name: 'webapp-config' });
    await shop.until('its absence is seen', ({ pending }) => pending?.reason === 'SourceMissing');
    await shop.createConfigMap({ message: 'third' });
    await shop.until('it is back', ({ pending }) => pending?.reason === 'DryRun');
    await shop.quiet();
    const after = await shop.status();
    assert.deepEqual([await told(), after.appliedHash, shop.seen.length], [2, appliedHash, 2]);
    await shop.edit({ dryRun: false });
    const done = await shop.restarted(1);
    await shop.allReady(2);
    assert.deepEqual([done.appliedHash, shop.seen.length], [after.pending?.hash, 4]);
  });

  it('with maxUnavailable 50% takes two Pods of a DaemonSet of four at a time', { timeout }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(4, 'DaemonSet', 'agent');
    await shop.startOperator();
    await shop.watch({ ...atOnce, strategy: { maxUnavailable: '50%' } });
    await shop.baselined();
    shop.isKubeletSlow = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length >= 6, { timeout: 40_000, message: 'the first batch goes' });
    await shop.quiet();
    assert.deepEqual([shop.seen.length, (await shop.pods()).filter(isReady).length], [6, 2]);
    shop.isKubeletSlow = false;
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(4);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 8]);
  });

  for (const maxUnavailable of ['25%', '37%']) {
    it(`with maxUnavailable ${maxUnavailable} takes two of eight Pods at a time`, { timeout }, async (t) => {
      const shop = await Shop.watched(t, 8, { strategy: { maxUnavailable } });
      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => shop.seen.length >= 10, { timeout: 40_000, message: 'the first batch goes' });
      await shop.quiet();
      assert.equal(shop.seen.length, 10);
      let fewest = (await shop.pods()).filter(isReady).length;
      shop.isKubeletSlow = false;
      await eventually(
        async () => {
          fewest = Math.min(fewest, (await shop.pods()).filter(isReady).length);
          return (await shop.status()).pending === undefined;
        },
        { timeout: 120_000, message: 'the restart is done' },
      );
      await shop.allReady(8);
      assert.deepEqual([fewest, shop.seen.length], [6, 16]);
    });
  }
});
