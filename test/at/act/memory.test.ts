import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Memory } from '../../../src/at/act/memory.ts';
import { accepted, dueTime, launched, timeText, withStatus } from '../../fixtures/at.ts';

describe('what is remembered of an At', () => {
  const at = accepted();

  it('is that a create was not answered, until an answer says what became of it', () => {
    const memory = new Memory();
    memory.unanswered(at, 0);
    assert.equal(memory.recall(at, 0).ambiguous, true);
    assert.equal(memory.refused(at), 1);
    assert.equal(memory.recall(at, 0).ambiguous, false);
    memory.unanswered(at, 0);
    memory.launched(at, { attempt: 1, podName: 'p', podUID: 'u', launchTime: 0, launchedSpec: undefined });
    assert.equal(memory.recall(at, 0).ambiguous, false);
  });

  it('is the age of an intent: from its first sight, or from the last create that was not answered', () => {
    const memory = new Memory();
    const time = timeText(dueTime);
    const intended = withStatus(at, { ...at.status, launchAttempt: { holder: 'h', time } });
    assert.deepEqual(memory.recall(intended, 1000).intent, { time, age: 0 });
    assert.deepEqual(memory.recall(intended, 5000).intent, { time, age: 4000 });
    // It may take effect until a write's time limit after now.
    memory.unanswered(intended, 6000);
    assert.deepEqual(memory.recall(intended, 7000).intent, { time, age: 1000 });
    const later = timeText(dueTime + 9000);
    const again = withStatus(at, { ...at.status, launchAttempt: { holder: 'h', time: later } });
    assert.deepEqual(memory.recall(again, 8000).intent, { time: later, age: 0 });
  });

  it('is nothing once there is nothing left that matters, nor of another At of the same name', () => {
    const memory = new Memory();
    memory.toTry(at);
    assert.equal(memory.size, 1);
    memory.tried(at);
    assert.equal(memory.size, 0);
    memory.unanswered(at, 0);
    const other = launched();
    const reborn = { ...other, metadata: { ...other.metadata, uid: 'another' } };
    assert.equal(memory.recall(reborn, 0).ambiguous, false);
  });
});
