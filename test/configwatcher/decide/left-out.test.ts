/** A change that is pending while the selector is edited: what becomes of the Pods that it leaves out. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import { writeState } from '../../../src/configwatcher/decide/watcher-status.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
import { readState } from '../../../src/configwatcher/facts/state.ts';
import type { WatcherSpec } from '../../../src/configwatcher/plan/spec.ts';
import {
  afterwards,
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
  webapp,
  webappConfig,
} from '../../fixtures/configwatcher.ts';

const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const stable = { app: 'webapp', track: 'stable' };
const wideAtOnce = specOf(atOnce);
const narrow = specOf({ podSelector: stable });
const narrowAtOnce = specOf({ ...atOnce, podSelector: stable });
const [selected, leftOut] = [several(2), several(3)];
const all = [...selected, ...leftOut];
const facts: Partial<Observed> = {
  sources: [newContent],
  pods: all,
  owners: ownedBy(5),
  matchedPods: 5,
};
const waiting = decided(facts);
/** What is found after the edit that leaves three Pods out. */
const narrowed = { pods: selected, owners: ownedBy(2), formerPods: { selected, leftOut } };

/** The facts of the next pass, after an edit of the spec. */
function edited(before: Steps, spec: WatcherSpec, found: Partial<Observed>, ms = 1000): Partial<Observed> {
  const generation = before.state.observedGeneration + 1;
  return { ...afterwards(facts, before, ms), spec, generation, ...found };
}

/** The same, with the formerly selected Pods no longer listed. */
function later(before: Partial<Observed>, decision: Steps, ms = 1000): Partial<Observed> {
  const { formerPods, ...rest } = afterwards(before, decision, ms);
  return rest;
}

function told({ events }: Steps): string[] {
  return events.flatMap(({ reason, note }) => (reason === 'RestartAbandoned' ? [note] : []));
}

function progressing({ state }: Steps): string | undefined {
  return state.conditions.find(({ type }) => type === 'Progressing')?.message;
}

function abandoned({ state: { pending, stalePods } }: Steps): number | undefined {
  return pending ? pending.abandonedPods : stalePods;
}

/** The restart as it ends, with all selected Pods replaced. */
function ended(before: Partial<Observed>, running: Steps): Steps {
  const pods = [pod({ created: now + 9000 })];
  return decided({ ...later(before, running, 60_000), pods, owners: ownedBy(1) });
}

const threeLeft = '3 Pods with an older content left: the spec no longer selects them';

