import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import {
  afterwards,
  anHourAgo,
  applied,
  barePod,
  changing,
  decided,
  found,
  newContent,
  newestContent,
  now,
  observed,
  oldContent,
  ownedBy,
  pod,
  several,
  specOf,
  webappConfig,
} from '../../fixtures/configwatcher.ts';

const justCreated = now - 300;
const atOnce = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });

function condition({ state }: Steps, type: string) {
  const { status, reason } = state.conditions.find((candidate) => candidate.type === type) ?? {};
  return status && reason ? { status, reason } : undefined;
}

function reasons({ events }: Steps): string[] {
  return events.map(({ reason }) => reason);
}

/** uids of the Pods that are evicted or deleted. */
function restarted({ actions }: Steps): string[] {
  return actions.flatMap((action) => ('pod' in action ? action.pod.uid : []));
}

describe('first sight', () => {
  it('is the baseline: one state, no Pod looked at', () => {
    const decision = decided({ state: applied([]), sources: [oldContent] });
    const { state, actions } = decision;
    assert.deepEqual([state.appliedHash, state.pending, actions], [oldContent.hash, undefined, []]);
    assert.deepEqual(condition(decision, 'Ready'), { status: 'True', reason: 'Watching' });
    assert.deepEqual(reasons(decision), []);
  });

  it('is followed by silence', () => {
    const facts = { state: applied([]) };
    const first = decided(facts);
    const { state, actions, events, requeueAfter } = decided(afterwards(facts, first, 5000));
    assert.deepEqual([state, actions, events, requeueAfter], [first.state, [], [], undefined]);
  });

  it('of a missing source waits: its appearance is the baseline', () => {
    const facts = { state: applied([]), sources: [found(undefined)] };
    const missing = decided(facts);
    assert.equal(missing.state.appliedHash, undefined);
    for (const type of ['Ready', 'Progressing']) {
      assert.deepEqual(condition(missing, type), { status: 'False', reason: 'SourceMissing' });
    }
    assert.deepEqual(reasons(missing), ['SourceMissing']);
    const there = decided({ ...afterwards(facts, missing, 1000), sources: [newContent] });
    assert.equal(there.state.appliedHash, newContent.hash);
    assert.deepEqual(reasons(there), ['SourceRestored']);
  });

  it('of another ConfigMap, of other keys and of another hash scheme is a baseline too', () => {
    const renamed = { ...webappConfig, name: 'other' };
    const contents = [
      found({ message: 'new' }, { source: renamed }),
      { ...newContent, keysHash: 'v1:other keys' },
      { ...newContent, hash: `v2:${'0'.repeat(64)}` },
    ];
    for (const content of contents) {
      const decision = decided({ sources: [content] });
      assert.equal(decision.state.appliedHash, content.hash);
      assert.equal(decision.state.pending, undefined);
    }
  });

  it('of a second source leaves the comparison of the first alone', () => {
    const second = found({ a: '1' }, { source: { ...webappConfig, name: 'second' } });
    const decision = decided({ sources: [newContent, second], pods: several(1) });
    assert.equal(decision.state.pending?.reason, 'Debounce');
    assert.deepEqual(
      decision.state.sources.map(({ name, hash }) => [name, hash]),
      [
        ['webapp-config', oldContent.hash],
        ['second', second.hash],
      ],
    );
  });
});

