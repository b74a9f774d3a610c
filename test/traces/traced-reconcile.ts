/** A traced reconcile: its spans leave this process through OpenTelemetry's SDK and the SDK's own OTLP exporter. */
import assert from 'node:assert/strict';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { traceWith } from '../../src/runtime/open-telemetry.ts';
import { FakeApiServer } from '../fake/api-server.ts';
import { connectTo } from '../fake/connection.ts';
import { until } from '../fake/until.ts';
import { startController, widget } from '../runtime/controller/fixtures.ts';
import type { OtlpSpan } from './otlp-receiver.ts';

/**
 * Reconciles two objects at once, each with two requests, and sends the traces.
 *
 * @param url of an OTLP receiver, without a path.
 * @returns the `traceparent` headers that the API server got, one for each request.
 */
export async function traceReconciles(url: string): Promise<readonly string[]> {
  const provider = new TracerProvider({
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) }),
    ],
  });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  api.trace.setGlobalTracerProvider(provider);
  const server = await FakeApiServer.start();
  server.put(configMaps, { metadata: { namespace: 'n', name: 'a' } });
  const connection = connectTo(server);
  const end = traceWith(api);
  try {
    let settled = 0;
    const { informer, stop, running } = startController(
      async () => {
        await connection.client.get(configMaps, { namespace: 'n', name: 'a' });
        const body = { data: { text: 'x' } };
        await connection.client.patch(configMaps, { namespace: 'n', name: 'a' }, { type: 'merge', body });
        settled++;
        return {};
      },
      { maxConcurrentReconciles: 2 },
    );
    informer.sync(widget('a'), widget('b'));
    await until(() => settled === 2);
    stop.abort();
    await running;
    // Ends the exporter, too, after what it still has to send.
    await provider.shutdown();
    return server.requests.map(({ headers }) => String(headers.traceparent));
  } finally {
    end();
    connection.close();
    await server.stop();
    for (const part of [api.context, api.propagation, api.trace]) part.disable();
  }
}

/** Asserts what a receiver must have of {@link traceReconciles}: a trace for each, and the requests as children. */
export function assertParentage(spans: readonly OtlpSpan[], traceparents: readonly string[]): void {
  const roots = spans.filter(({ parentSpanId = '' }) => parentSpanId === '');
  assert.deepEqual(
    roots.map(({ name }) => name),
    ['reconcile widget', 'reconcile widget'],
  );
  assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 2);
  assert.equal(spans.length, 6);
  assert.equal(traceparents.length, 4);
  const named = (root: OtlpSpan) =>
    root.attributes?.find(({ key }) => key === 'k8s.object.name')?.value.stringValue;
  assert.deepEqual(roots.map(named).sort(), ['a', 'b']);
  for (const root of roots) {
    const children = spans.filter(({ parentSpanId }) => parentSpanId === root.spanId);
    assert.deepEqual(children.map(({ name }) => name).sort(), ['GET configmaps', 'PATCH configmaps']);
    for (const child of children) {
      assert.equal(child.traceId, root.traceId);
      // A client's, in the numbers of OTLP.
      assert.equal(child.kind, 3);
      assert.ok(traceparents.includes(`00-${child.traceId}-${child.spanId}-01`), traceparents.join());
    }
  }
}