describe('a change that waits while the selector is narrowed', () => {
  const next = edited(waiting, narrow, narrowed);
  const noticed = decided(next);

  it('is owed by the selector with which it was seen, until the edit is noticed', () => {
    assert.equal(waiting.state.pending?.podSelector, 'app=webapp');
    const { formerPods, ...unread } = next;
    assert.deepEqual(decide(observed(unread)), { need: 'formerPods' });
    assert.deepEqual(decide(observed({ ...unread, generation: 1 })), { need: 'formerPods' });
    assert.equal(noticed.state.pending?.podSelector, 'app=webapp,track=stable');
    assert.ok('effects' in decide(observed(later(next, noticed))), 'once');
  });

  it('says at once which Pods it does not reach any more, and once', () => {
    assert.deepEqual([told(noticed), abandoned(noticed)], [[threeLeft], 3]);
    const again = decided(later(next, noticed, 100));
    assert.deepEqual([told(again), abandoned(again)], [[], 3]);
  });

  it('restarts the others alone, and says at the end what is left', () => {
    const begun = { ...later(next, noticed, 60_000), spec: narrowAtOnce };
    const running = decided(begun);
    const { stalePods, lastRestart, pending } = running.state;
    assert.deepEqual([stalePods, lastRestart?.restarted, pending?.total], [2, 0, 2]);
    const done = ended(begun, running);
    assert.deepEqual([done.state.pending, done.state.lastRestart?.restarted], [undefined, 2]);
    assert.deepEqual(told(done), [
      '2 Pods restarted, 3 Pods with an older content left: the spec no longer asks for a restart',
    ]);
    assert.equal(abandoned(done), 3);
    assert.equal(progressing(done), '3 Pods kept an older content: the spec no longer asks for a restart');
  });

  it('says nothing of those that have gone, have ended or are younger than the change', () => {
    const gone = [pod({ finished: true }), pod({ created: now + 2000 }), pod({ terminating: true })];
    for (const others of [[], gone]) {
      const decision = decided({ ...next, formerPods: { selected, leftOut: others } });
      assert.deepEqual([told(decision), abandoned(decision)], [[], undefined]);
    }
  });

  it('is owed to all of them again when the selector is put back', () => {
    const back = edited(noticed, wideAtOnce, { formerPods: { selected, leftOut: [] } });
    const decision = decided(back);
    assert.deepEqual([decision.state.stalePods, abandoned(decision), told(decision)], [5, undefined, []]);
  });

  it('says of each edit whom it leaves out', () => {
    const first = decided({ ...next, formerPods: { selected: all.slice(0, 4), leftOut: all.slice(4) } });
    const second = decided(
      edited(first, specOf({ podSelector: { app: 'other' } }), {
        ...{ pods: [all[4]!], formerPods: { selected: [], leftOut: all.slice(0, 4) } },
      }),
    );
    assert.deepEqual(
      [told(first), told(second)],
      [
        ['1 Pod with an older content left: the spec no longer selects them'],
        ['4 Pods with an older content left: the spec no longer selects them'],
      ],
    );
    assert.equal(abandoned(second), 4, 'others are selected, perhaps some of those before');
  });

  it('is no change to Pods that were there before it where it is taken back with the same edit', () => {
    const between = pod({ created: now + 500 });
    const decision = decided({
      ...next,
      sources: [oldContent],
      formerPods: { selected, leftOut: [...leftOut, between] },
      state: { ...waiting.state, pending: { ...waiting.state.pending!, cutoff: now + 500 } },
    });
    assert.deepEqual(told(decision), [
      '0 Pods restarted, 1 Pod with an older content left: the spec no longer asks for a restart',
    ]);
    assert.deepEqual([decision.state.pending, abandoned(decision)], [undefined, 1]);
  });

  it('forgets the number where the selector is widened again: those Pods may have been replaced', () => {
    const replaced = several(3, { created: now + 2000 });
    const back = edited(noticed, wideAtOnce, {
      ...{ pods: [...selected, ...replaced] },
      formerPods: { selected, leftOut: [] },
    });
    const { pods, ...unlisted } = back;
    assert.deepEqual(decide(observed(unlisted)), { need: 'pods' });
    const sources = [{ ...newContent, confirmed: false }];
    assert.deepEqual(decide(observed({ ...unlisted, sources })), { need: 'contents' });
    const decision = decided(back);
    assert.deepEqual([decision.state.stalePods, abandoned(decision)], [2, undefined]);
    const reordered = decided({ ...back, pods: selected });
    assert.equal(abandoned(reordered), 3, 'but not where it selects no others');
  });

  it('says in status how many are left to restart, also without a list of them', () => {
    const { pods, ...unlisted } = next;
    const suspended = decided({ ...unlisted, spec: specOf({ podSelector: stable, suspend: true }) });
    assert.deepEqual([suspended.state.stalePods, abandoned(suspended)], [2, 3]);
  });
});

