/** Attempts after the first: when they begin, and what they inherit. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { decide } from '../../../src/at/decide/decide.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionTypes,
  created,
  dueTime,
  evicted,
  exited,
  inState,
  launched,
  observing,
  second,
  started,
  timeText,
  withStatus,
} from '../../fixtures/at.ts';

const spec = { disruptionPolicy: 'Retry', activeDeadlineSeconds: 60 } as const;

/** In this attempt, whose Pod was created at that time, after so many restarts in all before it. */
function inAttempt(attempt: number, time: number, restarts = 0): { at: At; pod: Pod } {
  const first = launched(spec);
  const pod = created(first, time, attempt);
  const { name: podName, uid: podUID = '' } = pod.metadata;
  const status = { ...first.status, attempts: attempt, podName, podUID, restarts };
  return { at: withStatus(first, status), pod };
}

describe('decide, when another attempt begins', () => {
  const time = dueTime + 3600 * second;
  const waits = [0, 10, 20, 40, 80, 160, 320, 360, 360];
  for (const [index, wait] of waits.entries()) {
    const { at, pod } = inAttempt(index + 1, time);
    const look = (now: number) => decide(observing({ at, pod: evicted(pod), now }));

    it(`number ${index + 2} is created ${wait} s after the one before it, at the earliest`, () => {
      assert.deepEqual(actionTypes(look(time + wait * second)), ['CreatePod']);
      if (wait === 0) return;
      const early = look(time + wait * second - 1);
      assert.deepEqual(early.actions, []);
      assert.equal(early.requeueAt, time + wait * second);
      assert.deepEqual([early.status?.phase, early.status?.reason], ['RUNNING', 'Evicted']);
      assert.deepEqual(early.events, []);
    });
  }

  it('writes once what it waits for, and nothing of it stays', () => {
    const { at, pod } = inAttempt(2, time);
    const waiting = decide(observing({ at, pod: evicted(pod), now: time + second }));
    const told = withStatus(at, waiting.status);
    const again = decide(observing({ at: told, pod: evicted(pod), now: time + 2 * second }));
    assert.deepEqual(again.status, told.status);
    const nextPod = created(launched(spec), time + 10 * second, 3);
    const next = decide(observing({ at: told, pod: evicted(pod), nextPod, now: time + 11 * second }));
    assert.deepEqual(
      [next.status?.attempts, next.status?.reason, next.status?.message],
      [3, undefined, undefined],
    );
  });

  it('does not wait where the Pod before it is gone, or ran for longer', () => {
    const { at, pod } = inAttempt(5, time);
    assert.deepEqual(actionTypes(decide(observing({ at, live: true, now: time + second }))), ['CreatePod']);
    const later = decide(observing({ at, pod: evicted(pod), now: time + 3600 * second }));
    assert.deepEqual(actionTypes(later), ['CreatePod']);
  });
});

describe('decide, another attempt', () => {
  it('has the whole activeDeadlineSeconds', () => {
    const { at, pod } = inAttempt(1, dueTime);
    const first = withStatus(at, { ...at.status, startTime: timeText(dueTime + second) });
    const nextPod = started(created(first, dueTime + 59 * second, 2), dueTime + 59 * second);
    const next = decide(observing({ at: first, pod: evicted(pod), nextPod, now: dueTime + 90 * second }));
    assert.equal(next.status?.attempts, 2);
    assert.deepEqual(next.actions, [], 'the first start was not its own');
    const seen = withStatus(first, next.status);
    const look = (now: number) => decide(observing({ at: seen, pod: nextPod, now }));
    assert.deepEqual(look(dueTime + 118 * second).actions, []);
    assert.deepEqual(actionTypes(look(dueTime + 119 * second)), ['PatchPod']);
  });

  it('adds its restarts to those of all before it', () => {
    const { at, pod } = inAttempt(2, dueTime, 3);
    const restarted = evicted(pod);
    const status = inState(pod, exited(137), 2).status?.containerStatuses ?? [];
    const before = { ...restarted, status: { ...restarted.status, containerStatuses: status } };
    const nextPod = created(launched(spec), dueTime + 10 * second, 3);
    const next = decide(observing({ at, pod: before, nextPod, now: dueTime + 11 * second }));
    assert.equal(next.status?.restarts, 5);
    const ended = inState(nextPod, exited(0), 4);
    const end = decide(
      observing({
        at: withStatus(at, next.status),
        pod: { ...ended, status: { ...ended.status, phase: 'Succeeded' } },
        now: dueTime + 60 * second,
      }),
    );
    assert.deepEqual([end.status?.outcome, end.status?.restarts], ['Succeeded', 9]);
  });
});
