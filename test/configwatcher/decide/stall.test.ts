/** When an owner counts as stuck, what is tried again, and what the new Pods have time for then. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Plan } from '../../../src/configwatcher/decide/restart.ts';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import {
  emptyMemory,
  type RestartMemory,
  remember,
} from '../../../src/configwatcher/facts/restart-memory.ts';
import { barePod, now, ownedBy, pod, several, webapp } from '../../fixtures/configwatcher.ts';
import { fresh, names, OneRestart, overloaded, plan } from '../../fixtures/restart-plan.ts';

/** A minute without a step forward, and an owner is stuck. */
const spec = { strategy: { type: 'Evict', progressDeadlineSeconds: 60 } } as const;

describe('a stall', () => {
  const stuck = () => [...several(3), pod({ ...fresh, ready: false })];

  function progressed(pods: PodFacts[], later: PodFacts[], after: number): Plan {
    const { progress, places } = plan({ pods, spec });
    return plan({ pods: later, spec, now: now + after, places, memory: { ...emptyMemory, progress } });
  }

  it('is told once nothing has moved for the deadline', () => {
    const pods = stuck();
    assert.equal(progressed(pods, pods, 59_999).stalled.length, 0);
    assert.equal(progressed(pods, pods, 60_000).stalled.length, 1);
    assert.equal(progressed(pods, pods, 59_000).lookAgainAt, now + 60_000);
  });

  it('is over when a Pod gets Ready or goes', () => {
    const pods = stuck();
    const ready = [...pods.slice(0, 3), pod(fresh)];
    assert.equal(progressed(pods, ready, 60_000).stalled.length, 0);
    assert.equal(progressed(pods, pods.slice(1), 60_000).stalled.length, 0);
  });

  it('waits for a Pod that ends within its grace period, and is not looked for meanwhile', () => {
    const bare = { strategy: { ...spec.strategy, unmanagedPods: 'Delete' } } as const;
    const pods = stuck();
    const ends = { terminating: true, ready: false, goneBy: now + 90_000 };
    for (const [before, made, given] of [
      [pods, [...pods.slice(0, 2), { ...pods[2]!, ...ends }, pods[3]!], spec],
      [[barePod({ uid: 'bare' })], [{ ...barePod({ uid: 'bare' }), ...ends }], bare],
    ] as const) {
      const { progress, places } = plan({ pods: before, spec: given });
      const at = (ms: number) =>
        plan({ pods: made, spec: given, now: now + ms, places, memory: { ...emptyMemory, progress } });
      assert.deepEqual([at(70_000).stalled.length, at(70_000).lookAgainAt], [0, now + 90_000]);
      assert.equal(at(90_000).stalled.length, 1);
    }
  });

  it('of an owner that was refused ends with the next try, and gives the new Pods the whole deadline', () => {
    const reference = { ...webapp, kind: 'Deployment', name: 'web', uid: 'web' };
    const pods = several(2, { controller: reference });
    const owners = new Map([['web', { reference, wanted: 2, makesSelectedPods: true, rollout: {} }]]);
    const given = { pods, owners, spec: { strategy: { ...spec.strategy, type: 'RolloutRestart' } } } as const;
    const refused = { uid: 'web', result: 'Refused', cause: 'Overload', message: 'later' } as const;
    const first = plan(given);
    const held = remember({ ...emptyMemory, progress: first.progress }, [refused], now + 59_500, () => 0);
    const { retryAt } = held.refusals.get('web')!;
    const at = (time: number, memory: RestartMemory) =>
      plan({ ...given, memory, now: time, places: first.places });
    const stuck = at(retryAt - 1, held);
    const [{ because, refusal } = {}] = stuck.stalled;
    assert.deepEqual([stuck.rollouts.length, because, refusal?.message], [0, 'Deadline', 'later']);
    assert.equal(stuck.lookAgainAt, retryAt);
    const [retried] = at(retryAt, held).rollouts;
    assert.equal(retried?.key, 'web');
    const surge = [...pods, pod({ controller: reference, ready: false, created: now + 60_000 })];
    const live = { reference, wanted: 2, makesSelectedPods: true, rollout: { restartedFor: '' } };
    for (const outcome of [
      { uid: 'web', result: 'RolledOut' },
      { ...refused, cause: 'NoAnswer' },
    ] as const) {
      const after = remember(held, [outcome], retryAt, () => 0);
      const rolling = (time: number, { progress }: Pick<RestartMemory, 'progress'>) => {
        const facts = { ...given, pods: surge, owners: new Map([['web', live]]), places: first.places };
        return plan({ ...facts, memory: { ...after, progress }, now: time });
      };
      const begun = rolling(retryAt + 100, held);
      assert.deepEqual(begun.stalled, [], outcome.result);
      const stalls = [60_099, 60_100].map((ms) => rolling(retryAt + ms, begun).stalled.length);
      assert.deepEqual(stalls, [0, 1], outcome.result);
    }
  });

  it('does not come for an owner that waits for its turn, and counts from that on', () => {
    const owners = Array.from({ length: 11 }, (_, index) => ({ ...webapp, uid: `rs-${index}` }));
    const pods = owners.flatMap((controller) => several(2, { controller }));
    const facts = new Map(
      owners.map((reference) => [reference.uid, { reference, wanted: 2, makesSelectedPods: true }]),
    );
    const at = (after: number, left: PodFacts[], before?: Plan) => {
      const memory = { ...emptyMemory, ...(before && { progress: before.progress }) };
      return plan({ pods: left, owners: facts, spec, now: now + after, memory });
    };
    const first = at(0, pods);
    const stuck = at(60_000, pods, at(30_000, pods, first));
    const last = pods.slice(-2);
    assert.equal(stuck.stalled.length, 10, 'all but the one that waited');
    assert.deepEqual(
      stuck.stalled.filter(({ group }) => group.stale.includes(last[0]!)),
      [],
    );
    // The ten give their places back, so it is its turn from here on.
    assert.equal(at(119_999, last, stuck).stalled.length, 0);
    assert.equal(at(120_000, last, stuck).stalled.length, 1);
  });

  it('comes for a Pod that does not end', () => {
    const pods = [pod({ terminating: true })];
    assert.equal(progressed(pods, pods, 60_000).stalled.length, 1);
  });

  it('comes for a Pod without a controller, too: refused or not ending', () => {
    const alone = { strategy: { ...spec.strategy, unmanagedPods: 'Delete' } } as const;
    const pods = [barePod(), { ...barePod(), terminating: true }, barePod()];
    const { progress } = plan({ pods, spec: alone });
    const later = plan({
      ...{ pods: pods.slice(0, 2), spec: alone, now: now + 60_000 },
      memory: { ...emptyMemory, progress },
    });
    assert.deepEqual(
      later.stalled.map(({ group }) => `${group.owner.kind} ${group.owner.name}`),
      pods.slice(0, 2).map(({ name }) => `Pod ${name}`),
    );
  });

  it('is not broken by a Pod that gets Ready and unready again', () => {
    const pods = stuck();
    const first = plan({ pods: [...several(3), pod(fresh)], spec });
    const memory = { ...emptyMemory, progress: first.progress };
    assert.equal(plan({ pods, spec, memory, now: now + 60_000 }).stalled.length, 1);
  });
});

