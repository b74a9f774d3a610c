/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManager, hasFinalizer } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { deployments } from '@atwatch/runtime/types/apps';
import { services } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { finalizer, loadBalancerClass, machineOf } from './decide.ts';

const key = { namespace: 'default', name: 'hello' };
const spec = { type: 'LoadBalancer', loadBalancerClass, ports: [{ port: 80 }] };
const address = '192.0.2.1';

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed });
  /** The machines that there are, and how many were made without a record. */
  const machines = new Set<string>();
  const made = { count: 0, unrecorded: 0 };
  /** Called after each write to the provider. */
  const hooks = { written: () => {} };
  const provider = {
    ensure: async (name: string) => {
      const service = cluster.list(services).find((one) => machineOf(one) === name);
      if (!service || !hasFinalizer(service, finalizer)) made.unrecorded++;
      if (!machines.has(name)) made.count++;
      machines.add(name);
      hooks.written();
      return address;
    },
    remove: async (name: string) => {
      machines.delete(name);
      hooks.written();
    },
  };
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'tunnel-operator', leaderElection: true, ...options });
      addController(manager, provider, 'tunnel:1');
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, replica, machines, made, hooks };
}

const addressOf = (cluster: TestCluster) =>
  cluster.find(services, key)?.status?.loadBalancer?.ingress?.[0]?.ip;

test('gives a Service of its class a machine, a Deployment and an address, and takes them back', async () => {
  const { cluster, machines } = startOperator();
  cluster.create(services, { metadata: key, spec });
  await cluster.until(() => addressOf(cluster) === address);
  assert.equal(machines.size, 1);
  assert.equal(cluster.list(deployments).length, 1);
  cluster.delete(services, key);
  await cluster.until(() => cluster.find(services, key) === undefined);
  assert.equal(machines.size, 0);
  await cluster.until(() => cluster.list(deployments).length === 0);
});

test('leaves Services of other classes alone', async () => {
  const { cluster, made } = startOperator();
  cluster.create(services, { metadata: key, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } });
  await cluster.pass(60_000);
  assert.equal(made.count, 0);
  assert.equal(hasFinalizer(cluster.get(services, key), finalizer), false);
});

test('loses no machine, whichever write it is killed after', async () => {
  for (let nth = 1; nth <= 8; nth++) {
    const { cluster, replica, machines, made, hooks } = startOperator(nth);
    let writes = 0;
    const written = () => {
      if (++writes === nth) replica.process?.kill();
    };
    hooks.written = written;
    cluster.cluster.access.changes.onChange(written);
    cluster.create(services, { metadata: key, spec });
    await cluster.until(() => addressOf(cluster) === address);
    cluster.delete(services, key);
    await cluster.until(() => cluster.find(services, key) === undefined);
    assert.equal(machines.size, 0, `killed after write ${nth}`);
    assert.deepEqual(made, { count: 1, unrecorded: 0 }, `killed after write ${nth}`);
  }
});
