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
