import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Plan } from '../../../src/configwatcher/decide/restart.ts';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { emptyMemory, remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import type { OwnerReference } from '../../../src/kubernetes/objects.ts';
import { anHourAgo, barePod, now, ownedBy, pod, several, webapp } from '../../fixtures/configwatcher.ts';
import { type Facts, fresh, names, plan } from '../../fixtures/restart-plan.ts';

describe('the next batch', () => {
  it('is as large as maxUnavailable allows, the oldest Pods first', () => {
    const pods = [pod({ created: anHourAgo + 1 }), pod(), pod({ created: anHourAgo + 2 }), pod()];
    const { batch } = plan({ pods, spec: { strategy: { maxUnavailable: 2 } } });
    assert.deepEqual(names(batch), names([pods[1]!, pods[3]!]));
  });

  it('waits for replacements that are not Ready', () => {
    const pods = [...several(3), pod({ ...fresh, ready: false })];
    assert.equal(plan({ pods }).batch.length, 0);
    assert.equal(plan({ pods, spec: { strategy: { maxUnavailable: 2 } } }).batch.length, 1);
  });

  it('waits for Pods that the owner wants and that are not there yet', () => {
    assert.equal(plan({ pods: several(3), owners: ownedBy(4) }).batch.length, 0);
  });

  it('counts a Pod on its way out as missing', () => {
    const pods = [...several(3), pod({ terminating: true })];
    assert.equal(plan({ pods }).batch.length, 0);
  });

  it('takes stale Pods that are not Ready at once, whatever else is missing', () => {
    const [first, second] = several(2, { ready: false });
    const pods = [...several(2), first!, second!];
    assert.deepEqual(names(plan({ pods }).batch), names([first!, second!]));
  });

  it('gains nothing from Pods beyond what the owner wants', () => {
    assert.equal(plan({ pods: several(6), owners: ownedBy(4) }).batch.length, 1);
  });

  it('of an owner that cannot be read goes by the Pods it had when its restart began', () => {
    const owners = ownedBy(0);
    const { wanted, ...unread } = owners.get(webapp.uid)!;
    const first = plan({ pods: several(4), owners: new Map([[webapp.uid, unread]]) });
    assert.equal(first.batch.length, 1);
    const facts = { pods: several(3), owners: new Map([[webapp.uid, unread]]) };
    assert.equal(plan(facts).batch.length, 1, 'of which none is known to be lost');
    assert.equal(plan({ ...facts, places: first.places }).batch.length, 0);
  });

  it('waits where the only Pod of a custom owner is gone, until it is made anew or is late', () => {
    const place = { kind: 'Game', name: 'chess', uid: 'chess', wanted: 1, available: 1 };
    const reference = { apiVersion: 'example.org/v1', kind: 'Game', name: 'chess', uid: 'chess' };
    const other = pod({ controller: { ...webapp, uid: 'other' } });
    const known = { places: [place], owners: new Map([['chess', { reference, makesSelectedPods: false }]]) };
    const started = { left: 0, reached: 0, since: now - 3_600_000 };
    const late = { ...emptyMemory, progress: new Map([['chess', started]]) };
    const batchOf = (facts: Facts) => plan({ ...known, proven: false, ...facts }).batch;
    assert.deepEqual(batchOf({ pods: [other] }), []);
    assert.deepEqual(batchOf({ pods: [other], memory: late }), [other]);
    assert.ok(plan({ ...known, pods: [] }).isDone, 'nothing else waits for it');
    const crashes = pod({ ...fresh, ready: false, restarts: 2, controller: reference });
    const { batch, stalled } = plan({ ...known, proven: false, pods: [other, crashes] });
    assert.deepEqual([batch, stalled[0]?.because], [[], 'NewPodsNotAvailable']);
  });

  it('of an owner of which only some Pods are selected goes by those', () => {
    assert.equal(
      plan({ pods: several(2), owners: ownedBy(8, { makesSelectedPods: false }) }).batch.length,
      1,
    );
  });

  it('counts the ReplicaSets of one Deployment together', () => {
    const other = { ...webapp, name: 'webapp-old', uid: 'old-rs' };
    const facts = ownedBy(4).get(webapp.uid)!;
    const owners = new Map([
      [webapp.uid, facts],
      [other.uid, facts],
    ]);
    const pods = [...several(2), ...several(2, { controller: other })];
    assert.equal(plan({ pods, owners }).batch.length, 1);
  });

  it('of a StatefulSet begins with the highest ordinal', () => {
    const controller = { ...webapp, kind: 'StatefulSet', name: 'db', uid: 'db' };
    const pods = [2, 10, 9].map((ordinal) => pod({ name: `db-${ordinal}`, controller }));
    const owners = new Map([['db', { reference: controller, wanted: 3, makesSelectedPods: true }]]);
    assert.deepEqual(names(plan({ pods, owners }).batch), ['db-10']);
  });

  it('concerns ten owners at a time, first those under way', () => {
    const owners = Array.from({ length: 14 }, (_, index) => ({
      ...webapp,
      name: `rs-${index}`,
      uid: `rs-${index}`,
    }));
    const pods = owners.flatMap((controller) => several(2, { controller }));
    const facts = new Map(
      owners.map((reference) => [reference.uid, { reference, wanted: 2, makesSelectedPods: true }]),
    );
    const { batch, places } = plan({ pods, owners: facts });
    assert.deepEqual([batch.length, places.length], [10, 10]);
    // The last three lack a Pod: they hold three of the ten places, without having a turn.
    const underWay = owners
      .slice(-3)
      .map(({ kind, name, uid }) => ({ kind, name, uid, wanted: 2, available: 2 }));
    const lacking = pods.filter((_, index) => index < 22 || index % 2 === 0);
    const next = plan({ pods: lacking, owners: facts, places: underWay });
    assert.deepEqual([next.batch.length, next.places.length], [7, 10]);
    assert.equal(plan({ pods, owners: facts, spec: { strategy: { maxOwners: 3 } } }).batch.length, 3);
    assert.equal(
      plan({ pods, owners: facts, maxPlaces: 4 }).batch.length,
      4,
      'for lack of room in the status',
    );
  });

  it('concerns as many owners as it may, also where most of them lack Pods', () => {
    const owners = Array.from({ length: 60 }, (_, index) => ({ ...webapp, uid: `rs-${index}` }));
    const facts = new Map(
      owners.map((reference) => [reference.uid, { reference, wanted: 1, makesSelectedPods: true }]),
    );
    // The first forty have no Pod at the moment.
    const pods = owners.slice(40).map((controller) => pod({ controller }));
    const places = owners.slice(0, 40).map(({ uid }) => ({ uid, wanted: 1, available: 1 }));
    const next = plan({ pods, owners: facts, places, spec: { strategy: { maxOwners: 50 } } });
    assert.deepEqual([next.batch.length, next.places.length], [10, 50]);
  });

  describe('of an owner whose Pods are not back in time', () => {
    const place = { uid: 'webapp-uid', wanted: 2, available: 2 };
    const late = { left: 0, reached: 3, since: now - 3_600_000 };
    const stuck = (...pods: PodFacts[]) => {
      const memory = { ...emptyMemory, progress: new Map([['webapp-uid', late]]) };
      const spec = { strategy: { progressDeadlineSeconds: 20 } };
      const { stalled, places } = plan({ pods, memory, spec, places: [place], owners: ownedBy(2) });
      return [stalled[0]?.because, places.length];
    };
    const serves = () => pod(fresh);
    const waits = { ...fresh, ready: false };

    it('tells a lost node, a missing node and missing Pods from a content that breaks them', () => {
      assert.deepEqual(stuck(serves(), pod(waits))[0], 'NewPodsNotAvailable');
      assert.deepEqual(stuck(serves(), pod({ ...waits, nodeLost: true }))[0], 'NodeLost');
      assert.deepEqual(stuck(serves(), pod({ ...waits, unschedulable: true }))[0], 'Unschedulable');
      assert.deepEqual(stuck(serves())[0], 'PodsMissing');
      const { hasNode, ...unseen } = pod(waits);
      assert.deepEqual(stuck(serves(), unseen)[0], 'Unschedulable', 'no scheduler has told why');
      // A quota refuses the new Pod, and the other one stays as it is.
      assert.deepEqual(stuck(pod())[0], 'PodsMissing');
      const ending = pod({ terminating: true, ready: false, goneBy: now - 1000 });
      assert.deepEqual(stuck(pod(), ending)[0], 'Deadline');
    });

    it('takes a Pod that outlives its grace period for one of a lost node, unless a finalizer holds it', () => {
      const ending = { terminating: true, ready: false, goneBy: now - 60_000 };
      assert.deepEqual(stuck(serves(), pod(ending))[0], 'NodeLost');
      assert.notEqual(stuck(serves(), pod({ ...ending, held: true }))[0], 'NodeLost');
      assert.notEqual(stuck(serves(), pod({ ...ending, goneBy: now - 1000 }))[0], 'NodeLost');
    });

    it('lets the next owner begin after the deadline', () => {
      const other = { ...webapp, uid: 'other' };
      const facts = { reference: other, wanted: 1, makesSelectedPods: true };
      const pods = [serves(), pod({ ...waits, nodeLost: true }), pod({ controller: other })];
      const memory = { ...emptyMemory, progress: new Map([['webapp-uid', late]]) };
      const owners = new Map<string, OwnerFacts>([...ownedBy(2), ['other', facts]]);
      const spec = { strategy: { maxOwners: 1, progressDeadlineSeconds: 20 } };
      const stuckAndOther = plan({ pods, memory, owners, spec, places: [place] });
      assert.deepEqual(names(stuckAndOther.batch), [pods[2]?.name]);
    });
  });

  it('has the Pod of the operator itself last, alone', () => {
    const [own, other] = several(2);
    const spec = { strategy: { maxUnavailable: '100%' } };
    assert.deepEqual(names(plan({ pods: [own!, other!], spec, ownPod: own!.name }).batch), names([other!]));
    assert.deepEqual(names(plan({ pods: [own!], spec, ownPod: own!.name }).batch), names([own!]));
    const oneByOne = plan({ pods: [own!, other!], owners: ownedBy(2), ownPod: own!.name });
    assert.deepEqual(names(oneByOne.batch), names([other!]), 'also where one may be missing');
    const bare = barePod();
    const refusal = { uid: other!.uid, result: 'Refused', cause: 'Budget', message: '' } as const;
    const refused = plan({
      ...{ pods: [own!, other!, bare], owners: ownedBy(2), ownPod: own!.name, proven: false },
      spec: { strategy: { maxUnavailable: '100%', unmanagedPods: 'Delete' } },
      memory: remember(emptyMemory, [refusal], now, () => 0),
    });
    assert.deepEqual(names(refused.batch), [], 'nor do others go on because of it');
  });

  describe('of rollouts', () => {
    const strategy = { type: 'RolloutRestart' } as const;
    const rolling = (name: string, restartedFor?: string) => {
      const reference = { ...webapp, kind: 'Deployment', name, uid: name };
      const rollout = restartedFor === undefined ? {} : { restartedFor };
      return [name, { reference, wanted: 2, makesSelectedPods: true, rollout }] as const;
    };
    const own = several(2, { controller: { ...webapp, uid: 'own' } });
    const other = several(2, { controller: { ...webapp, uid: 'other' } });
    const plans = (pods: PodFacts[], owners: (readonly [string, OwnerFacts])[]) => {
      const memory = { ...emptyMemory, id: 'now' };
      return plan({ pods, owners: new Map(owners), memory, spec: { strategy }, ownPod: own[0]!.name });
    };
    const rolled = ({ rollouts }: Plan) => rollouts.map(({ owner }) => owner.name);

    it("has the operator's own Deployment last, alone", () => {
      const both = [...own, ...other];
      assert.deepEqual(rolled(plans(both, [rolling('own'), rolling('other')])), ['other']);
      assert.deepEqual(rolled(plans(both, [rolling('own'), rolling('other', 'now')])), []);
      assert.deepEqual(rolled(plans(own, [rolling('own')])), ['own']);
    });

    it('evicts the Pods below the partition of a StatefulSet, which its rollout leaves out', () => {
      const reference = { ...webapp, kind: 'StatefulSet', name: 'db', uid: 'db' };
      const pods = [0, 1, 2].map((ordinal) => pod({ name: `db-${ordinal}`, controller: reference }));
      const rollout = { target: { revision: 'db-2', partition: 2 } };
      const owners = new Map([['db', { reference, wanted: 3, makesSelectedPods: true, rollout }]]);
      const all = plan({ pods, owners, spec: { strategy } });
      assert.deepEqual([rolled(all), names(all.batch)], [['db'], []]);
      const [low, lower] = [pods[1]!, pods[0]!];
      const rest = [lower, low, pod({ name: 'db-2', controller: reference, ...fresh })];
      const left = plan({ pods: rest, owners, spec: { strategy } });
      assert.deepEqual([rolled(left), names(left.batch)], [[], ['db-1']]);
    });

    it('keeps the owner whose controller has yet to see the template for the content before', () => {
      const [name, facts] = rolling('own', 'before');
      const behind = [name, { ...facts, rollout: { restartedFor: 'before', isBehind: true } }] as const;
      const next = plan({
        ...{ pods: [...own, ...other], spec: { strategy }, proven: false },
        owners: new Map<string, OwnerFacts>([behind, rolling('other')]),
        memory: { ...emptyMemory, id: 'now' },
        places: [{ kind: 'Deployment', name: 'own', uid: 'own', wanted: 2, available: 2 }],
      });
      assert.deepEqual([rolled(next), next.places.map(({ uid }) => uid)], [[], ['own']]);
    });

    it('begins with the owner that stands in status already: another operator may have begun with it', () => {
      const next = plan({
        ...{ pods: [...own, ...other], spec: { strategy }, proven: false },
        owners: new Map<string, OwnerFacts>([rolling('own', 'before'), rolling('other')]),
        memory: { ...emptyMemory, id: 'now' },
        places: [{ kind: 'Deployment', name: 'own', uid: 'own', wanted: 2, available: 2 }],
      });
      assert.deepEqual([rolled(next), next.places.map(({ uid }) => uid)], [['own'], ['own']]);
    });

    it('keeps the owner whose template another operator changed in the same moment', () => {
      const refusal = { cause: 'Conflict', attempts: 1, message: 'modified', retryAt: now + 1000 } as const;
      const next = plan({
        ...{ pods: [...own, ...other], spec: { strategy }, proven: false },
        owners: new Map<string, OwnerFacts>([rolling('own', 'before'), rolling('other')]),
        memory: { ...emptyMemory, id: 'now', refusals: new Map([['own', refusal]]) },
        places: [{ kind: 'Deployment', name: 'own', uid: 'own', wanted: 2, available: 2 }],
      });
      assert.deepEqual([rolled(next), next.places.map(({ uid }) => uid)], [[], ['own']]);
      assert.equal(next.lookAgainAt, refusal.retryAt);
    });

    it("does not put off the operator's own once it has begun", () => {
      const { progress } = plans([...own, ...other], [rolling('own', 'now'), rolling('other')]);
      assert.equal(progress.get('own')?.waits, undefined);
    });
  });

  it('takes Pods that nothing brings back all at once', () => {
    const pods = [barePod(), barePod()];
    assert.equal(plan({ pods, spec: { strategy: { unmanagedPods: 'Delete' } } }).batch.length, 2);
  });

  it('takes those only once an owner has shown that the content works, and no deadline passes meanwhile', () => {
    const owned = several(4);
    const bare = barePod();
    const strategy = { unmanagedPods: 'Delete', progressDeadlineSeconds: 60 } as const;
    const facts = { pods: [...owned, bare], owners: ownedBy(4), spec: { strategy }, proven: false };
    const first = plan(facts);
    assert.deepEqual(names(first.batch), names(owned.slice(0, 1)));
    const memory = { ...emptyMemory, progress: first.progress };
    const later = plan({ ...facts, memory, now: now + 60_000 });
    assert.ok(later.stalled.every(({ group }) => group.owner.kind !== 'Pod'));
    assert.ok(plan({ ...facts, proven: true }).batch.includes(bare));
    const refusals = owned.map(
      ({ uid }) => ({ uid, result: 'Refused', cause: 'Budget', message: '' }) as const,
    );
    const refused = remember(memory, refusals, now, () => 0);
    const places = [{ kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 4, available: 4 }];
    const held = { ...facts, memory: refused, places, now: now + 100 };
    assert.deepEqual(names(plan(held).batch), [], 'its eviction is refused for now');
    assert.ok(plan({ ...held, now: now + 60_000 }).batch.includes(bare), 'it is stuck');
    const atOnce = plan({ ...facts, spec: { strategy: { ...strategy, canary: false } } });
    assert.ok(atOnce.batch.includes(bare));
  });
});

describe('a refused Pod', () => {
  const refused = (uid: string, cause: 'Budget' | 'SeveralBudgets' | 'Failure' = 'Budget') =>
    remember(emptyMemory, [{ uid, result: 'Refused', cause, message: 'no' }], now - 500, () => 0);

  for (const cause of ['Budget', 'SeveralBudgets', 'Failure'] as const) {
    it(`for ${cause} goes to the end of the line: it keeps none of the others`, () => {
      const pods = several(4);
      const { batch, blocked } = plan({ pods, memory: refused(pods[0]!.uid, cause) });
      assert.deepEqual(names(batch), [pods[1]!.name]);
      assert.deepEqual(names(blocked), cause === 'Failure' ? [] : [pods[0]!.name]);
    });
  }

  it('of an owner of which every Pod was refused is tried again after its backoff, one at a time', () => {
    const pods = several(3);
    const outcomes = pods.map(
      ({ uid }) => ({ uid, result: 'Refused', cause: 'Budget', message: 'no' }) as const,
    );
    const memory = remember(emptyMemory, outcomes, now - 500, () => 0);
    const early = plan({ pods, memory });
    assert.deepEqual([early.batch, early.lookAgainAt], [[], now + 500]);
    const [first] = plan({ pods, memory, now: now + 500 }).batch;
    assert.equal(first?.name, pods[0]!.name);
    const again = remember(memory, [outcomes[0]!], now + 500, () => 0);
    assert.deepEqual(plan({ pods, memory: again, now: now + 600 }).batch, [], 'the budget has just refused');
  });

  it('gives the place of its owner to another one', () => {
    const owners = Array.from({ length: 11 }, (_, index) => ({
      ...webapp,
      name: `rs-${index}`,
      uid: `rs-${index}`,
    }));
    const pods = owners.map((controller) => pod({ controller }));
    const facts = new Map(
      owners.map((reference) => [reference.uid, { reference, wanted: 1, makesSelectedPods: true }]),
    );
    const { batch } = plan({ pods, owners: facts, memory: refused(pods[0]!.uid) });
    assert.deepEqual(names(batch), names(pods.slice(1)));
  });
});

describe('a new Pod that crashes', () => {
  const crashing = pod({
    ...fresh,
    ready: false,
    restarts: 2,
    failure: { container: 'app', reason: 'Error', exitCode: 3 },
  });
  const place = (available: number, wanted = 1) => [
    { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted, available },
  ];
  const because = (facts: Facts) => plan(facts).stalled.map((stall) => stall.because);

  it('stops a rollout with a surge, which has taken nothing away yet', () => {
    const pods = [pod(), crashing];
    assert.deepEqual(because({ pods, owners: ownedBy(1), places: place(1) }), ['NewPodsNotAvailable']);
  });

  it('stops nothing where as many Pods were down before', () => {
    const pods = [...several(3), crashing];
    assert.deepEqual(because({ pods, owners: ownedBy(4), places: place(3, 4) }), []);
    assert.deepEqual(because({ pods: [crashing], owners: ownedBy(1), places: place(0) }), []);
  });

  it('stops nothing in an owner that has no restart', () => {
    assert.deepEqual(because({ pods: [pod(), crashing], owners: ownedBy(1) }), []);
  });
});

describe('a content that works for one owner', () => {
  const [first, second] = ['first', 'second'].map((uid) => ({ ...webapp, uid })) as [
    OwnerReference,
    OwnerReference,
  ];
  const made = (controller: OwnerReference, seconds: number) => {
    const created = now - seconds * 1000;
    return pod({ controller, created, stableSince: created });
  };
  const batch = (rollout: OwnerFacts['rollout'], wanted = 4) => {
    const owners = new Map<string, OwnerFacts>([
      ['first', { reference: first, wanted: 1, makesSelectedPods: true }],
      ['second', { reference: second, wanted, makesSelectedPods: true, ...(rollout && { rollout }) }],
    ]);
    const pods = [made(first, 30), ...several(wanted - 1, { controller: second }), made(second, 5)];
    const places = [{ uid: 'second', kind: 'Deployment', name: 'second', wanted, available: wanted }];
    return plan({ pods, owners, places }).batch.length;
  };

  it('is trusted in the Pods of another one as soon as they are Ready', () => {
    assert.deepEqual([batch(undefined), batch({ pods: 4 })], [1, 1]);
  });

  it('is not in those of one whose readiness nothing checks: its program may be another, and crash', () => {
    assert.equal(batch({ pods: 4, isUnchecked: true }), 0);
  });
});

describe('a content that is for one owner to try, where each of them lacks a Pod', () => {
  const strategy = { maxOwners: 10, progressDeadlineSeconds: 20 } as const;
  const ownerOf = (name: string) => ({ ...webapp, kind: 'StatefulSet', name, uid: name });
  const ownersOf = (wanted: Readonly<Record<string, number>>) =>
    new Map<string, OwnerFacts>(
      Object.entries(wanted).map(([name, count]) => {
        return [name, { reference: ownerOf(name), wanted: count, makesSelectedPods: true }];
      }),
    );
  const owners = ownersOf({ small: 4, large: 8, larger: 9 });
  const small = { controller: ownerOf('small') };
  const large = [
    ...several(7, { controller: ownerOf('large') }),
    pod({ controller: ownerOf('large'), ready: false }),
  ];
  const larger = several(8, { controller: ownerOf('larger') });
  const place = { kind: 'StatefulSet', name: 'small', uid: 'small', wanted: 4, available: 3 };
  const touched = ({ batch }: Plan) => [...new Set(batch.map(({ controller }) => controller?.name))];
  const facts = { owners, spec: { strategy }, proven: false };

  it('begins with one of which Pods that serve may go', () => {
    const pods = [...several(3, small), pod({ ...small, ready: false }), ...large, ...larger];
    assert.deepEqual(touched(plan({ ...facts, pods })), ['large']);
  });

  for (const [what, stuck] of [
    ['no node takes', { unschedulable: true }],
    ['is on a lost node', { nodeLost: true }],
    ['crashes as it did before', { restarts: 2 }],
  ] as const) {
    it(`goes on with another one at once where the new Pod of the first one ${what}`, () => {
      const pods = [...several(3, small), pod({ ...small, ...fresh, ready: false, ...stuck })];
      const alone = plan({ ...facts, pods, places: [place] });
      assert.deepEqual([alone.batch, alone.places.map(({ uid }) => uid)], [[], ['small']]);
      const bare = barePod();
      const spec = { strategy: { ...strategy, unmanagedPods: 'Delete' } } as const;
      const others = plan({ ...facts, spec, pods: [...pods, ...larger, bare], places: [place] });
      assert.deepEqual(touched(others), ['larger']);
      assert.ok(plan({ ...facts, spec, pods: [...pods, bare], places: [place] }).batch.includes(bare));
      const late = new Map([['small', { left: 3, reached: 7, since: now - 3_600_000 }]]);
      const memory = { ...emptyMemory, progress: late };
      assert.equal(plan({ ...facts, pods, places: [place], memory }).stalled.length, 1, 'it is told');
    });
  }

  it('waits for the surge of an owner that is whole, also where no node takes it yet', () => {
    const one = { controller: ownerOf('one') };
    const whole = { ...place, name: 'one', uid: 'one', wanted: 1, available: 1 };
    const surge = pod({ ...one, ...fresh, ready: false, unschedulable: true });
    const pods = [pod(one), surge, ...several(8, { controller: ownerOf('large') })];
    const both = { ...facts, owners: ownersOf({ one: 1, large: 8 }), places: [whole] };
    assert.deepEqual(touched(plan({ ...both, pods })), ['one'], 'no other one begins');
  });

  it('waits where its new Pod may start yet', () => {
    const pods = [...several(3, small), pod({ ...small, ...fresh, ready: false }), ...larger];
    assert.deepEqual(touched(plan({ ...facts, pods, places: [place] })), []);
  });
});
