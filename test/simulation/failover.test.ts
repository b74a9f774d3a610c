/** Launches by standbys while no replica leads, in a simulated cluster. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { OperatorCluster } from './operator-cluster.ts';

const count = 40;
const gate = 'cnat.programming-kubernetes.info/recorded';

/** Accepted Ats that are due in a while, and three replicas, one of which leads. Resolves at the due instant. */
async function due(spec: object = {}, config: object = {}, lead = 0): Promise<OperatorCluster> {
  const cluster = new OperatorCluster({ replicas: 3, config });
  cluster.startReplicas();
  await cluster.until(() => cluster.leader !== undefined, 60_000);
  const schedule = new Date(Math.ceil(cluster.simulation.now / 1000) * 1000 + 20_000).toISOString();
  for (let index = 0; index < count; index++) {
    const at = { metadata: { name: `at-${index}` }, spec: { schedule, command: 'echo hello', ...spec } };
    cluster.create(ats as Resource<KubernetesObject>, at);
  }
  await cluster.pass(Date.parse(schedule) - cluster.simulation.now - lead);
  assert.equal(cluster.at(`at-${count - 1}`)?.status?.reason, 'Armed');
  return cluster;
}

/** Pods that were created for Ats since then, by the process that did. */
function creations(cluster: OperatorCluster): Map<string, number> {
  const created = new Map<string, number>();
  for (const { process = '', request, answer } of cluster.writes) {
    const isCreate =
      request.method === 'POST' && request.path.endsWith('/pods') && !request.query.has('dryRun');
    if (isCreate && answer.code === 201) created.set(process, (created.get(process) ?? 0) + 1);
  }
  return created;
}

const allDone = (cluster: OperatorCluster) => () =>
  Array.from({ length: count }, (_, index) => cluster.at(`at-${index}`)).every(
    (at) => at?.status?.phase === 'DONE',
  );

describe('a standby', () => {
  it('launches what falls due within 2 s after the leader was killed, and each At once', async () => {
    const cluster = await due({}, {}, 1);
    const before = cluster.leader?.process;
    before?.kill();
    await cluster.until(() => cluster.pods().length === count, 2500);
    await cluster.until(() => cluster.leader !== undefined && cluster.leader.process !== before, 25_000);
    await cluster.until(allDone(cluster), 60_000);
    assert.equal(
      [...creations(cluster).values()].reduce((sum, one) => sum + one),
      count,
    );
  });

  it('launches while the leader is stopped, which goes on without a second Pod', async () => {
    const cluster = await due({}, {}, 1);
    const stopped = cluster.leader?.process;
    stopped?.stop();
    await cluster.until(() => cluster.pods().length === count, 2500);
    await cluster.pass(3000);
    stopped?.continue();
    await cluster.until(allDone(cluster), 60_000);
    assert.equal(
      [...creations(cluster).values()].reduce((sum, one) => sum + one),
      count,
    );
    assert.equal(creations(cluster).get(stopped?.name ?? ''), undefined);
  });

  it('records and releases under ExactlyOnce, and writes nothing else', async () => {
    const cluster = await due({ launchGuarantee: 'ExactlyOnce' }, {}, 1);
    const before = cluster.writes.length;
    const leader = cluster.leader?.process?.name;
    cluster.leader?.process?.kill();
    const isReleased = () =>
      cluster.pods().length === count &&
      cluster.pods().every(({ spec }) => !spec.schedulingGates?.some(({ name }) => name === gate));
    await cluster.until(isReleased, 3500);
    const isOfStandby = ({ process }: { process: string | undefined }) => process !== leader;
    const sent = cluster.writes.slice(before).filter(isOfStandby);
    const kinds = sent.map(({ request: { method, path } }) => `${method} ${path.replace(/at-\d+/, '*')}`);
    const own = kinds.filter((kind) => !/\/(events|leases)/.test(kind));
    const namespace = '/namespaces/shop';
    assert.deepEqual(
      new Set(own),
      new Set([
        `POST /api/v1${namespace}/pods`,
        `PATCH /apis/cnat.programming-kubernetes.info/v1alpha1${namespace}/ats/*/status`,
        `PATCH /api/v1${namespace}/pods/*-pod`,
      ]),
    );
    assert.equal(own.length, 3 * count);
    assert.equal(
      kinds.some((kind) => kind.includes('/events')),
      false,
    );
  });

  it('launches nothing while another replica does', async () => {
    const cluster = await due();
    const leader = cluster.leader?.process?.name ?? '';
    await cluster.until(() => cluster.pods().length === count, 3000);
    await cluster.pass(5000);
    assert.deepEqual(creations(cluster), new Map([[leader, count]]));
  });

  it('launches nothing when that is switched off', async () => {
    const cluster = await due({}, { failoverLaunchDelay: 0 }, 1);
    cluster.leader?.process?.kill();
    await cluster.pass(5000);
    assert.equal(cluster.pods().length, 0);
  });
});
