/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createManager, isConditionTrue } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { configMaps } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { notes } from './types.generated.ts';

const crd = readFileSync(new URL('crd.yaml', import.meta.url), 'utf8');
const key = { namespace: 'default', name: 'hello' };

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed, crds: [crd] });
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'notes-operator', leaderElection: true, ...options });
      addController(manager);
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, replica };
}

const textOf = (cluster: TestCluster) => cluster.find(configMaps, key)?.data?.text;
const isReady = (cluster: TestCluster) =>
  isConditionTrue(cluster.get(notes, key).status?.conditions, 'Ready');

test('writes the text, and writes it again', async () => {
  const { cluster } = startOperator();
  cluster.create(notes, { metadata: key, spec: { text: 'Hello' } });
  await cluster.until(() => textOf(cluster) === 'Hello' && isReady(cluster));
  cluster.patch(notes, key, { spec: { text: 'Good bye' } });
  await cluster.until(() => textOf(cluster) === 'Good bye');
  cluster.delete(configMaps, key);
  await cluster.until(() => textOf(cluster) === 'Good bye');
});

test('leaves a ConfigMap alone that is not its own', async () => {
  const { cluster } = startOperator();
  cluster.create(configMaps, { metadata: key, data: { text: 'mine' } });
  cluster.create(notes, { metadata: key, spec: { text: 'Hello' } });
  await cluster.until(() => cluster.get(notes, key).status?.conditions?.[0]?.reason === 'NameTaken');
  assert.equal(textOf(cluster), 'mine');
});

test('is done in the end, whatever the network loses and whenever it is killed', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { cluster, replica } = startOperator(seed);
    const calm = cluster.disturb();
    cluster.create(notes, { metadata: key, spec: { text: 'Hello' } });
    await cluster.pass(seed * 500);
    replica.process?.kill();
    await cluster.pass(20_000);
    calm();
    await cluster.until(() => textOf(cluster) === 'Hello' && isReady(cluster));
  }
});