/** Two hours, and the last minutes of them. */
const twoHours = 7_200_000;
const lastMinutes = (tries: readonly number[]) => tries.filter((ms) => ms > twoHours - 180_000).length;

describe('an owner whose Pods were missing before the change, so that it has nothing to lose', () => {
  const pods = several(1);
  const facts = { spec, owners: ownedBy(3), proven: false };

  it('is stuck after the deadline, also where no owner has shown yet that the content works', () => {
    const restart = new OneRestart(facts);
    assert.equal(restart.look({ pods }).lookAgainAt, now + 60_000);
    assert.deepEqual(restart.goOn(55_000, { pods }).last.stalled, []);
    const { last } = restart.goOn(5000, { pods });
    assert.deepEqual([last.stalled.map(({ because }) => because), names(last.batch)], [['PodsMissing'], []]);
  });

  it('is not while another one is to go before the Pod of the operator itself', () => {
    const others = several(1, { controller: { ...webapp, name: 'other', uid: 'other' } });
    const restart = new OneRestart({ ...facts, owners: ownedBy(1), ownPod: pods[0]?.name });
    const { last } = restart.goOn(120_000, { pods: [...pods, ...others] });
    assert.ok(last.stalled.every(({ group }) => group.owner.name === 'other'));
    assert.equal(last.progress.get('webapp-uid')?.waits, true, 'its time does not run');
  });
});

