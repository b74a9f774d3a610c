/** Rows about minReadySeconds: from when on a Pod that is ready counts as available, and what waits for that. */
import assert from 'node:assert/strict';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { type Pod, pods } from '../../src/testing/objects.ts';
import { createdAt, readySince } from '../../src/testing/pod-facts.ts';
import { daemonSets, deployments, replicaSets, statefulSets } from '../../src/testing/workloads.ts';
import { condition, owned, replicaSetStates, rolledOut, total } from './rollouts.ts';
import {
  ofVersion,
  versionOf,
  type WorkloadRow,
  type WorkloadSubject,
  workload,
} from './workload-subject.ts';

/** More than a start takes, so that what does not wait for it is seen. */
const minReadySeconds = 5;
const waitMs = minReadySeconds * 1000;

interface Life {
  readonly name: string;
  readonly version: string | undefined;
  readonly createdAt: number;
  /** When it became ready first, epoch ms; undefined: never. */
  readonly readyAt: number | undefined;
  /** When its deletion was asked for, epoch ms; undefined: never. */
  readonly deletedAt: number | undefined;
}

/** All Pods that there have been, by uid. */
function lives(subject: WorkloadSubject): readonly Life[] {
  const found = new Map<string | undefined, Life>();
  for (const { object } of subject.history(pods)) {
    const pod = object as Pod;
    const { uid, name, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
    const before = found.get(uid);
    // A kubelet that has ended it shortens the period, and the deletion with it.
    const deletedAt =
      before?.deletedAt ??
      (deletionTimestamp && parseTime(deletionTimestamp) - deletionGracePeriodSeconds * 1000);
    const readyAt = before?.readyAt ?? readySince(pod);
    found.set(uid, {
      ...{ name, version: versionOf(pod), createdAt: createdAt(pod) },
      ...{ readyAt, deletedAt: deletedAt || undefined },
    });
  }
  return [...found.values()];
}

/** When a status was written last that had other fields than the one before, epoch ms. */
function statusTimeOf({ metadata }: KubernetesObject): number {
  const times = (metadata.managedFields ?? []).filter(({ subresource }) => subresource === 'status');
  return Math.max(...times.map(({ time = '' }) => parseTime(time)));
}

function isAfterWait(what: string, time: number | undefined, { name, readyAt }: Life): void {
  assert.ok(time !== undefined && readyAt !== undefined, what);
  assert.ok(time >= readyAt + waitMs, `${what} ${time - readyAt} ms after ${name} became ready`);
}

export const availabilityRows: readonly WorkloadRow[] = [
  {
    title:
      'a rollout takes an old Pod away when a new one has been ready for minReadySeconds, and stays within its surge',
    async run(subject) {
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 2, strategy, minReadySeconds, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      await subject.patch(deployments, 'web', ofVersion('2'));
      const deployment = await rolledOut(subject, 'web');
      const [old, next] = await subject.until('the watch shows it all', async () => {
        const all = lives(subject);
        const byVersion = ['1', '2'].map((version) => all.filter((life) => life.version === version));
        const isWhole = all.filter(({ deletedAt }) => deletedAt !== undefined).length === 2;
        return isWhole && all.every(({ readyAt }) => readyAt !== undefined) && byVersion;
      });
      assert.deepEqual([old?.length, next?.length], [2, 2]);
      const byTime = (times: readonly (number | undefined)[]) => times.map(Number).sort((a, b) => a - b);
      const deletions = byTime((old ?? []).map(({ deletedAt }) => deletedAt));
      const readied = [...(next ?? [])].sort((a, b) => Number(a.readyAt) - Number(b.readyAt));
      for (const [index, life] of readied.entries()) {
        isAfterWait('an old Pod was taken away', deletions[index], life);
      }
      // The surge has room for one.
      isAfterWait('the second new Pod was made', readied[1]?.createdAt, readied[0] as Life);
      isAfterWait('the Deployment was done', statusTimeOf(deployment), readied[1] as Life);
      for (const states of replicaSetStates(subject)) {
        assert.ok(total(states, ({ spec }) => spec.replicas) <= 3, 'never above the surge');
      }
    },
  },
  {
    title: 'another minReadySeconds is no new template, and a longer one takes the availability from Pods',
    async run(subject) {
      await subject.create(deployments, {
        metadata: { name: 'web' },
        spec: { replicas: 1, ...workload('web', '1') },
      });
      await rolledOut(subject, 'web');
      const [pod] = await subject.list(pods);
      await subject.patch(deployments, 'web', {
        spec: { minReadySeconds: 3600, progressDeadlineSeconds: 7200 },
      });
      const waiting = await subject.until('that it is not available', async () => {
        const now = await subject.find(deployments, 'web');
        return now && condition(now, 'Available')?.status === 'False' && now;
      });
      assert.equal(condition(waiting, 'Available')?.reason, 'MinimumReplicasUnavailable');
      const { readyReplicas, updatedReplicas, availableReplicas, unavailableReplicas } = waiting.status ?? {};
      assert.deepEqual(
        { readyReplicas, updatedReplicas, availableReplicas, unavailableReplicas },
        { readyReplicas: 1, updatedReplicas: 1, availableReplicas: undefined, unavailableReplicas: 1 },
      );
      const [replicaSet, ...others] = await owned(subject, replicaSets);
      assert.equal(others.length, 0);
      assert.equal(replicaSet?.spec.minReadySeconds, 3600);
      assert.equal(waiting.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
      await subject.patch(deployments, 'web', { spec: { minReadySeconds: 0 } });
      await rolledOut(subject, 'web');
      assert.deepEqual(
        (await subject.list(pods)).map(({ metadata }) => metadata.uid),
        [pod?.metadata.uid],
      );
    },
  },
  {
    title: 'a StatefulSet goes on to the next Pod when one has been ready for minReadySeconds',
    async run(subject) {
      await subject.create(statefulSets, {
        metadata: { name: 'db' },
        spec: { replicas: 2, minReadySeconds, ...workload('db', '1') },
      });
      const available = (generation: number) =>
        subject.until('both available', async () => {
          const set = await subject.find(statefulSets, 'db');
          const { status = {}, metadata } = set ?? {};
          const isSeen = metadata?.generation === generation && status.observedGeneration === generation;
          const isUpdated = status.currentRevision === status.updateRevision;
          return isSeen && isUpdated && status.availableReplicas === 2 && set;
        });
      const set = await available(1);
      const first = await lifeOf(subject, 'db-0', '1');
      const second = await lifeOf(subject, 'db-1', '1');
      isAfterWait('db-1 was made', second.createdAt, first);
      isAfterWait('both were available', statusTimeOf(set), second);
      await subject.patch(statefulSets, 'db', ofVersion('2'));
      await available(2);
      const { deletedAt } = await lifeOf(subject, 'db-0', '1', true);
      isAfterWait('db-0 was taken away', deletedAt, await lifeOf(subject, 'db-1', '2'));
    },
  },
  {
    title: 'a DaemonSet counts a Pod as available when it has been ready for minReadySeconds',
    async run(subject) {
      await subject.create(daemonSets, {
        metadata: { name: 'agent' },
        spec: { minReadySeconds, ...workload('agent', '1') },
      });
      const set = await subject.until('its availability', async () => {
        const now = await subject.find(daemonSets, 'agent');
        const { numberAvailable, desiredNumberScheduled } = now?.status ?? {};
        return numberAvailable !== undefined && numberAvailable === desiredNumberScheduled && now;
      });
      const [
        {
          metadata: { name },
        } = assert.fail('it has no Pod'),
      ] = await subject.list(pods);
      isAfterWait('it counted', statusTimeOf(set), await lifeOf(subject, name, '1'));
      await subject.patch(daemonSets, 'agent', { spec: { minReadySeconds: 3600 } });
      const waiting = await subject.until('that it is not available', async () => {
        const now = await subject.find(daemonSets, 'agent');
        return now?.status?.numberAvailable === undefined && now;
      });
      const { desiredNumberScheduled, numberReady, numberUnavailable } = waiting.status ?? {};
      assert.deepEqual([numberReady, numberUnavailable], [desiredNumberScheduled, desiredNumberScheduled]);
    },
  },
];

/** The Pod of that name and version, once the watch shows that it became ready and, asked for, its deletion. */
function lifeOf(subject: WorkloadSubject, name: string, version: string, isOver = false): Promise<Life> {
  return subject.until(`the watch shows ${name} of version ${version}`, async () => {
    const life = lives(subject).find((one) => one.name === name && one.version === version);
    return life?.readyAt !== undefined && (!isOver || life.deletedAt !== undefined) && life;
  });
}
