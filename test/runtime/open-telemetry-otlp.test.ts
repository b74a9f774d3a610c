/** Traces as a receiver gets them: by OTLP over HTTP, from the SDK's exporter. */
import { test } from 'node:test';
import { OtlpReceiver } from '../traces/otlp-receiver.ts';
import { assertParentage, traceReconciles } from '../traces/traced-reconcile.ts';

test('reconciles and their requests arrive at an OTLP receiver, each as the child of its reconcile', async (t) => {
  const receiver = new OtlpReceiver();
  await receiver.start();
  t.after(() => receiver.stop());
  const traceparents = await traceReconciles(receiver.url);
  assertParentage(receiver.spans, traceparents);
});
