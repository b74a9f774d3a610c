/** Owners that are deleted, made again, adopted or scaled in the middle of their restart. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../../src/api/configwatcher.generated.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { withLeftBehind } from '../../../src/configwatcher/facts/left-behind.ts';
import type { Observed, OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { maxReverted } from '../../../src/configwatcher/facts/state.ts';
import type { OwnerReference } from '../../../src/kubernetes/objects.ts';
import {
  afterwards,
  anHourAgo,
  decided,
  newContent,
  now,
  pod,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';
import { plan } from '../../fixtures/restart-plan.ts';

const minute = 60_000;

function spec(strategy: ConfigWatcherSpec['strategy'] = {}) {
  const quick = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } } as const;
  return specOf({ ...quick, strategy: { type: 'Evict', ...strategy } });
}

function reference(kind: string, name: string, uid = name): OwnerReference {
  return { apiVersion: 'apps/v1', kind, name, uid };
}

function owned(uid: string, facts: Partial<OwnerFacts> & Pick<OwnerFacts, 'reference'>) {
  return new Map([[uid, { wanted: 3, makesSelectedPods: true, ...facts }]]);
}

/** Made after the edit, and Ready since. */
function made(name: string, controller: OwnerReference, at: number): PodFacts {
  return pod({
    name,
    controller: { ...controller, controller: true },
    created: at,
    stableSince: at,
    starts: [at],
  });
}

function reason({ state }: Steps): string | undefined {
  return state.conditions.find(({ type }) => type === 'Progressing')?.reason;
}

function names({ actions }: Steps): string[] {
  return actions.flatMap((action) => ('pod' in action ? action.pod.name : []));
}

describe('a StatefulSet that is deleted in the middle of its restart and leaves its Pods behind', () => {
  const set = reference('StatefulSet', 'db');
  const member = (name: string) => pod({ name, controller: { ...set, controller: true }, revision: 'r1' });
  const pods = ['db-0', 'db-1', 'db-2'].map(member);
  const orphaned = (some: readonly PodFacts[]) => some.map(({ controller, ...rest }) => rest);
  const deleted = new Map([[set.uid, { reference: set, makesSelectedPods: false, isGone: true as const }]]);

  function begun(unmanagedPods: 'Skip' | 'Delete'): Partial<Observed> {
    const facts = {
      spec: spec({ unmanagedPods }),
      sources: [newContent],
      pods,
      owners: owned(set.uid, { reference: set }),
    };
    const first = decided(facts);
    assert.deepEqual(names(first), ['db-2']);
    const left = orphaned([...pods.slice(0, 2), { ...made('db-2', set, now + 1000), revision: 'r1' }]);
    return { ...afterwards(facts, first, 8000), pods: left, owners: deleted };
  }

  for (const unmanagedPods of ['Skip', 'Delete'] as const) {
    it(`is waited for, and its Pods stay (unmanagedPods ${unmanagedPods})`, () => {
      const facts = begun(unmanagedPods);
      const waits = decided(facts);
      assert.deepEqual([names(waits), reason(waits)], [[], 'InProgress']);
      const again = reference('StatefulSet', 'db', 'second');
      const adopted = facts.pods!.map((one) => ({ ...one, controller: { ...again, controller: true } }));
      const owners = new Map<string, OwnerFacts>([...deleted, ...owned(again.uid, { reference: again })]);
      const next = decided({ ...afterwards(facts, waits, 20_000), pods: adopted, owners });
      assert.deepEqual(names(next), ['db-1']);
      assert.deepEqual(
        next.state.pending?.owners?.map(({ uid }) => uid),
        [again.uid],
      );
    });
  }

  it('keeps its Pods also while it is remembered, and counts none of them as restarted', () => {
    const facts = begun('Delete');
    const remembered = decided({ ...facts, owners: owned(set.uid, { reference: set }) });
    assert.deepEqual(names(remembered), []);
    const [record] = decided(facts).state.lastRestart?.owners ?? [];
    assert.deepEqual([record?.restarted, record?.stale, record?.reason], [1, 2, 'InProgress']);
  });

  it('is waited for no longer than the progress deadline', () => {
    const facts = begun('Skip');
    const waits = decided(facts);
    const late = decided({ ...afterwards(facts, waits, 11 * minute) });
    assert.deepEqual([late.state.pending, late.state.skippedPods], [undefined, 2]);
  });
});

