import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { metricsServer } from '../../../src/runtime/metrics/metrics-server.ts';
import { processMetrics } from '../../../src/runtime/metrics/process-metrics.ts';
import { parseExposition, sampleOf } from './exposition.ts';

describe('metricsServer', () => {
  const registry = new Registry();
  const server = metricsServer({ bindAddress: '127.0.0.1:0', registry, log: silentLogger });
  before(() => server.start());
  after(() => server.stop());
  const get = (path: string, method = 'GET') => fetch(`http://${server.address}${path}`, { method });

  it('serves the registry as text that a strict reader accepts', async () => {
    processMetrics(registry);
    const labelNames = ['text'];
    const registers = [registry];
    new Counter({ name: 'a_total', help: 'Counts a.', labelNames, registers }).inc({
      text: 'quote " backslash \\ line\nfeed',
    });
    new Gauge({ name: 'b', help: 'B.', registers }).set(Infinity);
    new Histogram({ name: 'c_seconds', help: 'C.', buckets: [0.1, 1], registers }).observe(0.5);
    const response = await get('/metrics');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const families = parseExposition(await response.text());
    assert.equal(sampleOf(families, 'a_total', { text: 'quote " backslash \\ line\nfeed' }), 1);
    assert.equal(sampleOf(families, 'b'), Infinity);
    assert.equal(sampleOf(families, 'c_seconds_bucket', { le: '1' }), 1);
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
    ]) {
      assert.ok(families.has(name), name);
    }
  });

  it('serves nothing else', async () => {
    for (const path of ['/', '/metrics/', '/metricsx', '/healthz', '//', '/%']) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it('takes no other method than GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await get('/metrics', method);
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'GET, HEAD');
    }
    const head = await get('/metrics', 'HEAD');
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  });
});

describe('parseExposition, the strict reader itself', () => {
  const rows = [
    { what: 'no final line feed', text: '# HELP a A.\n# TYPE a gauge\na 1' },
    { what: 'a sample without a type', text: 'a 1\n' },
    { what: 'a type without help', text: '# TYPE a gauge\na 1\n' },
    { what: 'a family in two pieces', text: family('a') + family('b') + family('a') },
    { what: 'the same series twice', text: `${family('a')}a 1\n` },
    { what: 'a bad value', text: '# HELP a A.\n# TYPE a gauge\na one\n' },
    { what: 'a bad label', text: '# HELP a A.\n# TYPE a gauge\na{b-c="1"} 1\n' },
    { what: 'an unescaped quote', text: '# HELP a A.\n# TYPE a gauge\na{b="""} 1\n' },
    { what: 'a sample of another family', text: '# HELP a A.\n# TYPE a gauge\nb 1\n' },
    {
      what: 'a histogram that does not add up',
      text: '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    },
  ];
  for (const { what, text } of rows) {
    it(`refuses ${what}`, () => {
      assert.throws(() => parseExposition(text), assert.AssertionError);
    });
  }

  function family(name: string) {
    return `# HELP ${name} A.\n# TYPE ${name} gauge\n${name} 1\n`;
  }
});
