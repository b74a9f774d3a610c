/**
 * Scenarios of the At benchmark. Each has a namespace of its own, so that the audit log tells its requests
 * apart; each fails when an At ran early, twice or not at all, whatever the figures say.
 */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pods } from '../../src/kubernetes/objects.ts';
import { type AuditedRequest, countByKind, requestsOf } from './at-audit.ts';
import type { BenchCluster } from './at-cluster.ts';
import { MeasuredOperator } from './at-process.ts';
import type { NullLoad } from './null-loader.ts';
import { percentile } from './percentile.ts';
import type { Row } from './table.ts';

const operatorAgent = /^atwatch\//;
/** What the API server stores a second, with room to spare: how long the preparation of a load takes. */
export const requestsPerSecond = 300;

/** The floor: what the API server takes to store the Pods, and then the statuses, of so many Ats. */
export async function nullLoad(cluster: BenchCluster, name: string, count: number): Promise<NullLoad> {
  const namespace = await cluster.namespace(name);
  await cluster.createAts(namespace, count, () => Date.UTC(2100));
  const instant = nextSecond(3000);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['test/bench/null-loader.ts', namespace, String(instant)],
    { env: { ...process.env, KUBECONFIG: cluster.plane.kubeconfig } },
  );
  await cluster.empty(namespace);
  return JSON.parse(stdout) as NullLoad;
}

export interface Hotspot {
  /** Milliseconds from the instant to the receipt of the last Pod create. */
  readonly pods: number;
  /** CPU time of the operator until then, milliseconds. */
  readonly podsCpu: number;
  readonly rows: readonly Row[];
  readonly requests: ReadonlyMap<string, number>;
}

/** `count` Ats due at the same instant; their commands end once all of them have been launched. */
export async function hotspot(cluster: BenchCluster, name: string, count: number): Promise<Hotspot> {
  const namespace = await cluster.namespace(name);
  const end = new AbortController();
  const operator = new MeasuredOperator(cluster.plane.kubeconfig);
  try {
    await operator.ready;
    // Time for three requests each: creation, acceptance, dry run.
    const due = nextSecond(15_000 + (3 * count * 1000) / requestsPerSecond);
    await cluster.createAts(namespace, count, () => due);
    await cluster.untilAccepted(namespace);
    await operator.untilQuiet();
    if (Date.now() > due) throw new Error('the preparation took too long: this machine is too busy');
    const cpuAt = operator.recordCpu(end.signal);
    await sleep(due - Date.now());
    await cluster.untilNone(namespace, 'status.phase=PENDING');
    end.abort();
    await cluster.endPods(namespace);
    await cluster.untilNone(namespace, 'status.phase!=DONE');
    const [cpu, memory] = [(await operator.cpu()) - cpuAt(due), await operator.memory()];
    const requests = await requestsIn(cluster, namespace);
    const lateness = latenessOf(requests, count, () => due);
    const afterDue = requests.filter(({ received, what }) => received >= due && !isEvent(what));
    const all = requests.filter(({ what }) => !isEvent(what));
    await cluster.empty(namespace);
    const last = Math.max(...lateness);
    return {
      pods: last,
      podsCpu: cpuAt(due + last) - cpuAt(due),
      requests: countByKind(requests),
      rows: [
        {
          what: 'requests per At from the due instant on',
          value: afterDue.length / count,
          unit: '',
          target: { atMost: 3 },
        },
        {
          what: 'requests per At in its whole life',
          value: all.length / count,
          unit: '',
          target: { atMost: 5 },
        },
        { what: 'GETs per At', value: ofVerb(all, 'get') / count, unit: '', target: { atMost: 0 } },
        { what: 'CPU per At from the due instant on', value: cpu / count, unit: 'ms' },
        { what: 'most RSS', value: memory.peak, unit: 'MB' },
      ],
    };
  } finally {
    end.abort();
    await operator.stop();
  }
}

/** A constant rate; each command ends as soon as its Pod is there. */
export async function steady(cluster: BenchCluster, rate: number, seconds: number): Promise<readonly Row[]> {
  const namespace = await cluster.namespace('steady');
  const count = rate * seconds;
  const operator = new MeasuredOperator(cluster.plane.kubeconfig);
  const end = new AbortController();
  try {
    await operator.ready;
    const start = nextSecond(15_000 + (3 * count * 1000) / requestsPerSecond);
    const scheduleOf = (index: number) => start + Math.round((index * 1000) / rate);
    await cluster.createAts(namespace, count, scheduleOf);
    await cluster.untilAccepted(namespace);
    await operator.untilQuiet();
    const before = await operator.cpu();
    const kubelet = endPodsAsTheyCome(cluster, namespace, end.signal);
    await sleep(scheduleOf(count) - Date.now());
    await cluster.untilNone(namespace, 'status.phase!=DONE');
    end.abort();
    await kubelet;
    const cpu = (await operator.cpu()) - before;
    const requests = await requestsIn(cluster, namespace);
    const lateness = latenessOf(requests, count, scheduleOf);
    const afterDue = requests.filter(
      ({ what, name, received }) => !isEvent(what) && received >= scheduleOf(indexOf(name)),
    );
    await cluster.empty(namespace);
    return [
      { what: 'lateness, smallest', value: Math.min(...lateness), unit: 'ms', target: { atLeast: 0 } },
      { what: 'lateness, p50', value: percentile(lateness, 0.5), unit: 'ms', target: { atMost: 20 } },
      { what: 'lateness, p90', value: percentile(lateness, 0.9), unit: 'ms' },
      { what: 'lateness, p99', value: percentile(lateness, 0.99), unit: 'ms', target: { atMost: 60 } },
      { what: 'lateness, p99.9', value: percentile(lateness, 0.999), unit: 'ms' },
      { what: 'lateness, largest', value: Math.max(...lateness), unit: 'ms' },
      {
        what: 'requests per At from its due instant on',
        value: afterDue.length / count,
        unit: '',
        target: { atMost: 3 },
      },
      { what: 'CPU per At', value: cpu / count, unit: 'ms' },
    ];
  } finally {
    end.abort();
    await operator.stop();
  }
}

