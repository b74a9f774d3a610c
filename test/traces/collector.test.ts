/** Traces through an OpenTelemetry collector, built from its Go modules: `make test-traces`. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { buildCollector } from '../../hack/collector/program.ts';
import { OtlpReceiver } from './otlp-receiver.ts';
import { assertParentage, traceReconciles } from './traced-reconcile.ts';

/** It takes a fixed port only. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

async function within(limit: number, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + limit; !(await isSo()); await delay(50)) {
    assert.ok(performance.now() < end, `not within ${limit} ms: ${isSo}`);
  }
}

/** Resolves when something answers, whatever it says. */
function answers(url: string): Promise<void> {
  return within(60_000, () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
}

/** Returns its URL. It gives all that it gets to the receiver. */
async function startCollector(t: TestContext, receiver: OtlpReceiver): Promise<string> {
  const program = await buildCollector();
  const folder = await mkdtemp(join(tmpdir(), 'atwatch-collector-'));
  t.after(() => rm(folder, { recursive: true }));
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { otlphttp: { endpoint: receiver.url, encoding: 'json' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
    },
  };
  const file = join(folder, 'config.yaml');
  await writeFile(file, JSON.stringify(config));
  const collector = spawn(program, [file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(collector, 'exit');
  const said = text(collector.stderr);
  t.after(async () => {
    collector.kill('SIGTERM');
    await ended;
  });
  const failed = ended.then(async () => assert.fail(await said));
  failed.catch(() => {});
  await Promise.race([answers(`http://${endpoint}/`), failed]);
  return `http://${endpoint}`;
}

test('reconciles and their requests come out of a collector, each as the child of its reconcile', async (t) => {
  const receiver = new OtlpReceiver();
  await receiver.start();
  t.after(() => receiver.stop());
  const traceparents = await traceReconciles(await startCollector(t, receiver));
  await within(60_000, () => receiver.spans.length >= 6);
  assertParentage(receiver.spans, traceparents);
});
