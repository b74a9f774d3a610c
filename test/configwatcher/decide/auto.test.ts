/** Strategy Auto: which owners restart by their own rollout, and which Pods are evicted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { Observed, OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import { emptyMemory, remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import {
  afterwards,
  changing,
  decided,
  newContent,
  newestContent,
  now,
  ownedBy,
  pod,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

const rollout = { pods: 2, target: { revision: '1', partition: 0 } };
const due = {
  ...{ spec: specOf({ cooldown: { base: '0s' } }), sources: [newContent] },
  state: changing({
    ...{ hash: newContent.hash, since: now - 60_000, cutoff: now - 60_000, reason: 'Debounce' },
  }),
} as const;

function facts(owner: Partial<OwnerFacts> = {}, more: Partial<Observed> = {}): Partial<Observed> {
  return { ...due, pods: several(2), owners: ownedBy(2, { rollout, ...owner }), ...more };
}

function ways({ actions }: Steps): string[] {
  return actions.map(({ type }) => type);
}

describe('strategy Auto', () => {
  it('lets the owner replace its Pods where all of them are selected and stale', () => {
    const decision = decided(facts());
    assert.deepEqual(ways(decision), ['RestartRollout']);
    assert.equal(decision.state.strategy, 'Auto');
  });

  const rows: readonly (readonly [string, Partial<OwnerFacts>, Partial<Observed>])[] = [
    ['one Pod has the new content', {}, { pods: [...several(2), pod({ created: now - 30_000 })] }],
    ['there are Pods that are not selected', { rollout: { ...rollout, pods: 3 } }, {}],
    ['its next Pods are not selected', { makesSelectedPods: false }, {}],
    ['it takes Pods for available that crash', { rollout: { ...rollout, isUnchecked: true } }, {}],
    ['it is paused', { rollout: { ...rollout, held: 'Paused' } }, {}],
    ['it replaces its Pods OnDelete', { rollout: { pods: 2, held: 'OnDelete' } }, {}],
    ['its strategy is Recreate', { rollout: { pods: 2 } }, {}],
    ['its controller has not counted its Pods', { rollout: { target: rollout.target } }, {}],
    ['it has no rollout', { rollout: undefined as never }, {}],
    ['the right is missing', {}, { rolloutRight: 'Denied' }],
  ];
  for (const [why, owner, more] of rows) {
    it(`evicts where ${why}`, () => {
      assert.deepEqual(ways(decided(facts(owner, more))), ['EvictPod']);
    });
  }

  it('lets an owner of one Pod replace it although its controller takes a Pod for available that crashes', () => {
    const alone = { rollout: { ...rollout, pods: 1, isUnchecked: true as const } };
    assert.deepEqual(ways(decided(facts({}, { pods: several(1), owners: ownedBy(1, alone) }))), [
      'RestartRollout',
    ]);
  });

  it('waits for a rollout that it has begun, although a probe was taken out of the template since', () => {
    const begun = facts({}, {});
    const { id: restartedFor = '' } = decided(begun).memory;
    const without = { rollout: { ...rollout, restartedFor, isUnchecked: true as const } };
    assert.deepEqual(ways(decided(facts({}, { owners: ownedBy(2, without) }))), []);
  });

  for (const type of ['Auto', 'Evict', 'RolloutRestart'] as const) {
    it(`${type} waits a second while the owner's controller has not seen its newest template`, () => {
      const spec = specOf({ cooldown: { base: '0s' }, strategy: { type } });
      const pods = [...several(2), pod({ created: now - 1000, ready: false })];
      const behind = facts({ rollout: { pods: 3, isBehind: true } }, { spec, pods });
      const decision = decided(behind);
      assert.deepEqual([ways(decision), decision.requeueAfter], [[], 1000]);
      const rolling = { pods: 3, target: { revision: '2', partition: 0 } };
      const seen = {
        ...afterwards(behind, decision, 1000),
        owners: ownedBy(2, { rollout: rolling, revision: '1' }),
      };
      assert.deepEqual(ways(decided(seen)), [], 'and then for its rollout');
    });
  }

  for (const type of ['Auto', 'Evict', 'RolloutRestart'] as const) {
    it(`${type} replaces what keeps a rollout from going on: new Pods that an earlier content broke`, () => {
      const controller = { ...pod().controller!, uid: 'newest-rs' };
      const broken = pod({ created: now - 120_000, ready: false, controller });
      const slow = pod({ created: now - 30_000, ready: false, controller });
      const rolling = {
        pods: 5,
        target: { revision: '2', partition: 0 },
        restartedFor: 'an earlier content',
      };
      const [[uid, deployment] = []] = [...ownedBy(3, { rollout: rolling, revision: '1' })];
      assert.ok(uid !== undefined && deployment !== undefined);
      const owners = new Map([
        [uid, deployment],
        [controller.uid, { ...deployment, revision: '2' }],
      ]);
      const spec = specOf({ cooldown: { base: '0s' }, strategy: { type } });
      const pods = [...several(2), pod({ ready: false }), broken, slow];
      const { actions } = decided({ ...due, spec, pods, owners });
      assert.deepEqual(
        actions.map((action) => [action.type, 'pod' in action && action.pod.uid]),
        [['EvictPod', broken.uid]],
        'its controller replaces the others',
      );
    });
  }

  it('waits for the rollout that it has begun, however many Pods are new', () => {
    const before = facts();
    const first = decided(before);
    const restartedFor = first.memory.id;
    const pods = [...several(2), pod({ created: now, ready: false })];
    const begun = { ...rollout, pods: 3, restartedFor };
    const after = { ...afterwards(before, first, 1000), pods, owners: ownedBy(2, { rollout: begun }) };
    assert.deepEqual(ways(decided(after)), []);
    const paused = { ...after, owners: ownedBy(2, { rollout: { ...begun, held: 'Paused' as const } }) };
    assert.deepEqual(ways(decided(paused)), ['EvictPod'], 'until a user pauses it');
  });

  it('evicts what is left when its template is taken back', () => {
    const before = facts();
    const first = decided(before);
    const uid = 'webapp-uid';
    const memory = remember(first.memory, [{ uid, result: 'RolledOut' }], now, () => 0);
    assert.deepEqual(ways(decided({ ...afterwards(before, { ...first, memory }, 1000) })), ['EvictPod']);
  });

  it('evicts what is left when the template is taken back that another process has changed', () => {
    const before = facts();
    const first = decided(before);
    const other = { ...first, memory: emptyMemory };
    const restartedFor = first.memory.id;
    const begun = {
      ...afterwards(before, other, 1000),
      owners: ownedBy(2, { rollout: { ...rollout, restartedFor } }),
    };
    const seen = decided(begun);
    assert.deepEqual(ways(seen), [], 'while it is there');
    const back = { ...afterwards(begun, seen, 1000), owners: ownedBy(2, { rollout }) };
    const reverted = decided(back);
    assert.deepEqual(ways(reverted), ['EvictPod']);
    assert.deepEqual(
      ways(decided({ ...back, memory: emptyMemory })),
      ['EvictPod'],
      'also where no process saw it taken back',
    );
    const again = { ...back, owners: ownedBy(2, { rollout }), sources: [newestContent] };
    const edited = decided({ ...again, memory: emptyMemory });
    const { state } = edited;
    assert.deepEqual(
      state.pending?.owners?.map(({ templateChanged }) => templateChanged),
      [undefined],
      'the next content changes it again',
    );
    // Its controller has not seen a scale-up yet, so that nothing is done to it.
    const scaled = afterwards(back, { ...reverted, memory: emptyMemory }, 1000);
    const behind = decided({ ...scaled, owners: ownedBy(2, { rollout: { ...rollout, isBehind: true } }) });
    assert.deepEqual(ways(behind), []);
    const next = afterwards(scaled, { ...behind, memory: emptyMemory }, 1000);
    assert.deepEqual(ways(decided(next)), ['EvictPod'], 'by the next process as well');
  });

  it('evicts without the right, says so once, and works', () => {
    const before = facts();
    const first = decided(before);
    const refused = { uid: 'webapp-uid', result: 'Refused' } as const;
    const outcome = { ...refused, cause: 'Forbidden', message: 'patch deployments' } as const;
    const memory = remember(first.memory, [outcome], now, () => 0);
    const next = { ...afterwards(before, { ...first, memory }, 2000), rolloutRight: 'Denied' as const };
    const second = decided(next);
    assert.deepEqual([ways(second), second.state.strategy], [['EvictPod'], 'Evict']);
    assert.equal(second.state.conditions.find(({ type }) => type === 'Ready')?.status, 'True');
    const said = ({ events }: Steps) => events.filter(({ reason }) => reason === 'AutoEvicts').length;
    assert.equal(said(second), 1);
    const third = decided({ ...afterwards(next, second, 1000), rolloutRight: 'Denied' as const });
    assert.equal(said(third), 0);
    const { rolloutRight, ...unknown } = afterwards(next, { ...third, memory: emptyMemory }, 1000);
    assert.equal(decided({ ...unknown, generation: third.state.observedGeneration }).state.strategy, 'Evict');
    assert.equal(decided({ ...unknown, rolloutRight: 'Granted' }).state.strategy, 'Auto');
    const pods = [pod(), pod({ created: now + 1000 })];
    const later = { ...afterwards(next, third, 1000), pods, rolloutRight: undefined as never };
    const { state } = decided(later);
    assert.equal(
      state.conditions.find(({ type }) => type === 'Ready')?.status,
      'True',
      'by eviction it works',
    );
  });

  it('evicts after the third refusal of a change of the template', () => {
    const before = facts();
    const first = decided(before);
    const refused = { uid: 'webapp-uid', result: 'Refused' } as const;
    const outcome = { ...refused, cause: 'Failure', message: 'a webhook says no' } as const;
    let { memory } = first;
    const seen: string[][] = [];
    for (let tries = 1; tries <= 3; tries++) {
      memory = remember(memory, [outcome], now, () => 0);
      seen.push(ways(decided(afterwards(before, { ...first, memory }, 60_000))));
    }
    assert.deepEqual(seen, [['RestartRollout'], ['RestartRollout'], ['EvictPod']]);
  });
});