describe('an edit', () => {
  it('is believed only when it was read in this very pass', () => {
    assert.deepEqual(decide(observed({ sources: [{ ...newContent, confirmed: false }] })), {
      need: 'contents',
    });
  });

  it('asks for the Pods before anything is recorded', () => {
    assert.deepEqual(decide(observed({ sources: [newContent] })), { need: 'pods' });
  });

  it('is recorded first: nothing is restarted in the debounce', () => {
    const decision = decided({ sources: [newContent], pods: [pod(), pod({ created: justCreated })] });
    assert.deepEqual(decision.state.pending, {
      hash: newContent.hash,
      since: now,
      cutoff: justCreated,
      from: now,
      podSelector: 'app=webapp',
      reason: 'Debounce',
    });
    assert.equal(decision.state.appliedHash, oldContent.hash);
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAfter, 2000);
    assert.deepEqual(reasons(decision), ['ChangeDetected']);
    assert.equal(decision.state.stalePods, 2);
  });

  it('without a Pod has no cutoff: whatever comes is fresh', () => {
    const decision = decided({ sources: [newContent], pods: [] });
    assert.equal(decision.state.pending?.cutoff, undefined);
    const done = decided({
      ...afterwards({ sources: [newContent] }, decision, 2000),
      pods: [pod({ created: now + 500 })],
    });
    assert.equal(done.state.appliedHash, newContent.hash);
    assert.deepEqual([done.state.lastRestart?.restarted, done.state.lastRestart?.skippedFresh], [0, 1]);
    assert.equal(done.state.restartCount, 0);
    assert.equal(done.state.cooldownUntil, undefined);
  });

  it('that is taken back before the restart leaves nothing', () => {
    const facts = { sources: [newContent], pods: several(1) };
    const recorded = decided(facts);
    const back = decided({ ...afterwards(facts, recorded, 500), sources: [oldContent] });
    assert.equal(back.state.pending, undefined);
    assert.equal(back.state.appliedHash, oldContent.hash);
    assert.deepEqual(back.actions, []);
  });

  it('after another one replaces the hash, raises the cutoff and begins the quiet anew', () => {
    const facts = { sources: [newContent], pods: several(1) };
    const first = decided(facts);
    const rolled = pod({ created: now + 1000 });
    const second = decided({
      ...afterwards(facts, first, 1500),
      sources: [newestContent],
      pods: [rolled],
    });
    assert.deepEqual(second.state.pending, {
      hash: newestContent.hash,
      since: now,
      cutoff: rolled.created,
      from: now,
      podSelector: 'app=webapp',
      reason: 'Debounce',
    });
    assert.equal(second.requeueAfter, 2000);
  });

  it('after edit ends the debounce at its maximum', () => {
    const pending = {
      hash: newContent.hash,
      since: now - 29_000,
      cutoff: anHourAgo,
      reason: 'Debounce',
    } as const;
    const decision = decided({
      state: { ...changing(pending), lastChange: now - 100 },
      sources: [newestContent],
      pods: several(1),
    });
    assert.equal(decision.requeueAfter, 1000);
  });

  describe('made while the operator was down', () => {
    const pods = () => [pod(), pod({ created: now - 60_000 })];

    it('spares the Pods made after the last write of data', () => {
      const edited = { ...newContent, isFirstLook: true, written: now - 120_000 };
      const decision = decided({ sources: [edited], pods: pods() });
      assert.equal(decision.state.pending?.cutoff, now - 119_000, 'clocks of API servers differ');
    });

    it('spares none when the write named may not be the one that changed it: a key was removed', () => {
      const edited = { ...newContent, isFirstLook: true, written: anHourAgo + 1000 };
      const decision = decided({ sources: [edited], pods: pods() });
      assert.equal(decision.state.pending?.cutoff, now - 60_000);
    });

    it('spares none when one of two changed sources does not name its write', () => {
      const source = { ...webappConfig, name: 'second' };
      const decision = decided({
        state: applied([oldContent, found({ a: '1' }, { source })]),
        sources: [
          { ...newContent, isFirstLook: true, written: now - 120_000 },
          found({ a: '2' }, { source }),
        ],
        pods: pods(),
      });
      assert.equal(decision.state.pending?.cutoff, now - 60_000);
    });
  });
});

/** A change that was seen just now, with nothing in the way of its restart. */
function changed(overrides: Partial<Observed> = {}): Partial<Observed> {
  return { spec: atOnce, sources: [newContent], owners: ownedBy(1), ...overrides };
}

