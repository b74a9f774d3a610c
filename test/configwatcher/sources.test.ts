/** Several sources, optional and deleted ones: which of their changes count. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { decide } from '../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../src/configwatcher/decide/watcher-status.ts';
import type { Observed, SourceContent } from '../../src/configwatcher/facts/observed.ts';
import { readState } from '../../src/configwatcher/facts/state.ts';
import { combinedHash, statusName } from '../../src/configwatcher/plan/config-hash.ts';
import type { WatchedSource } from '../../src/configwatcher/plan/spec.ts';
import {
  afterwards,
  applied,
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
} from '../fixtures/configwatcher.ts';

const second: WatchedSource = { ...webappConfig, name: 'second' };
const optional: WatchedSource = { ...webappConfig, name: 'extra', optional: true };

function of(source: WatchedSource, data: Record<string, string> | undefined): SourceContent {
  return found(data, { source });
}

const sources: ConfigWatcherSpec['sources'] = [{ kind: 'ConfigMap', name: 'second' }];
const both = specOf({ sources });
const withExtra = (spec: Partial<ConfigWatcherSpec> = {}) =>
  specOf({ sources: [{ kind: 'ConfigMap', name: 'extra', optional: true }], ...spec });

function pendingAfter(facts: Partial<Observed>): boolean {
  return decided({ pods: several(1), ...facts }).state.pending !== undefined;
}

describe('several sources', () => {
  const [a, b] = [oldContent, of(second, { b: '1' })];

  it('changed together lead to one restart, named after the first', () => {
    const facts = {
      spec: both,
      state: applied([a, b]),
      sources: [{ ...newContent, changedKeys: ['message'] }, of(second, { b: '2' })],
      pods: several(1),
    };
    const recorded = decided(facts);
    const started = decided({ ...afterwards(facts, recorded, 2000), owners: ownedBy(1) });
    assert.equal(started.actions.length, 1);
    assert.deepEqual(started.state.lastRestart?.trigger, {
      kind: 'ConfigMap',
      name: 'webapp-config',
      changedKeys: ['message'],
    });
  });

  it('in another order are no change', () => {
    const spec = specOf({ configMap: 'second', sources: [{ kind: 'ConfigMap', name: 'webapp-config' }] });
    assert.equal(pendingAfter({ spec, state: applied([a, b]), sources: [b, a] }), false);
  });

  it('one more, watched while a change waits, is not taken for an edit', () => {
    const waiting = decided({ sources: [newContent], pods: several(1) });
    const more = decided({
      ...afterwards({}, waiting, 500),
      spec: both,
      sources: [newContent, b],
      pods: [pod({ created: now })],
    });
    assert.equal(more.state.pending?.cutoff, waiting.state.pending?.cutoff);
    assert.equal(more.state.lastChange, waiting.state.lastChange);
    assert.notEqual(more.state.pending?.hash, waiting.state.pending?.hash);
    const next = decided({
      ...afterwards({ now: now + 500 }, more, 100),
      spec: both,
      sources: [newContent, b],
    });
    assert.deepEqual(next.state.pending, more.state.pending);
  });

  it('one more is looked at together with the others, so that the last look at each is known', () => {
    const facts = { spec: both, state: applied([a]), now: now + 60_000 };
    const unread = { ...a, confirmed: false };
    assert.deepEqual(decide(observed({ ...facts, sources: [unread, b] })), { need: 'contents' });
    assert.equal(decided({ ...facts, sources: [a, b] }).state.lastChange, now + 60_000);
    const known = decided({
      ...facts,
      state: applied([a, b]),
      sources: [unread, { ...b, confirmed: false }],
    });
    assert.notEqual(known.state.lastChange, now + 60_000);
  });

  for (const name of ['webapp-config', 'a-name-that-is-too-long-for-status'.repeat(3)]) {
    it(`one less in mid-restart, ${name}, of which alone the Pods make use, gives up the restart`, () => {
      const spec = { onlyReferencing: true, debounce: { quiet: '0s' } } as const;
      const own = { ...webappConfig, name };
      const [before, after] = ['old', 'new'].map((message) => of(own, { message }));
      const pods = several(3, { references: [`ConfigMap/${name}`] });
      const named = specOf({ ...spec, configMap: name, sources });
      const known = applied([before!, b]);
      const inStatus = known.sources.map((entry) => ({ ...entry, name: statusName(entry.name) }));
      const state = { ...known, sources: inStatus };
      const facts = { spec: named, state, owners: ownedBy(3), pods };
      const first = decided({ ...facts, sources: [after!, b] });
      const left = { ...afterwards(facts, first, 1000), generation: 2, sources: [b] };
      const dropped = decided({ ...left, spec: specOf({ ...spec, configMap: 'second' }) });
      const { pending, lastRestart } = dropped.state;
      assert.deepEqual([pending, lastRestart?.restarted, dropped.abandoned], [undefined, 0, 3]);
    });
  }

  it('one less, whose change was pending, takes the change with it', () => {
    const facts = {
      spec: both,
      state: applied([a, b]),
      sources: [a, of(second, { b: '2' })],
      pods: several(1),
    };
    const waiting = decided(facts);
    const dropped = decided({ ...afterwards(facts, waiting, 500), spec: specOf(), sources: [a] });
    assert.equal(dropped.state.pending, undefined);
    assert.equal(dropped.state.appliedHash, a.hash);
  });

  const atOnce = specOf({ sources, debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  const onlyFirst = specOf({ debounce: { quiet: '0s' }, cooldown: { base: '0s' } });
  const bothChanged = [newContent, of(second, { b: '2' })];

  /** Both have changed, and the first of two Pods is on its way out. */
  function inMidRestart(): { facts: Partial<Observed>; running: Steps } {
    const facts = {
      ...{ spec: atOnce, state: applied([a, b]), sources: bothChanged },
      ...{ pods: several(2), owners: ownedBy(2) },
    };
    const running = decided(facts);
    assert.equal(running.actions.length, 1);
    return { facts, running };
  }

  /** By the next process, which knows the status only. */
  function takenUp(facts: Partial<Observed>, { state }: Steps): Partial<Observed> {
    return { ...facts, state: readState(writeState(state)), now: now + 5000 };
  }

  for (const [who, go] of [
    ['', (facts: Partial<Observed>, running: Steps) => afterwards(facts, running, 5000)],
    [', seen by the next process,', takenUp],
  ] as const) {
    it(`one less in mid-restart, of two that changed,${who} is no edit: the restart goes on`, () => {
      const { facts, running } = inMidRestart();
      const less = decided({ ...go(facts, running), spec: onlyFirst, sources: [newContent] });
      const { hash, ...pending } = running.state.pending!;
      assert.deepEqual({ ...less.state.pending, hash }, { hash, ...pending });
      assert.equal(less.state.lastRestart?.id, running.state.lastRestart?.id);
      assert.deepEqual([less.edits, less.state.history], [0, []]);
      const gone = [pod({ created: now + 2000 })];
      const done = decided({
        ...afterwards({ ...facts, spec: onlyFirst, owners: ownedBy(1) }, less, 15_000),
        sources: [newContent],
        pods: gone,
      });
      assert.deepEqual([done.state.pending, done.state.history.length], [undefined, 1]);
      assert.deepEqual(done.state.sources, [
        { kind: 'ConfigMap', name: 'webapp-config', hash: newContent.hash },
      ]);
    });

    it(`one less and another edited in mid-restart${who} is an edit`, () => {
      const { facts, running } = inMidRestart();
      const edited = decided({ ...go(facts, running), spec: onlyFirst, sources: [newestContent] });
      assert.equal(edited.edits, 1);
      assert.ok(edited.state.pending!.since > running.state.pending!.since);
    });
  }

  it('back at the applied contents in mid-restart is still owed when the other one is dropped', () => {
    const { facts, running } = inMidRestart();
    const patient = specOf({ sources });
    const back = decided({ ...afterwards(facts, running, 5000), spec: patient, sources: [a, b] });
    assert.equal(back.state.pending?.hash, combinedHash(back.state.sources));
    const less = decided({
      ...afterwards({ ...facts, now: now + 5000 }, back, 100),
      spec: specOf(),
      sources: [a],
    });
    assert.deepEqual([less.state.pending?.reason, less.state.pending?.since], ['Debounce', now + 5000]);
  });

  it('counts an edit once, whatever else moves, and the spec not at all', () => {
    const facts = { spec: both, state: applied([a, b]), sources: bothChanged, pods: several(1) };
    const recorded = decided(facts);
    const again = decided(afterwards(facts, recorded, 100));
    const more = decided({
      ...afterwards(facts, recorded, 100),
      spec: specOf({ sources: [...sources, { kind: 'ConfigMap', name: 'third' }] }),
      sources: [...bothChanged, of({ ...webappConfig, name: 'third' }, { c: '1' })],
    });
    assert.deepEqual([recorded.edits, again.edits, more.edits], [1, 0, 0]);
    const back = decided({ ...afterwards(facts, recorded, 100), sources: [a, b] });
    assert.deepEqual(
      [back.edits, back.state.pending, back.state.sources],
      [1, undefined, facts.state.sources],
    );
  });

  it('another ConfigMap in mid-restart ends the restart', () => {
    const spec = specOf({ debounce: { quiet: '0s' } });
    const running = decided({ spec, sources: [newContent], pods: several(2), owners: ownedBy(2) });
    assert.ok(running.state.pending?.started);
    const other = of(second, { c: '1' });
    const renamed = decided({
      ...afterwards({}, running, 500),
      spec: specOf({ configMap: 'second' }),
      sources: [other],
      pods: several(1),
    });
    assert.equal(renamed.state.pending, undefined);
    assert.ok(renamed.state.lastRestart?.completion);
    assert.equal(renamed.state.appliedHash, other.hash);
  });
});

