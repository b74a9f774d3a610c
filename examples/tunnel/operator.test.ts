/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllerManagedBy, createManager, hasFinalizer, type Manager } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { deployments } from '@atwatch/runtime/types/apps';
import { services } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { finalizer, machineOf } from './decide.ts';
import { address, key, liveThrough, service } from './killed-operator.ts';
import type { Machines } from './machines.ts';

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed });
  /** The machines that there are, and how many were made without a record. */
  const machines = new Set<string>();
  const made = { count: 0, unrecorded: 0 };
  const provider = {
    ensure: async (name: string) => {
      const service = cluster.list(services).find((one) => machineOf(one) === name);
      if (!service || !hasFinalizer(service, finalizer)) made.unrecorded++;
      if (!machines.has(name)) made.count++;
      machines.add(name);
      return address;
    },
    remove: async (name: string) => {
      machines.delete(name);
    },
  };
  cluster.run(
    (options) => {
      const manager = createManager({ name: 'tunnel-operator', leaderElection: true, ...options });
      addController(manager, provider, 'tunnel:1');
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, machines, made };
}

const addressOf = (cluster: TestCluster) =>
  cluster.find(services, key)?.status?.loadBalancer?.ingress?.[0]?.ip;

test('gives a Service of its class a machine, a Deployment and an address, and takes them back', async () => {
  const { cluster, machines } = startOperator();
  cluster.create(services, service);
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

const shortened = (writes: readonly string[]) => writes.map((write) => write.replace(/ .*\//, ' '));

test('records the machine before it is made, and until it is gone', async () => {
  const { writes } = await liveThrough(addController);
  const child = machineOf({ metadata: { name: '', uid: '' } });
  const steps = shortened(writes).map((write) => write.replace(new RegExp(`${child}[-0-9a-f]+`), child));
  // Each pass asks for the machine, which is made once.
  assert.deepEqual(
    steps.filter((step, index) => step !== 'PUT machine' || steps.indexOf(step) === index),
    [
      'PATCH hello',
      'PUT machine',
      'POST deployments',
      'PATCH status',
      `DELETE ${child}`,
      'DELETE machine',
      'PATCH hello',
    ],
  );
});

for (const disturbance of ['killed', 'unheard'] as const) {
  test(`loses no machine when it is ${disturbance} at any one of its writes`, async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const { writes } = await liveThrough(addController, { seed });
      for (const [before, write] of writes.entries()) {
        const life = await liveThrough(addController, { seed, nth: before + 1, disturbance });
        assert.equal(life.writes[before], write);
        const { lost, made, unrecorded } = life;
        assert.deepEqual({ lost, made, unrecorded }, { lost: 0, made: 1, unrecorded: 0 }, write);
      }
    }
  });
}

/** What this operator avoids: no record, and the machine goes when the process sees the Service go. */
function addControllerWithoutRecord(manager: Manager, machines: Machines): void {
  const { lister } = manager.informers.informerFor(services);
  const { signal } = new AbortController();
  controllerManagedBy(manager)
    .named('tunnel')
    .watches(services, ({ type, object }) => {
      const { namespace = '', name } = object.metadata;
      if (type === 'delete') machines.remove(machineOf(object), signal).catch(() => {});
      return [{ namespace, name }];
    })
    .complete({
      async reconcile({ namespace, name }) {
        const service = lister.get(namespace, name);
        if (!service || service.status?.loadBalancer?.ingress) return {};
        const ip = await machines.ensure(machineOf(service), signal);
        const body = { status: { loadBalancer: { ingress: [{ ip }] } } };
        await manager.client.patchStatus(services, { namespace, name }, { type: 'merge', body });
        return {};
      },
    });
}

test('a machine is lost when a delete handler is what removes it', async () => {
  const { writes, lost } = await liveThrough(addControllerWithoutRecord);
  assert.deepEqual({ writes: writes.length, lost }, { writes: 3, lost: 0 });
  // Killed after its status write, it does not see the Service go.
  assert.equal((await liveThrough(addControllerWithoutRecord, { nth: 2 })).lost, 1);
});
