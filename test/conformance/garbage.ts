/** Rows about deletion: what goes with its owner and when, and what a budget keeps. */
import assert from 'node:assert/strict';
import { configMaps } from '../../src/kubernetes/objects.ts';
import { namespaces, pods } from '../../src/testing/objects.ts';
import { isReady } from '../../src/testing/pod-facts.ts';
import {
  deployments,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  replicaSets,
} from '../../src/testing/workloads.ts';
import { newPod, running, type WorkloadRow, type WorkloadSubject, workload } from './workload-subject.ts';

async function twoPods(subject: WorkloadSubject): Promise<void> {
  await subject.create(deployments, {
    metadata: { name: 'web' },
    spec: { replicas: 2, ...workload('web', '1') },
  });
  await subject.until('two Pods', async () => {
    const deployment = await subject.find(deployments, 'web');
    return deployment?.status?.availableReplicas === 2;
  });
}

async function budget(
  subject: WorkloadSubject,
  settled: (status: NonNullable<PodDisruptionBudget['status']>) => boolean,
): Promise<NonNullable<PodDisruptionBudget['status']>> {
  return subject.until('the status of the budget', async () => {
    const { status } = (await subject.find(podDisruptionBudgets, 'web')) ?? {};
    return status !== undefined && settled(status) && status;
  });
}

export const garbageRows: readonly WorkloadRow[] = [
  {
    title: 'background: the owner goes at once, what it owns after it',
    async run(subject) {
      await twoPods(subject);
      await subject.delete(deployments, 'web', { propagationPolicy: 'Background' });
      assert.equal(await subject.find(deployments, 'web'), undefined);
      await subject.until(
        'the end of the ReplicaSet',
        async () => (await subject.list(replicaSets)).length === 0,
      );
      await subject.until('the end of the Pods', async () => (await subject.list(pods)).length === 0);
    },
  },
  {
    title: 'foreground: the owner goes after what it owns',
    async run(subject) {
      await twoPods(subject);
      await subject.delete(deployments, 'web', { propagationPolicy: 'Foreground' });
      const held = await subject.find(deployments, 'web');
      assert.ok(held?.metadata.deletionTimestamp);
      assert.deepEqual(held?.metadata.finalizers, ['foregroundDeletion']);
      await subject.until('the end of the Deployment', async () => {
        const gone = (await subject.find(deployments, 'web')) === undefined;
        const left = await subject.list(replicaSets);
        if (gone) assert.equal(left.length, 0, 'the ReplicaSet went first');
        return gone;
      });
      assert.equal((await subject.list(pods)).length, 0);
    },
  },
  {
    title: 'orphan: what it owns stays, without the reference',
    async run(subject) {
      await twoPods(subject);
      await subject.delete(deployments, 'web', { propagationPolicy: 'Orphan' });
      await subject.until('the end of the Deployment', async () => !(await subject.find(deployments, 'web')));
      const [replicaSet] = await subject.list(replicaSets);
      assert.equal(replicaSet?.metadata.ownerReferences, undefined);
      assert.equal((await subject.list(pods)).length, 2);
    },
  },
  {
    title: 'an owner of another uid is no owner; one of two owners is enough',
    async run(subject) {
      const owner = await subject.create(configMaps, { metadata: { name: 'owner' } });
      const reference = (uid: string | undefined) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid,
      });
      const other = '00000000-0000-4000-8000-000000000000';
      await subject.create(configMaps, {
        metadata: { name: 'stranger', ownerReferences: [reference(other)] },
      });
      const both = [reference(owner.metadata.uid), { ...reference(other), name: 'absent' }];
      await subject.create(configMaps, { metadata: { name: 'child', ownerReferences: both } });
      await subject.until(
        'the end of the stranger',
        async () => !(await subject.find(configMaps, 'stranger')),
      );
      const child = await subject.until('one reference left', async () => {
        const now = await subject.find(configMaps, 'child');
        return now?.metadata.ownerReferences?.length === 1 && now;
      });
      assert.equal(child.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid);
      await subject.delete(configMaps, 'owner');
      await subject.until('the end of the child', async () => !(await subject.find(configMaps, 'child')));
    },
  },
  {
    title: 'a budget grants what it can spare, and refuses the rest with 429',
    async run(subject) {
      await subject.create(podDisruptionBudgets, {
        metadata: { name: 'web' },
        spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
      });
      await twoPods(subject);
      const tight = await budget(subject, ({ currentHealthy }) => currentHealthy === 2);
      const { disruptionsAllowed, desiredHealthy, expectedPods, conditions } = tight;
      assert.deepEqual(
        { disruptionsAllowed, desiredHealthy, expectedPods },
        { disruptionsAllowed: 0, desiredHealthy: 2, expectedPods: 2 },
      );
      assert.equal(conditions?.[0]?.reason, 'InsufficientPods');
      const [pod] = await subject.list(pods);
      assert.ok(pod);
      assert.equal(await subject.evict(pod), 429);
      await subject.patch(podDisruptionBudgets, 'web', { spec: { minAvailable: '50%' } });
      const loose = await budget(subject, (status) => status.disruptionsAllowed === 1);
      assert.equal(loose.desiredHealthy, 1);
      assert.equal(loose.conditions?.[0]?.reason, 'SufficientPods');
      assert.equal(await subject.evict(pod), 201);
      const [other] = (await subject.list(pods)).filter(
        ({ metadata }) => metadata.name !== pod.metadata.name && metadata.deletionTimestamp === undefined,
      );
      assert.ok(other);
      if (isReady(other)) assert.equal(await subject.evict(other), 429);
      await budget(subject, (status) => status.currentHealthy === 2 && status.disruptionsAllowed === 1);
    },
  },
  {
    title: 'a deleted namespace takes everything with it, and takes nothing new',
    async run(subject) {
      await twoPods(subject);
      await subject.create(pods, newPod('bare', running("trap 'exit 0' TERM; sleep 3600 & wait")));
      await subject.until(
        'the Pod',
        async () => (await subject.find(pods, 'bare'))?.status?.phase === 'Running',
      );
      await subject.delete(namespaces, subject.namespace);
      const refused = subject.create(configMaps, { metadata: { name: 'late' } });
      await assert.rejects(refused, /terminated|not found/);
      await subject.until('its end', async () => !(await subject.find(namespaces, subject.namespace)));
      assert.equal((await subject.list(pods)).length, 0);
    },
  },
];