describe('an optional source', () => {
  const without = applied([oldContent, of(optional, undefined)]);
  const withIt = applied([oldContent, of(optional, { a: '1' })]);

  it('that never existed is a baseline and no missing source', () => {
    const decision = decided({
      spec: withExtra(),
      state: applied([]),
      sources: [oldContent, of(optional, undefined)],
    });
    assert.ok(decision.state.appliedHash);
    assert.ok(decision.state.conditions.every(({ status }) => status === 'True' || status === 'False'));
    assert.equal(decision.state.conditions.find(({ type }) => type === 'SourceAvailable')?.status, 'True');
  });

  it('that appears is a change', () => {
    const appeared = [oldContent, of(optional, { a: '1' })];
    assert.equal(pendingAfter({ spec: withExtra(), state: without, sources: appeared }), true);
  });

  it('that disappears is one only with onDelete: Restart', () => {
    const gone = [oldContent, of(optional, undefined)];
    assert.equal(pendingAfter({ spec: withExtra(), state: withIt, sources: gone }), false);
    assert.equal(
      pendingAfter({ spec: withExtra({ onDelete: 'Restart' }), state: withIt, sources: gone }),
      true,
    );
  });
});

describe('an optional source that is not there while another one is edited', () => {
  const applied2 = applied([oldContent, of(optional, { a: '1' })]);
  const applied2Extra = of(optional, { a: '1' });
  const gone = of(optional, undefined);
  const facts = { spec: withExtra(), state: applied2, pods: several(1), owners: ownedBy(1) };

  it('is another content for the Pods that are made then: they are restarted when it is back as it was', () => {
    const edited = decided({ ...facts, sources: [newContent, gone] });
    assert.deepEqual(
      edited.state.sources.map(({ pendingHash }) => pendingHash),
      [newContent.hash, gone.hash],
    );
    assert.deepEqual(
      [edited.edits, pendingAfter({ ...facts, ...edited, sources: [newContent, gone] })],
      [1, true],
    );
    const restarted = applied([newContent, gone]);
    const back = [newContent, of(optional, { a: '1' })];
    assert.equal(pendingAfter({ spec: withExtra(), state: restarted, sources: back }), true);
    assert.equal(pendingAfter({ spec: withExtra(), state: restarted, sources: [newContent, gone] }), false);
  });

  it('is nothing where it goes while that edit waits, and is back before the restart', () => {
    const edited = decided({ ...facts, sources: [newContent, applied2Extra] });
    const then = decided({ ...afterwards(facts, edited, 100), sources: [newContent, gone] });
    const back = decided({ ...afterwards(facts, then, 100), sources: [newContent, applied2Extra] });
    assert.deepEqual([then.edits, back.edits, back.state], [0, 0, edited.state]);
  });

  it('is another content, too, where the restart begins without it', () => {
    const edited = decided({ ...facts, sources: [newContent, applied2Extra] });
    const begun = decided({ ...afterwards(facts, edited, 5000), sources: [newContent, gone] });
    assert.equal(begun.actions.length, 1);
    assert.deepEqual(
      begun.state.sources.map(({ pendingHash }) => pendingHash),
      [newContent.hash, gone.hash],
    );
  });

  it('is another content, too, where it goes while an edit in mid-restart waits', () => {
    const spec = withExtra({ debounce: { quiet: '0s' } });
    const running = decided({ ...facts, spec, sources: [newContent, applied2Extra] });
    const next = { ...facts, spec, sources: [newestContent, applied2Extra] };
    const edited = decided({ ...next, ...afterwards(next, running, 1000) });
    assert.equal(edited.state.pending?.reason, 'Cooldown');
    const { state } = decided({ ...afterwards(next, edited, 1000), sources: [newestContent, gone] });
    assert.equal(state.sources[1]?.pendingHash, gone.hash);
  });

  it('is read first, where a restart is to go on without it', () => {
    const spec = withExtra({ debounce: { quiet: '0s' } });
    const running = decided({ ...facts, spec, sources: [newContent, applied2Extra] });
    const next = { ...afterwards({ ...facts, spec }, running, 1000), sources: [newContent, gone] };
    const unproven = next.sources.map((content) => ({ ...content, confirmed: false }));
    assert.deepEqual(decide(observed({ ...next, sources: unproven })), { need: 'contents' });
  });

  it('is owed to no Pod once that source is dropped from the spec', () => {
    const spec = withExtra({ debounce: { quiet: '0s' } });
    const running = decided({ ...facts, spec, sources: [newContent, gone] });
    const only = specOf({ configMap: 'extra', sources: [] });
    const optionalOnly = { ...only, sources: [optional] };
    const next = { ...afterwards({ ...facts, spec }, running, 1000), spec: optionalOnly, generation: 2 };
    const { state, actions } = decided({ ...next, sources: [gone] });
    assert.deepEqual([state.pending, actions], [undefined, []]);
  });

  it('is another content, too, where it goes while the restart for that edit runs', () => {
    const spec = withExtra({ debounce: { quiet: '0s' } });
    const running = decided({ ...facts, spec, sources: [newContent, applied2Extra] });
    assert.equal(running.actions.length, 1);
    const made = [pod({ created: now + 5000, stableSince: now + 6000 })];
    const next = { ...afterwards({ ...facts, spec }, running, 20_000), pods: made };
    const done = decided({ ...next, sources: [newContent, gone] });
    assert.deepEqual(
      [done.state.pending, done.state.lastRestart?.completion === undefined, done.state.appliedHash],
      [undefined, false, combinedHash(applied([newContent, gone]).sources)],
    );
    const back = { ...afterwards(next, done, 60_000), pods: made, sources: [newContent, applied2Extra] };
    assert.notEqual(decided(back).state.pending, undefined);
  });

  it('takes no further Pods where it goes while that edit waits: those that were made since have the new content', () => {
    const waiting = decided({ ...facts, sources: [newContent, applied2Extra] });
    const pods = [pod({ created: now + 2000 })];
    const then = decided({ ...afterwards(facts, waiting, 5000), pods, sources: [newContent, gone] });
    assert.deepEqual([then.actions, then.state.pending], [[], undefined]);
  });

  it('leaves the time of the edit as it is known: Pods that were made after it have the new content', () => {
    const written = now - 60_000;
    const late = { ...newContent, written, isFirstLook: true };
    const before = { ...applied2, lastChange: now - 600_000 };
    const made = [pod({ created: written - 1000 }), pod({ created: now - 5000 })];
    const { state } = decided({ ...facts, pods: made, state: before, sources: [late, gone] });
    assert.equal(state.pending?.cutoff, written + 1000);
  });

  it('is the one of before again where that edit is taken back', () => {
    const edited = decided({ ...facts, sources: [newContent, gone] });
    const back = decided({ ...afterwards(facts, edited, 100), sources: [oldContent, gone] });
    assert.deepEqual([back.state.pending, back.state.sources], [undefined, applied2.sources]);
  });
});

