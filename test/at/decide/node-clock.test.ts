/** The start of a command on a node whose clock is wrong by minutes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  created,
  decideInParts as decide,
  dueTime,
  evicted,
  inState,
  launched,
  observing,
  second,
  started,
  succeeded,
  timeText,
  withPodStatus,
  withStatus,
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

describe('the start of a command whose Pod had to wait for a node', () => {
  it('is not before the node got the Pod, where the clock of the node is behind', () => {
    const at = launched({ activeDeadlineSeconds: 60 });
    const [boundAt, startedAt] = [dueTime + 180 * second, dueTime + 80 * second];
    const bound = { type: 'PodScheduled', status: 'True', lastTransitionTime: timeText(boundAt) };
    const pod = withPodStatus(started(created(at), startedAt), {
      startTime: timeText(startedAt),
      conditions: [bound],
    });
    const decision = decide(observing({ at, pod, now: boundAt + 21 * second }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.startTime, '2030-01-31T09:03:00.000Z');
    assert.equal(decision.requeueAt, boundAt + 60 * second);
  });
});

describe('a run of which the operator knows too early a time, its machine having been suspended', () => {
  it('neither starts nor ends before its Pod was created', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const [early, startedAt] = [dueTime - 60 * second, dueTime + 2 * second];
    const running = started(created(at), startedAt);
    const { status, requeueAt } = decide(observing({ at, pod: running, now: early }));
    assert.equal(status?.startTime, '2030-01-31T09:00:00.000Z');
    assert.equal(requeueAt, dueTime + 30 * second);
    const terminated = { exitCode: 0, startedAt: timeText(startedAt), finishedAt: timeText(startedAt) };
    const pod = withPodStatus(inState(running, { terminated }), { phase: 'Succeeded' });
    const done = decide(observing({ at, pod, now: early })).status;
    assert.deepEqual(
      [done?.startTime, done?.completionTime],
      ['2030-01-31T09:00:00.000Z', '2030-01-31T09:00:00.000Z'],
    );
  });
});

describe('a run that is evicted from a node whose clock is behind', () => {
  it('has not ended before its eviction, also where its Pod had waited for that node', () => {
    const at = launched({ disruptionPolicy: 'Retry', backoffLimit: 0 });
    const [boundAt, behindMs, evictedAt] = [dueTime + 120 * second, 20 * second, dueTime + 720 * second];
    const startedAt = timeText(boundAt - behindMs);
    const finishedAt = timeText(evictedAt + second - behindMs);
    const terminated = { exitCode: 143, startedAt, finishedAt };
    const bound = { type: 'PodScheduled', status: 'True', lastTransitionTime: timeText(boundAt) };
    const target = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: timeText(evictedAt) };
    const pod = withPodStatus(inState(created(at), { terminated }), {
      ...{ phase: 'Failed', startTime: startedAt, conditions: [bound, target] },
    });
    const { actions } = decide(observing({ at, pod, live: true, now: evictedAt + 30 * second }));
    assert.deepEqual(
      actions.map(({ type }) => type),
      ['CreatePod'],
    );
  });
});

describe('the start of a command without a deadline', () => {
  const at = launched();
  const seenAt = dueTime + second;

  it('is recorded when it is seen, where the clock of the node is ahead', () => {
    const startedAt = dueTime + 300 * second;
    const running = started(created(at), startedAt);
    const seen = decide(observing({ at, pod: running, now: seenAt }));
    assert.equal(seen.status?.startTime, '2030-01-31T09:00:01.000Z');
    const told = withStatus(at, seen.status);
    const again = decide(observing({ at: told, pod: running, now: seenAt + second }));
    assert.deepEqual(again.status, told.status);
    const terminated = { exitCode: 0, startedAt: timeText(startedAt), finishedAt: timeText(startedAt) };
    const pod = withPodStatus(inState(running, { terminated }), { phase: 'Succeeded' });
    const { status } = decide(observing({ at: told, pod, now: dueTime + 120 * second }));
    assert.deepEqual([status?.outcome, status?.startTime], ['Succeeded', '2030-01-31T09:00:01.000Z']);
  });

  it('costs no write of its own where the clock of the node is right to a second or two', () => {
    const { status } = decide(observing({ at, pod: started(created(at), seenAt + 2 * second), now: seenAt }));
    assert.deepEqual(status, at.status);
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
