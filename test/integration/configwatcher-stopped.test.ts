/** ConfigWatchers whose leader is stopped (SIGSTOP: a debugger, a frozen container) in the middle of a restart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OperatorProcess } from './configwatcher-process.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 240_000;
const replicas = 3;

describe('a ConfigWatcher whose leader is stopped in mid-restart', { concurrency: 2 }, () => {
  for (const [type, generations] of [
    ['Evict', 1],
    ['Auto', 3],
  ] as const) {
    it(`by ${type} restarts each Pod once for each content, also when that one goes on beside its successor`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      await shop.createConfigMap({ message: 'first' });
      await shop.deploy(replicas);
      await shop.watch({
        ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
        strategy: { type },
      });
      const leader = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
      await shop.baselined();
      const standby = new OperatorProcess(t, shop.namespace, ['--leader-elect']);
      await standby.logged('"msg":"ready"');

      shop.isKubeletSlow = true;
      await shop.patchConfigMap({ data: { message: 'second' } });
      await eventually(() => shop.seen.length > replicas, { timeout: 40_000, message: 'the first Pod goes' });
      leader.signal('SIGSTOP');
      shop.isKubeletSlow = false;
      await standby.logged('"msg":"leading"');
      const { lastRestart: first } = await shop.restarted(1);
      await shop.allReady(replicas);
      assert.deepEqual([first?.restarted, first?.failed, shop.seen.length], [replicas, 0, 2 * replicas]);

      await shop.olderThanEdits();
      await shop.patchConfigMap({ data: { message: 'third' } });
      await eventually(() => shop.seen.length > 2 * replicas, {
        timeout: 40_000,
        message: 'the next one begins',
      });
      leader.signal('SIGCONT');
      await leader.ended;
      assert.match(leader.output, /lost the leader lease/);
      const { lastRestart, history } = await shop.restarted(2);
      await shop.allReady(replicas);
      await shop.quiet();
      assert.deepEqual(
        [lastRestart?.restarted, lastRestart?.failed, history?.length, shop.seen.length],
        [replicas, 0, 2, 3 * replicas],
      );
      assert.equal(await shop.generation('Deployment'), generations);
    });
  }
});
