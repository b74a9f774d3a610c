/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createManager, type KubernetesObject, type Resource } from '@atwatch/runtime';
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

const resourceQuotas: Resource<KubernetesObject & { spec: object }> = {
  ...{ group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true },
};
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

/** A quota that a cluster's own controller has counted for already. */
function createQuota(cluster: TestCluster, most: number): void {
  const hard = { pods: String(most) };
  cluster.create(resourceQuotas, { metadata: key, spec: { hard } });
  cluster.patchStatus(resourceQuotas, key, { hard, used: { pods: '0' } });
}

test('creates in batches of 1, 2, 4, 8, each when the one before is answered', async () => {
  const { cluster } = startOperator();
  const batches: number[] = [];
  let open = 0;
  let size = 0;
  cluster.cluster.api.intercept = ({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/pods') || ++size === 0) return undefined;
    open++;
    // Answered only after all of its batch have come.
    return { kind: 'delay', ms: 100 };
  };
  cluster.cluster.api.onRequest(({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/pods') || --open > 0) return;
    batches.push(size);
    size = 0;
  });
  cluster.create(podSets, { metadata: key, spec: { replicas: 20, template } });
  await cluster.until(() => readyOf(cluster) === 20);
  assert.deepEqual(batches, [1, 2, 4, 8, 5]);
});

test('asks for one Pod at a time while a quota refuses them', async () => {
  const { cluster } = startOperator();
  createQuota(cluster, 3);
  const count = countPods(cluster);
  cluster.create(podSets, { metadata: key, spec: { replicas: 100, template } });
  await cluster.until(() => podsOf(cluster).length === 3);
  const before = count.asked;
  await cluster.pass(60_000);
  assert.equal(count.most, 3);
  assert.ok(count.asked - before < 30, `${count.asked - before} requests in a minute`);
  assert.equal(cluster.get(podSets, key).status?.replicas, 3);
  cluster.delete(resourceQuotas, key);
  await cluster.until(() => readyOf(cluster) === 100, 600_000);
  assert.equal(count.most, 100);
});

test('counts right while the watch is 5 s late', async () => {
  const { cluster } = startOperator();
  cluster.cluster.api.cache.lag = () => 5000;
  const count = countPods(cluster);
  cluster.create(podSets, { metadata: key, spec: { replicas: 10, template } });
  await cluster.until(() => readyOf(cluster) === 10);
  cluster.patch(podSets, key, { spec: { replicas: 3 } });
  await cluster.until(() => podsOf(cluster).length === 3);
  cluster.patch(podSets, key, { spec: { replicas: 6 } });
  await cluster.until(() => readyOf(cluster) === 6 && podsOf(cluster).length === 6);
  await cluster.pass(30_000);
  assert.deepEqual(count, { most: 10, asked: 13 });
});

test('makes no Pod too many when it is killed after any one of its creations', async () => {
  for (let nth = 1; nth <= 8; nth++) {
    const { cluster, replica } = startOperator(nth);
    const count = countPods(cluster);
    cluster.cluster.api.onRequest(({ method, path }) => {
      if (method === 'POST' && path.endsWith('/pods') && count.asked === nth) replica.process?.kill();
    });
    cluster.create(podSets, { metadata: key, spec: { replicas: 8, template } });
    await cluster.until(() => readyOf(cluster) === 8);
    await cluster.pass(30_000);
    assert.equal(replica.ends.length, 1);
    assert.deepEqual([podsOf(cluster).length, count.most], [8, 8], `killed after creation ${nth}`);
  }
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