describe('an owner that has Pods which the selector leaves out', () => {
  const goes = { result: 'Restarted' } as const;
  const owners = ownedBy(4, { rollout: { pods: 4 } });

  it('loses others after the deadline, which is told, and then one batch a deadline', () => {
    const restart = new OneRestart({ spec, owners });
    const pods = several(3);
    restart.look({ pods });
    assert.deepEqual(restart.goOn(55_000, { pods }, goes).tries, []);
    const { last } = restart.goOn(5000, { pods }, goes);
    assert.deepEqual([names(last.batch), last.stalled[0]?.because], [[pods[0]?.name], 'Deadline']);
    assert.deepEqual(restart.goOn(55_000, { pods: pods.slice(1) }, goes).tries, [], 'it is waited for');
    const back = [...pods.slice(1), pod({ created: restart.now - 10_000 })];
    assert.deepEqual(restart.goOn(55_000, { pods: back }, goes).tries, []);
    assert.deepEqual(names(restart.goOn(10_000, { pods: back }, goes).last.batch), [pods[1]?.name]);
  });

  it('keeps the last one, and all of them where the first one does not come back: its count may be an old one', () => {
    const alone = new OneRestart({ spec, owners });
    assert.deepEqual(alone.goOn(600_000, { pods: several(1) }, goes).tries, []);
    const restart = new OneRestart({ spec, owners });
    const pods = several(3);
    restart.look({ pods });
    assert.equal(restart.goOn(60_000, { pods }, goes).tries.length, 1);
    assert.deepEqual(restart.goOn(600_000, { pods: pods.slice(1) }, goes).tries, []);
  });
});

describe('a stuck owner that lacks Pods', () => {
  const down = (one: PodFacts): PodFacts => {
    const { stableSince: _, ...rest } = one;
    return { ...rest, ready: false };
  };

  it('has those Pods tried again that serve nobody, and no others', () => {
    for (const cause of ['Overload', 'Budget', 'Forbidden', 'NoAnswer'] as const) {
      const [first, second] = several(2) as [PodFacts, PodFacts];
      const restart = new OneRestart({ spec, owners: ownedBy(2) });
      restart.look({ pods: [first, second] }, { ...overloaded, cause });
      const pods = [first, down(second)];
      const { last, tries } = restart.goOn(twoHours, { pods }, { ...overloaded, cause });
      assert.ok(lastMinutes(tries) >= 2, `${cause}: ${tries}`);
      assert.equal(last.places.length, 1);
      restart.now += 600_000;
      assert.deepEqual(names(restart.look({ pods }, { result: 'Restarted' }).batch), [second.name]);
    }
  });

  it('has its rollout tried again, with whatever it was refused', () => {
    const reference = { ...webapp, kind: 'Deployment', name: 'web', uid: 'web' };
    const [first, second] = several(2, { controller: reference }) as [PodFacts, PodFacts];
    const rollout = { pods: 2, target: { revision: '1', partition: 0 } };
    const owners = new Map([['web', { reference, wanted: 2, makesSelectedPods: true, rollout }]]);
    for (const [type, cause] of [
      ['RolloutRestart', 'Overload'],
      ['RolloutRestart', 'Forbidden'],
      ['RolloutRestart', 'Failure'],
      ['Auto', 'Overload'],
      ['Auto', 'NoAnswer'],
    ] as const) {
      const restart = new OneRestart({ spec: { strategy: { ...spec.strategy, type } }, owners });
      restart.look({ pods: [first, second] }, { ...overloaded, cause });
      const { tries } = restart.goOn(twoHours, { pods: [first, down(second)] }, { ...overloaded, cause });
      assert.ok(lastMinutes(tries) >= 2, `${type} ${cause}: ${tries}`);
    }
  });
});

