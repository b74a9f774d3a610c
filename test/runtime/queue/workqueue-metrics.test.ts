import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { Workqueue } from '../../../src/runtime/queue/workqueue.ts';
import { workqueueMetrics } from '../../../src/runtime/queue/workqueue-metrics.ts';
import { FakeClock } from '../../fake/clock.ts';
import { takeReady } from './fixtures.ts';

function setUp(priorities?: readonly number[]) {
  const registry = new Registry();
  const clock = new FakeClock();
  const queue = new Workqueue({ clock, metrics: workqueueMetrics(registry, 'at', priorities) });
  return { registry, clock, queue };
}

/** All series, `name{labels}` → value, without histogram buckets. */
async function read(registry: Registry): Promise<Record<string, number>> {
  const lines = (await registry.metrics()).split('\n');
  const found: Record<string, number> = {};
  for (const line of lines) {
    if (line === '' || line.startsWith('#') || line.includes('_bucket{')) continue;
    const space = line.lastIndexOf(' ');
    found[line.slice(0, space).replaceAll('name="at",controller="at"', 'at')] = Number(line.slice(space + 1));
  }
  return found;
}

/** Only what is not 0. */
async function readChanged(registry: Registry): Promise<Record<string, number>> {
  return Object.fromEntries(Object.entries(await read(registry)).filter(([, value]) => value !== 0));
}

describe('WorkqueueMetrics', () => {
  it('has every series at 0 from the start', async () => {
    const { registry } = setUp([0, -100]);
    assert.deepEqual(await read(registry), {
      'workqueue_depth{at,priority="0"}': 0,
      'workqueue_depth{at,priority="-100"}': 0,
      'workqueue_adds_total{at}': 0,
      'workqueue_retries_total{at}': 0,
      'workqueue_queue_duration_seconds_sum{at}': 0,
      'workqueue_queue_duration_seconds_count{at}': 0,
      'workqueue_work_duration_seconds_sum{at}': 0,
      'workqueue_work_duration_seconds_count{at}': 0,
      'workqueue_unfinished_work_seconds{at}': 0,
      'workqueue_longest_running_processor_seconds{at}': 0,
    });
  });

  it('has the buckets of client-go, 10 ns to 1000 s', async () => {
    const { registry } = setUp();
    const bounds = [...(await registry.metrics()).matchAll(/queue_duration_seconds_bucket\{le="([^"]+)"/g)];
    assert.deepEqual(
      bounds.map(([, bound]) => (bound === '+Inf' ? Infinity : Number(bound))),
      [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000, Infinity],
    );
  });

  it('counts an add when the key becomes ready, merged ones once', async () => {
    const { registry, clock, queue } = setUp();
    queue.add('a');
    queue.add('a');
    queue.addAfter('b', 1000);
    assert.equal((await read(registry))['workqueue_adds_total{at}'], 1);
    assert.equal((await read(registry))['workqueue_retries_total{at}'], 1);
    clock.advance(1000);
    assert.equal((await read(registry))['workqueue_adds_total{at}'], 2);
    assert.equal((await read(registry))['workqueue_adds_total{at}'], 2, 'scraping counts nothing');
  });

  it('depth follows keys through raising, taking, locking and shutDown', async () => {
    const { registry, queue } = setUp();
    const depths = async () =>
      Object.fromEntries(
        Object.entries(await readChanged(registry)).filter(([name]) => name.startsWith('workqueue_depth')),
      );
    queue.add('a');
    queue.add('b', { priority: 7 });
    assert.deepEqual(await depths(), {
      'workqueue_depth{at,priority="0"}': 1,
      'workqueue_depth{at,priority="7"}': 1,
    });
    queue.add('a', { priority: 7 });
    assert.deepEqual(await depths(), { 'workqueue_depth{at,priority="7"}': 2 });
    await takeReady(queue);
    assert.deepEqual(await depths(), {});
    queue.add('a', { priority: -3 });
    assert.deepEqual(await depths(), { 'workqueue_depth{at,priority="-3"}': 1 });
    queue.done('a');
    queue.add('c', { priority: 7 });
    queue.shutDown();
    assert.deepEqual(await depths(), {});
  });

  it('measures waiting from readiness and work from taking', async () => {
    const { registry, clock, queue } = setUp();
    queue.addAfter('a', 10_000);
    clock.advance(12_000);
    await queue.get();
    clock.advance(3000);
    queue.done('a');
    const now = await read(registry);
    assert.equal(now['workqueue_queue_duration_seconds_sum{at}'], 2);
    assert.equal(now['workqueue_queue_duration_seconds_count{at}'], 1);
    assert.equal(now['workqueue_work_duration_seconds_sum{at}'], 3);
    assert.equal(now['workqueue_work_duration_seconds_count{at}'], 1);
  });

  it('shows work in progress, also that which hangs for ever', async () => {
    const { registry, clock, queue } = setUp();
    queue.add('a');
    queue.add('b');
    await queue.get();
    clock.advance(60_000);
    await queue.get();
    clock.advance(1000);
    const now = await read(registry);
    assert.equal(now['workqueue_unfinished_work_seconds{at}'], 62);
    assert.equal(now['workqueue_longest_running_processor_seconds{at}'], 61);
  });

  it('gives at most 25 priorities a series of their own', async () => {
    const { registry, queue } = setUp();
    for (let priority = 1; priority <= 40; priority++) queue.add(`key ${priority}`, { priority });
    const depths = Object.entries(await read(registry)).filter(([name]) =>
      name.startsWith('workqueue_depth'),
    );
    assert.equal(depths.length, 26);
    assert.equal(
      depths.reduce((sum, [, depth]) => sum + depth, 0),
      40,
    );
    assert.equal(Object.fromEntries(depths)['workqueue_depth{at,priority="exceeded_cardinality_limit"}'], 16);
  });

  it('a queue takes the place of an older one of its name, whose counts stay', async () => {
    const { registry, clock, queue } = setUp();
    queue.add('a');
    queue.addAfter('b', 1000);
    queue.shutDown();
    const stopped = workqueueMetrics(registry, 'at');
    stopped.observe(() => assert.fail('a queue that was replaced is asked'));
    const newest = new Workqueue({ clock, metrics: workqueueMetrics(registry, 'at') });
    newest.add('a', { priority: 7 });
    assert.deepEqual(await readChanged(registry), {
      'workqueue_depth{at,priority="7"}': 1,
      'workqueue_adds_total{at}': 2,
      'workqueue_retries_total{at}': 1,
    });
    workqueueMetrics(registry, 'at');
    assert.deepEqual(
      Object.keys(await read(registry)).filter((name) => name.startsWith('workqueue_depth')),
      ['workqueue_depth{at,priority="0"}'],
    );
  });

  it('several queues share the metrics of a registry', async () => {
    const { registry, clock, queue } = setUp();
    const other = new Workqueue({ clock, metrics: workqueueMetrics(registry, 'configwatcher') });
    queue.add('a');
    other.add('a');
    other.add('b');
    const now = await read(registry);
    assert.equal(now['workqueue_adds_total{at}'], 1);
    assert.equal(now['workqueue_adds_total{name="configwatcher",controller="configwatcher"}'], 2);
  });
});
