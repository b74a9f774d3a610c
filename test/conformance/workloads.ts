/** Rows about the controllers of workloads: what they make, in which order, and what they say about it. */
import assert from 'node:assert/strict';
import { controllerOf } from '../../src/kubernetes/objects.ts';
import { type Pod, pods } from '../../src/testing/objects.ts';
import { isReady, isTerminating } from '../../src/testing/pod-facts.ts';
import {
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  type StatefulSet,
  statefulSets,
} from '../../src/testing/workloads.ts';
import { condition, owned, replicaSetStates, rolledOut, total } from './rollouts.ts';
import {
  failingProbe,
  ofVersion,
  serving,
  versionOf,
  type WorkloadRow,
  type WorkloadSubject,
  workload,
} from './workload-subject.ts';

const suffix = '[bcdfghjklmnpqrstvwxz2456789]';

async function readySet(subject: WorkloadSubject, name: string, version: string): Promise<StatefulSet> {
  return subject.until(`${name} of version ${version}`, async () => {
    const set = await subject.find(statefulSets, name);
    const list = await owned(subject, pods);
    const all =
      list.length === set?.spec.replicas && list.every((pod) => isReady(pod) && !isTerminating(pod));
    return all && list.some((pod) => versionOf(pod) === version) && set;
  });
}

/** Names of Pods in the order in which they were created. */
function created(subject: WorkloadSubject): readonly string[] {
  return subject
    .history(pods)
    .filter(({ type }) => type === 'ADDED')
    .map(({ object }) => object.metadata.name);
}