describe('Pods that are missing for the whole deadline', () => {
  const reference = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', name: 'web', uid: 'web' };
  const ofUnknownSize = new Map([[webapp.uid, { reference, makesSelectedPods: false }]]);
  const goes = { result: 'Restarted' } as const;

  it('are not awaited of an owner that does not say how many it wants: it may have been scaled down', () => {
    const restart = new OneRestart({ spec, owners: ofUnknownSize });
    const pods = several(4);
    restart.look({ pods }, goes);
    const left = [...pods.slice(2), pod(fresh)];
    assert.deepEqual(restart.goOn(55_000, { pods: left }, goes).tries, []);
    assert.deepEqual(names(restart.goOn(10_000, { pods: left }, goes).last.batch), [pods[2]!.name]);
  });

  it('are not awaited where the owner has others, which are not selected', () => {
    const owners = ownedBy(8, { makesSelectedPods: false, rollout: { pods: 8 } });
    const restart = new OneRestart({ spec, owners });
    const [first, second] = several(2) as [PodFacts, PodFacts];
    restart.look({ pods: [first, second] }, goes);
    const { last } = restart.goOn(65_000, { pods: [second] }, goes);
    assert.deepEqual(names(last.batch), [second.name]);
  });

  const ending = { terminating: true, ready: false, created: now + 1000, goneBy: now + 31_000 };
  for (const [what, owners, made] of [
    ['the owner has not made them', ownedBy(4, { rollout: { pods: 3 } }), []],
    ['the count of the owner may be an old one', ownedBy(4, { rollout: { pods: 4 } }), []],
    ['a new one does not end', ownedBy(4, { rollout: { pods: 4 } }), [pod(ending)]],
    ['nothing shows that they come back', ownedBy(4, { makesSelectedPods: false }), []],
    ['they never came back', ofUnknownSize, []],
  ] as const) {
    it(`are awaited where ${what}: no further batch goes`, () => {
      const restart = new OneRestart({ spec, owners });
      const pods = several(4);
      restart.look({ pods }, goes);
      const { last, tries } = restart.goOn(600_000, { pods: [...pods.slice(1), ...made] }, goes);
      assert.deepEqual([tries, last.stalled[0]?.because], [[], 'PodsMissing']);
    });
  }
});

describe('a rollout that has begun', () => {
  const strategy = { type: 'RolloutRestart', progressDeadlineSeconds: 60 } as const;
  const changed = { result: 'RolledOut' } as const;
  const broken = { reason: 'CreateContainerConfigError', container: 'app' };
  const ownerOf = (kind: string, wanted: number, rollout: OwnerFacts['rollout'] = {}) => {
    const reference = { ...webapp, kind, name: 'web', uid: 'web' };
    return new Map([['web', { reference, wanted, makesSelectedPods: true, rollout }]]);
  };
  const controller = { ...webapp, uid: 'web' };

  it('is judged by its new Pods also where its controller was away for the whole deadline', () => {
    const restart = new OneRestart({ spec: { strategy } });
    const old = pod({ controller });
    restart.look({ pods: [old], owners: ownerOf('StatefulSet', 1) }, changed);
    const owners = ownerOf('StatefulSet', 1, { restartedFor: 'now' });
    const { last } = restart.goOn(100_000, { pods: [old], owners });
    assert.deepEqual([last.stalled[0]?.because, last.places.length], ['Deadline', 1]);
    const late = pod({ controller, ready: false, created: restart.now, failure: broken });
    restart.now += 1000;
    const { stalled, isDone } = restart.look({ pods: [late], owners });
    assert.deepEqual([stalled[0]?.because, isDone], ['NewPodsNotAvailable', false]);
  });

  it('lacks Pods where the API server refuses those of its surge, with all of the old ones there', () => {
    for (const [because, rollout] of [
      ['PodsMissing', { lacksPods: true }],
      ['Deadline', {}],
    ] as const) {
      const restart = new OneRestart({ spec: { strategy } });
      const pods = several(2, { controller });
      restart.look({ pods, owners: ownerOf('Deployment', 2) }, changed);
      const owners = ownerOf('Deployment', 2, { restartedFor: 'now', ...rollout });
      assert.equal(restart.goOn(100_000, { pods, owners }).last.stalled[0]?.because, because);
    }
  });

  it('has the whole deadline once it is resumed, and is judged then', () => {
    const pods = several(2, { controller });
    const restart = new OneRestart({ spec: { strategy } });
    restart.look({ pods, owners: ownerOf('Deployment', 2) }, changed);
    const made = { controller, ready: false, created: now + 1000 };
    const surge = [...pods, pod({ ...made, unschedulable: true })];
    const paused = ownerOf('Deployment', 2, { restartedFor: 'now', held: 'Paused' });
    const { last } = restart.goOn(600_000, { pods: surge, owners: paused });
    assert.equal(last.stalled[0]?.because, 'Paused');
    const owners = ownerOf('Deployment', 2, { restartedFor: 'now' });
    const resumed = { pods: [...pods, pod(made)], owners };
    assert.deepEqual(restart.goOn(60_000, resumed).last.stalled, []);
    assert.equal(restart.goOn(10_000, resumed).last.stalled[0]?.because, 'NewPodsNotAvailable');
  });
});

