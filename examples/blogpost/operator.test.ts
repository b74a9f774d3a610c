/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createManager } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { configMaps } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { blogPosts } from './types.generated.ts';

const crd = readFileSync(new URL('crd.yaml', import.meta.url), 'utf8');
const key = { namespace: 'default', name: 'hello' };

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed, crds: [crd] });
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'blogposts-operator', leaderElection: true, ...options });
      addController(manager);
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, replica };
}

const pageOf = (cluster: TestCluster) => cluster.find(configMaps, key)?.data?.content;
const phaseOf = (cluster: TestCluster) => cluster.get(blogPosts, key).status?.phase;
const hour = 3_600_000;
const soon = 120_000;
const inMs = (cluster: TestCluster, ms: number) => new Date(cluster.now + ms).toISOString();
const text = { title: 'Hello', content: 'world' };

test('is published at its instant, neither before nor much later', async () => {
  const { cluster } = startOperator();
  const due = cluster.now + hour;
  cluster.create(blogPosts, { metadata: key, spec: { ...text, publishedAt: inMs(cluster, hour) } });
  await cluster.until(() => phaseOf(cluster) === 'Scheduled');
  await cluster.until(() => pageOf(cluster) !== undefined, 2 * hour);
  assert.ok(cluster.now >= due && cluster.now < due + 1000, `${cluster.now - due} ms late`);
  await cluster.until(() => phaseOf(cluster) === 'Published');
});

test('is edited, taken back to a draft, and published again', async () => {
  const { cluster } = startOperator();
  const publishedAt = '2020-01-01T00:00:00Z';
  cluster.create(blogPosts, { metadata: key, spec: { ...text, publishedAt } });
  await cluster.until(() => pageOf(cluster) === 'world');
  cluster.patch(blogPosts, key, { spec: { content: 'everyone' } });
  await cluster.until(() => pageOf(cluster) === 'everyone');
  cluster.patch(blogPosts, key, { spec: { publishedAt: null } });
  await cluster.until(() => pageOf(cluster) === undefined && phaseOf(cluster) === 'Draft');
  cluster.patch(blogPosts, key, { spec: { publishedAt } });
  await cluster.until(() => pageOf(cluster) === 'everyone' && phaseOf(cluster) === 'Published');
});

test('leaves a ConfigMap alone that is not its own', async () => {
  const { cluster } = startOperator();
  cluster.create(configMaps, { metadata: key, data: { content: 'mine' } });
  cluster.create(blogPosts, { metadata: key, spec: { ...text, publishedAt: '2020-01-01T00:00:00Z' } });
  await cluster.until(() => cluster.get(blogPosts, key).status?.conditions?.[0]?.reason === 'NameTaken');
  assert.equal(pageOf(cluster), 'mine');
});

test('is never early, whatever the network loses and whenever the operator is killed', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { cluster, replica } = startOperator(seed);
    const due = cluster.now + soon;
    const calm = cluster.disturb();
    cluster.create(blogPosts, { metadata: key, spec: { ...text, publishedAt: inMs(cluster, soon) } });
    await cluster.pass(soon - seed * 1000);
    replica.process?.kill();
    assert.equal(pageOf(cluster), undefined);
    await cluster.pass(30_000);
    calm();
    await cluster.until(() => phaseOf(cluster) === 'Published' && pageOf(cluster) === 'world');
    assert.ok(cluster.now >= due);
  }
});
