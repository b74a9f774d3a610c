/**
 * Lets the operator work for three minutes on the cluster of KUBECONFIG, with Prometheus watching; asks Prometheus every
 * query of the dashboard, keeps the answers in docs/images/dashboard.json, and draws them. `make dashboard-picture` starts
 * the cluster.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { kubernetesVersion } from '../../local-cluster/build.ts';
import { waitFor } from '../demo/transcript.ts';
import { startOperator } from '../operator-process.ts';
import { findPrometheus, prometheusVersion } from '../prometheus/program.ts';
import { draw } from './draw.ts';
import { type Dashboard, type Matrix, queryOf, type Recording, type Series, seriesOf } from './recording.ts';

const namespace = 'atwatch-dashboard';
const seconds = 180;
const stepSeconds = 3;
/** Four scrapes, as Grafana counts. */
const rateInterval = '12s';

async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const words = ['local-cluster/main.ts', 'kubectl', `--namespace=${namespace}`, ...args];
  const running = promisify(execFile)(process.execPath, words, { timeout: 120_000, maxBuffer: 16 << 20 });
  running.child.stdin?.end(input);
  return (await running).stdout.trimEnd();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

/** An At every three seconds; each eighth fails. */
function ats(start: number): object {
  const items = Array.from({ length: Math.floor(seconds / 4) }, (_, index) => ({
    ...{ apiVersion: 'cnat.programming-kubernetes.info/v1alpha1', kind: 'At' },
    metadata: { name: `task-${index}` },
    spec: {
      schedule: new Date(Math.ceil(start / 1000) * 1000 + index * 3000).toISOString(),
      argv: ['sh', '-c', index % 8 === 7 ? 'exit 3' : `sleep ${1 + (index % 4)}`],
    },
  }));
  return { apiVersion: 'v1', kind: 'List', items };
}

async function work(): Promise<void> {
  await kubectl(['apply', '--filename=-'], JSON.stringify(ats(Date.now() + 10_000)));
  const start = Date.now();
  for (const edit of [1, 2, 3]) {
    await sleep(Math.max(0, start + edit * 45_000 - 30_000 - Date.now()));
    const patch = JSON.stringify({ data: { message: `Edit ${edit}` } });
    await kubectl(['patch', 'configmap', 'webapp-config', `--patch=${patch}`]);
  }
  await sleep(Math.max(0, start + seconds * 1000 - Date.now()));
}

interface Answer {
  readonly status: string;
  readonly data: { readonly result: Matrix[] };
  readonly error?: string;
}

async function rangeQuery(base: string, query: string, start: number, end: number): Promise<Matrix[]> {
  const parameters = new URLSearchParams({ query, start: `${start}`, end: `${end}`, step: `${stepSeconds}` });
  const answer = await fetch(`${base}/api/v1/query_range?${parameters}`);
  const { status, data, error }: Answer = JSON.parse(await answer.text());
  if (status !== 'success') throw new Error(`${query}: ${error}`);
  return data.result;
}

async function ask(base: string, dashboard: Dashboard, end: number): Promise<Recording> {
  const start = end - seconds;
  const times = Array.from({ length: seconds / stepSeconds + 1 }, (_, index) => start + index * stepSeconds);
  const panels: Record<string, Series[]> = {};
  for (const { id, targets = [] } of dashboard.panels) {
    for (const { expr, legendFormat } of targets) {
      const answer = await rangeQuery(base, queryOf(expr, rateInterval), start, end);
      panels[id] ??= [];
      panels[id].push(...answer.map((matrix) => seriesOf(matrix, legendFormat, times)));
    }
  }
  const prometheus = prometheusVersion.replace(
    /^v0\.(\d)(\d\d)\./,
    (_, major, minor) => `${major}.${Number(minor)}.`,
  );
  return { prometheus, kubernetes: kubernetesVersion().slice(1), stepSeconds, panels };
}

const directory = await mkdtemp(join(tmpdir(), 'atwatch-dashboard-'));
const program = await findPrometheus();
const [metrics, web] = [await freePort(), await freePort()];
await kubectl(['apply', '--server-side', '-k', 'crds']);
const crds = await kubectl(['get', '-k', 'crds', '--output=name']);
await kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...crds.split('\n')]);
await kubectl(['create', 'namespace', namespace]);
await kubectl(['wait', '--for=create', '--timeout=30s', 'serviceaccount/default']);
const flags = ['--leader-elect', `--metrics-bind-address=127.0.0.1:${metrics}`];
const operator = await startOperator(process.env.KUBECONFIG ?? '', join(directory, 'operator.log'), {
  ...{ flags, env: { POD_NAMESPACE: namespace } },
});
const labels = { namespace: 'atwatch-system', pod: 'atwatch-controller-manager' };
const config = {
  global: { scrape_interval: '3s' },
  scrape_configs: [{ job_name: 'atwatch', static_configs: [{ targets: [`127.0.0.1:${metrics}`], labels }] }],
};
await writeFile(join(directory, 'prometheus.yaml'), JSON.stringify(config));
const prometheus = spawn(
  program,
  [
    ...[
      `--config.file=${join(directory, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
    ],
    ...[`--web.listen-address=127.0.0.1:${web}`, '--log.level=warn'],
  ],
  { stdio: ['ignore', 'inherit', 'inherit'] },
);
const ended = new Promise((resolve) => prometheus.once('close', resolve));
const base = `http://127.0.0.1:${web}`;
try {
  const isReady = () =>
    fetch(`${base}/-/ready`).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  await waitFor('Prometheus', isReady, 60_000);
  for (const file of ['webapp.yaml', 'k8spatterns_v1_configwatcher.yaml']) {
    await kubectl(['apply', `--filename=config/samples/${file}`]);
  }
  await kubectl(['scale', 'deployment/webapp', '--replicas=3']);
  await kubectl(['rollout', 'status', 'deployment/webapp', '--timeout=110s']);
  await kubectl(['wait', '--for=condition=Ready', '--timeout=60s', 'cw/webapp-config-watcher']);
  console.log(`working for ${seconds} seconds ...`);
  await work();
  const dashboard: Dashboard = JSON.parse(await readFile('config/prometheus/dashboard.json', 'utf8'));
  const recording = await ask(base, dashboard, Math.floor(Date.now() / 1000));
  await writeFile('docs/images/dashboard.json', `${JSON.stringify(recording, undefined, 2)}\n`);
  await writeFile('docs/images/dashboard.svg', draw(dashboard, recording));
  console.log('wrote docs/images/dashboard.svg');
} finally {
  prometheus.kill('SIGTERM');
  await ended;
  await operator.stop();
  await rm(directory, { recursive: true, force: true });
}
