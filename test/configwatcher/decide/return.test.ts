/** An edit that is taken back: what is owed to the Pods that were made while it was there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Steps } from '../../../src/configwatcher/decide/decision.ts';
import type { SourceContent } from '../../../src/configwatcher/facts/observed.ts';
import {
  afterwards,
  anHourAgo,
  applied,
  decided,
  found,
  newContent,
  now,
  oldContent,
  ownedBy,
  pod,
  several,
  webappConfig,
} from '../../fixtures/configwatcher.ts';

function restarted({ actions }: Steps): string[] {
  return actions.flatMap((action) => ('pod' in action ? action.pod.uid : []));
}

describe('an edit', () => {
  it('that is taken back is owed to the Pods that were made in between, and to no others', () => {
    const [older, between] = [pod(), pod({ created: now })];
    const facts = { sources: [newContent], pods: [older] };
    const recorded = decided(facts);
    const pods = [older, between];
    const back = { ...afterwards(facts, recorded, 1500), sources: [oldContent], pods };
    const owed = decided(back);
    assert.deepEqual(
      [owed.state.pending?.hash, owed.state.pending?.cutoff, owed.state.stalePods],
      [oldContent.hash, now, 1],
    );
    const waits = decided(afterwards(back, owed, 500));
    assert.equal(waits.state.pending?.reason, 'Debounce', 'also when nothing is edited any more');
    const later = decided({ ...afterwards(back, waits, 10_000), owners: ownedBy(2) });
    assert.deepEqual(restarted(later), [between.uid]);
  });

  it('that is taken back names its source where there is one, and no key of the restart before', () => {
    const lastRestart = {
      ...{ id: 'before', start: anHourAgo, completion: anHourAgo, restarted: 1 },
      ...{ skippedFresh: 0, skippedUnmanaged: 0, failed: 0 },
      trigger: { kind: 'ConfigMap', name: 'webapp-config', changedKeys: ['port'] },
    } as const;
    const triggerAfter = (kept: readonly SourceContent[]) => {
      const state = { ...applied([oldContent, ...kept]), lastRestart };
      const facts = { state, sources: [newContent, ...kept], pods: [pod()] };
      const recorded = decided(facts);
      const pods = [pod(), pod({ created: now })];
      const back = { ...afterwards(facts, recorded, 1500), sources: [oldContent, ...kept], pods };
      const later = decided({ ...afterwards(back, decided(back), 10_000), owners: ownedBy(2) });
      assert.notEqual(later.state.lastRestart?.id, 'before');
      return later.state.lastRestart?.trigger;
    };
    assert.deepEqual(triggerAfter([]), { kind: 'ConfigMap', name: 'webapp-config' });
    const other = found({ message: 'one' }, { source: { ...webappConfig, name: 'other' } });
    assert.equal(triggerAfter([other]), undefined, 'it is not recorded which of them it was');
  });

  it('that was read, and taken back before it could be recorded, is owed to the Pods that were made since', () => {
    const [older, between] = [pod({ created: now - 60_000 }), pod({ created: now - 30_000 })];
    const back = (unrecorded: NonNullable<SourceContent['unrecorded']>) => {
      const facts = { sources: [{ ...oldContent, unrecorded }], pods: [older, between] };
      return { facts, owed: decided(facts) };
    };
    const readAt = now - 40_000;
    const { facts, owed } = back({ readAt, written: readAt - 1000 });
    assert.deepEqual(
      [owed.state.pending?.hash, owed.state.pending?.from, owed.state.stalePods],
      [oldContent.hash, readAt - 1000, 1],
    );
    const sources = [oldContent];
    const later = decided({ ...afterwards(facts, owed, 10_000), sources, owners: ownedBy(2) });
    assert.deepEqual(restarted(later), [between.uid]);
    assert.equal(back({ readAt }).owed.state.pending?.from, readAt, 'a removed key has no second');
    assert.equal(back({ readAt: now - 10_000 }).owed.state.pending, undefined, 'no Pod was made since');
    const isBack = back({ readAt: now - 70_000, backAt: now - 40_000 }).owed.state;
    assert.deepEqual(
      [isBack.stalePods, isBack.pending?.cutoff],
      [1, now - 39_000],
      'the last one was made later',
    );
    assert.equal(
      back({ readAt, isFirstLook: true }).owed.state.stalePods,
      2,
      'it may have been there since the last look',
    );
  });

  it('that was read, and followed by another one before it could be recorded, is owed from its time on', () => {
    const readAt = now - 40_000;
    const sources = [{ ...newContent, unrecorded: { readAt } }];
    const { state } = decided({ sources, pods: [pod({ created: now - 60_000 })] });
    assert.deepEqual([state.pending?.hash, state.pending?.from], [newContent.hash, readAt]);
  });

  for (const isRecorded of [true, false]) {
    const how = isRecorded ? '' : ' before it could be recorded';
    it(`that is taken back${how} is owed still when the spec names a further source or other keys`, () => {
      const facts = { sources: [newContent], pods: [pod()] };
      const pods = [pod(), pod({ created: now })];
      const unrecorded = { readAt: now };
      const back = isRecorded
        ? { ...afterwards(facts, decided(facts), 1500), sources: [oldContent], pods }
        : { sources: [{ ...oldContent, unrecorded }], pods, now: now + 1500 };
      const owed = decided(back);
      const further = found({}, { source: { ...webappConfig, name: 'further', optional: true } });
      const ofKeys = found(
        { message: 'old' },
        { source: { ...webappConfig, keys: ['message'] }, keysHash: 'v1:k' },
      );
      for (const sources of [[oldContent, further], [ofKeys]]) {
        const edited = { ...afterwards(back, owed, 1000), sources, generation: 2 };
        const { state, abandoned } = decided(edited);
        assert.deepEqual([state.pending?.reason, state.stalePods, abandoned], ['Debounce', 1, undefined]);
      }
    });
  }

  it('that is taken back is given up where the spec no longer names its source', () => {
    const named = (name: string, message: string) =>
      found({ message }, { source: { ...webappConfig, name } });
    const [kept, left, leftEdited] = [named('kept', 'one'), named('left', 'one'), named('left', 'two')];
    const pods = [pod(), pod({ created: now })];
    const first = decided({ state: applied([kept, left]), sources: [kept, leftEdited], pods: [pod()] });
    const back = { ...afterwards({}, first, 1500), sources: [kept, left], pods };
    const owed = decided(back);
    assert.equal(owed.state.stalePods, 1);
    const { state } = decided({ ...afterwards(back, owed, 1000), sources: [kept], generation: 2 });
    assert.equal(state.pending, undefined);
  });

  it('that is taken back is owed to a Pod of which a container started in between', () => {
    const second = 1000;
    const before = pod();
    const facts = { sources: [newContent], pods: [before, pod()] };
    const recorded = decided(facts);
    const backAfter = (starts: readonly number[]) => {
      const pods = [{ ...before, starts }, pod()];
      return decided({ ...afterwards(facts, recorded, 5 * second), sources: [oldContent], pods });
    };
    assert.equal(backAfter([anHourAgo, now + 2 * second]).state.stalePods, 1);
    assert.equal(
      backAfter([now + 60 * second]).state.pending,
      undefined,
      'it has read what is applied again',
    );
    assert.equal(backAfter([anHourAgo]).state.pending, undefined);
    const { state } = backAfter([now + 2 * second]);
    const waited = { state, sources: [oldContent], pods: [{ ...before, starts: [now + 2 * second] }, pod()] };
    const restarts = decided({ ...waited, owners: ownedBy(2), now: now + 20 * second });
    assert.deepEqual(restarted(restarts), [before.uid]);
  });

  it('has the second that its write names where it is seen as it is made', () => {
    const from = (content: Partial<SourceContent>) =>
      decided({ sources: [{ ...newContent, ...content }], pods: several(1) }).state.pending?.from;
    assert.equal(from({ written: now - 3000 }), now - 3000);
    assert.equal(from({ written: anHourAgo - 1000 }), now, 'a removed key names none');
    // A label that the same manager has edited since takes the place of the time.
    assert.equal(from({ written: now - 30_000 }), anHourAgo, 'seen late');
    assert.equal(from({ written: now, isFirstLook: true }), anHourAgo, 'seen by a new process');
  });

  it('spares a Pod that was made in the same second, and starts later', () => {
    const [older, rolled] = [pod(), pod({ created: now, startsLater: true, ready: false })];
    const { state } = decided({ sources: [newContent], pods: [older, rolled] });
    assert.equal(state.pending?.cutoff, anHourAgo);
    const waited = pod({ created: now - 60_000, startsLater: true, ready: false });
    const taken = decided({ sources: [newContent], pods: [older, waited] });
    assert.equal(
      taken.state.pending?.from,
      now - 60_000,
      'it has the new content, should that be taken back',
    );
  });
});
