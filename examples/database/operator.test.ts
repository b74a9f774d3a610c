/** The operator in a simulated cluster: no socket, no waiting, faults from a seed. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createManager } from '@atwatch/runtime';
import { TestCluster } from '@atwatch/runtime/testing';
import { statefulSets } from '@atwatch/runtime/types/apps';
import { pods, secrets, services } from '@atwatch/runtime/types/core';
import { addController } from './controller.ts';
import { databases } from './types.generated.ts';

const crd = readFileSync(new URL('crd.yaml', import.meta.url), 'utf8');
const key = { namespace: 'default', name: 'hello' };
const passwordKey = { ...key, name: 'hello-password' };
const spec = { version: '17.2', storage: '1Gi' };

function startOperator(seed = 1) {
  const cluster = new TestCluster({ seed, crds: [crd], nodes: 1 });
  const replica = cluster.run(
    (options) => {
      const manager = createManager({ name: 'databases-operator', leaderElection: true, ...options });
      addController(manager);
      return manager;
    },
    { restartAfter: 1000 },
  );
  return { cluster, replica };
}

const reasonOf = (cluster: TestCluster) => cluster.find(databases, key)?.status?.conditions?.[0]?.reason;
const isReady = (cluster: TestCluster) => reasonOf(cluster) === 'Available';
const passwordIn = (cluster: TestCluster) => cluster.find(secrets, passwordKey)?.data?.password;

test('runs a server with a password, an address and a volume', async () => {
  const { cluster } = startOperator();
  cluster.create(databases, { metadata: key, spec });
  await cluster.until(() => isReady(cluster));
  assert.equal(cluster.get(databases, key).status?.host, 'hello.default.svc');
  const [pod] = cluster.list(pods);
  assert.equal(pod?.spec?.containers[0]?.image, 'postgres:17.2');
  const [claim] = cluster.get(statefulSets, key).spec?.volumeClaimTemplates ?? [];
  assert.equal(claim?.spec?.resources?.requests?.storage, '1Gi');
  assert.equal(Buffer.from(passwordIn(cluster) ?? '', 'base64').length, 24);
  for (const child of [cluster.get(secrets, passwordKey), cluster.get(services, key)]) {
    assert.equal(child.metadata.ownerReferences?.[0]?.uid, cluster.get(databases, key).metadata.uid);
  }
});

test('takes another minor version, and keeps the password', async () => {
  const { cluster } = startOperator();
  cluster.create(databases, { metadata: key, spec });
  await cluster.until(() => isReady(cluster));
  const before = cluster.get(secrets, passwordKey);
  cluster.patch(databases, key, { spec: { version: '17.4' } });
  await cluster.until(() => !isReady(cluster));
  await cluster.until(() => isReady(cluster));
  assert.equal(cluster.list(pods)[0]?.spec?.containers[0]?.image, 'postgres:17.4');
  assert.deepEqual(cluster.get(secrets, passwordKey), before);
});

test('what would lose the data is refused', () => {
  const { cluster } = startOperator();
  cluster.create(databases, { metadata: key, spec });
  const refused = {
    'another major version': { version: '18.1' },
    'keeps its size': { storage: '2Gi' },
    'spec.version': { version: 'latest' },
    'spec.storage': { storage: 'much' },
  };
  for (const [message, change] of Object.entries(refused)) {
    assert.throws(() => cluster.patch(databases, key, { spec: change }), new RegExp(message));
  }
  const long = { ...key, name: 'x'.repeat(51) };
  assert.throws(() => cluster.create(databases, { metadata: long, spec }), /at most 50 characters/);
});

test('makes no second password for data that were made with the first', async () => {
  const { cluster } = startOperator();
  cluster.create(databases, { metadata: key, spec });
  await cluster.until(() => isReady(cluster));
  const { data = {} } = cluster.get(secrets, passwordKey);
  cluster.delete(secrets, passwordKey);
  await cluster.until(() => reasonOf(cluster) === 'PasswordLost');
  assert.equal(passwordIn(cluster), undefined);
  cluster.create(secrets, { metadata: passwordKey, data });
  await cluster.until(() => isReady(cluster));
  assert.equal(passwordIn(cluster), data.password);
});

test('leaves alone what is not its own, also when it is deleted', async () => {
  const { cluster } = startOperator();
  const selector = { matchLabels: { app: 'mine' } };
  const template = {
    metadata: { labels: selector.matchLabels },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  };
  cluster.create(statefulSets, { metadata: key, spec: { selector, template, replicas: 0 } });
  cluster.create(databases, { metadata: key, spec });
  await cluster.until(() => reasonOf(cluster) === 'NameTaken');
  cluster.delete(databases, key);
  await cluster.until(() => cluster.find(databases, key) === undefined);
  assert.deepEqual(cluster.get(statefulSets, key).spec?.selector, selector);
  assert.equal(passwordIn(cluster), undefined);
});

test('stops the server before its Service and its Secret go', async () => {
  const { cluster } = startOperator();
  cluster.create(databases, { metadata: key, spec });
  await cluster.until(() => isReady(cluster));
  const order: string[] = [];
  cluster.cluster.access.changes.onChange(({ type, resource: { kind } }) => {
    if (type === 'DELETED') order.push(kind);
  });
  cluster.delete(databases, key);
  await cluster.until(() => cluster.list(secrets).length === 0 && cluster.list(services).length === 0);
  const kinds = ['Pod', 'StatefulSet', 'Database', 'Secret', 'Service'];
  assert.deepEqual(order.filter((kind) => kinds.includes(kind)).slice(0, 3), kinds.slice(0, 3));
});

test('has one password and leaves nothing behind, whatever is lost and whenever it is killed', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { cluster, replica } = startOperator(seed);
    const passwords = new Set<string | undefined>();
    cluster.cluster.access.changes.onChange(({ resource }) => {
      if (resource.kind === 'Secret' && passwordIn(cluster)) passwords.add(passwordIn(cluster));
    });
    let calm = cluster.disturb();
    cluster.create(databases, { metadata: key, spec });
    await cluster.pass(seed * 200);
    replica.process?.kill();
    await cluster.pass(30_000);
    calm();
    await cluster.until(() => isReady(cluster));
    assert.equal(passwords.size, 1);
    calm = cluster.disturb();
    cluster.delete(databases, key);
    await cluster.pass(seed * 200);
    replica.process?.kill();
    await cluster.pass(30_000);
    calm();
    await cluster.until(() => cluster.find(databases, key) === undefined);
    await cluster.until(() => cluster.list(secrets).length + cluster.list(pods).length === 0);
  }
});
