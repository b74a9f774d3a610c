/** What the metrics tell of watchers whose change waits, is stuck or is applied: on a real API server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { setPaused } from './configwatcher-owner.ts';
import { Shop } from './configwatcher-shop.ts';
import { eventually } from './support.ts';

const timeout = 120_000;
const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const levels = ['pending', 'stale_pods', 'new_pods_not_available', 'stalled', 'source_missing'] as const;

class Metrics {
  readonly registry = new Registry();

  async value(series: string): Promise<number> {
    const name = `atwatch_configwatcher_${series} `;
    const line = (await this.registry.metrics()).split('\n').find((one) => one.startsWith(name));
    return Number(line?.slice(name.length) ?? Number.NaN);
  }

  /** Resolves when these levels are told, and all others are 0. */
  async tell(expected: Readonly<Partial<Record<(typeof levels)[number], number>>>): Promise<void> {
    const text = levels.map((level) => `${level} ${expected[level] ?? 0}`).join();
    await eventually(
      async () => {
        const told = levels.map(async (level) => `${level} ${await this.value(level)}`);
        return (await Promise.all(told)).join() === text;
      },
      { timeout: 60_000, message: text },
    );
  }
}

/** A Deployment of two Pods, a watcher that has seen it, and the metrics of their operator. */
async function measured(t: TestContext, spec: Partial<ConfigWatcher['spec']>) {
  const [shop, metrics] = [await Shop.open(t), new Metrics()];
  await shop.createConfigMap({ message: 'first' });
  await shop.deploy(2);
  await shop.startOperator({ registry: metrics.registry });
  await shop.watch({ ...atOnce, ...spec });
  await shop.baselined();
  await metrics.tell({});
  return { shop, metrics };
}

describe('the metrics of ConfigWatchers', { concurrency: 3 }, () => {
  it('tell a content that breaks its Pods, until another one has taken its place', { timeout }, async (t) => {
    const { shop, metrics } = await measured(t, {});
    shop.crashesPods = true;
    await shop.patchConfigMap({ data: { message: 'bad' } });
    await metrics.tell({ pending: 1, stale_pods: 1, new_pods_not_available: 1 });
    shop.crashesPods = false;
    await shop.olderThanEdits();
    await shop.patchConfigMap({ data: { message: 'good' } });
    await metrics.tell({});
    await shop.allReady(2);
    const counts = {
      changes_total: 2,
      pods_restarted_total: 3,
      'restarts_total{strategy="Evict",result="overtaken"}': 1,
      'restarts_total{strategy="Evict",result="completed"}': 1,
      'restarts_total{strategy="Evict",result="skipped"}': 0,
      restart_duration_seconds_count: 1,
    };
    for (const [series, count] of Object.entries(counts)) {
      assert.equal(await metrics.value(series), count, series);
    }
    assert.equal(shop.seen.length, 5);
  });

  it('tell a restart that is stuck for another reason, until it goes on', { timeout }, async (t) => {
    const { shop, metrics } = await measured(t, { strategy: { type: 'RolloutRestart' } });
    await setPaused(shop, true);
    await shop.patchConfigMap({ data: { message: 'second' } });
    await metrics.tell({ pending: 1, stale_pods: 2, stalled: 1 });
    await setPaused(shop, false);
    await metrics.tell({});
    const completed = 'restarts_total{strategy="RolloutRestart",result="completed"}';
    assert.deepEqual([await metrics.value(completed), await metrics.value('pods_restarted_total')], [1, 2]);
  });

  it('tell a missing source and a change that waits, until the watcher is gone', { timeout }, async (t) => {
    const { shop, metrics } = await measured(t, { suspend: true });
    const { client, namespace } = shop;
    await client.delete(configMaps, { namespace, name: 'webapp-config' });
    await metrics.tell({ source_missing: 1 });
    await shop.createConfigMap({ message: 'second' });
    await metrics.tell({ pending: 1, stale_pods: 2 });
    await client.delete(configWatchers, { namespace, name: 'webapp-config-watcher' });
    await metrics.tell({});
    assert.equal(await metrics.value('pods_restarted_total'), 0);
  });
});
