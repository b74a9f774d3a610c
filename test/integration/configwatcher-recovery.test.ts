/** What is Stalled goes on by itself once it can, without any edit: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { isReady, Shop } from './configwatcher-shop.ts';
import { failure, HostileProxy } from './hostile-proxy.ts';
import { eventually } from './support.ts';

const timeout = 240_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };

describe('a ConfigWatcher that is Stalled because new Pods are not available', { concurrency: 3 }, () => {
  for (const { type, outcome } of [
    { type: 'Evict', outcome: 'goes on' },
    { type: 'Evict', outcome: 'goes on in another process' },
    { type: 'Auto', outcome: 'goes on' },
    { type: 'Auto', outcome: 'goes on in another process' },
  ] as const) {
    it(`by ${type} ${outcome} when they become available`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      for (const name of ['web-0', 'web-1', 'web-2']) await shop.createWorkload(1, 'Deployment', name);
      await shop.allReady(3);
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy: { type, progressDeadlineSeconds: 12 } });
      const { appliedHash } = await shop.baselined();
      shop.breaksPods = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      const isStalled = (status: ConfigWatcherStatus) =>
        findCondition(status.conditions, 'Stalled')?.reason === 'NewPodsNotAvailable';
      const stuck = await shop.until('it is Stalled', isStalled);
      assert.deepEqual([stuck.lastRestart?.unavailable, shop.seen.length], [1, 4]);
      shop.breaksPods = false;
      if (outcome === 'goes on in another process') {
        await shop.stopOperator();
        await shop.startOperator();
      }
      await shop.quiet();
      const still = await shop.status();
      assert.deepEqual([isStalled(still), still.appliedHash, shop.seen.length], [true, appliedHash, 4]);

      // The other new Pods get Ready later, so that the restart is seen between.
      shop.isKubeletSlow = true;
      const broken = (await shop.pods()).filter((pod) => !isReady(pod));
      assert.equal(broken.length, 1);
      await shop.getsReady(broken[0]?.metadata.name ?? '');
      await eventually(() => shop.seen.length === 6, { timeout: 40_000, message: 'the other owners begin' });
      const between = await shop.until(
        'nothing is stuck',
        (status) => !findCondition(status.conditions, 'Stalled'),
      );
      assert.notEqual(between.pending, undefined, 'without waiting for the end');
      assert.notEqual(findCondition(between.conditions, 'Progressing')?.reason, 'NewPodsNotAvailable');
      shop.isKubeletSlow = false;
      const { lastRestart, history, restartCount, ...done } = await shop.restarted(1);
      await shop.allReady(3);
      assert.deepEqual(
        [lastRestart?.restarted, lastRestart?.failed, lastRestart?.unavailable],
        [3, 0, undefined],
      );
      assert.deepEqual([restartCount, history?.length, shop.seen.length], [1, 1, 6]);
      assert.deepEqual(
        [findCondition(done.conditions, 'Stalled'), findCondition(done.conditions, 'Ready')?.reason],
        [undefined, 'Watching'],
      );
      assert.notEqual(done.appliedHash, appliedHash);
    });
  }
});

describe('a ConfigWatcher that is Stalled because the API server is overloaded', { concurrency: 3 }, () => {
  for (const type of ['Auto', 'Evict', 'RolloutRestart'] as const) {
    it(`tries again by ${type}, and goes on when it is let`, { timeout }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(2);
      const proxy = await HostileProxy.start(t);
      await shop.startOperator({ kubeConfig: proxy.kubeConfig });
      await shop.watch({ ...atOnce, strategy: { type, progressDeadlineSeconds: 5 } });
      await shop.baselined();
      let refused = 0;
      proxy.treat = ({ method, path }) => {
        const isRestarting = method === 'PATCH' ? path.includes('/deployments/') : path.endsWith('/eviction');
        if (!isRestarting) return undefined;
        refused += 1;
        return failure(429, 'TooManyRequests');
      };
      await shop.patchConfigMap({ data: { message: 'second' } });
      await shop.until('it is Stalled', ({ pending }) => pending?.reason === 'Stalled');
      const before = refused;
      await eventually(() => refused > before, { timeout: 40_000, message: 'it is tried again' });
      assert.equal(shop.seen.length, 2);
      proxy.treat = () => undefined;
      const { lastRestart, conditions } = await shop.restarted(1);
      await shop.allReady(2);
      assert.deepEqual([lastRestart?.restarted, shop.seen.length], [2, 4]);
      assert.equal(findCondition(conditions, 'Stalled'), undefined);
    });
  }
});
