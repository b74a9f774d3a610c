import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConfigMap, configMaps } from '../../src/kubernetes/objects.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { createManager } from '../../src/runtime/manager/create-manager.ts';
import { type ReplicaOptions, SimulatedCluster } from '../../src/testing/simulated-cluster.ts';
import type { SimulatedReplica } from '../../src/testing/simulated-replica.ts';

const plain = { status: false, generation: false, conditionalUpdate: false } as const;

function newCluster() {
  const resources = [
    { ...configMaps, ...plain },
    { ...leases, ...plain },
  ];
  return new SimulatedCluster({ seed: 'seed', resources, instances: 2 });
}

/** A replica of an operator that sees ConfigMaps; what it has seen goes into the list. */
function addReplica(cluster: SimulatedCluster, seen: string[], options?: ReplicaOptions): SimulatedReplica {
  return cluster.addReplica(
    'one',
    (ports) => {
      const manager = createManager({
        ...ports,
        ...{ name: 'example', kubeConfig: cluster.kubeConfig, log: silentLogger, processMetrics: false },
        leaderElection: true,
      });
      const add = ({ metadata, data }: ConfigMap) => seen.push(`${metadata.name}=${data?.key}`);
      manager.informers.informerFor(configMaps).addHandler({ onAdd: add, onUpdate: (_, now) => add(now) });
      return manager;
    },
    options,
  );
}

function put(cluster: SimulatedCluster, name: string, key: string): void {
  const object = { metadata: { name }, data: { key } };
  const target = `/api/v1/namespaces/default/configmaps`;
  const answer = cluster.access.writes.request('me', 'POST', target, object);
  assert.equal(answer.code, 201, answer.body);
}

describe('SimulatedCluster', () => {
  it('runs a replica of any operator', async () => {
    const cluster = newCluster();
    const seen: string[] = [];
    addReplica(cluster, seen).start();
    put(cluster, 'before', '1');
    await cluster.until(() => seen.length === 1, 10_000);
    put(cluster, 'after', '2');
    await cluster.until(() => seen.length === 2, 1000);
    assert.deepEqual(seen, ['before=1', 'after=2']);
    await cluster.until(() => cluster.access.view.list(leases).length === 1, 10_000);
  });

  it('starts a replica again when its process has ended, with new ports and the old clocks', async () => {
    const cluster = newCluster();
    const replica = addReplica(cluster, [], { restartAfter: 3000, clocks: { skew: 60_000 } });
    const names: string[] = [];
    replica.onStart(({ name }) => names.push(name));
    replica.start();
    replica.start();
    await cluster.pass(10_000);
    const isAlive = () => replica.process !== undefined;
    assert.equal(replica.process?.ports.clock.now(), cluster.simulation.now + 60_000);
    replica.process?.kill();
    assert.equal(isAlive(), false);
    await cluster.pass(2999);
    assert.equal(isAlive(), false);
    await cluster.pass(1);
    assert.deepEqual(names, ['one#1', 'one#2']);
    assert.equal(replica.process?.ports.clock.now(), cluster.simulation.now + 60_000);
    assert.deepEqual(
      replica.ends.map(({ code }) => code),
      [137],
    );
  });

  it('ends a wait that would last too long', async () => {
    const cluster = newCluster();
    await assert.rejects(
      cluster.until(() => false, 5000),
      /not within 5000 simulated ms/,
    );
    assert.equal(cluster.simulation.elapsed, 5000);
  });
});
