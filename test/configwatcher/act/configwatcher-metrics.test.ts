import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { ConfigWatcherMetrics } from '../../../src/configwatcher/act/configwatcher-metrics.ts';
import type { Restart, WatcherState } from '../../../src/configwatcher/facts/state.ts';
import { applied, now } from '../../fixtures/configwatcher.ts';

let registry: Registry;
let metrics: ConfigWatcherMetrics;

/** The value of a series, written as Prometheus does. */
async function value(series: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** A decision of which only the rest matters. */
function decided(
  watcher: string,
  before: WatcherState,
  state: WatcherState,
  edits: number,
  skippedOfJobs = 0,
): void {
  metrics.decided(watcher, before, { state, edits, skippedOfJobs });
}

const done: Restart = {
  id: 'a',
  start: now - 3000,
  completion: now,
  restarted: 4,
  skippedFresh: 2,
  skippedUnmanaged: 1,
  failed: 0,
};

describe('ConfigWatcherMetrics', () => {
  beforeEach(() => {
    registry = new Registry();
    metrics = new ConfigWatcherMetrics(registry);
  });

  it('exist at 0 from the start', async () => {
    for (const series of [
      'changes_total',
      'restarts_total{strategy="Evict",result="completed"}',
      'restarts_total{strategy="Delete",result="skipped"}',
      'pods_restarted_total',
      'pods_skipped_total{reason="fresh"}',
      'pods_skipped_total{reason="unmanaged"}',
      'pods_skipped_total{reason="job"}',
      'pending',
      'stale_pods',
      'restart_duration_seconds_count',
      'eviction_blocked_total',
      'source_missing',
    ]) {
      assert.equal(await value(`atwatch_configwatcher_${series}`), 0, series);
    }
  });

  it('count a finished restart once', async () => {
    const before: WatcherState = { ...applied(), strategy: 'Evict' };
    const after = { ...before, lastRestart: done };
    decided('shop/a', before, after, 1);
    decided('shop/a', after, after, 0);
    assert.equal(await value('atwatch_configwatcher_changes_total'), 1);
    assert.equal(await value('atwatch_configwatcher_restarts_total{strategy="Evict",result="completed"}'), 1);
    assert.equal(await value('atwatch_configwatcher_pods_skipped_total{reason="fresh"}'), 2);
    assert.equal(await value('atwatch_configwatcher_pods_skipped_total{reason="unmanaged"}'), 1);
    assert.equal(await value('atwatch_configwatcher_restart_duration_seconds_count'), 1);
    assert.equal(await value('atwatch_configwatcher_restart_duration_seconds_sum'), 3);
  });

  it('tell Pods of Jobs from those that nothing would replace', async () => {
    const before: WatcherState = { ...applied(), strategy: 'Evict' };
    decided('shop/a', before, { ...before, lastRestart: { ...done, skippedUnmanaged: 3 } }, 1, 2);
    assert.equal(await value('atwatch_configwatcher_pods_skipped_total{reason="unmanaged"}'), 1);
    assert.equal(await value('atwatch_configwatcher_pods_skipped_total{reason="job"}'), 2);
  });

  it('count a restart that an edit overtook, apart from the one that ends', async () => {
    const { completion, ...running } = done;
    const before: WatcherState = { ...applied(), strategy: 'Delete', lastRestart: running };
    const after = { ...before, lastRestart: { ...running, id: 'b' }, history: [running] };
    decided('shop/a', before, after, 0);
    decided('shop/a', after, after, 0);
    decided('shop/a', after, { ...after, lastRestart: { ...done, id: 'b' } }, 0);
    for (const result of ['overtaken', 'completed']) {
      const series = `atwatch_configwatcher_restarts_total{strategy="Delete",result="${result}"}`;
      assert.equal(await value(series), 1, result);
    }
  });

  it('count a restart that ended before its last Pod as overtaken, and take no time for it', async () => {
    const before: WatcherState = { ...applied(), strategy: 'Evict' };
    const after = { ...before, lastRestart: done };
    metrics.decided('shop/a', before, { state: after, edits: 0, skippedOfJobs: 0, abandoned: 2 });
    assert.equal(await value('atwatch_configwatcher_restarts_total{strategy="Evict",result="overtaken"}'), 1);
    assert.equal(await value('atwatch_configwatcher_restarts_total{strategy="Evict",result="completed"}'), 0);
    assert.equal(await value('atwatch_configwatcher_restart_duration_seconds_count'), 0);
  });

  it('add up the watchers there are, and forget those that go', async () => {
    const pending = { hash: 'v1:1', since: now, reason: 'Debounce' } as const;
    decided('shop/a', applied(), { ...applied(), pending, stalePods: 3 }, 1);
    decided('shop/b', applied(), { ...applied(), pending, stalePods: 4 }, 1);
    assert.equal(await value('atwatch_configwatcher_pending'), 2);
    assert.equal(await value('atwatch_configwatcher_stale_pods'), 7);
    metrics.forget('shop/a');
    assert.equal(await value('atwatch_configwatcher_stale_pods'), 4);
  });

  it('count a change that found no Pod to restart as skipped, and take no time for it', async () => {
    const before: WatcherState = { ...applied(), strategy: 'Evict' };
    decided('shop/a', before, { ...before, lastRestart: { ...done, restarted: 0 } }, 1);
    assert.equal(await value('atwatch_configwatcher_restarts_total{strategy="Evict",result="skipped"}'), 1);
    assert.equal(await value('atwatch_configwatcher_restarts_total{strategy="Evict",result="completed"}'), 0);
    assert.equal(await value('atwatch_configwatcher_restart_duration_seconds_count'), 0);
  });

  it('tell how many watchers miss a source', async () => {
    const missing = [{ type: 'SourceAvailable', status: 'False' }] as unknown as WatcherState['conditions'];
    decided('shop/a', applied(), { ...applied(), conditions: missing }, 0);
    decided('shop/b', applied(), { ...applied(), conditions: missing }, 0);
    assert.equal(await value('atwatch_configwatcher_source_missing'), 2);
    decided('shop/a', applied(), applied(), 0);
    assert.equal(await value('atwatch_configwatcher_source_missing'), 1);
  });

  it('tell apart what breaks Pods, what makes no progress, and what cannot begin', async () => {
    for (const reason of ['NewPodsNotAvailable', 'Stalled', 'SeveralBudgets', 'InvalidSpec']) {
      const stalled = [{ type: 'Stalled', status: 'True', reason }] as unknown as WatcherState['conditions'];
      decided(`shop/${reason}`, applied(), { ...applied(), conditions: stalled }, 0);
    }
    assert.equal(await value('atwatch_configwatcher_new_pods_not_available'), 1);
    assert.equal(await value('atwatch_configwatcher_stalled'), 2);
    decided('shop/Stalled', applied(), applied(), 0);
    assert.equal(await value('atwatch_configwatcher_stalled'), 1);
  });

  it('count the Pods of a restart as they go, also those that an edit finds gone', async () => {
    const { completion, ...begun } = { ...done, restarted: 2 };
    const before: WatcherState = { ...applied(), strategy: 'Evict' };
    decided('shop/a', before, { ...before, lastRestart: begun }, 1);
    decided('shop/a', { ...before, lastRestart: begun }, { ...before, lastRestart: begun }, 0);
    assert.equal(await value('atwatch_configwatcher_pods_restarted_total'), 2);
    const next = { ...begun, id: 'next', restarted: 1 };
    const after = { ...before, lastRestart: next, history: [{ ...begun, restarted: 3 }] };
    decided('shop/a', { ...before, lastRestart: begun }, after, 1);
    assert.equal(await value('atwatch_configwatcher_pods_restarted_total'), 4);
  });

  it('count refusals', async () => {
    metrics.performed([
      { uid: '1', result: 'Restarted' },
      { uid: '7', result: 'Refused', cause: 'SeveralBudgets', message: '' },
      { uid: '2', result: 'Gone' },
      { uid: '3', result: 'Refused', cause: 'Budget', message: '' },
      { uid: '4', result: 'Refused', cause: 'Failure', message: '' },
    ]);
    assert.equal(await value('atwatch_configwatcher_eviction_blocked_total'), 2);
  });
});
