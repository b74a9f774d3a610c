/** What status says of each owner in a restart: together as many restarted Pods as of the restart itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed, OwnerFacts } from '../../../src/configwatcher/facts/observed.ts';
import type { PodFacts } from '../../../src/configwatcher/facts/pod-facts.ts';
import { remember } from '../../../src/configwatcher/facts/restart-memory.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import {
  afterwards,
  applied,
  decided,
  newContent,
  now,
  ownedBy,
  pod,
  several,
  specOf,
  webapp,
} from '../../fixtures/configwatcher.ts';

const spec = specOf({ debounce: { quiet: '0s' }, strategy: { type: 'Evict', canary: false, maxOwners: 50 } });

/** Decides about these Pods, and then about each of the next lists, two seconds after the last one. */
function restart(
  facts: Partial<Observed> & Pick<Observed, 'pods'>,
  ...next: (readonly PodFacts[])[]
): readonly Steps[] {
  let last: Partial<Observed> = { spec, state: applied(), sources: [newContent], ...facts };
  const decisions = [decided(last)];
  for (const pods of next) {
    const [before] = decisions.slice(-1);
    if (!before) throw new Error('there is a decision');
    // As the next process reads it.
    const state = readState(writeState(before.state));
    last = { ...afterwards(last, { ...before, state }, 2000), pods };
    decisions.push(decided(last));
  }
  return decisions;
}

/** `[restarted, still to go]` of the restart, and of its owners together. */
function sums({ state }: Steps) {
  const { restarted = 0, owners = [] } = state.lastRestart ?? {};
  const sum = (count: (owner: (typeof owners)[number]) => number) =>
    owners.reduce((total, owner) => total + count(owner), 0);
  return [
    [restarted, state.stalePods],
    [sum((owner) => owner.restarted), sum(({ stale = 0 }) => stale)],
  ];
}

const both = (restarted: number, stale: number) => [
  [restarted, stale],
  [restarted, stale],
];
const later = { created: now + 1000 };

describe('the restarted Pods of the owners', () => {
  it('are those that have gone, whether new ones are there or not', () => {
    const [one, two, three] = several(3);
    if (!one || !two || !three) throw new Error('there are three');
    const decisions = restart(
      { pods: [one, two, three], owners: ownedBy(3) },
      [{ ...one, terminating: true, goneBy: now + 30_000 }, two, three],
      // A quota refuses the new Pod.
      [two, three],
      [pod(later), two, three],
    );
    assert.deepEqual(decisions.map(sums), [both(0, 3), both(1, 2), both(1, 2), both(1, 2)]);
  });

  it('are none while a rollout only adds a Pod', () => {
    const old = several(2);
    const decisions = restart({ pods: old, owners: ownedBy(2) }, [...old, pod({ ...later, ready: false })]);
    assert.deepEqual(decisions.map(sums), [both(0, 2), both(0, 2)]);
  });

  it('are none of those that a scale-up adds, nor of those that were missing before', () => {
    const old = several(2);
    const decisions = restart({ pods: old, owners: ownedBy(4) }, [...old, pod(later), pod(later)]);
    assert.deepEqual(decisions.map(sums), [both(0, 2), both(0, 2)]);
  });

  it('are none of an owner that is scaled up while another one has its turn', () => {
    const referenceOf = (name: string) => ({ ...webapp, kind: 'Deployment', name, uid: name });
    const podOf = (name: string, more: Partial<PodFacts> = {}) =>
      pod({ controller: referenceOf(name), ...more });
    const owners = new Map<string, OwnerFacts>([
      ['first', { reference: referenceOf('first'), wanted: 1, makesSelectedPods: true }],
      ['other', { reference: referenceOf('other'), wanted: 4, makesSelectedPods: true }],
    ]);
    const others = [podOf('other'), podOf('other')];
    const oneByOne = { ...spec, strategy: { ...spec.strategy, maxOwners: 1 } };
    const decisions = restart({ spec: oneByOne, pods: [podOf('first'), ...others], owners }, [
      podOf('first', later),
      ...others,
      podOf('other', later),
    ]);
    assert.deepEqual(
      decisions[1]?.state.lastRestart?.owners?.map(({ name, restarted }) => [name, restarted]),
      [
        ['Deployment/first', 1],
        ['Deployment/other', 0],
      ],
    );
  });

  it('of more owners than are named are counted with the others', () => {
    const names = Array.from({ length: 14 }, (_, index) => `web-${String(index).padStart(2, '0')}`);
    const podOf = (name: string, more: Partial<PodFacts> = {}) =>
      pod({ controller: { ...webapp, name, uid: name }, ...more });
    const owners = new Map<string, OwnerFacts>(
      names.map((name) => [
        name,
        { reference: { ...webapp, kind: 'Deployment', name, uid: name }, wanted: 1, makesSelectedPods: true },
      ]),
    );
    const old = names.map((name) => podOf(name));
    const isNew = (index: number, count: number) => index >= names.length - count;
    const after = (count: number) =>
      names.map((name, index) => (isNew(index, count) ? podOf(name, later) : (old[index] ?? podOf(name))));
    const decisions = restart({ pods: old, owners }, after(3), after(14), after(14));
    assert.deepEqual(decisions.map(sums), [both(0, 14), both(3, 11), both(14, 0), both(14, 0)]);
    const { owners: shown = [] } = decisions.at(-1)?.state.lastRestart ?? {};
    assert.deepEqual([shown.length, shown.at(-1)?.name], [11, '+4']);
  });

  it('tell the end also of an owner that had given its place back', () => {
    const [one, two] = several(2);
    if (!one || !two) throw new Error('there are two');
    const first = decided({
      spec,
      state: applied(),
      sources: [newContent],
      pods: [one, two],
      owners: ownedBy(2),
    });
    const { owners, ...pending } = first.state.pending ?? {
      hash: '',
      since: 0,
      reason: 'InProgress' as const,
    };
    const [ended] = restart({
      ...{ state: { ...first.state, pending }, memory: first.memory, now: now + 60_000 },
      ...{ pods: [pod(later), pod(later)], owners: ownedBy(2) },
    });
    assert.equal(ended?.state.pending, undefined);
    assert.deepEqual(ended?.state.lastRestart?.owners, [
      { name: 'Deployment/webapp', restarted: 2, available: 2, reason: 'Available' },
    ]);
  });

  it('are of an owner that rolls out, and not of one that is refused, where the answer to that was lost', () => {
    const [before, rollout] = [several(2), { pods: 2, target: { revision: '1', partition: 0 } }];
    const auto = specOf({ debounce: { quiet: '0s' }, strategy: { type: 'Auto' } });
    const facts = { spec: auto, state: applied(), sources: [newContent], pods: before };
    const first = decided({ ...facts, owners: ownedBy(2, { rollout }) });
    const outcome = {
      uid: 'webapp-uid',
      result: 'Refused',
      cause: 'NoAnswer',
      message: 'no answer',
    } as const;
    const memory = remember(first.memory, [outcome], now, () => 0);
    const restartedFor = first.memory.id;
    const changed = { ...rollout, restartedFor, target: { revision: '2', partition: 0 } };
    const next = decided({
      ...afterwards(facts, { ...first, memory }, 1000),
      owners: ownedBy(2, { rollout: changed, revision: '1' }),
    });
    assert.equal(next.state.lastRestart?.owners?.[0]?.reason, 'RolloutInProgress');
  });
});
