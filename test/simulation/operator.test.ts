import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OperatorCluster } from './operator-cluster.ts';

const minute = 60_000;

/** Three replicas, one of which leads. */
async function started(seed = 'seed'): Promise<OperatorCluster> {
  const cluster = new OperatorCluster({ replicas: 3, seed });
  cluster.startReplicas();
  await cluster.until(() => cluster.leader !== undefined, minute);
  return cluster;
}

describe('the shipped operator in a simulated cluster', () => {
  it('runs the command of an At when it is due', async () => {
    const cluster = await started();
    cluster.createAt('hello', 30_000);
    await cluster.until(() => cluster.pods().length === 1, 31_000);
    await cluster.until(() => cluster.at('hello')?.status?.phase === 'DONE', minute);
    assert.equal(cluster.pods().length, 1);
  });

  it('restarts a Pod when its ConfigMap is edited', async () => {
    const cluster = await started();
    cluster.createWatched('web');
    await cluster.pass(minute);
    const [before] = cluster.pods();
    cluster.editConfigMap('web', 'two');
    await cluster.until(() => cluster.pods()[0]?.metadata.uid !== before?.metadata.uid, minute);
    await cluster.until(() => cluster.watcher('web')?.status?.lastRestart?.restarted === 1, minute);
    assert.equal(cluster.pods().length, 1);
  });

  it('goes on with another leader within 20 s when the leader is killed', async () => {
    const cluster = await started();
    cluster.createAt('hello', 25_000);
    await cluster.pass(5000);
    const before = cluster.leader;
    before?.process?.kill();
    await cluster.until(() => cluster.leader !== before, 20_000);
    await cluster.until(() => cluster.at('hello')?.status?.phase === 'DONE', minute);
    assert.equal(cluster.pods().length, 1);
    await cluster.pass(minute);
    assert.deepEqual(
      [...cluster.replicas.values()].map(({ ends }) => ends.map(({ code }) => code)),
      [...cluster.replicas.values()].map((replica) => (replica === before ? [137] : [])),
    );
  });

  it('hands the lease over at once when the leader is asked to end', async () => {
    const cluster = await started();
    await cluster.pass(5000);
    const before = cluster.leader;
    before?.process?.signal('SIGTERM');
    await cluster.until(() => before?.ends.length === 1, 1000);
    assert.equal(before?.ends[0]?.code, 0, before?.ends[0]?.stderr);
    await cluster.until(() => cluster.leader !== undefined && cluster.leader !== before, 3000);
  });

  it('writes nothing after it was stopped for longer than its lease', async () => {
    const cluster = await started();
    await cluster.pass(5000);
    const before = cluster.leader;
    const stopped = before?.process;
    stopped?.stop();
    cluster.createAt('hello', 30_000);
    cluster.createWatched('web');
    await cluster.until(() => cluster.leader !== before, 20_000);
    await cluster.pass(20_000);
    const at = cluster.simulation.elapsed;
    stopped?.continue();
    await cluster.until(() => stopped?.end !== undefined, 1000);
    assert.equal(stopped?.end?.code, 1);
    assert.match(stopped?.end?.stderr ?? '', /lost the leader lease/);
    await cluster.pass(minute);
    const own = cluster.writes.filter((write) => write.at >= at && write.process === stopped?.name);
    assert.deepEqual(own, []);
    assert.equal(cluster.at('hello')?.status?.phase, 'DONE');
  });

  it('does everything over a bad network, too', async () => {
    const cluster = new OperatorCluster({ replicas: 3, seed: 'bad network' });
    for (const { link } of cluster.replicas.values()) {
      link.faultRates = {
        requestLost: 0.03,
        answerLost: 0.03,
        cut: 0.03,
        drip: 0.03,
        delay: 0.05,
        page: 0.03,
      };
      link.latency = { usual: 20, slow: 8000, slowChance: 0.02 };
    }
    cluster.startReplicas();
    for (let i = 0; i < 5; i++) {
      cluster.createAt(`at-${i}`, minute + 1000 * i);
      cluster.createWatched(`web-${i}`);
    }
    await cluster.pass(10 * minute);
    const old = new Set(cluster.pods().map(({ metadata }) => metadata.uid));
    for (let i = 0; i < 5; i++) cluster.editConfigMap(`web-${i}`, 'two');
    // A leader that ends in between takes the count of what it has restarted with it.
    const done = (i: number) =>
      cluster.at(`at-${i}`)?.status?.phase === 'DONE' &&
      cluster.watcher(`web-${i}`)?.status?.lastRestart?.completionTime !== undefined &&
      cluster.pods().some(({ metadata: { name, uid } }) => name.startsWith(`web-${i}-`) && !old.has(uid));
    await cluster.until(() => [0, 1, 2, 3, 4].every(done), 30 * minute);
    assert.equal(cluster.pods().length, 10);
  });

  it('goes on after a partition of the leader', async () => {
    const cluster = await started();
    await cluster.pass(5000);
    const before = cluster.leader;
    before?.link.partition();
    cluster.createAt('hello', 1000);
    await cluster.until(() => cluster.leader !== before, 20_000);
    await cluster.until(() => cluster.at('hello')?.status?.phase === 'DONE', minute);
    before?.link.heal();
    await cluster.pass(minute);
    assert.equal(before?.ends[0]?.code, 1);
    assert.ok(before?.process !== undefined);
    assert.equal(cluster.pods().length, 1);
  });
});
