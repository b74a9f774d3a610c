/** Traces: what the SDK's exporter gets of reconciles and their requests, and the API server of the trace. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { configMaps } from '../../src/kubernetes/objects.ts';
import type { Connection } from '../../src/runtime/client/connect.ts';
import type { Reconciler } from '../../src/runtime/controller/reconciler.ts';
import { traceWith } from '../../src/runtime/open-telemetry.ts';
import { FakeApiServer } from '../fake/api-server.ts';
import { settle } from '../fake/clock.ts';
import { connectTo } from '../fake/connection.ts';
import { until } from '../fake/until.ts';
import { startController, widget } from './controller/fixtures.ts';

const exporter = new InMemorySpanExporter();
let server: FakeApiServer;
let connection: Connection;
before(async () => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  api.trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
  server = await FakeApiServer.start();
  server.put(configMaps, { metadata: { namespace: 'n', name: 'a' } });
  connection = connectTo(server);
});
after(async () => {
  connection.close();
  await server.stop();
  api.context.disable();
});

/** The spans of two reconciles at once, and the `traceparent` of each request. */
async function traced(reconcile: Reconciler['reconcile']): Promise<readonly ReadableSpan[]> {
  exporter.reset();
  const { informer, stop, running } = startController(reconcile, { maxConcurrentReconciles: 2 });
  informer.sync(widget('a'), widget('b'));
  await until(
    () => exporter.getFinishedSpans().filter(({ name }) => name.startsWith('reconcile')).length === 2,
  );
  stop.abort();
  await running;
  await settle();
  return exporter.getFinishedSpans();
}

test('each reconcile is a trace, its requests and own spans are its children, and the API server hears of it', async () => {
  const end = traceWith(api);
  const first = server.requests.length;
  const spans = await traced(async () => {
    await connection.client.get(configMaps, { namespace: 'n', name: 'a' });
    await connection.client.list(configMaps, { namespace: 'n' });
    api.trace.getTracer('own').startSpan('own').end();
    return {};
  });
  await connection.client.get(configMaps, { namespace: 'n', name: 'a' });
  end();
  assert.equal(exporter.getFinishedSpans().length, spans.length, 'a request outside has no trace');

  const reconciles = spans.filter(({ name }) => name === 'reconcile widget');
  assert.equal(new Set(reconciles.map((span) => span.spanContext().traceId)).size, 2);
  for (const reconcile of reconciles) {
    assert.equal(reconcile.parentSpanContext, undefined);
    assert.equal(reconcile.attributes.outcome, 'success');
    const { traceId, spanId } = reconcile.spanContext();
    const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId);
    assert.deepEqual(
      children.map(({ name }) => name),
      ['GET configmaps', 'GET configmaps', 'own'],
    );
    assert.ok(children.every((span) => span.spanContext().traceId === traceId));
    const [get] = children;
    assert.equal(get?.kind, api.SpanKind.CLIENT);
    assert.equal(get?.attributes['http.response.status_code'], 200);
    const sent = server.requests.slice(first).map(({ headers }) => headers.traceparent);
    assert.ok(sent.includes(`00-${traceId}-${get?.spanContext().spanId}-01`), String(sent));
  }
});

test('a failed reconcile and its failed request say so', async () => {
  const end = traceWith(api);
  const spans = await traced(async () => {
    await connection.client.get(configMaps, { namespace: 'n', name: 'missing' });
    return {};
  });
  end();
  const [request] = spans.filter(({ name }) => name === 'GET configmaps');
  assert.equal(request?.attributes['http.response.status_code'], 404);
  assert.equal(request?.status.code, api.SpanStatusCode.ERROR);
  const [reconcile] = spans.filter(({ name }) => name === 'reconcile widget');
  assert.deepEqual(
    [reconcile?.attributes.outcome, reconcile?.status.code],
    ['error', api.SpanStatusCode.ERROR],
  );
});

test('without a subscriber no header is added', async () => {
  await connection.client.get(configMaps, { namespace: 'n', name: 'a' });
  assert.equal(server.requests.at(-1)?.headers.traceparent, undefined);
});