describe('a right that is missing while the selector is narrowed', () => {
  const { formerPods, ...unread } = edited(waiting, narrow, narrowed);
  const forbidden = { verb: 'get', resource: 'deployments' };

  it('puts off what is said of the others', () => {
    const held = decided({ ...unread, sources: [], forbidden });
    assert.deepEqual(told(held), []);
    const { forbidden: _, ...granted } = afterwards({ ...unread, forbidden }, held, 5000);
    assert.deepEqual(decide(observed(granted)), { need: 'formerPods' });
    assert.deepEqual(told(decided({ ...granted, formerPods: { selected, leftOut } })), [threeLeft]);
  });

  it('puts it off also where another edit is seen', () => {
    const held = decided({ ...unread, sources: [newestContent], forbidden });
    assert.equal(held.state.pending?.hash, newestContent.hash);
    assert.equal(held.state.pending.podSelector, 'app=webapp');
  });

  it('does not keep it from being said where they were listed', () => {
    for (const content of [newContent, newestContent]) {
      const held = decided({ ...unread, formerPods: { selected, leftOut }, sources: [content], forbidden });
      assert.deepEqual([told(held), abandoned(held)], [[threeLeft], 3]);
      const again = decided(later({ ...unread, sources: [content], forbidden }, held));
      assert.deepEqual([told(again), abandoned(again)], [[], 3]);
    }
  });

  it('makes nothing of the Pods that were not counted look restarted', () => {
    const running = decided({ ...facts, spec: wideAtOnce });
    const { formerPods: _, ...next } = edited(running, narrowAtOnce, narrowed);
    const held = decided({ ...next, sources: [newestContent], forbidden });
    assert.equal(held.state.lastRestart?.restarted, 0);
  });
});

describe('a selector that is narrowed in mid-restart', () => {
  const running = decided({ ...facts, spec: wideAtOnce });
  const next = edited(running, narrowAtOnce, narrowed);

  it('does not count the Pods that it leaves out as restarted, also when they go in another way', () => {
    const decision = decided(next);
    assert.deepEqual([decision.state.stalePods, decision.state.lastRestart?.restarted], [2, 0]);
    assert.equal(decided(later(next, decision, 100)).state.lastRestart?.restarted, 0);
    assert.equal(ended(next, decision).state.lastRestart?.restarted, 2);
  });

  it('counts what it has restarted of Pods that are left out now', () => {
    const rest = leftOut.slice(1);
    const decision = decided({ ...next, formerPods: { selected, leftOut: rest } });
    const { lastRestart, pending } = decision.state;
    assert.deepEqual([lastRestart?.restarted, pending?.total, abandoned(decision)], [1, 3, 2]);
    assert.equal(ended(next, decision).state.lastRestart?.restarted, 3);
  });

  it('does not count as restarted what a content that is taken back with it spares', () => {
    for (const gone of [0, 1]) {
      const former = { selected, leftOut: leftOut.slice(gone) };
      const { state } = decided({ ...next, sources: [oldContent], formerPods: former });
      assert.deepEqual(
        state.history.map(({ restarted }) => restarted),
        gone === 0 ? [0, 0] : [0, 1],
      );
    }
  });

  it('waits no longer for an owner of which it leaves out all Pods', () => {
    const owner = (name: string) => ({ ...webapp, name: `${name}-7d4bc`, uid: `${name}-rs` });
    const of = (name: string, count = 2) => several(count, { controller: owner(name) });
    const [left, kept] = [of('left'), of('kept')];
    const factsOf = (name: string, makesSelectedPods: boolean) => {
      const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `${name}-uid` };
      return [`${name}-rs`, { reference, wanted: 2, makesSelectedPods }] as const;
    };
    const owners = new Map([factsOf('left', true), factsOf('kept', true)]);
    const begun = decided({
      ...facts,
      spec: specOf({ ...atOnce, strategy: { maxOwners: 2, canary: false } }),
      pods: [...left, ...kept],
      owners,
    });
    assert.deepEqual(
      begun.state.pending?.owners?.map(({ name }) => name),
      ['left', 'kept'],
    );
    const present = new Map([factsOf('kept', true)]);
    const found = { pods: kept, owners: present, formerPods: { selected: kept, leftOut: left } };
    const decision = decided(edited(begun, narrowAtOnce, found));
    assert.deepEqual(
      decision.state.pending?.owners?.map(({ name }) => name),
      ['kept'],
    );
  });

  it('does not count them when another edit overtakes the restart either', () => {
    const decision = decided({ ...next, sources: [newestContent] });
    assert.deepEqual(
      [decision.state.lastRestart?.restarted, told(decision), abandoned(decision)],
      [0, [threeLeft], 3],
    );
  });

  it('is told by status, too, where another edit is seen with it and no Pod is left', () => {
    const decision = decided({
      ...next,
      pods: [],
      sources: [newestContent],
      formerPods: { selected: [], leftOut: all },
    });
    assert.equal(decision.state.pending, undefined);
    assert.deepEqual([abandoned(decision), told(decision).length], [5, 1]);
  });

  it('to Pods that are all done ends the restart as abandoned', () => {
    const fresh = [pod({ created: now + 500_000 })];
    const decision = decided({ ...next, pods: fresh, owners: ownedBy(1), now: now + 600_000 });
    assert.equal(decision.state.pending, undefined);
    assert.deepEqual([abandoned(decision), told(decision).length], [3, 1]);
  });

  it('together with the source counts all that the restart did not get to', () => {
    const source = { ...webappConfig, name: 'other' };
    const sources = [found({ a: '1' }, { source })];
    const decision = decided({ ...next, spec: { ...narrowAtOnce, sources: [source] }, sources });
    assert.equal(decision.state.pending, undefined);
    assert.deepEqual([abandoned(decision), told(decision).length], [5, 1]);
  });

  it('after it was widened tells of the Pods that were added', () => {
    const begun = decided({ ...facts, spec: narrowAtOnce, pods: selected, owners: ownedBy(2) });
    const widened = decided(
      edited(begun, wideAtOnce, { formerPods: { selected, leftOut: [] }, pods: all, owners: ownedBy(5) }),
    );
    assert.deepEqual([widened.state.stalePods, abandoned(widened)], [5, undefined]);
    const back = decided(edited(widened, narrowAtOnce, narrowed));
    assert.deepEqual([told(back), abandoned(back)], [[threeLeft], 3]);
    assert.equal(back.state.lastRestart?.restarted, 0);
  });
});

