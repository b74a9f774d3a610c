/**
 * OpenTelemetry: one trace for each reconcile, its requests as children, and `traceparent` to the API server. The API
 * is handed in, so that a process without it needs no such package.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import type { ReconcileEvent, RequestEvent, SpanEvent } from './diagnostics.ts';
import type { OpenTelemetryApi, TraceSpan } from './open-telemetry-api.ts';

/** Begins to trace: `traceWith(await import('@opentelemetry/api'))`, beside an SDK. Returns what ends it. */
export function traceWith<C, S extends TraceSpan>(api: OpenTelemetryApi<C, S>): () => void {
  const tracer = api.trace.getTracer('atwatch/runtime');
  const spans = new WeakMap<SpanEvent, S>();
  const begin = (event: SpanEvent, name: string, kind: number, attributes: Record<string, string>): C => {
    const span = tracer.startSpan(name, { kind, attributes }, api.context.active());
    const context = api.trace.setSpan(api.context.active(), span);
    spans.set(event, span);
    event.within = (work) => api.context.with(context, work);
    return context;
  };
  const end = ({ error }: SpanEvent, span: S | undefined) => {
    if (error !== undefined)
      span?.setStatus({ code: 2, message: error instanceof Error ? error.message : '' });
    span?.end();
  };
  const reconciles = tracingChannel<string, ReconcileEvent>('atwatch.runtime.reconcile');
  const requests = tracingChannel<string, RequestEvent>('atwatch.runtime.request');
  const onReconcile = {
    start(event: ReconcileEvent): void {
      const { controller, namespace, name, reconcileID } = event;
      const object = { 'k8s.namespace.name': namespace, 'k8s.object.name': name, reconcileID };
      begin(event, `reconcile ${controller}`, 0, { controller, ...object });
    },
    asyncEnd(event: ReconcileEvent): void {
      spans.get(event)?.setAttribute('outcome', event.outcome ?? '');
      end(event, spans.get(event));
    },
  };
  const onRequest = {
    start(event: RequestEvent): void {
      // What belongs to no trace, such as a list or the lease, begins none.
      if (api.trace.getSpan(api.context.active()) === undefined) return;
      const { method, resource, headers } = event;
      const attributes = { 'http.request.method': method, 'url.path': event.path.split('?', 1)[0] ?? '' };
      api.propagation.inject(begin(event, `${method} ${resource ?? 'API'}`, 2, attributes), headers);
    },
    asyncEnd(event: RequestEvent): void {
      const span = spans.get(event);
      if (event.code !== undefined) span?.setAttribute('http.response.status_code', event.code);
      end(event, span);
    },
  };
  reconciles.subscribe(onReconcile as never);
  requests.subscribe(onRequest as never);
  return () => void [reconciles.unsubscribe(onReconcile as never), requests.unsubscribe(onRequest as never)];
}
