/** How many evictions a budget grants. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnerReference } from '../../../src/kubernetes/objects.ts';
import { formatTime } from '../../../src/kubernetes/time.ts';
import { disruptionPlan, type Scale } from '../../../src/testing/controllers/disruption.ts';
import type { PodDisruptionBudget } from '../../../src/testing/workloads.ts';
import { now, pod } from './decisions.ts';

const owner: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web',
  uid: 'web',
  controller: true,
};

interface Counts {
  readonly ready?: number;
  readonly unready?: number;
  /** Ready, and terminating. */
  readonly leaving?: number;
  readonly replicas?: number;
}

function statusOf(
  spec: Omit<PodDisruptionBudget['spec'], 'selector'>,
  { ready = 0, unready = 0, leaving = 0, replicas }: Counts,
  before?: PodDisruptionBudget['status'],
) {
  const budget = {
    metadata: { name: 'web', namespace: 'test', generation: 1 },
    spec: { ...spec, selector: { matchLabels: { app: 'web' } } },
    ...(before && { status: before }),
  };
  const pods = [
    ...Array.from({ length: ready }, (_, index) => pod(`ready-${index}`, { owner, readyFor: 60 })),
    ...Array.from({ length: leaving }, (_, index) =>
      pod(`leaving-${index}`, { owner, readyFor: 60, terminating: true }),
    ),
    ...Array.from({ length: unready }, (_, index) => pod(`unready-${index}`, { owner })),
  ];
  const scaleOf = (): Scale | undefined => (replicas === undefined ? undefined : { uid: 'web', replicas });
  const plan = disruptionPlan({ budget, pods, scaleOf, now });
  const write = plan.status?.(undefined);
  return { ...(write?.object as PodDisruptionBudget | undefined)?.status, after: plan.after };
}

describe('A budget', () => {
  for (const { spec, pods, allowed, desired, expected } of [
    { spec: { minAvailable: 2 }, pods: { ready: 3 }, allowed: 1, desired: 2, expected: 3 },
    { spec: { minAvailable: 2 }, pods: { ready: 2, unready: 2 }, allowed: 0, desired: 2, expected: 4 },
    { spec: { minAvailable: 2 }, pods: { ready: 2, leaving: 1 }, allowed: 0, desired: 2, expected: 3 },
    { spec: { minAvailable: '50%' }, pods: { ready: 3, replicas: 3 }, allowed: 1, desired: 2, expected: 3 },
    { spec: { maxUnavailable: 1 }, pods: { ready: 3, replicas: 3 }, allowed: 1, desired: 2, expected: 3 },
    { spec: { maxUnavailable: 1 }, pods: { ready: 2, replicas: 3 }, allowed: 0, desired: 2, expected: 3 },
    { spec: { maxUnavailable: '30%' }, pods: { ready: 4, replicas: 4 }, allowed: 2, desired: 2, expected: 4 },
    { spec: { maxUnavailable: 0 }, pods: { ready: 4, replicas: 4 }, allowed: 0, desired: 4, expected: 4 },
    { spec: { minAvailable: 1 }, pods: {}, allowed: 0, desired: 1, expected: 0 },
  ]) {
    it(`${JSON.stringify(spec)} with ${JSON.stringify(pods)} allows ${allowed}`, () => {
      const status = statusOf(spec, pods);
      assert.equal(status.disruptionsAllowed, allowed);
      assert.equal(status.desiredHealthy, desired);
      assert.equal(status.expectedPods, expected);
      const reason = allowed > 0 ? 'SufficientPods' : 'InsufficientPods';
      assert.equal(status.conditions?.[0]?.reason, reason);
    });
  }

  it('counts a granted eviction as gone for two minutes', () => {
    const counts = { currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 0 };
    const granted = (secondsAgo: number) => ({
      ...counts,
      disruptedPods: { 'ready-0': formatTime(now - secondsAgo * 1000) },
    });
    const held = statusOf({ minAvailable: 2 }, { ready: 3 }, granted(100));
    assert.equal(held.currentHealthy, 2);
    assert.equal(held.disruptionsAllowed, 0);
    assert.equal(held.after, 20_000);
    const lapsed = statusOf({ minAvailable: 2 }, { ready: 3 }, granted(130));
    assert.equal(lapsed.currentHealthy, 3);
    assert.equal(lapsed.disruptedPods, undefined);
  });

  it('grants nothing where it cannot know how many are wanted', () => {
    const status = statusOf({ maxUnavailable: 1 }, { ready: 3 });
    assert.equal(status.disruptionsAllowed, 0);
    assert.equal(status.conditions?.[0]?.reason, 'SyncFailed');
  });
});
