/** A spec that is edited in the middle of a restart, on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { eventually, isGone } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

/** For `onConnect` of an operator: its evictions are done, and their answers come once they are let go. */
function heldEvictions() {
  const evicted: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const onConnect = (client: Client) => {
    const evict = client.evict.bind(client);
    client.evict = async (key, options) => {
      evicted.push(key.name);
      await evict(key, options);
      await released;
    };
  };
  return { evicted, release, onConnect };
}

/** Lets the watcher begin with these Pods instead; null takes a label out. */
function select(
  { client, namespace }: Shop,
  podSelector: Readonly<Record<string, string | null>>,
): Promise<unknown> {
  const key = { namespace, name: 'webapp-config-watcher' };
  return client.patch(configWatchers, key, {
    type: 'merge',
    body: { spec: { podSelector, suspend: false } },
  });
}

describe('a ConfigWatcher', { concurrency: 4 }, () => {
  it('that cannot be followed is Stalled, and warned of once for each cause, until its spec is mended', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    const window = { schedule: '0 3 * * *', duration: '1h', timeZone: 'Mars/Olympus' };
    const { status: unseen } = await shop.watch({ ...atOnce, windows: [window] });
    assert.deepEqual(unseen, { observedGeneration: -1 });
    await shop.startOperator();
    const conditionOf = async (type: string) =>
      (await shop.status()).conditions?.find((condition) => condition.type === type);
    const reasonOf = async (type: string) => (await conditionOf(type))?.reason;
    await eventually(async () => (await reasonOf('Ready')) === 'InvalidSpec', { timeout: 40_000 });
    assert.equal(await reasonOf('Stalled'), 'InvalidSpec');
    assert.equal(await reasonOf('Progressing'), 'InvalidSpec');
    const timeZone = 'Europe/Berlin';
    await shop.edit({ windows: [{ ...window, timeZone, schedule: '0 3 30 2 *' }] });
    await eventually(async () => (await conditionOf('Stalled'))?.message.includes('schedule never comes'), {
      timeout: 40_000,
    });
    // The next process says of an edit that mends nothing no more than this one.
    await shop.stopOperator();
    const { metadata } = await shop.edit({ cooldown: { base: '1s' } });
    await shop.startOperator();
    await shop.until('it is seen', ({ observedGeneration }) => observedGeneration === metadata.generation);
    assert.equal(await reasonOf('Ready'), 'InvalidSpec');
    await shop.edit({ windows: [{ ...window, timeZone }] });
    await eventually(async () => (await reasonOf('Ready')) === 'Watching', { timeout: 40_000 });
    assert.equal(await reasonOf('Stalled'), undefined);
    // Its Event comes after all the others.
    await shop.untilEvent('NoPodsMatched');
    const { items } = await shop.client.list(events, { namespace: shop.namespace });
    const warnings = items.filter(({ reason }) => reason === 'InvalidSpec');
    const told = warnings.map(({ type, regarding, series, note = '' }) => [
      ...[type, regarding?.kind, regarding?.name, series?.count ?? 1],
      /time zone|never comes/.exec(note)?.[0],
    ]);
    const watcher = ['Warning', 'ConfigWatcher', 'webapp-config-watcher', 1];
    assert.deepEqual(told.sort(), [
      [...watcher, 'never comes'],
      [...watcher, 'time zone'],
    ]);
  });

  it('goes on with its restart when one of two changed sources is taken out of it', {
    timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    // The longest there is, of which the status has not all.
    const second = 'n'.repeat(253);
    await shop.createConfigMap({ message: 'first' });
    await shop.createConfigMap({ more: 'first' }, second);
    await shop.deploy(4);
    await shop.startOperator();
    const sources = [{ kind: 'ConfigMap', name: second }] as const;
    await shop.watch({ ...atOnce, sources, suspend: true });
    await shop.baselined();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.patchConfigMap({ data: { more: 'second' } }, second);
    await shop.until('both changes are recorded', (status) => {
      return status.sources?.every(({ pendingHash }) => pendingHash !== undefined) === true;
    });
    await shop.edit({ suspend: false });
    await eventually(() => shop.seen.length > 4, { timeout: 40_000, interval: 10 });
    await shop.edit({ sources: [] });
    const { lastRestart, history, sources: left } = await shop.restarted(1);
    await shop.allReady(4);
    assert.equal(shop.seen.length, 8, 'each Pod was restarted once');
    assert.deepEqual([lastRestart?.restarted, history?.length], [4, 1]);
    assert.deepEqual(
      left?.map(({ name, pendingHash }) => [name, pendingHash]),
      [['webapp-config', undefined]],
    );
  });

  it('ends its restart, and says so, when it watches another ConfigMap', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 4);
    await shop.createConfigMap({ message: 'first' }, 'other-config');
    // The second batch waits for the first to get Ready, which it does not while this is true.
    shop.breaksPods = true;
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000 });
    await shop.edit({ configMap: 'other-config' });
    const { lastRestart, history, conditions, stalePods } = await shop.restarted(1);
    assert.ok(lastRestart?.completionTime);
    assert.deepEqual([lastRestart.restarted, history?.[0]?.id, stalePods], [1, lastRestart.id, 3]);
    const progressing = conditions?.find(({ type }) => type === 'Progressing');
    assert.equal(progressing?.reason, 'RestartAbandoned');
    assert.match(progressing.message, /^3 Pods kept an older content/);
    await shop.untilEvent('RestartAbandoned');
  });

  it('still owes a change that waits when its keys and its selector are edited', { timeout }, async (t) => {
    const shop = await Shop.watched(t, 2, {
      suspend: true,
      podSelector: { app: 'webapp', deployment: 'webapp' },
    });
    await shop.deploy(1, 'Deployment', 'second');
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('the change is recorded', ({ pending }) => pending !== undefined);
    await shop.edit({ keys: ['message'] });
    await select(shop, { deployment: null });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [3, 6]);
  });

  it('restarts neither what was made after a change that waits nor what a narrower selector leaves out, and tells of that', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2, { suspend: true, podSelector: { deployment: 'webapp' } });
    await shop.patchConfigMap({ data: { message: 'second' } });
    const { lastChangeTime = '' } = await shop.until(
      'it is recorded',
      ({ pending }) => pending !== undefined,
    );
    // The API server tells whole seconds.
    await eventually(() => Date.now() >= Date.parse(lastChangeTime) + 2000, { message: 'a later second' });
    await shop.deploy(1, 'Deployment', 'late');
    await select(shop, { deployment: null, app: 'webapp' });
    const { lastRestart } = await shop.restarted(1);
    await shop.allReady(3);
    assert.deepEqual(
      [lastRestart?.restarted, lastRestart?.skippedFresh, shop.seen.length],
      [2, 1, 5],
      'the late Pod has the second content',
    );

    await shop.edit({ suspend: true });
    await shop.patchConfigMap({ data: { message: 'third' } });
    await shop.until('the next change is recorded', ({ pending }) => pending?.reason === 'Suspended');
    await select(shop, { deployment: 'late' });
    const { lastRestart: narrow, stalePods, conditions = [] } = await shop.restarted(2);
    assert.deepEqual([narrow?.restarted, stalePods], [1, 2]);
    assert.equal(conditions.find(({ type }) => type === 'Progressing')?.reason, 'RestartAbandoned');
    const { note = '' } = await shop.untilEvent('RestartAbandoned');
    assert.match(note, /\b2 Pods with an older content left: the spec no longer /);
    await select(shop, { deployment: null });
    await shop.until('all are selected', ({ matchedPods }) => matchedPods === 3);
    await shop.quiet();
    await shop.allReady(3);
    assert.deepEqual([shop.seen.length, (await shop.status()).restartCount], [6, 2]);
  });

  for (const keys of [['message'], ['another']]) {
    it(`finishes its restart when its keys become ${keys} and its selector wider in the middle of it`, {
      timeout,
    }, async (t) => {
      const podSelector = { app: 'webapp', deployment: 'webapp' };
      const shop = await Shop.watched(t, 3, { podSelector });
      await shop.deploy(1, 'Deployment', 'second');
      await shop.olderThanEdits();
      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
      await shop.edit({ keys });
      await select(shop, { deployment: null });
      shop.isKubeletSlow = false;
      const { lastRestart, appliedHash } = await shop.restarted(1);
      await shop.quiet();
      await shop.allReady(4);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [4, 8], 'each Pod was restarted once');
      assert.equal((await shop.status()).appliedHash, appliedHash);
    });
  }

  for (const kind of ['Secret', 'ConfigMap'] as const) {
    it(`still owes the change of a ${kind} when the key of its hashes is lost`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const key = { namespace, name: 'webapp-secret' };
      await shop.createConfigMap({ message: 'first' });
      await client.create(secrets, { metadata: key, stringData: { password: 'first' } });
      await shop.deploy(2);
      await shop.olderThanEdits();
      await shop.startOperator({ secretAccess: true });
      const sources = [{ kind: 'Secret', name: key.name }] as const;
      await shop.watch({ ...atOnce, sources, suspend: true });
      await shop.baselined();
      if (kind === 'ConfigMap') await shop.patchConfigMap({ data: { message: 'second' } });
      else await client.patch(secrets, key, { type: 'merge', body: { stringData: { password: 'second' } } });
      const before = await shop.until('it is recorded', ({ pending }) => pending !== undefined);
      await shop.stopOperator();
      await client.delete(secrets, { namespace, name: 'atwatch-hash-key' });
      await shop.startOperator({ secretAccess: true });
      const hashOf = ({ sources: entries }: ConfigWatcherStatus) =>
        entries?.map(({ hash, pendingHash }) => pendingHash ?? hash)[1];
      await shop.until('the hash has the new key', (now) => hashOf(now) !== hashOf(before));
      await shop.quiet();
      assert.equal(shop.seen.length, 2, 'it is suspended');
      await shop.edit({ suspend: false });
      const { lastRestart } = await shop.restarted(1);
      await shop.quiet();
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
      assert.deepEqual(
        [(await shop.status()).restartCount, lastRestart?.trigger?.kind],
        [1, kind],
        'for what was edited alone',
      );
    });
  }

  for (const what of ['deleted', 'deleted, which a finalizer of others holds up', 'suspended'] as const) {
    it(`sends no more of a batch than is under way when it is ${what}`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      const [replicas, underWay] = [40, 32];
      const { evicted, release, onConnect } = heldEvictions();
      t.after(() => release());
      await shop.createConfigMap({ message: 'first' });
      await shop.createConfigMap({ message: 'first' }, 'other-config');
      await shop.deploy(replicas);
      const old = await shop.pods();
      await shop.startOperator({ onConnect });
      await shop.watch({ ...atOnce, strategy: { maxUnavailable: '100%' } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => shop.seen.length === replicas + underWay, {
        timeout: 60_000,
        message: 'as many evictions as may be under way at once are done',
      });
      const key = { namespace, name: 'webapp-config-watcher' };
      const hold = (finalizers: readonly string[] | null) =>
        client.patch(configWatchers, key, { type: 'merge', body: { metadata: { finalizers } } });
      const [isDeleted, isHeld] = [what !== 'suspended', what.includes('finalizer')];
      if (isHeld) {
        await hold(['example.com/stays']);
        t.after(() => hold(null).catch(() => {}));
      }
      if (isDeleted) await client.delete(configWatchers, key);
      else await shop.edit({ suspend: true });
      // The same watch tells of both, in this order.
      await shop.watch({ configMap: 'other-config', suspend: true }, 'later');
      await shop.baselined('later');
      release();
      if (isDeleted) {
        // Nor does it do so for the next content.
        await shop.patchConfigMap({ data: { message: 'third' } });
        await shop.patchConfigMap({ data: { message: 'second' } }, 'other-config');
        await shop.until('both edits are seen', ({ pending }) => pending !== undefined, { name: 'later' });
      } else {
        await shop.until('status counts what has gone', ({ stalePods }) => stalePods === replicas - underWay);
        assert.equal((await shop.status()).lastRestart?.restarted, underWay);
      }
      await shop.quiet();
      const left = await shop.allReady(replicas);
      const isOld = (uid = '') => old.some(({ metadata }) => metadata.uid === uid);
      assert.deepEqual(
        [evicted.length, left.filter(({ metadata }) => isOld(metadata.uid)).length],
        [underWay, replicas - underWay],
      );
      if (isHeld) await hold(null);
      if (isDeleted) {
        await eventually(() => isGone(client, configWatchers, namespace, key.name), { message: 'it goes' });
        return;
      }

      await shop.edit({ suspend: false });
      const { lastRestart } = await shop.restarted(1);
      await shop.allReady(replicas);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [replicas, 2 * replicas]);
      assert.deepEqual([evicted.length, new Set(evicted).size], [replicas, replicas]);
    });
  }
});
