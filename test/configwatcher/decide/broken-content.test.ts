/** A content that has broken Pods: what it takes to try it again. And when a restart that is stuck is looked at again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { emptyMemory, remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import { now, ownedBy, pod, several, webapp } from '../../fixtures/configwatcher.ts';
import { type Facts, fresh, plan } from '../../fixtures/restart-plan.ts';

describe('a content that has broken Pods', () => {
  const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 2, available: 2 };
  const owner = { name: 'Deployment/webapp', restarted: 1, available: 1, reason: 'NewPodsNotAvailable' };
  const record = {
    id: 'now',
    start: now - 60_000,
    restarted: 1,
    skippedFresh: 0,
    skippedUnmanaged: 0,
    failed: 0,
  };

  it('is not blamed on a node while what takes the place of a broken one has none yet', () => {
    const { hasNode, ...made } = pod({ ...fresh, ready: false });
    const broken = (known: Facts) =>
      plan({ pods: [pod(), made], owners: ownedBy(2), places: [place], ...known }).stalled[0]?.because;
    assert.equal(broken({}), undefined);
    assert.equal(broken({ record: { ...record, owners: [owner] } }), 'NewPodsNotAvailable');
  });

  it('breaks no further one while none of the owner that it broke is available, whatever is done to that', () => {
    const [other, second] = ['other', 'second'].map((uid) => ({ ...webapp, uid }));
    const known = { record: { ...record, owners: [owner] }, places: [place] };
    const late = new Map([['webapp-uid', { left: 1, reached: 2, since: now - 3_600_000 }]]);
    const owners = new Map<string, OwnerFacts>([
      ...ownedBy(2, { rollout: { pods: 1 } }),
      ...[other!, second!].map(
        (reference) => [reference.uid, { reference, wanted: 1, makesSelectedPods: true }] as const,
      ),
    ]);
    const others = [pod({ controller: other! }), pod({ controller: second! })];
    const none = ownedBy(0).get(webapp.uid)!;
    const made = pod({ ...fresh, ready: false });
    for (const [what, pods, changed] of [
      ['its broken Pod is deleted', [pod(), { ...made, terminating: true }], undefined],
      ['that Pod is gone, and a quota forbids the next one', [pod()], undefined],
      ['no node takes the next one', [pod(), { ...made, unschedulable: true }], undefined],
      ['its rollout is undone', several(2), undefined],
      ['it is scaled to none', [], none],
    ] as const) {
      const { batch, rollouts, stalled, places, records } = plan({
        ...{ ...known, pods: [...pods, ...others], proven: false },
        owners: changed ? new Map([...owners, [place.uid, changed]]) : owners,
        memory: { ...emptyMemory, id: 'now', progress: late },
      });
      assert.deepEqual([batch, rollouts, stalled[0]?.because], [[], [], 'NewPodsNotAvailable'], what);
      assert.deepEqual([places, records[0]?.reason], [[place], 'NewPodsNotAvailable'], what);
    }
  });

  const gone = { reference: { ...webapp, kind: 'Deployment', name: 'webapp', uid: place.uid } };
  const deleted = [place.uid, { ...gone, makesSelectedPods: false, isGone: true }] as const;

  it('keeps nothing any more where the owner is deleted, with its last Pod', () => {
    const known = { record: { ...record, owners: [owner] }, places: [place], owners: new Map([deleted]) };
    const leaving = pod({
      ...fresh,
      ready: false,
      terminating: true,
      controller: { ...webapp, uid: place.uid },
    });
    assert.equal(plan({ ...known, pods: [leaving] }).isDone, false);
    const { isDone, stalled } = plan({ ...known, pods: [] });
    assert.deepEqual([isDone, stalled], [true, []]);
  });

  it('stands where the owner is deleted and leaves its Pods behind, for the next one to adopt', () => {
    const db = { ...webapp, kind: 'StatefulSet', name: 'db' };
    const owners = new Map<string, OwnerFacts>([
      [db.uid, { reference: db, makesSelectedPods: false, isGone: true }],
      ['other', { reference: { ...webapp, uid: 'other' }, wanted: 1, makesSelectedPods: true }],
    ]);
    const { controller, ...orphan } = pod({ ...fresh, name: 'db-0', revision: 'r1', ready: false });
    const { batch, stalled } = plan({
      ...{ record: { ...record, owners: [{ ...owner, name: 'StatefulSet/db' }] }, owners, proven: true },
      places: [{ ...place, kind: 'StatefulSet', name: 'db', uid: db.uid }],
      pods: [orphan, pod({ controller: { ...webapp, uid: 'other' } })],
    });
    assert.deepEqual([batch, stalled[0]?.because], [[], 'NewPodsNotAvailable']);
  });

  it('is judged by the new Pods of the owner that is made again under its name', () => {
    const reference = { ...gone.reference, uid: 'second-uid' };
    const owners = new Map<string, OwnerFacts>([
      deleted,
      [webapp.uid, { reference, wanted: 2, makesSelectedPods: true }],
    ]);
    const other = pod({ controller: { ...webapp, uid: 'other' } });
    const known = { record: { ...record, owners: [owner] }, places: [place], owners, proven: false };
    const made = several(2, { ...fresh, ready: false });
    const places = [{ ...place, templateChanged: true }];
    const broken = plan({ ...known, places, pods: [...made, other] });
    assert.deepEqual([broken.batch, broken.stalled[0]?.because], [[], 'NewPodsNotAvailable']);
    assert.deepEqual(broken.places, [{ ...place, uid: 'second-uid' }]);
    const works = several(2, { ...fresh, stableSince: now - 20_000 });
    const mended = plan({ ...known, pods: [...works, other] });
    assert.deepEqual([mended.batch, mended.stalled], [[other], []]);
  });

  it('is not applied because the last owner is scaled to none', () => {
    const owners = new Map([[place.uid, ownedBy(0).get(webapp.uid)!]]);
    const known = { record: { ...record, owners: [owner] }, places: [place], owners };
    const { isDone, stalled } = plan({ ...known, pods: [] });
    assert.deepEqual([isDone, stalled[0]?.because], [false, 'NewPodsNotAvailable']);
  });

  it('is not taken for mended by a Pod that is Ready for a moment, though another owner works with it', () => {
    const other = { ...webapp, uid: 'other' };
    const made = { created: now - 30_000, stableSince: now - 20_000 };
    const pods = [pod({ ...made, controller: other }), pod({ ...fresh, stableSince: now - 1000 })];
    const owners = new Map<string, OwnerFacts>([
      ...ownedBy(1),
      ['other', { reference: other, wanted: 1, makesSelectedPods: true }],
    ]);
    const one = { ...place, wanted: 1, available: 1 };
    const known = { record: { ...record, owners: [owner] }, places: [one], owners };
    assert.equal(plan({ ...known, pods }).stalled[0]?.because, 'NewPodsNotAvailable');
  });

  it('works where new Pods are available, whatever keeps others of the owner', () => {
    const available = pod({ ...fresh, stableSince: now - 20_000 });
    const known = { record: { ...record, owners: [owner] }, places: [place] };
    const memory = {
      ...emptyMemory,
      progress: new Map([['webapp-uid', { left: 0, reached: 4, since: now - 3_600_000 }]]),
    };
    const homeless = [pod({ ...fresh, ready: false, unschedulable: true })];
    const lost = [pod({ ...fresh, ready: false, nodeLost: true })];
    const because = (pods: readonly PodFacts[], wanted: number, serving: readonly PodFacts[]) =>
      plan({ ...known, memory, pods: [...serving, ...pods], owners: ownedBy(wanted) }).stalled[0]?.because;
    assert.equal(because(homeless, 3, [available, pod()]), 'Unschedulable', 'a scale-up without room');
    assert.equal(because(lost, 2, [available]), 'NodeLost', 'a dead node');
  });

  it('goes on once the owner has new Pods that are available, and lacks none', () => {
    const known = { record: { ...record, owners: [owner] }, places: [place] };
    const available = pod({ ...fresh, stableSince: now - 20_000 });
    const { batch, stalled } = plan({ ...known, pods: [pod(), available], owners: ownedBy(2) });
    assert.deepEqual([batch.length, stalled], [1, []]);
  });
});

describe('an owner that is late', () => {
  const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 2, available: 2 };
  const late = new Map([['webapp-uid', { left: 1, reached: 2, since: now - 3_600_000 }]]);
  const because = (created: number) => {
    const { hasNode, ...made } = pod({ created, ready: false });
    const facts = { pods: [pod(), made], owners: ownedBy(2), places: [place] };
    return plan({ ...facts, memory: { ...emptyMemory, progress: late } }).stalled[0]?.because;
  };

  it('has a Pod that no node takes once a scheduler has had the time to find one', () => {
    assert.deepEqual([because(now - 10_000), because(now - 9000)], ['Unschedulable', 'Deadline']);
  });
});

describe('new Pods that do not become available', () => {
  const controllers = (pods: readonly PodFacts[]) => pods.map(({ controller }) => controller?.uid);

  it('say nothing where the owner had as many before, which its own rollout has left beyond those it wants', () => {
    const crashing = {
      ready: false,
      restarts: 5,
      failure: { container: 'main', reason: 'Error', exitCode: 1 },
    };
    const [other, newest] = ['other', 'newest'].map((uid) => ({ ...webapp, uid }));
    const rollout = { pods: 3, target: { revision: '2', partition: 0 } };
    const owner = ownedBy(2, { rollout, revision: '1' });
    const owners = new Map<string, OwnerFacts>([
      ...owner,
      ['newest', { ...owner.get(webapp.uid)!, revision: '2' }],
      ['other', { reference: other!, wanted: 4, makesSelectedPods: true }],
    ]);
    const old = [...several(2), ...several(4, { controller: other! })];
    const before = { pods: [...old, pod({ ...crashing, controller: newest! })], owners };
    const counts = plan(before).places.map(({ uid, wanted, available }) => [uid, wanted, available]);
    assert.deepEqual(counts, [
      ['webapp-uid', 3, 2],
      ['other', 4, 4],
    ]);
    const canary = plan({ ...before, proven: false }).batch;
    assert.deepEqual(controllers(canary), ['other'], 'it is not the first to show what the content does');
    const after = { pods: [...old, pod({ ...fresh, ...crashing, controller: newest! })], owners };
    const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 3, available: 2 };
    const { stalled, batch } = plan({ ...after, proven: false, places: [place] });
    assert.deepEqual([stalled, controllers(batch)], [[], ['other']]);
  });

  it('have the time that they must stay Ready for, beyond the deadline', () => {
    const place = { kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 2, available: 2 };
    const late = new Map([['webapp-uid', { left: 1, reached: 3, since: now - 40_000 }]]);
    const stalled = (made: Partial<PodFacts>) => {
      const memory = { ...emptyMemory, id: 'now', progress: late };
      const spec = { strategy: { progressDeadlineSeconds: 35 } };
      const pods = [pod(), pod({ created: now - 50_000, ...made })];
      return plan({ spec, memory, pods, owners: ownedBy(2, { minReady: 60_000 }), places: [place] }).stalled;
    };
    assert.deepEqual(stalled({ stableSince: now - 45_000 }), []);
    assert.equal(stalled({ ready: false })[0]?.because, 'NewPodsNotAvailable');
  });
});

describe('Pods that are refused', () => {
  const refuse = (count: number, times: number) => {
    const uids = Array.from({ length: count }, (_, index) => `pod-${index}`);
    let memory = emptyMemory;
    const refused = { result: 'Refused', cause: 'Budget', message: 'no' } as const;
    for (let tries = 0; tries < times; tries += 1) {
      for (const uid of uids) memory = remember(memory, [{ uid, ...refused }], now, () => 0);
    }
    return Math.max(...[...memory.refusals.values()].map(({ retryAt }) => retryAt - now));
  };

  it('are tried again ever later, and so that all of them together make no more tries than a few', () => {
    assert.deepEqual([refuse(1, 1), refuse(1, 13)], [1000, 60_000]);
    assert.deepEqual([refuse(600, 1), refuse(600, 13)], [59_900, 600_000]);
  });
});