describe('an optional source that goes while its own edit is owed', () => {
  const [one, two, gone] = [of(optional, { a: '1' }), of(optional, { a: '2' }), of(optional, undefined)];
  const facts = { spec: withExtra(), pods: several(1), owners: ownedBy(1) };
  const before = applied([oldContent, one]);
  const atOnce = { ...facts, spec: withExtra({ debounce: { quiet: '0s' } }) };

  it('takes the edit along before the restart: no Pod is restarted, and its return counts', () => {
    for (const [was, wasThere] of [
      [before, two],
      [applied([oldContent, gone]), one],
    ] as const) {
      const edited = decided({ ...facts, state: was, sources: [oldContent, wasThere] });
      const then = decided({ ...afterwards(facts, edited, 1000), sources: [oldContent, gone] });
      assert.deepEqual([then.state.pending, then.state.sources, then.actions], [undefined, was.sources, []]);
      assert.equal(pendingAfter({ ...facts, state: then.state, sources: [oldContent, wasThere] }), true);
    }
  });

  it('restarts the Pods that were made with the edit, and no others', () => {
    const edited = decided({ ...facts, state: before, sources: [oldContent, two] });
    const pods = [...several(1), pod({ name: 'new', uid: 'new', created: now + 1000 })];
    const then = decided({ ...afterwards(facts, edited, 1500), pods, sources: [oldContent, gone] });
    const begun = decided({ ...afterwards(facts, then, 60_000), pods, sources: [oldContent, gone] });
    assert.deepEqual(
      begun.actions.map((action) => 'pod' in action && action.pod.name),
      ['new'],
    );
    const made = pod({ name: 'made', uid: 'made', created: now + 62_000, stableSince: now + 63_000 });
    const next = { ...afterwards(facts, begun, 120_000), pods: [...several(1), made] };
    const done = decided({ ...next, sources: [oldContent, gone] });
    assert.deepEqual([done.state.pending, done.state.lastRestart?.restarted], [undefined, 1]);
    const back = { ...afterwards(next, done, 60_000), sources: [oldContent, one] };
    assert.notEqual(decided(back).state.pending, undefined, 'the new Pod is without it');
  });

  it('is marked, too, where it goes while a second edit of it waits in mid-restart', () => {
    const running = decided({ ...atOnce, state: before, sources: [oldContent, two] });
    const next = { ...afterwards(atOnce, running, 1000), sources: [oldContent, of(optional, { a: '3' })] };
    const waits = decided(next);
    assert.equal(waits.state.pending?.reason, 'Cooldown');
    const then = decided({ ...afterwards(next, waits, 1000), sources: [oldContent, gone] });
    assert.deepEqual([then.edits, then.state.sources[1]?.pendingHash], [0, gone.hash]);
  });

  it('is missed by the Pods that a running restart makes: whatever it holds, its return is a change', () => {
    const running = decided({ ...atOnce, state: before, sources: [oldContent, two] });
    assert.equal(running.actions.length, 1);
    const then = decided({ ...afterwards(atOnce, running, 1000), sources: [oldContent, gone] });
    assert.deepEqual([then.edits, then.state.sources[1]?.pendingHash], [0, gone.hash]);
    const made = [pod({ created: now + 5000, stableSince: now + 6000 })];
    const next = { ...afterwards(atOnce, then, 20_000), pods: made };
    const done = decided({ ...next, sources: [oldContent, gone] });
    assert.deepEqual([done.state.pending, done.state.sources[1]?.hash], [undefined, gone.hash]);
    for (const back of [one, two]) {
      const then = { ...afterwards(next, done, 60_000), sources: [oldContent, back] };
      assert.notEqual(decided(then).state.pending, undefined);
    }
  });
});

