import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  afterwards,
  anHourAgo,
  applied,
  decided,
  newContent,
  newestContent,
  now,
  oldContent,
  several,
  specOf,
} from '../../fixtures/configwatcher.ts';

describe('an edit of a source that is immutable now', () => {
  const told = (content: object) => {
    const sources = [{ ...newContent, immutable: true, ...content }];
    return decided({ sources, pods: several(1) }).events.map(({ reason }) => reason);
  };

  it('is told as a replacement when the object was replaced', () => {
    assert.deepEqual(told({ replacesImmutable: true }), ['ChangeDetected', 'ImmutableSource']);
    assert.deepEqual(told({ replacesImmutable: false, created: now }), ['ChangeDetected']);
  });

  it('made while the operator was down, is told so when the object is newer than the content before', () => {
    assert.deepEqual(told({ created: anHourAgo + 1 }), ['ChangeDetected', 'ImmutableSource']);
    assert.deepEqual(told({ created: anHourAgo }), ['ChangeDetected']);
    assert.deepEqual(told({ created: now, immutable: false }), ['ChangeDetected']);
  });
});

describe('a cooldown', () => {
  it('is told once, however often the content is edited, or set back and edited again', () => {
    const state = { ...applied(), cooldownUntil: now + 30_000 };
    let facts: Parameters<typeof afterwards>[0] = { state, pods: several(1) };
    const told: string[] = [];
    for (const content of [newContent, newestContent, oldContent, newContent]) {
      const decision = decided({ ...facts, sources: [content] });
      told.push(...decision.events.map(({ reason }) => reason));
      assert.equal(decision.state.pending?.reason, content === oldContent ? undefined : 'Cooldown');
      facts = afterwards(facts, decision, 3000);
    }
    assert.deepEqual(told, ['ChangeDetected', 'CooldownActive', 'ChangeDetected', 'ChangeDetected']);
  });
});

describe('a dry run', () => {
  const dryRun = specOf({ dryRun: true, debounce: { quiet: '0s' } });
  const missing = { ...newContent, present: false, hash: 'gone' };
  const told = (between: readonly Partial<Parameters<typeof afterwards>[0]>[]) => {
    let facts: Parameters<typeof afterwards>[0] = { state: applied(), pods: several(1) };
    const notes: string[] = [];
    for (const change of between) {
      const decision = decided({ spec: dryRun, sources: [newContent], ...facts, ...change });
      notes.push(...decision.events.flatMap(({ note }) => (note.startsWith('dry run') ? [note] : [])));
      facts = afterwards(facts, decision, 3000);
    }
    return notes.length;
  };
  it('is told once for a change, also when its source was away, or the watcher suspended, in between', () => {
    assert.equal(told([{}, {}]), 1);
    assert.equal(told([{}, { sources: [missing] }, {}]), 1);
    assert.equal(told([{}, { spec: specOf({ dryRun: true, suspend: true }) }, {}]), 1);
  });

  it('is told again for the next content, and for one that is back', () => {
    assert.equal(told([{}, { sources: [newestContent] }]), 2);
    assert.equal(told([{}, { sources: [oldContent] }, {}]), 2);
  });
});
