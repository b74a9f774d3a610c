/** An edit that is taken back while the watcher is held, and what that leaves to do: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { events, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 120_000;

/**
 * Replaces a Pod, lets the new one start, and edits the content. Resolves with the new Pod where the watcher of that name
 * has recorded the second of its creation as that of the edit: a slow machine may take longer.
 */
async function editInSecondOfPod(shop: Shop, name: string): Promise<Pod | undefined> {
  const { client, namespace } = shop;
  const [gone, kept] = await shop.allReady(2);
  await eventually(() => Date.now() % 1000 < 100, { interval: 5, message: 'a second begins' });
  await client.delete(pods, { namespace, name: gone?.metadata.name ?? '' });
  const isNext = ({ metadata: { uid } }: Pod) => uid !== gone?.metadata.uid && uid !== kept?.metadata.uid;
  const next = await eventually(async () => (await shop.pods()).find(isNext), { interval: 10 });
  await shop.getsReady(next.metadata.name);
  await shop.patchConfigMap({ data: { message: 'second' } });
  const { pending } = await shop.until('the edit is held', (status) => status.pending !== undefined, {
    name,
  });
  const isSame = Date.parse(pending?.from ?? '') === Date.parse(next.metadata.creationTimestamp ?? '');
  return isSame ? next : undefined;
}

// Alone: what goes on beside it takes of the second in which the new Pod and the edit are to be made.
describe('a ConfigWatcher with a Pod of the second of an edit', () => {
  /** Milliseconds for the attempts. */
  const attemptsMs = 240_000;

  it('restarts that Pod, and no older one, when the edit is taken back', {
    timeout: attemptsMs + timeout,
  }, async (t) => {
    const shop = await Shop.open(t);
    const { client, namespace } = shop;
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(2);
    await shop.startOperator();
    const spec = { suspend: true, debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
    const end = performance.now() + attemptsMs;
    for (let attempt = 1; performance.now() < end; attempt++) {
      // Another one knows nothing of the attempts before.
      const name = `attempt-${attempt}`;
      await shop.watch(spec, name);
      await shop.baselined(name);
      const between = await editInSecondOfPod(shop, name);
      await shop.patchConfigMap({ data: { message: 'first' } });
      if (between === undefined) {
        await client.delete(configWatchers, { namespace, name });
        continue;
      }
      const before = await shop.allReady(2);
      await shop.until('it is taken back', ({ pending, appliedHash }) => pending?.hash === appliedHash, {
        name,
      });
      await shop.edit({ suspend: false }, name);
      const isDone = ({ restartCount, pending }: ConfigWatcherStatus) => restartCount === 1 && !pending;
      const { lastRestart } = await shop.until('that Pod is restarted', isDone, { name });
      const left = (await shop.allReady(2)).map(({ metadata }) => metadata.uid);
      const spared = before.map(({ metadata }) => metadata.uid).filter((uid) => left.includes(uid));
      assert.deepEqual([lastRestart?.restarted, spared.length], [1, 1]);
      assert.equal(left.includes(between.metadata.uid), false);
      return;
    }
    assert.fail('no edit was made in the second of a new Pod');
  });
});

describe('a ConfigWatcher', { concurrency: 5 }, () => {
  it('restarts a Pod of which a container started while the edit was there that is taken back', {
    timeout,
  }, async (t) => {
    const shop = await Shop.watched(t, 2, { suspend: true });
    const [read, spared] = await shop.allReady(2);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await shop.until('it is held', ({ pending }) => pending?.reason === 'Suspended');
    const startedAt = new Date().toISOString();
    const app = { name: 'app', image: 'mini-http-server', imageID: '', ready: true, restartCount: 1 };
    const status = { containerStatuses: [{ ...app, lastState: {}, state: { running: { startedAt } } }] };
    const key = { namespace: shop.namespace, name: read?.metadata.name ?? '' };
    await shop.client.patchStatus(pods, key, { type: 'merge', body: { status } });
    // Both times are whole seconds.
    await eventually(() => Date.now() >= Date.parse(startedAt) + 2000, { message: 'a later second' });
    await shop.patchConfigMap({ data: { message: 'first' } });
    await shop.until('it is taken back', ({ pending, appliedHash }) => pending?.hash === appliedHash);
    await shop.edit({ suspend: false });
    const { lastRestart } = await shop.restarted(1);
    const left = (await shop.allReady(2)).map(({ metadata }) => metadata.uid);
    assert.deepEqual([lastRestart?.restarted, shop.seen.length], [1, 3]);
    assert.deepEqual(
      [read, spared].map((pod) => left.includes(pod?.metadata.uid)),
      [false, true],
    );
  });

  for (const { hold, reason } of [
    { hold: 'suspend', reason: 'Suspended' },
    { hold: 'dryRun', reason: 'DryRun' },
  ] as const) {
    for (const isRestarted of [false, true]) {
      const where = isRestarted ? ', also by another process,' : '';
      it(`with ${hold} restarts nothing for an edit that is taken back${where} once it is switched off`, {
        timeout,
      }, async (t) => {
        const shop = await Shop.watched(t, 2, { [hold]: true, strategy: { type: 'Evict' } });
        const { appliedHash } = await shop.status();
        await shop.olderThanEdits();
        await shop.patchConfigMap({ data: { message: 'second' } });
        const held = await shop.until('it is held', ({ pending }) => pending?.reason === reason);
        assert.deepEqual([held.stalePods, held.appliedHash], [2, appliedHash]);
        if (isRestarted) await shop.stopOperator();
        await shop.patchConfigMap({ data: { message: 'first' } });
        if (isRestarted) await shop.startOperator();
        const back = await shop.until(
          'it is taken back',
          ({ pending }) => pending?.hash !== held.pending?.hash,
        );
        assert.equal(back.appliedHash, appliedHash);
        const { generation } = (await shop.edit({ [hold]: false })).metadata;
        await shop.until('nothing is pending', ({ pending, observedGeneration }) => {
          return pending === undefined && observedGeneration === generation;
        });
        await shop.quiet();
        const { pending, restartCount, stalePods, lastRestart, ...after } = await shop.status();
        assert.deepEqual(
          [pending, restartCount, stalePods, lastRestart?.restarted ?? 0],
          [undefined, 0, 0, 0],
        );
        assert.deepEqual([after.appliedHash, shop.seen.length], [appliedHash, 2]);
        const { items } = await shop.client.list(events, { namespace: shop.namespace });
        assert.deepEqual(
          items.filter((event) => event.reason === 'RestartStarted' || event.reason === 'ConfigRestart'),
          [],
        );
        const progressing = after.conditions?.find(({ type }) => type === 'Progressing');
        assert.equal(progressing?.reason, 'UpToDate');

        await shop.patchConfigMap({ data: { message: 'third' } });
        const { lastRestart: next } = await shop.restarted(1);
        await shop.allReady(2);
        assert.deepEqual([next?.restarted, shop.seen.length], [2, 4], 'the next edit counts');
      });
    }
  }
});