describe('a required source', () => {
  it('that disappears restarts only with onDelete: Restart', () => {
    const facts = { sources: [found(undefined)] };
    assert.equal(pendingAfter(facts), false);
    assert.equal(pendingAfter({ ...facts, spec: specOf({ onDelete: 'Restart' }) }), true);
  });

  it('that disappears while its change waits or runs holds the restart, and no more', () => {
    for (const quiet of ['2s', '0s']) {
      const spec = specOf({ debounce: { quiet }, cooldown: { base: '0s' } });
      const facts = { spec, sources: [newContent], pods: several(2), owners: ownedBy(2) };
      const first = decided(facts);
      assert.equal(first.actions.length, quiet === '0s' ? 1 : 0);
      const gone = decided({ ...afterwards(facts, first, 5000), sources: [found(undefined)] });
      assert.deepEqual(gone.state.pending, { ...first.state.pending, reason: 'SourceMissing' });
      assert.deepEqual([gone.actions, gone.edits], [[], 0]);
      const back = decided(afterwards({ ...facts, now: now + 5000 }, gone, 5000));
      assert.equal(back.edits, 0);
      assert.equal(back.state.pending?.since, first.state.pending?.since);
      assert.equal(back.state.pending?.reason, 'InProgress');
    }
  });

  it('that is missing while a change waits holds the restart', () => {
    const facts = { spec: both, state: applied([oldContent, of(second, { b: '1' })]), pods: several(1) };
    const decision = decided({ ...facts, sources: [newContent, of(second, undefined)] });
    assert.equal(decision.state.pending?.reason, 'SourceMissing');
    assert.deepEqual(decision.actions, []);
  });
});