describe('the restart', () => {
  it('starts in the same pass when there is nothing to wait for, with the state first', () => {
    const [old] = several(1);
    const decision = decided(changed({ pods: [old!] }));
    assert.deepEqual(decision.state.pending, {
      hash: newContent.hash,
      since: now,
      started: now,
      podSelector: 'app=webapp',
      cutoff: anHourAgo,
      from: now,
      total: 1,
      owners: [{ kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 1, available: 1 }],
      reason: 'InProgress',
    });
    assert.deepEqual(decision.actions, [
      {
        type: 'EvictPod',
        pod: { name: old!.name, uid: old!.uid },
        owner: ownedBy(1).get('webapp-rs')?.reference,
      },
    ]);
    assert.deepEqual(reasons(decision), ['ChangeDetected', 'RestartStarted', 'ConfigRestart']);
    assert.equal(decision.state.appliedHash, oldContent.hash);
  });

  it('asks for the owners before it chooses Pods', () => {
    const { owners, ...facts } = changed({ pods: several(1) });
    assert.deepEqual(decide(observed(facts)), { need: 'owners' });
  });

  it('waits until a Pod made now can be told from the newest old one', () => {
    const young = pod({ created: now });
    const facts = changed({ pods: [young] });
    const early = decided({ ...facts, now: now + 400 });
    assert.deepEqual(early.actions, []);
    assert.equal(early.state.pending?.started, undefined);
    assert.equal(early.requeueAfter, 600);
    const later = decided({ ...afterwards(facts, early, 1000) });
    assert.equal(later.actions.length, 1);
  });

  it('deletes under strategy Delete', () => {
    const spec = specOf({ debounce: { quiet: '0s' }, strategy: { type: 'Delete' } });
    assert.equal(decided(changed({ spec, pods: several(1) })).actions[0]?.type, 'DeletePod');
  });

  it('touches no Pod that is newer than the cutoff, and counts it as fresh', () => {
    const pending = {
      hash: newContent.hash,
      since: now - 25_000,
      cutoff: now - 26_000,
      reason: 'Debounce',
    } as const;
    const decision = decided(
      changed({
        state: { ...changing(pending), lastChange: now - 25_000 },
        pods: [pod(), pod({ created: now - 24_000 })],
        owners: ownedBy(2),
      }),
    );
    assert.equal(decision.actions.length, 1);
    assert.equal(decision.state.lastRestart?.skippedFresh, 1);
  });

  it('is not done before the old Pods are gone, then applies the content', () => {
    const old = pod();
    const started = decided(changed({ pods: [old] }));
    const terminating = decided({
      ...afterwards(changed(), started, 200),
      pods: [{ ...old, terminating: true }, pod({ created: now + 1000 })],
    });
    assert.equal(terminating.state.pending?.reason, 'InProgress');
    assert.deepEqual(terminating.actions, []);
    const early = decided({
      ...afterwards(changed(), terminating, 10_999),
      pods: [pod({ created: now + 1000 })],
    });
    assert.equal(early.state.pending?.reason, 'InProgress', 'Ready for less than ten seconds');
    assert.equal(early.requeueAfter, 1);
    const gone = decided({
      ...afterwards(changed(), terminating, 11_000),
      pods: [pod({ created: now + 1000 })],
      // The watch has shown the end of the old Pod, and not yet its successor.
      matchedPods: 0,
    });
    assert.equal(gone.state.matchedPods, terminating.state.matchedPods);
    const next = { ...afterwards(changed(), terminating, 10_999), pods: [pod({ created: now + 1000 })] };
    const edited = decided({ ...next, generation: 9, matchedPods: 0 });
    assert.equal(edited.state.matchedPods, 0, 'another selector');
    assert.equal(gone.state.pending, undefined);
    assert.equal(gone.state.appliedHash, newContent.hash);
    assert.equal(gone.state.restartCount, 1);
    assert.equal(gone.state.lastRestart?.completion, now + 11_000);
    assert.equal(gone.state.lastRestart?.restarted, 1);
    assert.equal(gone.state.history.length, 1);
    assert.deepEqual(reasons(gone), ['RestartCompleted']);
  });

  it('is carried through by the next process with the same cutoff, counting what has gone', () => {
    const pods = several(2);
    const started = decided(
      changed({ pods, owners: ownedBy(2), spec: specOf({ debounce: { quiet: '0s' } }) }),
    );
    const { memory, ...crashed } = afterwards(changed({ owners: ownedBy(2) }), started, 15_000);
    const next = decided({ ...crashed, pods: [pods[1]!, pod({ created: now + 1000 })] });
    assert.deepEqual(restarted(next), [pods[1]!.uid]);
    assert.equal(next.state.lastRestart?.restarted, 1);
  });

  it('that was held up is not late when it goes on', () => {
    const pods = several(4);
    const facts = { spec: atOnce, sources: [newContent], pods, owners: ownedBy(4) };
    const started = decided(facts);
    const held = decided({
      ...afterwards(facts, started, 1000),
      spec: specOf({ suspend: true }),
    });
    assert.equal(held.state.pending?.reason, 'Suspended');
    const on = decided(afterwards(facts, { ...held, state: held.state }, 3_600_000));
    assert.equal(on.state.pending?.reason, 'InProgress');
  });

  it('is not cancelled by a return to the applied content: Pods may run with the other one', () => {
    const started = decided(changed({ pods: several(2), owners: ownedBy(2) }));
    const [replacement, untouched] = [pod({ created: now + 2000 }), pod()];
    const back = decided({
      ...afterwards(changed(), started, 5000),
      spec: specOf(),
      sources: [oldContent],
      pods: [replacement, untouched],
    });
    assert.deepEqual(back.state.pending, {
      hash: oldContent.hash,
      since: now + 5000,
      started: now,
      cutoff: replacement.created,
      from: now,
      podSelector: 'app=webapp',
      total: 2,
      owners: [{ kind: 'Deployment', name: 'webapp', uid: 'webapp-uid', wanted: 2, available: 2 }],
      reason: 'Debounce',
    });
    const later = decided({
      ...afterwards(changed({ owners: ownedBy(2) }), back, 40_000),
      sources: [oldContent],
      pods: [replacement, untouched],
    });
    assert.deepEqual(restarted(later), [replacement.uid], 'and not the Pod that never had the other content');
    assert.equal(later.state.history.length, 1, 'the overtaken restart is recorded');
  });

  it('that is overtaken while no operator ran is counted by the Pods that have gone', () => {
    const pods = several(2);
    const facts = { ...changed({ pods, owners: ownedBy(2) }), spec: atOnce };
    const started = decided(facts);
    assert.deepEqual(restarted(started), [pods[0]!.uid]);
    for (const [left, count] of [
      [[pods[1]!, pod({ created: now + 1000 })], 1],
      [pods, 0],
    ] as const) {
      const { memory, ...crashed } = afterwards(facts, started, 5000);
      const { state } = decided({ ...crashed, sources: [newestContent], pods: left });
      assert.deepEqual([state.restartCount, state.history[0]?.restarted], [count, count]);
    }
  });

  it('leaves bare Pods alone, says so, and is done', () => {
    const decision = decided(changed({ pods: [barePod()] }));
    assert.equal(decision.state.appliedHash, newContent.hash);
    assert.equal(decision.state.lastRestart?.skippedUnmanaged, 1);
    assert.deepEqual(reasons(decision), ['ChangeDetected', 'UnmanagedPodSkipped', 'RestartCompleted']);
    const { note } = decision.events.at(-1) ?? {};
    assert.equal(note, '0 Pods restarted; 1 Pod with an older content left alone');
  });

  it('restarts bare Pods and Pods of Jobs only when asked to', () => {
    const ofJob = pod({
      controller: { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'job', controller: true },
    });
    const spec = specOf({
      debounce: { quiet: '0s' },
      strategy: { unmanagedPods: 'Delete', jobPods: 'Delete' },
    });
    assert.equal(decided(changed({ pods: [ofJob, barePod()] })).actions.length, 0);
    assert.equal(decided(changed({ spec, pods: [ofJob, barePod()] })).actions.length, 2);
  });

  it('leaves finished Pods alone', () => {
    const decision = decided(changed({ pods: [pod({ finished: true })] }));
    assert.equal(decision.state.appliedHash, newContent.hash);
  });

  it('never waits for a cutoff in the future that was forged', () => {
    const pending = {
      hash: newContent.hash,
      since: anHourAgo,
      cutoff: now + 1e10,
      reason: 'Debounce',
    } as const;
    const decision = decided(changed({ state: changing(pending), pods: several(1) }));
    assert.equal(decision.actions.length, 1);
    assert.equal(decision.state.pending?.cutoff, anHourAgo);
  });
});

