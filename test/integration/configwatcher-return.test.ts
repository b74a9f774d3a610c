/** A content that is taken back in the middle of its restart, on a real API server with the real controllers. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 180_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

/** With four Pods of one Deployment that are older than any edit to come. */
async function withFourPods(
  t: TestContext,
  type: 'Evict' | 'Auto' | 'RolloutRestart',
  kind?: 'StatefulSet' | 'DaemonSet',
): Promise<Shop> {
  const shop = await Shop.open(t);
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(4, kind);
  await shop.olderThanEdits();
  await shop.startOperator();
  await shop.watch({ ...atOnce, strategy: { type } });
  await shop.baselined();
  return shop;
}

/** Resolves when the return is finished. Its restart is the second one. */
async function afterReturn(shop: Shop) {
  const { lastRestart, history } = await shop.restarted(2);
  await shop.quiet();
  const left = await shop.allReady(4);
  return { lastRestart, history, left: left.map(({ metadata }) => metadata.uid ?? '') };
}

function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? '';
}

describe('a ConfigWatcher whose content is taken back in mid-restart', { concurrency: 3 }, () => {
  it('restarts the Pod that has the content between, and spares those that never had it or have not started', {
    timeout,
  }, async (t) => {
    const shop = await withFourPods(t, 'Evict');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.allReady(4);
    shop.isKubeletSlow = true;
    await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the second Pod goes' });
    const old = shop.seen.slice(0, 4);
    const spared = (await shop.pods()).map(uidOf).filter((uid) => old.includes(uid));
    const [between = '', notStarted = ''] = shop.seen.slice(4);
    await shop.patchConfigMap({ data: { message: 'first' } });
    await shop.until('the return is a change', ({ pending, appliedHash }) => pending?.hash === appliedHash);
    shop.isKubeletSlow = false;
    const { lastRestart, history, left } = await afterReturn(shop);
    assert.deepEqual([spared.length, shop.seen.length], [2, 7], 'one Pod more');
    assert.deepEqual(left.sort(), [...spared, notStarted, shop.seen.at(-1)].sort());
    assert.equal(left.includes(between), false);
    assert.equal(lastRestart?.restarted, 1);
    assert.deepEqual(
      history?.map(({ restarted }) => restarted),
      [1, 2],
    );
  });

  it('restarts that Pod also where another process has begun the restart', { timeout }, async (t) => {
    const shop = await withFourPods(t, 'Evict');
    await shop.patchConfigMap({ data: { message: 'second' } });
    await eventually(() => shop.seen.length === 5, { timeout: 40_000, message: 'the first Pod goes' });
    await shop.allReady(4);
    await shop.stopOperator();
    const old = shop.seen.slice(0, 4);
    const between = shop.seen.slice(4);
    const spared = (await shop.pods()).map(uidOf).filter((uid) => old.includes(uid));
    await shop.patchConfigMap({ data: { message: 'first' } });
    await shop.startOperator();
    const { left } = await afterReturn(shop);
    assert.equal(shop.seen.length, 4 + 2 * between.length);
    assert.ok(spared.every((uid) => left.includes(uid)));
    assert.equal(
      left.some((uid) => between.includes(uid)),
      false,
    );
  });

  for (const [type, kind, brokenPods] of [
    // One in place of an old one, and one more.
    ['Auto', undefined, 2],
    ['RolloutRestart', undefined, 2],
    ['Auto', 'StatefulSet', 1],
    ['Auto', 'DaemonSet', 1],
  ] as const) {
    it(`and breaks its Pods has the rollout of a ${kind ?? 'Deployment'} taken back (${type}): the older Pods stay`, {
      timeout,
    }, async (t) => {
      const shop = await withFourPods(t, type, kind);
      const old = [...shop.seen];
      shop.breaksPods = true;
      await shop.patchConfigMap({ data: { message: 'bad' } });
      const broken = await eventually(
        async () => {
          const started = (await shop.pods()).filter(({ status }) => status?.phase === 'Running');
          const stuck = started.filter((pod) => !isReady(pod)).map(uidOf);
          return stuck.length === brokenPods && stuck;
        },
        { timeout: 40_000, message: 'the first Pods of the rollout start' },
      );
      shop.breaksPods = false;
      await shop.patchConfigMap({ data: { message: 'first' } });
      const { lastRestart, left } = await afterReturn(shop);
      assert.equal(
        left.some((uid) => broken.includes(uid)),
        false,
      );
      assert.equal(left.filter((uid) => old.includes(uid)).length, 3, 'one had gone for a broken one');
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [brokenPods, 4 + brokenPods + 1]);
      // Pods of a template that was taken back and is there again are no older than the others.
      await shop.olderThanEdits();
      await shop.patchConfigMap({ data: { message: 'third' } });
      const next = await shop.restarted(3);
      assert.deepEqual([next.lastRestart?.restarted, shop.seen.length], [4, 4 + brokenPods + 1 + 4]);
    });
  }
});