describe('a Deployment that is deleted in the middle of its restart and leaves its ReplicaSet behind', () => {
  it('keeps its place until its Pods are back, and leaves it to the next one of its name', () => {
    const set = reference('ReplicaSet', 'web-7d4');
    const [web, again] = [reference('Deployment', 'web'), reference('Deployment', 'web', 'second')];
    const pods = [pod({ name: 'old', controller: { ...set, controller: true } })];
    const before = { spec: spec(), sources: [newContent], pods, owners: owned(set.uid, { reference: web }) };
    const first = decided({ ...before, owners: owned(set.uid, { reference: web, wanted: 1 }) });
    assert.deepEqual(names(first), ['old']);
    const starts = [
      pod({ name: 'new', controller: { ...set, controller: true }, created: now + 1000, ready: false }),
    ];
    const gone = { reference: web, makesSelectedPods: false, isGone: true as const };
    const places = first.state.pending?.owners ?? [];
    const read = new Map<string, OwnerFacts>([
      ...owned(set.uid, { reference: set, wanted: 1 }),
      [web.uid, gone],
    ]);
    const left = { ...before, pods: starts, owners: withLeftBehind(read, places) };
    const waits = decided(afterwards(left, first, 8000));
    assert.deepEqual([reason(waits), waits.state.pending?.owners], ['InProgress', places]);
    const adopted = new Map<string, OwnerFacts>([
      ...owned(set.uid, { reference: again, wanted: 1 }),
      [web.uid, gone],
    ]);
    const next = decided({ ...afterwards(left, waits, 20_000), owners: withLeftBehind(adopted, places) });
    assert.deepEqual(
      next.state.pending?.owners?.map(({ uid, kind }) => [uid, kind]),
      [[again.uid, 'Deployment']],
    );
  });
});

describe('a ReplicaSet that a Deployment adopts in the middle of its restart', () => {
  it('leaves its place to that', () => {
    const set = reference('ReplicaSet', 'web-7d4');
    const web = reference('Deployment', 'web');
    const pods = several(3, { controller: { ...set, controller: true } });
    const facts = { spec: spec(), sources: [newContent], pods, owners: owned(set.uid, { reference: set }) };
    const first = decided(facts);
    const all = [1, 2, 3].map((index) => made(`new-${index}`, set, now + index * 1000));
    const adopted = { ...facts, pods: all, owners: owned(set.uid, { reference: web }) };
    const done = decided(afterwards(adopted, first, minute));
    assert.deepEqual([done.state.pending, reason(done)], [undefined, 'UpToDate']);
    const before = pods.slice(1);
    const waits = { ...adopted, pods: [...before, all[0]!] };
    const next = decided(afterwards(waits, first, minute));
    assert.deepEqual(
      next.state.pending?.owners?.map(({ uid, kind }) => [uid, kind]),
      [[web.uid, 'Deployment']],
    );
  });
});

