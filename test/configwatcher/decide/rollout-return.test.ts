/** A content that is taken back in the middle of a rollout: the template of before spares the Pods of before. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sortPods } from '../../../src/configwatcher/decide/pod-groups.ts';
import { type Plan, planRestart } from '../../../src/configwatcher/decide/restart.ts';
import type { RestartInput } from '../../../src/configwatcher/decide/restart-input.ts';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { emptyMemory, type RestartMemory } from '../../../src/configwatcher/facts/restart-memory.ts';
import type { RolloutFacts } from '../../../src/configwatcher/facts/workload.ts';

import { now, pod, several, specOf, webapp } from '../../fixtures/configwatcher.ts';

const from = now - 120_000;
const cutoff = now - 60_000;
const newest = { ...webapp, uid: 'newest-rs' };
const memory: RestartMemory = { ...emptyMemory, id: 'return' };
const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 4, available: 4 };

/** Three Pods of before, and two of the content between, which breaks them. */
function midRollout(restartedFor?: string): { before: PodFacts[]; between: PodFacts[] } {
  const before = several(3, { ...(restartedFor !== undefined && { restartedFor }) });
  const between = several(2, {
    ...{ controller: newest, created: from + 10_000, ready: false, restartedFor: 'overtaken' },
  });
  return { before, between };
}

interface Case extends Partial<Omit<RestartInput, 'sorted' | 'strategy'>> {
  readonly type?: 'Auto' | 'Evict' | 'RolloutRestart';
  readonly rollout?: Partial<RolloutFacts>;
  /** Of the ReplicaSet of before. */
  readonly revision?: string;
}

function planned({ type = 'Auto', rollout = {}, revision = '1', pods = [], ...facts }: Case): Plan {
  const spec = specOf({ strategy: { type } });
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'webapp', uid: 'webapp-uid' };
  const target = { revision: '2', partition: 0 };
  const owner: OwnerFacts = {
    ...{ reference, wanted: 4, makesSelectedPods: true },
    rollout: { pods: 5, target, restartedFor: 'overtaken', ...rollout },
  };
  const owners = new Map([
    [webapp.uid, { ...owner, revision }],
    [newest.uid, { ...owner, revision: '2' }],
  ]);
  return planRestart({
    ...{ pods, sorted: sortPods(pods, spec, { cutoff, from, until: now - 1000 }), owners, memory, now },
    ...{ strategy: spec.strategy, cutoff, from, overtaken: ['overtaken'], places: [place], maxPlaces: 50 },
    ...{ proven: false, ownPod: undefined, record: undefined },
    ...facts,
  });
}

/** What each owner's template is restored to, and which Pods are evicted. No rollout begins: it would replace all Pods. */
function deeds({ returns, rollouts, batch }: Plan): unknown[] {
  assert.deepEqual(rollouts, []);
  return [returns.map(({ value }) => value), batch.map(({ uid }) => uid)];
}

