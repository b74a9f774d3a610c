/** A change that is pending while the selector is edited: what becomes of the Pods that it leaves out. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/configwatcher/decide/decide.ts';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { Observed } from '../../../src/configwatcher/facts/observed.ts';
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
  webappConfig,
} from '../../fixtures/configwatcher.ts';

const atOnce = { debounce: { quiet: '0s' }, cooldown: { base: '0s' } };
const podSelector = { app: 'webapp', track: 'stable' };
const narrow = specOf({ podSelector });
const narrowAtOnce = specOf({ ...atOnce, podSelector });
const [kept, leftOut] = [several(2), several(3)];
const facts: Partial<Observed> = {
  sources: [newContent],
  pods: [...kept, ...leftOut],
  owners: ownedBy(5),
  matchedPods: 5,
};
const waiting = decided(facts);
const narrowed = { generation: 2, spec: narrow, pods: kept, owners: ownedBy(2), leftOut };

function told({ events }: Steps): string[] {
  return events.flatMap(({ reason, note }) => (reason === 'RestartAbandoned' ? [note] : []));
}

function progressing({ state }: Steps): string | undefined {
  return state.conditions.find(({ type }) => type === 'Progressing')?.message;
}

/** The restart as it ends, the kept Pods replaced. */
function ended(next: Partial<Observed>, running: Steps): Steps {
  const replaced = { ...afterwards(next, running, 60_000), pods: [pod({ created: now + 9000 })] };
  return decided({ ...replaced, owners: ownedBy(1) });
}

describe('a change that waits while the selector is narrowed', () => {
  const next = { ...afterwards(facts, waiting, 1000), ...narrowed };
  const edited = decided(next);

  it('is owed by the selector with which it was seen', () => {
    assert.equal(waiting.state.pending?.podSelector, 'app=webapp');
    const { leftOut: _, ...unread } = next;
    assert.deepEqual(decide(observed(unread)), { need: 'leftOut' });
    assert.deepEqual(decide(observed({ ...unread, generation: 1 })), { need: 'leftOut' }, 'after a start');
  });

  it('says at once which Pods it does not reach any more, and once', () => {
    assert.deepEqual(told(edited), ['3 Pods with an older content left: the spec no longer selects them']);
    assert.equal(edited.state.pending?.abandonedPods, 3);
    assert.deepEqual(told(decided(afterwards(next, edited, 100))), []);
  });

  it('restarts the others alone, and says at the end what is left', () => {
    const running = decided({ ...afterwards(next, edited, 60_000), spec: narrowAtOnce });
    assert.deepEqual(
      [running.state.stalePods, running.state.lastRestart?.restarted, running.state.pending?.total],
      [2, 0, 5],
    );
    const done = ended({ ...next, spec: narrowAtOnce }, running);
    const { pending, stalePods, lastRestart } = done.state;
    assert.deepEqual([pending, stalePods, lastRestart?.restarted], [undefined, 3, 2]);
    assert.deepEqual(told(done), [
      '2 Pods restarted, 3 Pods with an older content left: the spec no longer asks for their restart',
    ]);
    assert.equal(
      progressing(done),
      '3 Pods kept an older content: the spec no longer asks for their restart',
    );
  });

  it('counts those it leaves out by the time of the change, also where they are younger than the others', () => {
    const younger = several(2, { created: now - 60_000 });
    const all = { ...facts, pods: [...kept, ...younger] };
    const seen = {
      ...afterwards(all, decided(all), 60_000),
      ...narrowed,
      spec: narrowAtOnce,
      leftOut: younger,
    };
    const running = decided(seen);
    assert.deepEqual(
      [running.state.pending?.cutoff, running.state.pending?.abandonedPods],
      [now - 60_000, 2],
    );
    assert.equal(ended(seen, running).state.stalePods, 2);
  });

  it('says nothing when those that it leaves out have gone, have ended or are younger than the change', () => {
    const gone = [pod({ finished: true }), pod({ created: now + 2000 }), pod({ terminating: true })];
    for (const others of [[], gone]) {
      const decision = decided({ ...next, leftOut: others });
      assert.deepEqual([told(decision), decision.state.pending?.abandonedPods], [[], undefined]);
    }
  });

  it('is owed to all of them again when the selector is put back', () => {
    const { leftOut: _, ...back } = { ...afterwards(facts, edited, 2000), generation: 3 };
    const decision = decided({ ...back, spec: specOf(atOnce) });
    assert.deepEqual([decision.state.stalePods, decision.state.pending?.abandonedPods], [5, undefined]);
    assert.deepEqual(told(decision), []);
  });

  it('is told also when a right was missing at the time of the edit', () => {
    const { leftOut: _, ...unread } = next;
    const forbidden = { verb: 'get', resource: 'configmaps' };
    const held = decided({ ...unread, sources: [], forbidden });
    assert.deepEqual(told(held), []);
    const { forbidden: __, ...granted } = afterwards({ ...unread, forbidden }, held, 5000);
    assert.deepEqual(decide(observed(granted)), { need: 'leftOut' });
    assert.equal(told(decided({ ...granted, leftOut })).length, 1);
  });

  it('is told also when another edit is seen with a right missing', () => {
    const forbidden = { verb: 'get', resource: 'deployments' };
    const { leftOut: _, ...unread } = next;
    const held = decided({ ...unread, sources: [newestContent], forbidden });
    assert.equal(held.state.pending?.hash, newestContent.hash);
    assert.equal(held.state.pending?.podSelector, 'app=webapp');
  });
});

