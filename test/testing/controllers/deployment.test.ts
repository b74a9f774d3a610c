/** The arithmetic of rollouts: which ReplicaSet gets which size next. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  fenceposts,
  maxUnavailableOf,
  replicasOf,
} from '../../../src/testing/controllers/deployment-facts.ts';
import {
  isScalingEvent,
  newReplicasOf,
  rescaled,
  shrunkOld,
} from '../../../src/testing/controllers/deployment-scaling.ts';
import type { Deployment, IntOrPercent, ReplicaSet } from '../../../src/testing/workloads.ts';
import { fc } from '../../fixtures/property.ts';

const template = { spec: { containers: [] } };

interface Fields {
  readonly replicas: number;
  readonly maxSurge?: IntOrPercent;
  readonly maxUnavailable?: IntOrPercent;
}

function deployment({ replicas, maxSurge = '25%', maxUnavailable = '25%' }: Fields): Deployment {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
  return { metadata: { name: 'web' }, spec: { replicas, strategy, selector: {}, template } };
}

let serial = 0;

/** @param numbers what the ReplicaSet was told last about its Deployment: desired and most replicas */
function replicaSet(replicas: number, available = replicas, numbers?: readonly [number, number]): ReplicaSet {
  const creationTimestamp = `2030-01-01T00:00:${String(serial++ % 60).padStart(2, '0')}Z`;
  const annotations = numbers && {
    'deployment.kubernetes.io/desired-replicas': String(numbers[0]),
    'deployment.kubernetes.io/max-replicas': String(numbers[1]),
  };
  return {
    metadata: { name: `web-${serial}`, creationTimestamp, ...(annotations && { annotations }) },
    spec: { replicas, selector: {}, template },
    status: { replicas, availableReplicas: available },
  };
}

function sizes(list: ReturnType<typeof rescaled>): readonly number[] {
  return list.map(({ replicas }) => replicas);
}

describe('Limits of a rollout', () => {
  for (const { fields, surge, unavailable } of [
    { fields: { replicas: 4 }, surge: 1, unavailable: 1 },
    { fields: { replicas: 3 }, surge: 1, unavailable: 0 },
    { fields: { replicas: 10, maxSurge: '15%', maxUnavailable: '15%' }, surge: 2, unavailable: 1 },
    { fields: { replicas: 5, maxSurge: 0, maxUnavailable: 0 }, surge: 0, unavailable: 1 },
    { fields: { replicas: 2, maxSurge: 0, maxUnavailable: '100%' }, surge: 0, unavailable: 2 },
  ]) {
    it(`${JSON.stringify(fields)}: ${surge} more, ${unavailable} fewer`, () => {
      assert.deepEqual(fenceposts(deployment(fields)), { surge, unavailable });
    });
  }

  it('never more unavailable ones than there are', () => {
    assert.equal(maxUnavailableOf(deployment({ replicas: 2, maxUnavailable: 5 })), 2);
    assert.equal(maxUnavailableOf(deployment({ replicas: 0 })), 0);
  });
});

describe('A step of a rollout', () => {
  it('brings up as many new Pods as the surge leaves', () => {
    const rollout = { deployment: deployment({ replicas: 4 }), newest: undefined, old: [replicaSet(4)] };
    assert.equal(newReplicasOf(rollout), 1);
    assert.equal(newReplicasOf({ ...rollout, newest: replicaSet(3), old: [replicaSet(2)] }), 3);
    assert.equal(newReplicasOf({ ...rollout, newest: replicaSet(3), old: [replicaSet(1)] }), 4);
  });

  it('takes away first what is not available, then what availability leaves', () => {
    const spare = replicaSet(4);
    const broken = replicaSet(3, 1);
    const rollout = { deployment: deployment({ replicas: 6 }), newest: replicaSet(0), old: [spare, broken] };
    const shrunk = new Map(shrunkOld(rollout).map(({ replicaSet: one, replicas }) => [one, replicas]));
    assert.equal(shrunk.get(broken), 1);
    assert.equal(shrunk.has(spare), false, 'five are available, and five must be');
  });

  it('waits while the new Pods are not available', () => {
    const rollout = {
      deployment: deployment({ replicas: 3 }),
      newest: replicaSet(1, 0),
      old: [replicaSet(3)],
    };
    assert.deepEqual(shrunkOld(rollout), []);
  });

  it('ends, and is within its limits after every step', () => {
    const share = fc.oneof(fc.nat(4), fc.constantFrom('0%', '25%', '50%', '100%'));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), share, share, (replicas, maxSurge, maxUnavailable) => {
        const subject = deployment({ replicas, maxSurge, maxUnavailable });
        const { surge } = fenceposts(subject);
        const floor = replicas - maxUnavailableOf(subject);
        let [old, next] = [replicas, 0];
        for (let step = 0; step < 100 && (old > 0 || next < replicas); step++) {
          const grown = newReplicasOf({
            deployment: subject,
            newest: replicaSet(next),
            old: [replicaSet(old)],
          });
          assert.ok(grown + old <= replicas + surge, 'above the surge');
          const shrunk = shrunkOld({
            deployment: subject,
            newest: replicaSet(grown, next),
            old: [replicaSet(old)],
          });
          old = shrunk[0]?.replicas ?? old;
          assert.ok(old + next >= floor, 'below the floor');
          next = grown;
        }
        assert.deepEqual([old, next], [0, replicas]);
      }),
    );
  });
});

describe('Scaling a Deployment', () => {
  it('is seen by the numbers that its ReplicaSets were told', () => {
    const newest = replicaSet(3, 3, [3, 4]);
    assert.equal(isScalingEvent({ deployment: deployment({ replicas: 3 }), newest, old: [] }), false);
    assert.equal(isScalingEvent({ deployment: deployment({ replicas: 5 }), newest, old: [] }), true);
  });

  it('scales the only active ReplicaSet', () => {
    const rollout = { deployment: deployment({ replicas: 5 }), newest: replicaSet(3), old: [replicaSet(0)] };
    assert.deepEqual(sizes(rescaled(rollout)), [5]);
  });

  it('in the middle of a rollout keeps the proportion', () => {
    // The example of the Deployment documentation: 10 replicas, maxSurge 3, 8 old and 5 new, scaled to 15.
    const subject = deployment({ replicas: 15, maxSurge: 3, maxUnavailable: 2 });
    const [old, newest] = [replicaSet(8, 8, [10, 13]), replicaSet(5, 0, [10, 13])];
    const scaled = new Map(
      rescaled({ deployment: subject, newest, old: [old] }).map((size) => [size.replicaSet, size.replicas]),
    );
    assert.equal(scaled.get(old), 11);
    assert.equal(scaled.get(newest), 7);
  });

  it('takes the rest of a finished rollout away', () => {
    const subject = deployment({ replicas: 3 });
    const rollout = { deployment: subject, newest: replicaSet(3, 3, [3, 4]), old: [replicaSet(1)] };
    assert.deepEqual(sizes(rescaled(rollout)), [0]);
    assert.equal(replicasOf(subject), 3);
  });
});