describe('a content that is taken back in the middle of a rollout', () => {
  for (const type of ['Auto', 'RolloutRestart'] as const) {
    it(`${type} restores the template of before, also one without the annotation`, () => {
      for (const value of [undefined, 'earlier']) {
        const { before, between } = midRollout(value);
        assert.deepEqual(deeds(planned({ type, pods: [...before, ...between] })), [[value ?? null], []]);
      }
    });
  }

  const { before, between } = midRollout();
  const pods = [...before, ...between];
  const evicted = [[], between.map(({ uid }) => uid)];
  const failed = { cause: 'Failure', message: 'refused', retryAt: now - 1 } as const;
  const reborn = pod({ created: from + 10_000, ready: false });
  const rows: readonly (readonly [string, Case])[] = [
    ['the template was changed for another restart', { overtaken: ['another'] }],
    ['the right is missing', { rolloutRight: 'Denied' }],
    ['none of its Pods is replaced by it', { revision: '2' }],
    ['its older Pods are of several templates', { pods: [...pods, pod({ restartedFor: 'earlier' })] }],
    [
      'it has made Pods since the edit',
      {
        pods: [...pods, pod({ created: now, controller: newest, restartedFor: 'overtaken' })],
      },
    ],
    [
      'the change was refused three times',
      { memory: { ...memory, refusals: new Map([['webapp-uid', { ...failed, attempts: 3 }]]) } },
    ],
    [
      'a user wants the rollout after all',
      { memory: { ...memory, restored: new Map([['webapp-uid', now - 1000]]) } },
    ],
  ];
  for (const [why, facts] of rows) {
    for (const type of ['Auto', 'RolloutRestart'] as const) {
      it(`${type} evicts the Pods of the content between where ${why}`, () => {
        assert.deepEqual(deeds(planned({ type, pods, ...facts })), evicted);
      });
    }
  }

  for (const [why, facts] of [
    ['Pods are always evicted', { type: 'Evict' }],
    ['it is paused', { rollout: { held: 'Paused' } }],
  ] as const) {
    it(`evicts the Pods of the content between where ${why}`, () => {
      assert.deepEqual(deeds(planned({ pods, ...facts })), evicted);
    });
  }

  it('RolloutRestart takes no Pod of an owner that is paused', () => {
    const plan = planned({ type: 'RolloutRestart', pods, rollout: { held: 'Paused' } });
    assert.deepEqual([deeds(plan), plan.stalled.map(({ because }) => because)], [[[], []], ['Paused']]);
  });

  it('restores the template also where the Pods between are gone already, or no node takes them', () => {
    const waits = { ready: false, unschedulable: true };
    const waiting = pod({ ...waits, created: now, controller: newest, restartedFor: 'overtaken' });
    for (const others of [[], [waiting]]) {
      const plan = planned({ pods: [...before, ...others] });
      assert.deepEqual([deeds(plan), plan.isDone], [[[null], []], false]);
    }
  });

  it('restores the templates of all owners at once, whatever holds up the restart', () => {
    const crashing = pod({ created: now - 1000, ready: false, restarts: 2 });
    const held = { ...place, available: 3 };
    for (const facts of [{ places: [] }, { pods: [...pods, crashing], places: [held] }]) {
      assert.deepEqual(deeds(planned({ pods, ...facts }))[0], [null]);
    }
  });

  it('waits where the change was refused a moment ago', () => {
    const refusal = { ...failed, attempts: 1, retryAt: now + 1000 };
    const refused = { ...memory, refusals: new Map([['webapp-uid', refusal]]) };
    for (const some of [pods, before]) {
      const plan = planned({ pods: some, memory: refused });
      assert.deepEqual([deeds(plan), plan.isDone], [[[], []], false]);
    }
  });

  it('waits for its controller to see the newest template', () => {
    for (const places of [[place], []]) {
      const plan = planned({ pods: before, rollout: { isBehind: true }, places });
      assert.deepEqual([deeds(plan), plan.isDone, plan.lookAgainAt], [[[], []], false, now + 1000]);
      const late = { left: 0, reached: 100, since: now - 3_600_000 };
      const known = { ...memory, progress: new Map([['webapp-uid', late]]) };
      const stuck = planned({ pods: before, rollout: { isBehind: true }, places, memory: known });
      assert.deepEqual([stuck.lookAgainAt, stuck.stalled.length], [undefined, 1], 'not for ever, and told');
    }
  });

  for (const type of ['Auto', 'RolloutRestart'] as const) {
    it(`${type} waits then for the Pods between to be replaced, and evicts what that leaves`, () => {
      const restored = { target: { revision: '3', partition: 0 }, restartedFor: 'earlier' };
      const { before, between } = midRollout('earlier');
      const done = { ...memory, restored: new Map([['webapp-uid', now - 1000]]) };
      for (const known of [memory, done]) {
        const facts = { type, memory: known, rollout: restored, revision: '3' };
        const plan = planned({ ...facts, pods: [...before, ...between] });
        assert.deepEqual([deeds(plan), plan.rollsOut, plan.stalled], [[[], []], true, []]);
        const last = planned({ ...facts, pods: [...before, reborn] });
        assert.deepEqual([deeds(last), last.stalled], [[[], [reborn.uid]], []]);
      }
    });
  }
});