/** Many Ats that wait for a day: accepted by one process, found by the next one, which then idles. */
export async function waiting(cluster: BenchCluster, count: number): Promise<readonly Row[]> {
  const isMany = count > 10_000;
  const namespace = await cluster.namespace('waiting');
  const farAway = nextSecond(24 * 3_600_000);
  const first = new MeasuredOperator(cluster.plane.kubeconfig);
  try {
    await first.ready;
    await cluster.createAts(namespace, count, () => farAway);
    await cluster.untilAccepted(namespace);
    await first.untilQuiet();
  } finally {
    await first.stop();
  }
  const missed = await cluster.namespace('missed');
  await cluster.createAts(missed, 1, () => Date.now());
  const operator = new MeasuredOperator(cluster.plane.kubeconfig);
  try {
    const ready = await operator.ready;
    const quietAt = await operator.untilQuiet();
    const start = await operator.cpu();
    // It collects the garbage of its start in the first moments without work.
    await sleep(25_000);
    const [since, before] = [Date.now(), await operator.cpu()];
    await sleep(30_000);
    const seconds = (Date.now() - since) / 1000;
    const [cpu, memory] = [(await operator.cpu()) - before, await operator.memory()];
    const all = await requestsOf(cluster.plane.auditLog ?? '', operatorAgent);
    const idle = all.filter(({ received }) => received >= since);
    const overdue = all.find(({ what, namespace: at }) => what === 'create pods' && at === missed);
    return [
      { what: 'start to ready', value: ready / 1000, unit: 's' },
      {
        what: 'start to the first overdue Pod',
        value: ((overdue?.received ?? Number.NaN) - operator.startedAt) / 1000,
        unit: 's',
      },
      {
        what: 'start to listed, decided and armed',
        value: (quietAt - operator.startedAt) / 1000,
        unit: 's',
        ...(isMany ? {} : { target: { atMost: 2 } }),
      },
      { what: 'CPU until then', value: start / 1000, unit: 's' },
      { what: 'RSS', value: memory.now, unit: 'MB', target: { atMost: isMany ? 200 : 90 } },
      { what: 'CPU', value: cpu / seconds / 10, unit: '% of a core', target: { atMost: 0.5 } },
      { what: 'requests', value: idle.length / seconds, unit: '/s', target: { atMost: 1 } },
    ];
  } finally {
    await operator.stop();
  }
}

export async function requestsIn(cluster: BenchCluster, name: string): Promise<readonly AuditedRequest[]> {
  const all = await requestsOf(cluster.plane.auditLog ?? '', operatorAgent);
  return all.filter(({ namespace }) => namespace === name);
}

/**
 * Milliseconds from each schedule to the receipt of its Pod create.
 *
 * @throws {Error} when a Pod was created early, twice, or not at all.
 */
function latenessOf(
  requests: readonly AuditedRequest[],
  count: number,
  scheduleOf: (index: number) => number,
): number[] {
  const creates = requests.filter(({ what }) => what === 'create pods');
  const names = new Set(creates.map(({ name }) => name));
  if (creates.length !== count || names.size !== count) {
    throw new Error(`${count} Ats, ${creates.length} Pod creates of ${names.size} names`);
  }
  const lateness = creates.map(({ name, received }) => received - scheduleOf(indexOf(name)));
  const early = lateness.filter((ms) => ms < 0).length;
  if (early > 0)
    throw new Error(`${early} Pods were created early, the first by ${-Math.min(...lateness)} ms`);
  return lateness;
}

/** Of `at-17` and of `at-17-pod`. */
function indexOf(name: string): number {
  return Number(name.split('-')[1]);
}

export function isEvent(what: string): boolean {
  return what.split(' ')[1] === 'events';
}

function ofVerb(requests: readonly AuditedRequest[], verb: string): number {
  return requests.filter(({ what }) => what.startsWith(`${verb} `)).length;
}

/** The next full second that is at least so many milliseconds ahead. */
export function nextSecond(ahead: number): number {
  return Math.ceil((Date.now() + ahead) / 1000) * 1000;
}

async function endPodsAsTheyCome(cluster: BenchCluster, namespace: string, end: AbortSignal): Promise<void> {
  try {
    const events = await cluster.client.watch(pods, { namespace, timeoutSeconds: 3600, signal: end });
    for await (const event of events) {
      if (event.type === 'ADDED') await cluster.endPod(event.object);
    }
  } catch (error) {
    if (!end.aborted) throw error;
  }
}
