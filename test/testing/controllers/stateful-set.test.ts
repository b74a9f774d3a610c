/** Which Pod of a StatefulSet is next. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workloadRef } from '../../../src/testing/controllers/claim.ts';
import { revisionPlan } from '../../../src/testing/controllers/revisions.ts';
import { statefulSetPlan } from '../../../src/testing/controllers/stateful-set.ts';
import { podOfOrdinal, podRevisionOf } from '../../../src/testing/controllers/stateful-set-pods.ts';
import type { Pod } from '../../../src/testing/objects.ts';
import { type ControllerRevision, type StatefulSet, statefulSets } from '../../../src/testing/workloads.ts';
import { now, type PodFields, pod, writesOf } from './decisions.ts';

function newSet(
  image: string,
  spec: Partial<StatefulSet['spec']> = {},
  status: StatefulSet['status'] = {},
): StatefulSet {
  return {
    metadata: { name: 'db', namespace: 'test', uid: 'set', generation: 1 },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image }] } },
      ...spec,
    },
    status,
  };
}

const [old, next] = ['1', '2'].map((image, index) => {
  const { current } = revisionPlan(statefulSets, newSet(image), []);
  return { ...current, revision: index + 1 };
}) as [ControllerRevision, ControllerRevision];
const rolling = { currentRevision: old.metadata.name };

function member(ordinal: number, revision: ControllerRevision, fields: PodFields = {}): Pod {
  const labels = { app: 'web', 'controller-revision-hash': revision.metadata.name };
  return pod(`db-${ordinal}`, {
    labels,
    owner: workloadRef(statefulSets, newSet('1')),
    readyFor: 60,
    ...fields,
  });
}

function unready(ordinal: number, { metadata }: ControllerRevision): Pod {
  const labels = { app: 'web', 'controller-revision-hash': metadata.name };
  return pod(`db-${ordinal}`, { labels, owner: workloadRef(statefulSets, newSet('1')) });
}

function writesFor(set: StatefulSet, pods: readonly Pod[]): readonly string[] {
  return writesOf(statefulSetPlan({ set, pods, revisions: [old, next], now }));
}

describe('A StatefulSet', () => {
  it('gives each Pod the claims of its ordinal, in the place of volumes of their names', () => {
    const volumes = [
      { name: 'data', emptyDir: {} },
      { name: 'tmp', emptyDir: {} },
    ];
    const template = { spec: { containers: [{ name: 'main', image: '1' }], volumes } };
    const set = newSet('1', { template, volumeClaimTemplates: [{ metadata: { name: 'data' } }] });
    assert.deepEqual(podOfOrdinal(set, revisionPlan(statefulSets, set, []).current, 2).spec.volumes, [
      { name: 'tmp', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'data-db-2' } },
    ]);
  });

  it('creates one after the other, each when the one before is ready', () => {
    assert.deepEqual(writesFor(newSet('2'), []), ['create db-0']);
    assert.deepEqual(writesFor(newSet('2'), [member(0, next)]), ['create db-1']);
    assert.deepEqual(writesFor(newSet('2'), [unready(0, next)]), []);
  });

  it('creates all at once under Parallel', () => {
    const parallel = newSet('2', { podManagementPolicy: 'Parallel' });
    assert.deepEqual(writesFor(parallel, [member(1, next)]), ['create db-0', 'create db-2']);
  });

  it('updates from the highest ordinal down, one at a time', () => {
    const set = newSet('2', {}, rolling);
    assert.deepEqual(
      writesFor(
        set,
        [0, 1, 2].map((ordinal) => member(ordinal, old)),
      ),
      ['delete db-2'],
    );
    assert.deepEqual(writesFor(set, [member(0, old), member(1, old), member(2, next)]), ['delete db-1']);
    const waiting = [member(0, old), member(1, old), member(2, next, { terminating: true })];
    assert.deepEqual(writesFor(set, waiting), []);
  });

  it('leaves what is below the partition at its revision', () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
    const set = newSet('2', { updateStrategy }, rolling);
    assert.deepEqual(writesFor(set, [member(0, old), member(1, old), member(2, next)]), []);
    const plan = statefulSetPlan({
      set,
      pods: [member(1, old), member(2, next)],
      revisions: [old, next],
      now,
    });
    const [created] = plan.batches?.flat() ?? [];
    assert.equal(created && podRevisionOf(created.object as Pod), old.metadata.name);
  });

  it('does not replace a broken Pod under OrderedReady, and does under Parallel', () => {
    const pods = [member(0, old), unready(1, old), member(2, next)];
    assert.deepEqual(writesFor(newSet('2', {}, rolling), pods), []);
    const parallel = newSet('2', { podManagementPolicy: 'Parallel' }, rolling);
    assert.deepEqual(writesFor(parallel, pods), ['delete db-1']);
  });

  it('deletes a Pod that has ended, to make it again', () => {
    assert.deepEqual(writesFor(newSet('2'), [member(0, next, { phase: 'Failed' })]), ['delete db-0']);
  });

  it('shrinks from the top, past the lowest that is broken only', () => {
    const set = newSet('2', { replicas: 1 });
    assert.deepEqual(
      writesFor(
        set,
        [0, 1, 2].map((ordinal) => member(ordinal, next)),
      ),
      ['delete db-2'],
    );
  });

  it('gives an old template its old revision with a new number', () => {
    const plan = revisionPlan(statefulSets, newSet('1'), [
      { ...old, metadata: { ...old.metadata, uid: 'old' } },
      { ...next, metadata: { ...next.metadata, uid: 'next' } },
    ]);
    assert.equal(plan.current.metadata.uid, 'old');
    assert.equal(plan.current.revision, 3);
  });
});