describe('the selector of a pending change', () => {
  const read = (podSelector: string) => {
    const status = writeState(waiting.state);
    const pending = { ...status.pending!, podSelector };
    return readState({ ...status, pending }).pending?.podSelector;
  };

  it('is filled in where an older version recorded the change', () => {
    const { podSelector: _, ...pending } = waiting.state.pending ?? assert.fail('nothing waits');
    const state = { ...waiting.state, pending };
    const decision = decided({ ...facts, state, spec: narrow });
    assert.equal(decision.state.pending?.podSelector, 'app=webapp,track=stable');
  });

  it('is not kept where it is long', () => {
    const values = Array.from({ length: 20 }, (_, index) => `${index}${'v'.repeat(50)}`);
    const spec = specOf({ podSelectorExpressions: [{ key: 'tier', operator: 'In', values }] });
    const { state } = decided({ ...facts, spec });
    assert.deepEqual([state.pending?.reason, state.pending?.podSelector], ['Debounce', undefined]);
    const long = decided(edited(waiting, spec, narrowed));
    assert.deepEqual([told(long), long.state.pending?.podSelector], [[threeLeft], undefined]);
  });

  it('is read as it was written', () => {
    const podSelectorExpressions = [
      { key: 'example.com/tier', operator: 'In', values: ['a', 'b'] },
      { key: 'zone', operator: 'NotIn', values: ['c'] },
      { key: 'canary', operator: 'DoesNotExist' },
    ] as const;
    const { state } = decided({ ...facts, spec: specOf({ podSelectorExpressions }) });
    const text = 'app=webapp,example.com/tier in (a,b),zone notin (c),!canary';
    assert.equal(readState(writeState(state)).pending?.podSelector, text);
  });

  for (const forged of [
    ...['', 'a=b,', ',a=b', 'a=b,,c=d', 'a..b/c=d', '-/c=d', '\u00a0a=b', 'a=b\n', 'a = b', 'a in ()'],
    ...['=b', '(', `a=${'b'.repeat(64)}`, `a in (${'b,'.repeat(300)}c)`],
  ]) {
    it(`is absent where it was forged: ${JSON.stringify(forged).slice(0, 40)}`, () => {
      assert.equal(read(forged), undefined);
    });
  }
});
