/** The controllers at work together: refusals, restarts of their process, and what they find afterwards. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps } from '../../../src/kubernetes/objects.ts';
import type { ClusterAccess } from '../../../src/testing/cluster-ports.ts';
import { startControllers } from '../../../src/testing/controllers/controller-manager.ts';
import { pods } from '../../../src/testing/objects.ts';
import { deployments, type ReplicaSet, replicaSets } from '../../../src/testing/workloads.ts';
import { TestCluster } from '../cluster.ts';

function web(replicas: number): object {
  const selector = { matchLabels: { app: 'web' } };
  const containers = [{ name: 'main', image: 'busybox', command: ['httpd'] }];
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers } };
  return { metadata: { name: 'web' }, spec: { replicas, selector, template } };
}

/** Refuses the creation of Pods while `full` says so, as a quota does. */
function withQuota(access: ClusterAccess, quota: { full: boolean; refused: number }): ClusterAccess {
  const { writes } = access;
  return {
    ...access,
    writes: {
      request(user, method, path, body, contentType) {
        if (quota.full && method === 'POST' && path.endsWith('/pods')) {
          quota.refused++;
          return { code: 403, body: JSON.stringify({ message: 'exceeded quota: compute' }) };
        }
        return writes.request(user, method, path, body, contentType);
      },
    },
  };
}

describe('The controllers', () => {
  it('try what is refused one at a time and ever more rarely, and go on when it is not', () => {
    const cluster = new TestCluster({ controllers: false });
    const quota = { full: true, refused: 0 };
    startControllers({ cluster: withQuota(cluster.access, quota), random: cluster.random });
    cluster.create(deployments, web(50));
    cluster.time.advance(3_600_000);
    assert.ok(quota.refused > 5 && quota.refused < 60, `${quota.refused} refusals in an hour`);
    const [set] = cluster.list(replicaSets);
    assert.equal(set?.status?.conditions?.[0]?.reason, 'FailedCreate');
    assert.equal(set?.status?.conditions?.[0]?.message, 'exceeded quota: compute');
    const failure = cluster
      .get(deployments, 'web')
      .status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
    assert.equal(failure?.reason, 'FailedCreate');
    quota.full = false;
    cluster.time.until(
      'all Pods',
      () => cluster.get(deployments, 'web').status?.availableReplicas === 50,
      1_200_000,
    );
    const conditions = cluster.get(deployments, 'web').status?.conditions ?? [];
    assert.equal(
      conditions.some(({ type }) => type === 'ReplicaFailure'),
      false,
    );
  });

  it('find after a restart of their process what happened meanwhile', () => {
    const cluster = new TestCluster({ controllers: false });
    const first = startControllers({ cluster: cluster.access, random: cluster.random.fork('first') });
    cluster.create(deployments, web(2));
    cluster.time.until('the rollout', () => cluster.get(deployments, 'web').status?.availableReplicas === 2);
    const owner = cluster.create(configMaps, { metadata: { name: 'owner' } });
    const { uid } = owner.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    cluster.create(configMaps, { metadata: { name: 'child', ownerReferences } });
    first.stop();
    cluster.delete(configMaps, 'owner');
    cluster.patch(deployments, 'web', { spec: { replicas: 3 } });
    cluster.time.advance(60_000);
    assert.ok(cluster.find(configMaps, 'child'));
    assert.equal(cluster.pods.length, 2);
    startControllers({ cluster: cluster.access, random: cluster.random.fork('second') });
    cluster.time.until('the end of the child', () => cluster.find(configMaps, 'child') === undefined);
    cluster.time.until(
      'the third Pod',
      () => cluster.get(deployments, 'web').status?.availableReplicas === 3,
    );
  });

  it('give a template whose name is taken another one', () => {
    const cluster = new TestCluster();
    cluster.create(deployments, web(1));
    cluster.time.until('the rollout', () => cluster.get(deployments, 'web').status?.availableReplicas === 1);
    const [set] = cluster.list(replicaSets);
    const { name } = (set as ReplicaSet).metadata;
    cluster.delete(deployments, 'web');
    cluster.time.until(
      'the end of all',
      () => cluster.pods.length === 0 && cluster.list(replicaSets).length === 0,
    );
    const foreign = {
      metadata: { name },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'b' } },
        template: {
          metadata: { labels: { app: 'b' } },
          spec: { containers: [{ name: 'main', image: 'busybox' }] },
        },
      },
    };
    cluster.create(replicaSets, foreign);
    cluster.create(deployments, web(1));
    cluster.time.until('the rollout', () => cluster.get(deployments, 'web').status?.availableReplicas === 1);
    assert.equal(cluster.get(deployments, 'web').status?.collisionCount, 1);
    assert.equal(cluster.list(replicaSets).length, 2);
  });

  it('keep the limit of old revisions', () => {
    const cluster = new TestCluster();
    const { spec, ...rest } = web(1) as { spec: object };
    cluster.create(deployments, { ...rest, spec: { ...spec, revisionHistoryLimit: 2 } });
    for (let version = 1; version <= 5; version++) {
      const annotations = { version: String(version) };
      cluster.patch(deployments, 'web', { spec: { template: { metadata: { annotations } } } });
      cluster.time.advance(120_000);
    }
    assert.equal(cluster.list(replicaSets).length, 3);
    const revisions = cluster
      .list(replicaSets)
      .map(({ metadata }) => metadata.annotations?.['deployment.kubernetes.io/revision']);
    assert.deepEqual(revisions.sort(), ['3', '4', '5']);
    assert.equal(cluster.list(pods).length, 1);
  });
});
