import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Histogram, Registry } from '@prometheus-io/client';
import { TallyHistogram } from '../../../src/runtime/metrics/tally-histogram.ts';
import { fc } from '../../fixtures/property.ts';
import { parseExposition } from './exposition.ts';

const name = 'wait_seconds';
const help = 'Seconds of a wait';
const buckets = [1e-8, 0.001, 0.1, 1, 10];
const labels = { name: 'at', controller: 'at' };

function setUp() {
  const registry = new Registry();
  return { registry, histogram: new TallyHistogram({ registry, name, help, buckets }) };
}

describe('TallyHistogram', () => {
  it('shows exactly what the client library shows for the same observations', async () => {
    const observation = fc.record({
      queue: fc.constantFrom('at', 'configwatcher', 'a "quoted"\\\n one'),
      value: fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 20, noNaN: true })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(observation), async (observations) => {
        const { registry, histogram } = setUp();
        const expected = new Registry();
        const labelNames = ['name', 'controller'];
        const reference = new Histogram({ registers: [expected], labelNames, name, help, buckets });
        for (const { queue, value } of observations) {
          const labels = { name: queue, controller: queue };
          histogram.series(labels).observe(value);
          reference.observe(labels, value);
        }
        assert.equal(await registry.metrics(), await expected.metrics());
      }),
      { numRuns: 200 },
    );
  });

  it('has a series at 0 as soon as it is asked for, and only one for the same labels', async () => {
    const { registry, histogram } = setUp();
    assert.equal(histogram.series(labels), histogram.series({ ...labels }));
    const samples = parseExposition(await registry.metrics()).get(name)?.samples ?? [];
    assert.equal(samples.length, buckets.length + 3);
    assert.ok(samples.every(({ value }) => value === 0));
  });

  it('takes the labels of the registry, and its reset', async () => {
    const { registry, histogram } = setUp();
    registry.setDefaultLabels({ cluster: 'one' });
    histogram.series(labels).observe(0.5);
    const last = async () => (await registry.metrics()).trimEnd().split('\n').at(-1);
    assert.equal(await last(), 'wait_seconds_count{name="at",controller="at",cluster="one"} 1');
    registry.resetMetrics();
    assert.equal(await last(), 'wait_seconds_count{name="at",controller="at",cluster="one"} 0');
  });

  it('is there once in a registry', () => {
    const { registry } = setUp();
    assert.throws(() => new TallyHistogram({ registry, name, help, buckets }), /already been registered/);
  });
});