describe('a new Pod that comes after the deadline', () => {
  it('is not broken before it has had the deadline for itself', () => {
    const pods = several(4);
    const restart = new OneRestart({ spec, owners: ownedBy(4) });
    restart.look({ pods }, { result: 'Restarted' });
    const came = pod({ created: now + 2000, stableSince: now + 3000 });
    const budget = { ...overloaded, cause: 'Budget' } as const;
    restart.goOn(80_000, { pods: [...pods.slice(1), came] }, budget);
    const late = pod({ created: restart.now, ready: false });
    const because = () =>
      restart.goOn(5000, { pods: [...pods.slice(1), late] }, budget).last.stalled[0]?.because;
    assert.equal(because(), undefined);
    restart.now += 60_000;
    assert.equal(because(), 'NewPodsNotAvailable');
  });

  it('is waited for by the other owners until it is judged', () => {
    const other = { ...webapp, uid: 'other' };
    const facts = { reference: other, wanted: 1, makesSelectedPods: true };
    const owners = new Map<string, OwnerFacts>([...ownedBy(1), ['other', facts]]);
    const [first, second] = [pod(), pod({ controller: other })];
    const restart = new OneRestart({ spec, owners, proven: false });
    const [taken] = restart.look({ pods: [first, second] }, { result: 'Restarted' }).batch;
    const left = taken?.uid === first.uid ? second : first;
    const made = pod({ controller: taken!.controller!, created: now + 3000, ready: false });
    const { last, tries } = restart.goOn(120_000, { pods: [left, made] });
    assert.deepEqual([tries, last.stalled[0]?.because], [[], 'NewPodsNotAvailable']);
  });

  it('is judged while its owner is paused', () => {
    const owners = (held?: 'Paused') =>
      ownedBy(2, { rollout: { restartedFor: 'now', ...(held && { held }) } });
    const spec = { strategy: { type: 'RolloutRestart', progressDeadlineSeconds: 60 } } as const;
    const [first, second] = several(2) as [PodFacts, PodFacts];
    const restart = new OneRestart({ spec, owners: ownedBy(2, { rollout: {} }) });
    restart.look({ pods: [first, second] }, { result: 'RolledOut' });
    const made = pod({ created: now + 1000, ready: false });
    const { last } = restart.goOn(130_000, { pods: [second, made], owners: owners('Paused') });
    assert.equal(last.stalled[0]?.because, 'NewPodsNotAvailable');
  });
});

describe('a new Pod that gets its node after the deadline', () => {
  it('has the whole deadline from then on', () => {
    const [first, second] = several(2) as [PodFacts, PodFacts];
    const made = (more: Partial<PodFacts> = {}) => pod({ ready: false, created: now + 1000, ...more });
    for (const [because, waiting] of [
      ['PodsMissing', []],
      ['Unschedulable', [made({ unschedulable: true })]],
    ] as const) {
      const owners = ownedBy(2, { rollout: { pods: 1 } });
      const restart = new OneRestart({ spec, owners });
      restart.look({ pods: [first, second] }, { result: 'Restarted' });
      const { last } = restart.goOn(100_000, { pods: [second, ...waiting] });
      assert.equal(last.stalled[0]?.because, because);
      const starts = { pods: [second, made()], owners: ownedBy(2) };
      assert.deepEqual(restart.goOn(60_000, starts).last.stalled, [], because);
      assert.equal(restart.goOn(10_000, starts).last.stalled[0]?.because, 'NewPodsNotAvailable');
    }
  });
});

describe('the first owner with a content', () => {
  it('begins only where status has room for it', () => {
    const owners = Array.from({ length: 51 }, (_, index) => ({ ...webapp, uid: `rs-${index}` }));
    const facts = new Map(
      owners.map((reference) => [reference.uid, { reference, wanted: 2, makesSelectedPods: true }]),
    );
    // Of all but the last one Pod each is missing since an earlier content.
    const pods = owners.flatMap((controller, index) => several(index === 50 ? 2 : 1, { controller }));
    const places = owners.slice(0, 50).map(({ uid }) => ({ uid, wanted: 2, available: 2 }));
    const late = new Map(owners.map(({ uid }) => [uid, { left: 1, reached: 2, since: now - 3_600_000 }]));
    const begin = (count: number) => {
      const memory = { ...emptyMemory, progress: late };
      return plan({ pods, owners: facts, places: places.slice(0, count), memory, proven: false });
    };
    assert.deepEqual([begin(50).batch, begin(50).places.length], [[], 50]);
    assert.deepEqual([begin(49).batch.length, begin(49).places.length], [1, 50]);
  });
});
