import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anHourAgo, decided, newContent, now, several } from '../../fixtures/configwatcher.ts';

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
