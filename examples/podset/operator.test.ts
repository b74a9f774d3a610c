/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createManager, type KubernetesObject } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { pods } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { podSets } from './types.generated.ts';

const crd = readFileSync(new URL('crd.yaml', import.meta.url), 'utf8');
const key = { namespace: 'default', name: 'hello' };

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed, crds: [crd], nodes: 2 });
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'podsets-operator', leaderElection: true, ...options });
      addController(manager);
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, replica };
}

const template = {
  spec: { containers: [{ name: 'main', image: 'busybox', command: ['sleep', 'infinity'] }] },
};
const podsOf = (cluster: TestCluster) =>
  cluster.list(pods).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const readyOf = (cluster: TestCluster) => cluster.get(podSets, key).status?.readyReplicas;

/** The most Pods there ever were, and how many were asked for. */
function countPods(cluster: TestCluster) {
  const count = { most: 0, asked: 0 };
  cluster.cluster.access.changes.onChange(() => {
    count.most = Math.max(count.most, podsOf(cluster).length);
  });
  cluster.cluster.api.onRequest(({ method, path }) => {
    if (method === 'POST' && path.endsWith('/pods')) count.asked++;
  });
  return count;
}

test('has exactly so many Pods at each scale, and no more on the way', async () => {
  const { cluster } = startOperator();
  const count = countPods(cluster);
  cluster.create(podSets, { metadata: key, spec: { replicas: 10, template } });
  await cluster.until(() => readyOf(cluster) === 10);
  cluster.patch(podSets, key, { spec: { replicas: 3 } });
  await cluster.until(() => podsOf(cluster).length === 3 && readyOf(cluster) === 3);
  for (const { metadata } of podsOf(cluster)) cluster.delete(pods, { ...key, name: metadata.name });
  await cluster.until(() => readyOf(cluster) === 3 && podsOf(cluster).length === 3);
  assert.deepEqual(count, { most: 10, asked: 13 });
});

test('asks for one Pod at a time while a quota refuses them', async () => {
  const { cluster } = startOperator();
  const quotas = {
    group: '',
    version: 'v1',
    plural: 'resourcequotas',
    kind: 'ResourceQuota',
    namespaced: true,
  };
  cluster.create<KubernetesObject & { spec: object }>(quotas, {
    metadata: key,
    spec: { hard: { pods: '3' } },
  });
  cluster.patchStatus(quotas, key, { hard: { pods: '3' }, used: { pods: '0' } });
  const count = countPods(cluster);
  cluster.create(podSets, { metadata: key, spec: { replicas: 100, template } });
  await cluster.until(() => podsOf(cluster).length === 3);
  const before = count.asked;
  await cluster.pass(60_000);
  assert.equal(count.most, 3);
  assert.ok(count.asked - before < 30, `${count.asked - before} requests in a minute`);
});

test('has exactly so many in the end, whatever is lost and whenever it is killed', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { cluster, replica } = startOperator(seed);
    const calm = cluster.disturb();
    cluster.create(podSets, { metadata: key, spec: { replicas: 8, template } });
    await cluster.pass(seed * 300);
    replica.process?.kill();
    await cluster.pass(30_000);
    calm();
    await cluster.until(() => podsOf(cluster).length === 8 && readyOf(cluster) === 8);
    await cluster.pass(30_000);
    assert.equal(podsOf(cluster).length, 8);
  }
});