const deploymentRows: readonly WorkloadRow[] = [
  {
    title: 'a Deployment names and labels its ReplicaSet and Pods, and says that it is available',
    async run(subject) {
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 2, ...workload('web', '1') },
      });
      const deployment = await rolledOut(subject, 'web');
      const [replicaSet] = await owned(subject, replicaSets);
      const hash = replicaSet?.metadata.labels?.['pod-template-hash'];
      assert.match(hash ?? '', new RegExp(`^${suffix}{1,10}$`));
      assert.equal(replicaSet?.metadata.name, `web-${hash}`);
      assert.equal(replicaSet?.spec.selector.matchLabels?.['pod-template-hash'], hash);
      const { annotations } = replicaSet?.metadata ?? {};
      assert.deepEqual(Object.entries(annotations ?? {}).sort(), [
        ['deployment.kubernetes.io/desired-replicas', '2'],
        ['deployment.kubernetes.io/max-replicas', '3'],
        ['deployment.kubernetes.io/revision', '1'],
      ]);
      const [owner] = replicaSet?.metadata.ownerReferences ?? [];
      assert.deepEqual(owner, {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: deployment.metadata.uid },
        ...{ controller: true, blockOwnerDeletion: true },
      });
      for (const pod of await subject.list(pods)) {
        assert.match(pod.metadata.name, new RegExp(`^web-${hash}-${suffix}{5}$`));
        assert.deepEqual(pod.metadata.labels, { app: 'web', 'pod-template-hash': hash });
        assert.equal(controllerOf(pod)?.uid, replicaSet?.metadata.uid);
        assert.equal(controllerOf(pod)?.blockOwnerDeletion, true);
      }
      assert.equal(deployment.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
      assert.equal(deployment.status?.readyReplicas, 2);
      assert.equal(deployment.status?.unavailableReplicas, undefined);
      const settled = await subject.until('its conditions', async () => {
        const now = await subject.find(deployments, 'web');
        return now && condition(now, 'Progressing')?.reason === 'NewReplicaSetAvailable' && now;
      });
      assert.equal(condition(settled, 'Available')?.reason, 'MinimumReplicasAvailable');
    },
  },
  {
    title: 'a rollout stays within surge and floor; the old template brings its ReplicaSet back',
    async run(subject) {
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 3, strategy, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      const begun = subject.history(replicaSets).length;
      await subject.patch(deployments, 'web', ofVersion('2'));
      const second = await rolledOut(subject, 'web');
      assert.equal(second.metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
      await subject.patch(deployments, 'web', ofVersion('1'));
      const third = await rolledOut(subject, 'web');
      assert.equal(third.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
      const all = await owned(subject, replicaSets);
      assert.equal(all.length, 2);
      const back = all.find(({ spec }) => spec.replicas === 3);
      assert.equal(back?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
      assert.equal(back?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1');
      let index = 0;
      for (const states of replicaSetStates(subject)) {
        assert.ok(total(states, ({ spec }) => spec.replicas) <= 4, 'never above the surge');
        if (++index <= begun) continue;
        assert.ok(total(states, ({ status }) => status?.availableReplicas) >= 2, 'never below the floor');
      }
    },
  },
  {
    title: 'a paused Deployment rolls nothing out, and scales',
    async run(subject) {
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 1, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      await subject.patch(deployments, 'web', { spec: { paused: true } });
      await subject.patch(deployments, 'web', { ...ofVersion('2') });
      await subject.patch(deployments, 'web', { spec: { replicas: 2 } });
      const paused = await subject.until('the pause and the second Pod', async () => {
        const now = await subject.find(deployments, 'web');
        const isPaused = now && condition(now, 'Progressing')?.reason === 'DeploymentPaused';
        return isPaused && now.status?.availableReplicas === 2 && now;
      });
      assert.equal(condition(paused, 'Progressing')?.status, 'Unknown');
      assert.equal((await owned(subject, replicaSets)).length, 1);
      assert.ok((await subject.list(pods)).every((pod) => versionOf(pod) === '1'));
      await subject.patch(deployments, 'web', { spec: { paused: false } });
      await rolledOut(subject, 'web');
      assert.equal((await owned(subject, replicaSets)).length, 2);
    },
  },
  {
    title: 'Recreate starts nothing new before everything old is gone',
    async run(subject) {
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 2, strategy: { type: 'Recreate' }, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      await subject.patch(deployments, 'web', ofVersion('2'));
      await rolledOut(subject, 'web');
      const versions = new Map<string, string | undefined>();
      for (const { type, object } of subject.history(pods)) {
        const pod = object as Pod;
        const ended = ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '');
        if (type === 'DELETED' || ended) versions.delete(object.metadata.name);
        else versions.set(object.metadata.name, versionOf(pod));
        assert.ok(new Set(versions.values()).size <= 1, 'two versions at the same time');
      }
    },
  },
  {
    title: 'a Deployment whose Pods never get ready stops within its surge, and says so after its deadline',
    async run(subject) {
      const never = { readinessProbe: failingProbe };
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 2, progressDeadlineSeconds: 6, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      await subject.patch(deployments, 'web', ofVersion('never-ready', never));
      const stuck = await subject.until('the deadline', async () => {
        const now = await subject.find(deployments, 'web');
        return now && condition(now, 'Progressing')?.reason === 'ProgressDeadlineExceeded' && now;
      });
      assert.equal(condition(stuck, 'Progressing')?.status, 'False');
      assert.equal(condition(stuck, 'Available')?.status, 'True');
      assert.equal(stuck.status?.availableReplicas, 2);
      assert.equal(stuck.status?.updatedReplicas, 1);
      assert.equal(stuck.status?.replicas, 3);
      assert.equal(stuck.status?.unavailableReplicas, 1);
    },
  },
  {
    title:
      'a ReplicaSet adopts what it selects, releases what it selects no more, and gives up the unready first',
    async run(subject) {
      const never = { readinessProbe: failingProbe };
      await subject.create(pods, {
        metadata: { name: 'orphan', labels: { app: 'web' } },
        spec: { containers: [serving(never)], terminationGracePeriodSeconds: 2 },
      });
      await subject.create(replicaSets, {
        metadata: { name: 'web' },
        spec: { replicas: 3, ...workload('web', '1') },
      });
      const set = await subject.until('two Pods beside the adopted one', async () => {
        const now = await subject.find(replicaSets, 'web');
        return now?.status?.readyReplicas === 2 && now;
      });
      assert.equal(set.status?.replicas, 3);
      assert.equal(controllerOf((await subject.find(pods, 'orphan')) as Pod)?.uid, set.metadata.uid);
      await subject.patch(replicaSets, 'web', { spec: { replicas: 2 } });
      await subject.until('the end of the unready Pod', async () => !(await subject.find(pods, 'orphan')));
      const [first] = await owned(subject, pods);
      await subject.patch(pods, first?.metadata.name ?? '', { metadata: { labels: { app: 'other' } } });
      const freed = await subject.until('its release', async () => {
        const pod = await subject.find(pods, first?.metadata.name ?? '');
        return pod?.metadata.ownerReferences === undefined && pod;
      });
      assert.equal(isTerminating(freed), false);
      await subject.until('another in its place', async () => (await owned(subject, pods)).length === 2);
    },
  },
];

const setRows: readonly WorkloadRow[] = [
  {
    title: 'a StatefulSet starts in order, updates from the top, and stops at its partition',
    async run(subject) {
      const rollingUpdate = { partition: 1 };
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: {
          replicas: 3,
          serviceName: 'db',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate },
          ...workload('db', '1'),
        },
      });
      const first = await readySet(subject, 'db', '1');
      assert.deepEqual(created(subject), ['db-0', 'db-1', 'db-2']);
      const revision = first.status?.currentRevision ?? '';
      assert.match(revision, new RegExp(`^db-${suffix}{1,10}$`));
      for (const pod of await subject.list(pods)) {
        const { name } = pod.metadata;
        assert.deepEqual(pod.metadata.labels, {
          app: 'db',
          'apps.kubernetes.io/pod-index': name.slice(3),
          'controller-revision-hash': revision,
          'statefulset.kubernetes.io/pod-name': name,
        });
        assert.equal(pod.spec.hostname, name);
        assert.equal(pod.spec.subdomain, 'db');
        assert.equal(controllerOf(pod)?.uid, first.metadata.uid);
      }
      await subject.patch(statefulSets, 'db', ofVersion('2'));
      const second = await subject.until('the update above the partition', async () => {
        const set = await subject.find(statefulSets, 'db');
        return set?.status?.updatedReplicas === 2 && set.status.readyReplicas === 3 && set;
      });
      assert.deepEqual(created(subject), ['db-0', 'db-1', 'db-2', 'db-2', 'db-1']);
      assert.equal(second.status?.currentRevision, revision);
      assert.notEqual(second.status?.updateRevision, revision);
      assert.equal(second.status?.currentReplicas, 1);
      const revisions = await owned(subject, controllerRevisions);
      assert.deepEqual(revisions.map((one) => one.revision).sort(), [1, 2]);
      const kept = await subject.find(pods, 'db-0');
      assert.equal(kept && versionOf(kept), '1');
      await subject.delete(pods, 'db-0');
      await subject.until('db-0 again', async () => {
        const pod = await subject.find(pods, 'db-0');
        return pod?.metadata.uid !== kept?.metadata.uid && pod !== undefined && isReady(pod);
      });
      const again = await subject.find(pods, 'db-0');
      assert.equal(again && versionOf(again), '1', 'below the partition the old revision');
    },
  },
  {
    title: 'a StatefulSet with OnDelete waits for deletions',
    async run(subject) {
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: {
          replicas: 2,
          podManagementPolicy: 'Parallel',
          updateStrategy: { type: 'OnDelete' },
          ...workload('db', '1'),
        },
      });
      await readySet(subject, 'db', '1');
      await subject.patch(statefulSets, 'db', ofVersion('2'));
      await subject.until('its new revision', async () => {
        const { status } = (await subject.find(statefulSets, 'db')) ?? {};
        return status?.updateRevision !== status?.currentRevision;
      });
      await subject.pass(2);
      assert.ok((await subject.list(pods)).every((pod) => versionOf(pod) === '1'));
      await subject.delete(pods, 'db-0');
      await readySet(subject, 'db', '2');
      const versions = (await subject.list(pods)).map((pod) => `${pod.metadata.name} ${versionOf(pod)}`);
      assert.deepEqual(versions.sort(), ['db-0 2', 'db-1 1']);
    },
  },
  {
    title: 'OrderedReady does not replace a broken Pod by itself; deleting it helps',
    async run(subject) {
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: { replicas: 2, ...workload('db', '1') },
      });
      await readySet(subject, 'db', '1');
      const never = { readinessProbe: failingProbe };
      await subject.patch(statefulSets, 'db', ofVersion('broken', never));
      await subject.until('the broken Pod', async () => {
        const pod = await subject.find(pods, 'db-1');
        return pod !== undefined && versionOf(pod) === 'broken' && pod.status?.phase === 'Running';
      });
      await subject.patch(statefulSets, 'db', ofVersion('3'));
      await subject.until('the mended revision', async () => {
        const set = await subject.find(statefulSets, 'db');
        return set?.status?.observedGeneration === set?.metadata.generation;
      });
      await subject.pass(3);
      const stuck = await subject.find(pods, 'db-1');
      assert.equal(stuck && versionOf(stuck), 'broken');
      const whole = await subject.find(pods, 'db-0');
      assert.equal(whole && versionOf(whole), '1');
      await subject.delete(pods, 'db-1');
      const set = await subject.until('both of the mended version', async () => {
        const now = await readySet(subject, 'db', '3');
        return (
          now.status?.updatedReplicas === 2 && now.status.currentRevision === now.status.updateRevision && now
        );
      });
      assert.equal(set.status?.currentReplicas, 2);
    },
  },
  {
    title: 'a StatefulSet scales down from the top',
    async run(subject) {
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: { replicas: 3, podManagementPolicy: 'Parallel', ...workload('db', '1') },
      });
      await readySet(subject, 'db', '1');
      await subject.patch(statefulSets, 'db', {
        spec: { replicas: 1, template: { metadata: { annotations: { a: 'b' } } } },
      });
      // It goes together with the others, and alone comes back.
      const only = await subject.until('a single Pod of the new template', async () => {
        const [pod, ...others] = await subject.list(pods);
        return others.length === 0 && pod?.metadata.annotations?.a === 'b' && isReady(pod) && pod;
      });
      assert.equal(only.metadata.name, 'db-0');
      assert.deepEqual(created(subject).slice(3), ['db-0']);
    },
  },
  {
    title: 'a DaemonSet runs on every node, and replaces its Pods one by one',
    async run(subject) {
      await subject.create(daemonSets, { metadata: { name: 'agent' }, spec: workload('agent', '1') });
      const ready = (version: string) =>
        subject.until(`the agents of version ${version}`, async () => {
          const set = await subject.find(daemonSets, 'agent');
          const { status = {}, metadata } = set ?? {};
          const isReadySet =
            status.observedGeneration === metadata?.generation &&
            (status.desiredNumberScheduled ?? 0) > 0 &&
            status.updatedNumberScheduled === status.desiredNumberScheduled &&
            status.numberAvailable === status.desiredNumberScheduled;
          return isReadySet && set;
        });
      const first = await ready('1');
      const [pod] = await subject.list(pods);
      assert.equal(pod?.metadata.labels?.['pod-template-generation'], '1');
      assert.match(pod?.metadata.labels?.['controller-revision-hash'] ?? '', new RegExp(`^${suffix}{1,10}$`));
      assert.equal(first.metadata.annotations?.['deprecated.daemonset.template.generation'], '1');
      assert.match(pod?.metadata.name ?? '', new RegExp(`^agent-${suffix}{5}$`));
      await subject.patch(daemonSets, 'agent', ofVersion('2'));
      const second = await ready('2');
      assert.equal(second.metadata.annotations?.['deprecated.daemonset.template.generation'], '2');
      // The one before may not have gone yet.
      const [next] = (await subject.list(pods)).filter((each) => !isTerminating(each));
      assert.equal(next?.metadata.labels?.['pod-template-generation'], '2');
      assert.equal(second.status?.numberMisscheduled, 0);
      assert.equal(second.status?.numberUnavailable, undefined);
    },
  },
  {
    title: 'a DaemonSet with OnDelete waits for deletions',
    async run(subject) {
      await subject.create(daemonSets, {
        metadata: { name: 'agent' },
        spec: { updateStrategy: { type: 'OnDelete' }, ...workload('agent', '1') },
      });
      const one = (version: string) =>
        subject.until(`an agent of version ${version}`, async () => {
          const [pod] = (await subject.list(pods)).filter((each) => !isTerminating(each) && isReady(each));
          return pod !== undefined && versionOf(pod) === version && pod;
        });
      const old = await one('1');
      await subject.patch(daemonSets, 'agent', ofVersion('2'));
      await subject.until('what it has seen', async () => {
        const set = await subject.find(daemonSets, 'agent');
        return set?.status?.observedGeneration === set?.metadata.generation;
      });
      await subject.pass(2);
      assert.equal((await one('1')).metadata.uid, old.metadata.uid);
      await subject.delete(pods, old.metadata.name);
      await one('2');
    },
  },
];

export const workloadRows: readonly WorkloadRow[] = [...deploymentRows, ...setRows];
