/** Owners that roll nothing out beside one that does, when one at a time may: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { daemonSets, deployments, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { setPaused, setUpdateStrategy } from './configwatcher-owner.ts';
import { events, Shop } from './configwatcher-shop.ts';

const timeout = 240_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const resources = { Deployment: deployments, StatefulSet: statefulSets, DaemonSet: daemonSets };
const annotation = 'k8spatterns.io/restarted-for.webapp-config-watcher';

/** `[restarted, reason]` by owner. */
function owners({ lastRestart }: ConfigWatcherStatus) {
  const entries = (lastRestart?.owners ?? []).map(
    ({ name, restarted, reason }) => [name, [restarted, reason]] as const,
  );
  return Object.fromEntries(entries);
}

describe('a ConfigWatcher by RolloutRestart of one owner at a time', { concurrency: 2 }, () => {
  for (const kind of ['StatefulSet', 'DaemonSet'] as const) {
    it(`rolls one out beside a paused Deployment and an OnDelete ${kind}, which it names, and each later`, {
      timeout,
    }, async (t) => {
      const shop = await Shop.open(t);
      const { client, namespace } = shop;
      await shop.createConfigMap({ message: 'first' });
      // By name and by size the ordinary one would be the last.
      await shop.deploy(1, 'Deployment', 'api');
      await shop.deploy(1, kind, 'db');
      await shop.deploy(2, 'Deployment', 'web');
      const updateBy = (type: string) =>
        setUpdateStrategy(shop, resources[kind], { type, rollingUpdate: null }, 'db');
      await setPaused(shop, true, 'api');
      await updateBy('OnDelete');
      await shop.startOperator();
      await shop.watch({ ...atOnce, strategy: { type: 'RolloutRestart', maxOwners: 1 } });
      await shop.baselined();
      await shop.patchConfigMap({ data: { message: 'second' } });
      const isAvailable = (name: string) => (status: ConfigWatcherStatus) =>
        owners(status)[name]?.[1] === 'Available';
      const first = await shop.until('the ordinary one is done', isAvailable('Deployment/web'));
      const db = `${kind} db: its updateStrategy OnDelete rolls nothing out`;
      const held = ['Deployment api: its rollout is paused', db];
      assert.deepEqual(findCondition(first.conditions, 'Stalled')?.message.split(', ').sort(), held.sort());
      assert.equal(findCondition(first.conditions, 'Ready')?.status, 'True');
      assert.deepEqual(owners(first), {
        'Deployment/api': [0, 'Paused'],
        [`${kind}/db`]: [0, 'OnDelete'],
        'Deployment/web': [2, 'Available'],
      });
      await shop.allReady(4);
      assert.deepEqual([first.stalePods, first.lastRestart?.restarted, shop.seen.length], [2, 2, 6]);
      const { note = '' } = await shop.untilEvent('RestartStalled');
      assert.equal(note, findCondition(first.conditions, 'Stalled')?.message);
      const { items } = await client.list(events, { namespace });
      const told = items.filter(({ reason }) => reason === 'ConfigRestart');
      assert.deepEqual(
        told.map(({ regarding }) => regarding?.name),
        ['web'],
        'what is held is not said to be restarted',
      );

      await setPaused(shop, false, 'api');
      const second = await shop.until('the one that was paused is done', isAvailable('Deployment/api'));
      assert.deepEqual(
        [
          findCondition(second.conditions, 'Stalled')?.reason,
          findCondition(second.conditions, 'Stalled')?.message,
        ],
        ['OnDelete', db],
      );
      await shop.allReady(4);
      assert.deepEqual([second.stalePods, shop.seen.length], [1, 7]);

      await updateBy('RollingUpdate');
      const { lastRestart, ...done } = await shop.restarted(1);
      await shop.allReady(4);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.failed, shop.seen.length], [4, 0, 8]);
      assert.equal(findCondition(done.conditions, 'Stalled'), undefined);
      for (const [of, name] of [
        ['Deployment', 'api'],
        ['Deployment', 'web'],
        [kind, 'db'],
      ] as const) {
        const { spec } = await client.get(resources[of], { namespace, name });
        assert.equal(spec?.template?.metadata?.annotations?.[annotation], lastRestart?.id, name);
      }
    });
  }
});