describe('an owner that has room for some of its Pods only', () => {
  it('is expected to have no more of them after it was scaled down and up again', () => {
    const web = reference('Deployment', 'webapp', 'webapp-uid');
    const owners = (wanted: number) => owned('rs', { reference: web, wanted });
    const controller = { ...reference('ReplicaSet', 'rs'), controller: true };
    const homeless = (created: number) =>
      several(4, { controller, ready: false, unschedulable: true, created, starts: [], startsLater: true });
    const old = several(6, { controller });
    const facts = { spec: spec({ maxUnavailable: '50%' }), sources: [newContent] };
    const wide = { ...facts, pods: [...old, ...homeless(anHourAgo)], owners: owners(10) };
    const first = decided(wide);
    const fresh = [1, 2, 3, 4].map((index) =>
      made(`new-${index}`, { ...controller, uid: 'rs' }, now + index * 1000),
    );
    const narrow = { ...facts, pods: [...old.slice(1, 4), fresh[0]!], owners: owners(4) };
    const scaled = decided(afterwards(narrow, first, 30_000));
    const back = {
      ...facts,
      pods: [...old.slice(2, 4), ...fresh, ...homeless(now + 40_000)],
      owners: owners(10),
    };
    const next = decided(afterwards({ ...back, now: now + 30_000 }, scaled, 40_000));
    assert.deepEqual(
      next.state.pending?.owners?.map(({ available }) => available),
      [6],
    );
    assert.notDeepEqual(names(next), []);
  });
});

describe('owners whose templates a user has taken back', () => {
  it('stay known to the next process, however many they are', () => {
    const uids = Array.from({ length: 12 }, (_, index) => `web-${index}`);
    const references = uids.map((uid) => reference('Deployment', uid));
    const places = references.map((owner) => ({ ...owner, wanted: 1, available: 1, templateChanged: true }));
    const facts = {
      spec: { strategy: { type: 'RolloutRestart' as const } },
      pods: references.map((owner) => pod({ controller: { ...owner, controller: true } })),
      owners: new Map(
        references.map((owner) => [
          owner.uid,
          { reference: owner, wanted: 1, makesSelectedPods: true, rollout: {} },
        ]),
      ),
    };
    const first = plan({ ...facts, places });
    const next = plan({ ...facts, places: first.places, reverted: first.reverted.slice(0, maxReverted) });
    assert.deepEqual([first.rollouts, next.rollouts], [[], []]);
    assert.equal(next.stalled.length, 12);
  });

  it('keep no place that the list of them makes needless: the next content begins with the smallest owner', () => {
    const web = reference('Deployment', 'web');
    const pods = [pod({ controller: { ...web, controller: true } })];
    const owners = owned(web.uid, { reference: web, wanted: 1, rollout: {} });
    const places = [{ ...web, wanted: 1, available: 1, templateChanged: true }];
    const facts = { spec: { strategy: { type: 'RolloutRestart' as const } }, pods, owners, places };
    assert.deepEqual(plan({ ...facts, reverted: [web.uid] }).places, []);
  });
});

describe('a Deployment that is deleted in the middle of its restart, with all that it made', () => {
  const set = reference('ReplicaSet', 'web-7d4');
  const [web, again] = [reference('Deployment', 'web'), reference('Deployment', 'web', 'second')];
  const next = reference('StatefulSet', 'db');
  const place = { ...web, wanted: 1, available: 1 };
  const leaving = pod({
    controller: { ...set, controller: true },
    ...{ created: now - 5000, ready: false, terminating: true },
  });
  const stale = pod({ controller: { ...next, controller: true } });
  const gone = { makesSelectedPods: false, isGone: true as const };
  const read = new Map<string, OwnerFacts>([
    [set.uid, { ...gone, reference: set }],
    [web.uid, { ...gone, reference: web }],
    ...owned(next.uid, { reference: next, wanted: 1 }),
  ]);
  const facts = { owners: withLeftBehind(read, [place]), places: [place], proven: false };

  it('is not back while its last Pod ends: no other owner gets the content', () => {
    const { batch, places } = plan({ ...facts, pods: [leaving, stale] });
    assert.deepEqual([batch, places], [[], [place]]);
  });

  it('leaves its place to the next one of its name at once', () => {
    const starts = pod({
      controller: { ...reference('ReplicaSet', 'web-9c2'), controller: true },
      created: now - 2000,
      ready: false,
    });
    const owners = new Map([...facts.owners, ...owned('web-9c2', { reference: again, wanted: 1 })]);
    const { batch, places } = plan({ ...facts, owners, pods: [leaving, starts, stale] });
    assert.deepEqual([batch, places.map(({ uid }) => uid)], [[], [again.uid]]);
  });
});
