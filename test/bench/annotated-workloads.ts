/**
 * What it costs to look for workloads that ask, where five thousand Deployments do not: `make bench-annotated-workloads`.
 * The operator runs with the flags of its image.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
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
import { inParallel } from '../fixtures/in-parallel.ts';
import { describeMachine } from './measure.ts';
import { memoryOf } from './process-usage.ts';
import { printTable, type Row } from './table.ts';

const count = 5000;
/** From the start until after the garbage collection that follows it. */
const settlingMs = 40_000;

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

const cluster = await startControlPlane({ controllerManager: false, scheduler: false });
try {
  await cluster.kubectl(['apply', '--server-side', '--kustomize=crds']);
  const { client, close } = connect({
    kubeConfig: loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } }),
    ...{ gate: openGate, clock: systemClock, log: silentLogger, userAgent: 'bench', fieldManager: 'bench' },
  });
  await inParallel(count, 16, (index) =>
    client.create<KubernetesObject>(deployments as Resource, deployment(index)),
  );
  close();
  const before = await settledMemory();
  const rows: Row[] = [];
  for (const flag of ['--annotated-workloads', '--reloader-annotations']) {
    const value = (await settledMemory(flag)) - before;
    rows.push({ what: `${flag}: RSS above that without it`, value, unit: 'MB', target: { atMost: 15 } });
  }
  rows.push({ what: 'RSS without it', value: before, unit: 'MB' });
  console.log(describeMachine());
  printTable(`${count} Deployments that ask for nothing`, rows);
} finally {
  await cluster.stop();
}

/** The least RSS of the operator while nothing happens any more, MB. */
async function settledMemory(...flags: readonly string[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-memory-'));
  const nodeFlags = await flagsOfImage();
  const log = join(directory, 'operator.log');
  const operator = await startOperator(cluster.kubeconfig, log, { flags, nodeFlags });
  try {
    await setTimeout(settlingMs);
    let least = Number.POSITIVE_INFINITY;
    for (let look = 0; look < 10; look += 1) {
      least = Math.min(least, (await memoryOf(operator.process.pid)).now);
      await setTimeout(500);
    }
    return least;
  } finally {
    await operator.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
