/** Scenarios of the At benchmark in which something is in the way: the leader goes, or a quota refuses all Pods. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import type { AuditedRequest } from './at-audit.ts';
import type { BenchCluster } from './at-cluster.ts';
import { MeasuredOperator } from './at-process.ts';
import { isEvent, nextSecond, nullLoad, requestsIn, requestsPerSecond } from './at-scenarios.ts';
import type { Row } from './table.ts';

/** From the due instant of refused Ats until all of them say so, in milliseconds, and how long the rest is watched. */
const tellingMs = 75_000;
const watchedMs = 20_000;

/** Two replicas, the first of which leads and gets the signal in the instant in which `count` Ats fall due. */
export async function failover(
  cluster: BenchCluster,
  count: number,
  signal: 'SIGKILL' | 'SIGSTOP',
): Promise<readonly Row[]> {
  const name = `failover-${signal.toLowerCase()}`;
  const floor = (await nullLoad(cluster, `${name}-floor`, count)).pods;
  const namespace = await cluster.namespace(name);
  const options = { flags: ['--leader-elect'], env: { POD_NAMESPACE: namespace } };
  const leader = new MeasuredOperator(cluster.plane.kubeconfig, options);
  let standby: MeasuredOperator | undefined;
  try {
    await leader.leads;
    standby = new MeasuredOperator(cluster.plane.kubeconfig, options);
    await standby.ready;
    const due = nextSecond(15_000 + (3 * count * 1000) / requestsPerSecond);
    await cluster.createAts(namespace, count, () => due);
    await cluster.untilAccepted(namespace);
    await leader.untilQuiet();
    if (Date.now() > due) throw new Error('the preparation took too long: this machine is too busy');
    await sleep(due - Date.now());
    leader.send(signal);
    while ((await cluster.podsOf(namespace)).length < count) await sleep(1000);
    leader.send('SIGKILL');
    await cluster.untilNone(namespace, 'status.phase=PENDING');
    const creates = createdIn(await requestsIn(cluster, namespace));
    const last = Math.max(...creates.map(({ received }) => received)) - due;
    const names = new Set(creates.map((request) => request.name));
    await cluster.empty(namespace);
    return [
      { what: 'null loader: last Pod', value: floor / 1000, unit: 's' },
      { what: 'last Pod', value: last / 1000, unit: 's' },
      { what: 'beyond the null loader', value: (last - floor) / 1000, unit: 's', target: { atMost: 2 } },
      { what: 'second Pods', value: creates.length - names.size, unit: '', target: { atMost: 0 } },
    ];
  } finally {
    leader.send('SIGKILL');
    await standby?.stop();
  }
}

/** `count` due Ats in a namespace whose quota has no room for a Pod, until it is lifted. */
export async function refused(cluster: BenchCluster, count: number): Promise<readonly Row[]> {
  const floor = (await nullLoad(cluster, 'refused-floor', count)).pods;
  const namespace = await cluster.namespace('refused');
  const quota = { namespace, name: 'none' };
  const hard = { pods: '0' };
  await cluster.client.create(resourceQuotas, { metadata: quota, spec: { hard } });
  // There is no controller that would do it.
  const body = { status: { hard, used: hard } };
  await cluster.client.patchStatus(resourceQuotas, quota, { type: 'merge', body });
  const operator = new MeasuredOperator(cluster.plane.kubeconfig);
  try {
    await operator.ready;
    const due = nextSecond(15_000 + (3 * count * 1000) / requestsPerSecond);
    await cluster.createAts(namespace, count, () => due);
    await sleep(Math.max(0, due - Date.now()) + tellingMs);
    const since = Date.now();
    await sleep(watchedMs);
    const quiet = (await requestsIn(cluster, namespace)).filter(({ received }) => received >= since);
    const tries = quiet.filter(({ what }) => what === 'create pods').length;
    const others = quiet.filter(({ what }) => what !== 'create pods' && !isEvent(what)).length;
    const liftedAt = Date.now();
    await cluster.client.delete(resourceQuotas, quota);
    await cluster.untilNone(namespace, 'status.phase=PENDING');
    const creates = createdIn(await requestsIn(cluster, namespace));
    const last = Math.max(...creates.map(({ received }) => received)) - liftedAt;
    await cluster.empty(namespace);
    const seconds = watchedMs / 1000;
    return [
      { what: 'creates while refused', value: tries / seconds, unit: '/s', target: { atMost: 2 } },
      {
        what: 'other requests while refused, Events apart',
        value: others / seconds,
        unit: '/s',
        target: { atMost: 1 },
      },
      { what: 'null loader: last Pod', value: floor / 1000, unit: 's' },
      { what: 'last Pod, from the end of the quota on', value: last / 1000, unit: 's' },
      { what: 'beyond the null loader', value: (last - floor) / 1000, unit: 's', target: { atMost: 10 } },
    ];
  } finally {
    await operator.stop();
  }
}

/** The creates of Pods that made one. */
function createdIn(requests: readonly AuditedRequest[]): readonly AuditedRequest[] {
  return requests.filter(({ what, code }) => what === 'create pods' && code === 201);
}
