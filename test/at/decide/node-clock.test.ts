/** The start of a command on a node whose clock is wrong by minutes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  created,
  decideInParts as decide,
  dueTime,
  evicted,
  launched,
  observing,
  second,
  started,
  succeeded,
} from '../../fixtures/at.ts';

describe('the start of a command', () => {
  it('is not before the creation of the Pod, where the clock of the node is behind', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const pod = started(created(at), dueTime - 120 * second);
    const decision = decide(observing({ at, pod, now: dueTime + second }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.startTime, '2030-01-31T09:00:00.000Z');
    assert.equal(decision.requeueAt, dueTime + 30 * second);
  });

  it('is not after it was seen, where the clock of the node is ahead', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const pod = started(created(at), dueTime + 300 * second);
    const decision = decide(observing({ at, pod, now: dueTime + second }));
    assert.equal(decision.requeueAt, dueTime + 31 * second);
  });
});

describe('the end of a command', () => {
  const retried = launched({ disruptionPolicy: 'Retry' });
  const pod = evicted(created(retried));
  const seenAt = dueTime + 500;
  const seen = '2030-01-31T09:00:00.500Z';

  it('is not after it was seen, where the clock of the node is ahead', () => {
    const at = launched();
    const { status } = decide(observing({ at, pod: succeeded(created(at)), now: seenAt }));
    assert.deepEqual([status?.outcome, status?.completionTime], ['Succeeded', seen]);
  });

  it('is not after it was seen in the history either, nor is the start', () => {
    const refusal = { reason: 'PodRejected', message: 'quota' };
    const { status } = decide(observing({ at: retried, pod, now: seenAt, refusal }));
    const [lost] = status?.history ?? [];
    assert.deepEqual([lost?.startTime, lost?.completionTime], [seen, seen]);
  });
});