describe('a selector that is narrowed in mid-restart', () => {
  const running = decided({ ...facts, spec: specOf(atOnce) });
  const next = { ...afterwards(facts, running, 1000), ...narrowed, spec: narrowAtOnce };

  it('does not count the Pods that it leaves out as restarted', () => {
    const decision = decided(next);
    assert.deepEqual([decision.state.stalePods, decision.state.lastRestart?.restarted], [2, 0]);
    assert.equal(ended(next, decision).state.lastRestart?.restarted, 2);
  });

  it('does not count them when another edit overtakes the restart either', () => {
    const decision = decided({ ...next, sources: [newestContent] });
    assert.deepEqual([decision.state.lastRestart?.restarted, told(decision).length], [0, 1]);
    const { podSelector: owed, abandonedPods } = decision.state.pending ?? {};
    assert.deepEqual([owed, abandonedPods], ['app=webapp', 3]);
  });

  it('is told by status, too, where another edit is seen with it and no Pod is left', () => {
    const decision = decided({ ...next, pods: [], sources: [newestContent] });
    assert.equal(decision.state.pending, undefined);
    assert.deepEqual([decision.state.stalePods, told(decision).length], [3, 1]);
  });

  it('and widened first owes an edit in between to the Pods that were added', () => {
    const wide = { ...afterwards(facts, running, 1000), generation: 2, spec: narrowAtOnce };
    const state = { ...running.state, pending: { ...running.state.pending!, podSelector: 'app=other' } };
    const edited = decided({ ...wide, state, leftOut: [], sources: [newestContent] });
    assert.equal(edited.state.pending?.podSelector, 'app=webapp,track=stable');
  });

  it('to Pods that are all done ends the restart as abandoned', () => {
    const fresh = [pod({ created: now + 500_000 })];
    const decision = decided({ ...next, pods: fresh, owners: ownedBy(1), now: now + 600_000 });
    assert.equal(decision.state.pending, undefined);
    assert.equal(told(decision).length, 1);
    assert.equal(decision.state.stalePods, 3);
  });

  it('together with the source counts all that the restart did not get to', () => {
    const source = { ...webappConfig, name: 'other' };
    const sources = [found({ a: '1' }, { source })];
    const decision = decided({ ...next, spec: { ...narrowAtOnce, sources: [source] }, sources });
    assert.equal(decision.state.pending, undefined);
    assert.deepEqual([decision.state.stalePods, told(decision).length], [5, 1]);
  });
});

describe('the selector of a pending change', () => {
  it('is filled in where an older version recorded the change', () => {
    const { podSelector: _, ...pending } = waiting.state.pending ?? assert.fail('nothing waits');
    const state = { ...waiting.state, pending };
    assert.equal(
      decided({ ...facts, state, spec: narrow }).state.pending?.podSelector,
      'app=webapp,track=stable',
    );
  });

  it('is not kept where it is long', () => {
    const values = Array.from({ length: 20 }, (_, index) => `${index}${'v'.repeat(50)}`);
    const spec = specOf({ podSelectorExpressions: [{ key: 'tier', operator: 'In', values }] });
    const { state } = decided({ ...facts, spec });
    assert.deepEqual([state.pending?.reason, state.pending?.podSelector], ['Debounce', undefined]);
  });

  it('goes with the change', () => {
    const taken = decided({ ...afterwards(facts, waiting, 100), sources: [oldContent] });
    assert.equal(taken.state.pending, undefined);
  });
});
