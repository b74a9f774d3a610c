/** What a ReplicaSet creates, deletes, adopts and says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workloadRef } from '../../../src/testing/controllers/claim.ts';
import { replicaSetPlan, slowStart } from '../../../src/testing/controllers/replica-set.ts';
import { victims } from '../../../src/testing/controllers/replica-set-victims.ts';
import { type ReplicaSet, replicaSets } from '../../../src/testing/workloads.ts';
import { now, type PodFields, pod, statusOf, writesOf } from './decisions.ts';

const set: ReplicaSet = {
  metadata: { name: 'web', namespace: 'test', uid: 'set', generation: 1 },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [] } },
  },
};
const owner = workloadRef(replicaSets, set);

function owned(name: string, fields: PodFields = {}) {
  return pod(name, { owner, ...fields });
}

describe('A ReplicaSet', () => {
  it('tries one creation, then two, then four', () => {
    assert.deepEqual(
      slowStart(10, (index) => index).map((batch) => batch.length),
      [1, 2, 4, 3],
    );
  });

  it('replaces what has ended, and does not wait for what ends', () => {
    const pods = [owned('a', { phase: 'Failed' }), owned('b', { terminating: true }), owned('c')];
    assert.deepEqual(writesOf(replicaSetPlan({ replicaSet: set, pods, now })), ['create web-']);
  });

  it('creates nothing while it is being deleted', () => {
    const metadata = { ...set.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    assert.deepEqual(writesOf(replicaSetPlan({ replicaSet: { ...set, metadata }, pods: [], now })), []);
  });

  it('leaves alone what another controller owns, whatever its labels are', () => {
    const foreign = { ...owner, uid: 'other', name: 'other' };
    const pods = [owned('a'), owned('b'), pod('c', { owner: foreign })];
    assert.deepEqual(writesOf(replicaSetPlan({ replicaSet: set, pods, now })), []);
  });

  it('says which creation was refused, and takes it back', () => {
    const refusal = { code: 403, body: JSON.stringify({ message: 'exceeded quota' }) };
    const told: ReplicaSet = statusOf(replicaSetPlan({ replicaSet: set, pods: [], now }), refusal);
    assert.equal(told.status?.conditions?.[0]?.reason, 'FailedCreate');
    assert.equal(told.status?.conditions?.[0]?.message, 'exceeded quota');
    const pods = [owned('a'), owned('b')];
    const mended: ReplicaSet = statusOf(replicaSetPlan({ replicaSet: told, pods, now }));
    assert.equal(mended.status?.conditions, undefined);
  });

  it('looks again when a Pod becomes available by time alone', () => {
    const patient = { ...set, spec: { ...set.spec, minReadySeconds: 30 } };
    const pods = [owned('a', { readyFor: 10 }), owned('b', { readyFor: 40 })];
    const plan = replicaSetPlan({ replicaSet: patient, pods, now });
    assert.equal(plan.after, 20_000);
    assert.equal(statusOf<ReplicaSet>(plan).status?.availableReplicas, 1);
  });
});

describe('A ReplicaSet that shrinks gives up first', () => {
  const cost = (value: string) => ({ 'controller.kubernetes.io/pod-deletion-cost': value });
  const running = { node: 'a', readyFor: 600, age: 600 };
  for (const { what, first, kept } of [
    { what: 'what is on no node', first: {}, kept: running },
    { what: 'what is pending', first: { ...running, phase: 'Pending' }, kept: running },
    { what: 'what is not ready', first: { node: 'a', age: 600 }, kept: running },
    { what: 'the cheaper one', first: { ...running, annotations: cost('-5') }, kept: running },
    { what: 'what was ready for a shorter time', first: { ...running, readyFor: 20 }, kept: running },
    { what: 'what has restarted more often', first: { ...running, restarts: 3 }, kept: running },
    { what: 'the younger one', first: { ...running, age: 60 }, kept: running },
  ] as const) {
    it(what, () => {
      const pods = [pod('kept', kept as PodFields), pod('first', first as PodFields)];
      const [chosen] = victims(pods, 1, { related: pods, now });
      assert.equal(chosen?.metadata.name, 'first');
    });
  }

  it('what is on the more crowded node', () => {
    const pods = [pod('alone', { ...running, node: 'b' }), pod('crowded', running)];
    const related = [...pods, pod('neighbour', running)];
    assert.equal(victims(pods, 1, { related, now })[0]?.metadata.name, 'crowded');
  });
});
