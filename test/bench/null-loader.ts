/**
 * The null loader: what the API server can do at best with the requests that no operator of Ats can avoid.
 * It decides nothing and watches nothing: at one instant it posts a Pod for each At of a namespace, all of
 * them before any status, then it patches each At's status. 32 requests at a time, one keep-alive pool.
 *
 * `node test/bench/null-loader.ts <namespace> <epoch milliseconds>` with the cluster in KUBECONFIG prints a
 * {@link NullLoad} as one line of JSON.
 */
import type { RequestOptions } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { At } from '../../src/api/at.generated.ts';
import { isCause } from '../../src/at/plan/cause.ts';
import { planOf } from '../../src/at/plan/plan.ts';
import { buildPod } from '../../src/at/plan/pod.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { inParallel } from '../fixtures/in-parallel.ts';

export interface NullLoad {
  /** Milliseconds from the instant to the answer of the last Pod create, and of the last status patch. */
  readonly pods: number;
  readonly statuses: number;
  /** CPU time that this process spent on the Pod creates, milliseconds. */
  readonly podsCpu: number;
}

interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: string;
}

const concurrency = 32;
const atsPath = '/apis/cnat.programming-kubernetes.info/v1alpha1';

async function connect(): Promise<Pool> {
  const kubeConfig = loadKubeConfig({ env: process.env });
  const tls: RequestOptions = {};
  await kubeConfig.applyToHTTPSOptions(tls);
  const { ca, cert, key } = tls;
  return new Pool(kubeConfig.getCurrentCluster()?.server ?? '', {
    connections: concurrency,
    connect: { ca, cert, key } as object,
  });
}

async function send(pool: Pool, { method, path, body }: Request): Promise<string> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { 'content-type': type, 'user-agent': 'null-loader' };
  const answer = await pool.request({ method, path, headers, body: body ?? null });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return text;
}

/** Sends all of them in their order, and resolves with the instant of the last answer. */
async function sendAll(pool: Pool, requests: readonly Request[]): Promise<number> {
  await inParallel(requests.length, concurrency, (index) => send(pool, requests[index] as Request));
  return Date.now();
}

function podRequest(namespace: string, at: At): Request {
  const plan = planOf(at);
  if (isCause(plan)) throw new Error(plan.message);
  return {
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods`,
    body: JSON.stringify(buildPod(at, plan, 1)),
  };
}

function statusRequest(namespace: string, { metadata }: At): Request {
  const status = { phase: 'RUNNING', podName: `${metadata.name}-pod`, attempts: 1 };
  return {
    method: 'PATCH',
    path: `${atsPath}/namespaces/${namespace}/ats/${metadata.name}/status`,
    body: JSON.stringify({ metadata: { resourceVersion: metadata.resourceVersion }, status }),
  };
}

async function load(namespace: string, instant: number): Promise<NullLoad> {
  const pool = await connect();
  const list = await send(pool, { method: 'GET', path: `${atsPath}/namespaces/${namespace}/ats` });
  const { items } = JSON.parse(list) as { items: At[] };
  const podRequests = items.map((at) => podRequest(namespace, at));
  const statusRequests = items.map((at) => statusRequest(namespace, at));
  // The connections are there before the instant.
  await sendAll(pool, Array<Request>(concurrency).fill({ method: 'GET', path: '/version' }));
  await sleep(instant - Date.now());
  const before = process.cpuUsage();
  const podsDone = await sendAll(pool, podRequests);
  const { user, system } = process.cpuUsage(before);
  const statusesDone = await sendAll(pool, statusRequests);
  await pool.close();
  return { pods: podsDone - instant, statuses: statusesDone - instant, podsCpu: (user + system) / 1000 };
}

const [namespace = '', instant = ''] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await load(namespace, Number(instant)))}\n`);