describe('suspend and dry run', () => {
  const changed = { sources: [newContent], pods: several(1), owners: ownedBy(1) };

  it('record, and act once on the net difference when they end', () => {
    for (const [how, reason] of [
      [{ suspend: true }, 'Suspended'],
      [{ dryRun: true }, 'DryRun'],
    ] as const) {
      const spec = specOf({ ...how, debounce: { quiet: '0s' } });
      const held = decided({ ...changed, spec });
      assert.equal(held.state.pending?.reason, reason);
      assert.deepEqual(held.actions, []);
      const freed = decided({ ...afterwards(changed, held, 60_000), spec: specOf() });
      assert.equal(freed.actions.length, 1);
      const back = decided({ ...afterwards(changed, held, 60_000), spec: specOf(), sources: [oldContent] });
      assert.equal(back.state.pending, undefined);
    }
  });

  it('a dry run says what it would do, once per content', () => {
    const spec = specOf({ dryRun: true });
    const recorded = decided({ ...changed, spec });
    const told = decided({ ...afterwards({ ...changed, spec }, recorded, 2000) });
    assert.deepEqual(
      told.events.map(({ note }) => note),
      ['dry run: 1 Pod would be restarted'],
    );
    const again = decided({ ...afterwards({ ...changed, spec }, told, 2000) });
    assert.deepEqual([again.events, again.state], [[], told.state]);
  });

  it('a dry run without a debounce tells every content, too', () => {
    const spec = specOf({ dryRun: true, debounce: { quiet: '0s' } });
    const told = decided({ ...changed, spec });
    const next = { ...afterwards({ ...changed, spec }, told, 2000), sources: [newestContent] };
    const notes = decided(next).events.map(({ note }) => note);
    assert.ok(notes.includes('dry run: 1 Pod would be restarted'), notes.join('; '));
  });
});