describe('a bad spec', () => {
  it('is a condition and one Event, and nothing is touched or tried again', () => {
    const facts = { spec: { invalid: 'podSelector is empty' } };
    const first = decided(facts);
    assert.deepEqual(condition(first, 'Ready'), { status: 'False', reason: 'InvalidSpec' });
    assert.deepEqual(reasons(first), ['InvalidSpec']);
    assert.deepEqual([first.actions, first.requeueAfter], [[], undefined]);
    assert.deepEqual(decided(afterwards(facts, first, 1000)).events, []);
  });

  it('is Stalled until it is mended, whatever comes after that', () => {
    const bad = decided({ spec: { invalid: 'podSelector is empty' } });
    assert.deepEqual(condition(bad, 'Stalled'), { status: 'True', reason: 'InvalidSpec' });
    const after = afterwards({}, bad, 1000);
    for (const facts of [after, { ...after, forbidden: { verb: 'list', resource: 'pods' } }]) {
      assert.equal(condition(decided(facts), 'Stalled'), undefined);
    }
  });
});

describe('a restart whose state keeps no number of Pods', () => {
  it('takes the number that the watch shows', () => {
    const started = decided(changed({ pods: several(2), owners: ownedBy(2) }));
    const facts = afterwards(changed({ pods: several(2), owners: ownedBy(2) }), started, 200);
    const state = { ...started.state, matchedPods: 0 };
    const next = decided({ ...facts, state, matchedPods: 2 });
    assert.equal(next.state.matchedPods, 2);
    assert.equal(condition(next, 'PodsMatched')?.status, 'True');
  });
});

describe('at rest', () => {
  it('the number of Pods follows, and none at all is told once', () => {
    const none = decided({ matchedPods: 0 });
    assert.deepEqual(condition(none, 'PodsMatched'), { status: 'False', reason: 'NoPodsMatched' });
    assert.deepEqual(reasons(none), ['NoPodsMatched']);
    const some = decided({ ...afterwards({}, none, 1000), matchedPods: 3 });
    assert.equal(some.state.matchedPods, 3);
    assert.deepEqual(condition(some, 'PodsMatched'), { status: 'True', reason: 'PodsMatched' });
    assert.deepEqual(reasons(some), []);
  });
});
