import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Memory } from '../../../src/at/act/memory.ts';
import { accepted, launched } from '../../fixtures/at.ts';

describe('what is remembered of an At', () => {
  const at = accepted();

  it('is that a create was not answered, until an answer says what became of it', () => {
    const memory = new Memory();
    memory.unanswered(at);
    assert.equal(memory.recall(at).ambiguous, true);
    assert.equal(memory.refused(at), 1);
    assert.equal(memory.recall(at).ambiguous, false);
    memory.unanswered(at);
    memory.launched(at, { attempt: 1, podName: 'p', podUID: 'u', launchTime: 0, launchedSpec: undefined });
    assert.equal(memory.recall(at).ambiguous, false);
  });

  it('is since when its creates, or those of others, fail: since before an edit where there was one', () => {
    const memory = new Memory();
    memory.heldUp(at, 1000);
    memory.heldUp(at, 2000);
    memory.waits(at, 500);
    const { heldUpSince, waitsSince } = memory.recall(at);
    assert.deepEqual([heldUpSince, waitsSince], [1000, 500]);
    const edited = { ...at, metadata: { ...at.metadata, generation: 9 } };
    const later = memory.recall(edited);
    assert.deepEqual([later.heldUpSince, later.waitsSince], Array(2).fill(Number.NEGATIVE_INFINITY));
    memory.notDue(at);
    assert.equal(memory.recall(at).heldUpSince, 1000, 'a clock may have been set back');
    memory.notDue(edited);
    assert.deepEqual([memory.recall(at).heldUpSince, memory.recall(at).waitsSince], [undefined, undefined]);
    const other = new Memory();
    other.heldUp(edited, 1000);
    assert.equal(other.recall(edited).heldUpSince, Number.NEGATIVE_INFINITY, 'the edit was seen just now');
  });

  it('is since when its release fails, whatever kept it from its create', () => {
    const memory = new Memory();
    memory.heldUp(at, 1000);
    memory.unreleased(at, 5000);
    memory.unreleased(at, 9000);
    const { heldUpSince, unreleasedSince } = memory.recall(at);
    assert.deepEqual([heldUpSince, unreleasedSince], [1000, 5000]);
    const edited = { ...at, metadata: { ...at.metadata, generation: 9 } };
    assert.equal(memory.recall(edited).unreleasedSince, Number.NEGATIVE_INFINITY);
  });

  it('is nothing once there is nothing left that matters, nor of another At of the same name', () => {
    const memory = new Memory();
    memory.toTry(at);
    assert.equal(memory.size, 1);
    memory.tried(at);
    assert.equal(memory.size, 0);
    memory.unanswered(at);
    const other = launched();
    const reborn = { ...other, metadata: { ...other.metadata, uid: 'another' } };
    assert.equal(memory.recall(reborn).ambiguous, false);
  });
});
