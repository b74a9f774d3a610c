/**
 * What it costs to look for workloads that ask: nothing without the flag, by the API server's own account, and with it
 * little for those that do not ask. Brings a control plane of its own, for its audit log and for five thousand Deployments.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startOperator } from '../../hack/operator-process.ts';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import type { Workload } from '../../src/annotated-workloads/plan/workload.ts';
import { deployments } from '../../src/configwatcher/facts/workload.ts';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { memoryOf } from '../bench/process-usage.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { eventually } from './support.ts';

const count = 5000;
/** Megabytes. */
const maxGrowth = 15;
/** From the start until after the garbage collection that follows it, ms. */
const settling = 24_000;

/** Those of the image. */
async function flagsOfImage(): Promise<readonly string[]> {
  const [, entryPoint = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(await readFile('Dockerfile', 'utf8')) ?? [];
  const words: readonly string[] = JSON.parse(entryPoint);
  return words.slice(1, -1);
}

/** As a chart installs it and `kubectl apply` leaves it: some 6 KB. */
function deployment(index: number): KubernetesObject {
  const name = `unasked-${index}`;
  const env = Array.from({ length: 20 }, (_, one) => ({
    name: `VARIABLE_${one}`,
    value: `value-${index}-${one}`,
  }));
  return {
    metadata: {
      ...{ namespace: 'default', name, labels: { app: name } },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `${'x'.repeat(3000)}${index}` },
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'app', image: 'app:1', env, envFrom: [{ configMapRef: { name } }] }] },
      },
    },
  } as Partial<Workload> as KubernetesObject;
}

/** Which kinds the operator has listed or watched, by the audit log. */
async function readKinds(log: string): Promise<readonly string[]> {
  const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
  const reads = lines
    .map((line): { verb: string; userAgent?: string; objectRef?: { resource?: string } } => JSON.parse(line))
    .filter(({ verb, userAgent }) => ['list', 'watch'].includes(verb) && userAgent?.startsWith('atwatch/'))
    .map(({ objectRef }) => objectRef?.resource ?? '');
  return [...new Set(reads)].sort();
}

it(`${count} Deployments that ask for nothing cost ${maxGrowth} MB at most, and nothing without the flag`, {
  timeout: 280_000,
}, async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false, auditLog: true });
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-memory-'));
  t.after(async () => {
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  });
  await cluster.kubectl(['apply', '--server-side', '--kustomize=crds']);
  const { client, close } = connect({
    kubeConfig: loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } }),
    ...{ gate: openGate, clock: systemClock, log: silentLogger, userAgent: 'test', fieldManager: 'test' },
  });
  t.after(close);
  await inParallel(count, 16, (index) =>
    client.create<KubernetesObject>(deployments as Resource, deployment(index)),
  );

  const nodeFlags = await flagsOfImage();
  const run = async (...flags: string[]) => {
    const log = join(directory, 'operator.log');
    const operator = await startOperator(cluster.kubeconfig, log, { flags, nodeFlags });
    try {
      const begun = performance.now();
      let least = Number.POSITIVE_INFINITY;
      await eventually(
        async () => {
          const { now } = await memoryOf(operator.process.pid);
          if (performance.now() - begun > settling / 2) least = Math.min(least, now);
          return performance.now() - begun > settling;
        },
        { timeout: 2 * settling, interval: 500, message: 'the operator has settled' },
      );
      return least;
    } finally {
      await operator.stop();
    }
  };
  const before = await run();
  const growths: number[] = [];
  const without = await readKinds(cluster.auditLog ?? '');
  assert.deepEqual(without, ['ats', 'configmaps', 'configwatchers', 'pods']);
  for (const flag of ['--annotated-workloads', '--reloader-annotations']) {
    const growth = (await run(flag)) - before;
    t.diagnostic(`${flag}: ${growth.toFixed(1)} MB more than ${before.toFixed(1)} MB`);
    growths.push(growth);
  }
  const watched = await readKinds(cluster.auditLog ?? '');
  const workloads = ['cronjobs', 'daemonsets', 'deployments', 'jobs', 'statefulsets'];
  assert.deepEqual(watched, [...without, ...workloads].sort());
  assert.ok(
    Math.max(...growths) <= maxGrowth,
    `they cost ${growths.map((one) => one.toFixed(1)).join(' and ')} MB`,
  );
});
