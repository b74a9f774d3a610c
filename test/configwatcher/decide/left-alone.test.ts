/** Pods that keep an old content: what a watcher says of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import {
  afterwards,
  barePod,
  decided,
  found,
  newContent,
  newestContent,
  now,
  observed,
  ownedBy,
  pod,
  several,
  specOf,
  webappConfig,
} from '../../fixtures/configwatcher.ts';

const job = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'job', controller: true };
const atOnce = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });

function edited(overrides: Partial<Observed>): Partial<Observed> {
  return { spec: atOnce, sources: [newContent], owners: new Map(), ...overrides };
}

function progressing({ state }: Steps): string | undefined {
  const { status, message } = state.conditions.find(({ type }) => type === 'Progressing') ?? {};
  return `${status}: ${message}`;
}

describe('Pods that a restart leaves alone', () => {
  const upToDate = 'False: the Pods run with the current content';
  const pods = [barePod({ name: 'bare' }), pod({ name: 'job-1', controller: job })];

  it('are named by Progressing, also when no pass looks at Pods any more', () => {
    const facts = edited({ pods });
    const done = decided(facts);
    const except = `${upToDate}, except 2 Pods that the last restart left alone`;
    assert.equal(progressing(done), `${except}: bare, job-1`);
    assert.deepEqual([done.state.stalePods, done.state.skippedPods], [0, 2]);
    const { pods: _, ...later } = afterwards(facts, done, 60_000);
    assert.equal(progressing(decided(later)), `${except}: bare, job-1`);
    assert.equal(decided(later).state.skippedPods, 2);
    const dry = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, dryRun: true });
    const told = decided({ ...facts, spec: dry }).state;
    assert.deepEqual([told.stalePods, told.skippedPods], [0, 2], 'also of a dry run');
    const state = { ...done.state, conditions: [] };
    assert.equal(progressing(decided({ ...later, state })), except, 'by a status that has lost the names');
  });

  it('are named by an Event, with the reason of each', () => {
    const notes = (names: string[]) => {
      const { events, skippedOfJobs } = decided(
        edited({ pods: pods.filter(({ name }) => names.includes(name)) }),
      );
      const note = events.find(({ reason }) => reason === 'UnmanagedPodSkipped')?.note;
      return [note, skippedOfJobs];
    };
    const bare = 'left alone, because no controller would replace them: bare';
    const ofJob = 'left alone, because they run to an end and strategy.jobPods is Skip: job-1';
    assert.deepEqual(notes(['bare']), [bare, 0]);
    assert.deepEqual(notes(['job-1']), [ofJob, 1]);
    assert.deepEqual(notes(['bare', 'job-1']), [`${bare}; ${ofJob}`, 1]);
  });

  it('are those of a kubelet as well where others without a controller are deleted', () => {
    const spec = specOf({
      ...{ debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
      strategy: { type: 'Delete', canary: false, unmanagedPods: 'Delete' },
    });
    const image = barePod({ name: 'static-node-0', isMirror: true });
    const { actions, state } = decided(edited({ spec, pods: [image, barePod({ name: 'bare' })] }));
    const gone = actions.flatMap((action) => (action.type === 'DeletePod' ? [action.pod.name] : []));
    assert.deepEqual([gone, state.skippedPods], [['bare'], 1]);
  });

  const [bare, ofJob, ...others] = [...pods, ...several(4)];
  if (!bare || !ofJob) throw new Error('there are two');
  const all = [bare, ofJob, ...others];
  const specWith = (choice: 'Delete' | 'Skip', app = 'webapp') =>
    specOf({
      ...{ podSelector: { app }, debounce: { quiet: '0s' }, cooldown: { base: '0s' } },
      strategy: { type: 'Evict', canary: false, unmanagedPods: choice, jobPods: choice },
    });

  for (const [edit, more] of [
    ['alone', {}],
    ['with the content', { sources: [newestContent] }],
    [
      'with the selector',
      {
        spec: specWith('Skip', 'other'),
        formerPods: { selected: [], leftOut: all.slice(0, -1) },
        pods: [],
      },
    ],
  ] as const) {
    it(`are not counted as restarted where the spec leaves them alone since it was edited, ${edit}`, () => {
      const facts = edited({ spec: specWith('Delete'), pods: all, owners: ownedBy(4) });
      const started = decided(facts);
      assert.equal(started.state.pending?.total, 6);
      const next = { ...afterwards(facts, started, 1000), generation: 2, spec: specWith('Skip') };
      // One of the Deployment's Pods has gone.
      const { state } = decided({ ...next, pods: all.slice(0, -1), ...more });
      const told = [state.lastRestart, ...state.history].find(
        (one) => one?.id === started.state.lastRestart?.id,
      );
      assert.equal(told?.restarted, 1);
    });
  }

  it('are forgotten with the next restart that finds none', () => {
    const facts = edited({ pods });
    const next = { ...afterwards(facts, decided(facts), 60_000), sources: [newestContent], pods: [] };
    assert.equal(progressing(decided(next)), upToDate);
  });
});

describe('a spec that does not watch any more what is being restarted for', () => {
  const pods = several(4);
  const facts = edited({ pods, owners: ownedBy(4), matchedPods: 4 });
  const elsewhere = { source: { ...webappConfig, name: 'other' } };
  const other = { spec: { ...atOnce, sources: [elsewhere.source] }, sources: [found({ a: '1' }, elsewhere)] };
  const nowhere = { spec: other.spec, sources: [found(undefined, elsewhere)] };
  const started = decided(facts);
  const rest = pods.slice(1);

  for (const [what, spec] of [
    ['of another ConfigMap', other],
    ['of a ConfigMap that does not exist', nowhere],
  ] as const) {
    it(`${what} ends the restart, and says which Pods it did not get to`, () => {
      const next = { ...afterwards(facts, started, 1000), ...spec, pods: rest };
      const decision = decided(next);
      const { pending, lastRestart, history, restartCount, lastRestartTime } = decision.state;
      assert.equal(pending, undefined);
      assert.deepEqual(decision.actions, []);
      assert.deepEqual([lastRestart?.completion, lastRestart?.restarted], [now + 1000, 1]);
      assert.deepEqual(history, [lastRestart]);
      assert.deepEqual([restartCount, lastRestartTime], [1, now + 1000]);
      assert.equal(decision.abandoned, 3);
      const ended = decision.events.find(({ reason }) => reason === 'RestartAbandoned');
      assert.match(ended?.note ?? '', /^1 Pod restarted, 3 Pods with an older content left: /);
      assert.ok(!decision.events.some(({ reason }) => reason === 'RestartCompleted'));
      const { pods: _, ...later } = afterwards(next, decision, 60_000);
      const after = decided(later);
      assert.deepEqual(after.events, []);
      assert.deepEqual(after.state.history, history, 'once');
      if (spec === nowhere) return;
      for (const { state } of [decision, after]) {
        assert.equal(state.stalePods, 3);
        const { reason } = state.conditions.find(({ type }) => type === 'Progressing') ?? {};
        assert.equal(reason, 'RestartAbandoned');
      }
    });
  }

  it('that waits for its restart is told as well', () => {
    const waiting = decided({ ...facts, spec: specOf() });
    const { pods: _, ...unlisted } = { ...afterwards(facts, waiting, 1000), ...other };
    assert.deepEqual(decide(observed(unlisted)), { need: 'pods' });
    const decision = decided({ ...unlisted, pods });
    assert.equal(decision.state.pending, undefined);
    assert.equal(decision.state.stalePods, 4);
    const told = decision.events.find(({ reason }) => reason === 'RestartAbandoned');
    assert.match(told?.note ?? '', /^0 Pods restarted, 4 Pods with an older content left/);
    const message = '4 Pods kept an older content: the spec no longer asks for a restart';
    assert.equal(progressing(decision), `False: ${message}`);
  });

  it('is done as ever when no Pod was left to restart', () => {
    const terminating = rest.map((one) => ({ ...one, terminating: true }));
    const decision = decided({ ...afterwards(facts, started, 1000), ...other, pods: terminating });
    assert.equal(decision.events.at(-1)?.reason, 'RestartCompleted');
    assert.equal(progressing(decision), 'False: the Pods run with the current content');
  });

  it('says nothing of it any more after the next restart', () => {
    const decision = decided({ ...afterwards(facts, started, 1000), ...other, pods: rest });
    const sources = [found({ a: '2' }, elsewhere)];
    const settled = decided({ ...afterwards({ ...facts, ...other, sources }, decision, 60_000), pods: [] });
    assert.equal(progressing(settled), 'False: the Pods run with the current content');
  });
});

describe('a change that waits while the spec is edited', () => {
  const pods = several(4);
  const facts = { sources: [newContent], pods, owners: ownedBy(4), matchedPods: 4 };
  const waiting = decided(facts);

  it('is still owed when the keys are edited: it is unknown what the Pods have', () => {
    const source = { ...webappConfig, keys: ['message'] };
    const sources = [found({ message: 'new' }, { source, keysHash: 'v1:k' })];
    const spec = { ...specOf(), sources: [source] };
    const next = { ...afterwards(facts, waiting, 1000), spec, sources, generation: 2 };
    const decision = decided(next);
    assert.equal(decision.state.pending?.reason, 'Debounce');
    const later = decided(afterwards(next, decision, 5000));
    assert.equal(later.actions.length, 1);
    const done = decided({
      ...afterwards(next, later, 60_000),
      pods: [pod({ created: now + 9000 })],
      owners: ownedBy(1),
    });
    assert.equal(done.state.appliedHash, sources[0]?.hash);
  });

  it('is owed to the Pods made since, too, where data was written after the look before the edit of the keys', () => {
    const source = { ...webappConfig, keys: ['message'] };
    const staleAfter = (written: number) => {
      const sources = [found({ message: 'newest' }, { source, keysHash: 'v1:k', written })];
      const spec = { ...specOf(), sources: [source] };
      const since = [...pods, pod({ created: now + 2000 })];
      const next = { ...afterwards(facts, waiting, 4000), spec, sources, generation: 2, pods: since };
      return decided(next).state.stalePods;
    };
    assert.deepEqual([staleAfter(now), staleAfter(now + 3000)], [4, 5]);
  });

  it('is owed to the Pods that a wider selector adds, up to the second in which it was seen', () => {
    const added = [pod({ created: now - 60_000 }), pod({ created: now + 1000 })];
    const spec = specOf({ podSelector: { tier: 'web' } });
    const before = afterwards(facts, waiting, 1500);
    const formerPods = { selected: pods, leftOut: [] };
    const next = { ...before, spec, formerPods, generation: 2, pods: [...pods, ...added] };
    const decision = decided(next);
    const later = decided({ ...afterwards(next, decision, 5000), owners: ownedBy(6) });
    assert.equal(later.state.stalePods, 5);
    const forbidden = { verb: 'get', resource: 'configmaps' };
    const { pods: _, ...unread } = next;
    const held = decided({ ...unread, sources: [], forbidden });
    const { forbidden: __, ...granted } = afterwards({ ...next, forbidden }, held, 5000);
    assert.equal(decided({ ...granted, owners: ownedBy(6) }).state.stalePods, 5, 'with a right missing then');
    const same = decided({
      ...afterwards({ ...facts, pods: [...pods, ...added] }, waiting, 5000),
      ...{ owners: ownedBy(6), generation: 2 },
    });
    assert.equal(same.state.stalePods, 4, 'with another edit of the spec they count as fresh');
  });
});

describe('an immutable source that was replaced under its name', () => {
  const replaced = { ...newContent, immutable: true, replacesImmutable: true, created: now - 2000 };
  const reason = ({ state }: Steps) => state.conditions.find(({ type }) => type === 'Progressing')?.reason;
  const facts = edited({ sources: [replaced], pods: [barePod({ name: 'bare' })] });

  it('leaves the content uncertain until no selected Pod is older', () => {
    const done = decided({ ...facts, oldestPod: now - 3_600_000 });
    assert.deepEqual([done.state.pending, reason(done)], [undefined, 'ContentUncertain']);
    const status = writeState(done.state);
    assert.equal(status.immutableReplacedTime, new Date(now - 2000).toISOString().replace('.000', ''));
    const later = { ...afterwards(facts, done, 60_000), state: readState(status), oldestPod: now - 3000 };
    assert.equal(reason(decided(later)), 'ContentUncertain');
    const gone = decided({ ...later, oldestPod: now - 2000 });
    assert.deepEqual([reason(gone), gone.state.replacedAt], ['UpToDate', undefined]);
    const { oldestPod, ...none } = later;
    assert.equal(reason(decided(none)), 'UpToDate');
  });

  it('is told from an edit', () => {
    const done = decided({
      ...facts,
      sources: [{ ...replaced, replacesImmutable: false }],
      oldestPod: now - 3_600_000,
    });
    assert.equal(reason(done), 'UpToDate');
  });
});
