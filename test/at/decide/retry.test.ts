/** Attempts after the first: when they begin, and what they inherit. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  eventReasons,
  evicted,
  exited,
  inState,
  launched,
  observing,
  second,
  started,
  succeeded,
  targeted,
  terminating,
  timeText,
  withStatus,
} from '../../fixtures/at.ts';

const spec = { disruptionPolicy: 'Retry', activeDeadlineSeconds: 60 } as const;

/** In this attempt, whose Pod was created at that time, after so many restarts in all before it. */
function inAttempt(attempt: number, time: number, restarts = 0): { at: At; pod: Pod } {
  const first = launched(spec);
  const pod = created(first, time, attempt);
  const { name: podName, uid: podUID = '' } = pod.metadata;
  const launchTime = timeText(time);
  const past = { podName, podUID, launchTime, completionTime: launchTime, reason: 'Evicted' };
  const history = attempt === 1 ? {} : { history: [{ ...past, attempt: attempt - 1, restarts }] };
  const status = { ...first.status, attempts: attempt, podName, podUID, launchTime, restarts, ...history };
  return { at: withStatus(first, status), pod };
}

describe('decide, when another attempt begins', () => {
  const time = dueTime + 3600 * second;
  const waits = [0, 10, 20, 40, 80, 160, 320, 360, 360];
  for (const [index, wait] of waits.entries()) {
    const { at, pod } = inAttempt(index + 1, time);
    const look = (now: number, live: boolean) => decide(observing({ at, pod: evicted(pod), now, live }));

    it(`number ${index + 2} is created ${wait} s after the one before it, at the earliest`, () => {
      assert.deepEqual(actionTypes(look(time + wait * second, true)), ['CreatePod']);
      if (wait === 0) return;
      const early = look(time + wait * second - 1, false);
      assert.deepEqual(early.actions, []);
      assert.equal(early.requeueAt, time + wait * second);
      assert.deepEqual([early.status?.phase, early.status?.reason], ['RUNNING', 'Evicted']);
      assert.deepEqual(eventReasons(early), ['Disrupted (W)']);
      const [ended] = early.status?.history?.slice(-1) ?? [];
      assert.deepEqual([ended?.attempt, ended?.reason], [index + 1, 'Evicted']);
    });
  }

  it('writes once what it waits for, and nothing of it stays', () => {
    const { at, pod } = inAttempt(2, time);
    const waiting = decide(observing({ at, pod: evicted(pod), now: time + second }));
    const told = withStatus(at, waiting.status);
    assert.match(
      told.status?.message ?? '',
      /^attempt 3 of 10 follows at 2030-01-31T10:00:10\.000Z: the node was/,
    );
    const again = decide(observing({ at: told, pod: evicted(pod), now: time + 2 * second }));
    assert.deepEqual(again.status, told.status);
    assert.deepEqual(again.events, []);
    const nextPod = created(launched(spec), time + 10 * second, 3);
    const next = decide(observing({ at: told, pod: evicted(pod), nextPod, now: time + 11 * second }));
    assert.deepEqual(
      [next.status?.attempts, next.status?.reason, next.status?.message],
      [3, undefined, 'attempt 3 of 10'],
    );
    const alive = decide(
      observing({ at: withStatus(told, next.status), pod: nextPod, now: time + 12 * second }),
    );
    assert.deepEqual(alive.status, next.status);
    const ended = { at: withStatus(told, next.status), pod: succeeded(nextPod), now: time + 13 * second };
    assert.deepEqual([decide(observing(ended)).status?.message], [undefined]);
    // As it was told when it ended, and without another Event of it.
    assert.deepEqual(next.status?.history, told.status?.history);
    assert.deepEqual(eventReasons(next), ['Launched']);
  });

  it('does not end with the words of the attempt when it is canceled', () => {
    const { at, pod } = inAttempt(2, time);
    const told = decide(observing({ at, pod: started(pod), now: time + second })).status;
    assert.equal(told?.message, 'attempt 2 of 10');
    const canceled = withStatus({ ...at, spec: { ...at.spec, cancel: true } }, told);
    const noted = decide(observing({ at: canceled, pod: started(pod), now: time + second })).status;
    assert.deepEqual([noted?.reason, noted?.message], ['Canceled', undefined]);
  });

  it('waits as long where the Pod before it is gone', () => {
    const { at } = inAttempt(5, time);
    const early = decide(observing({ at, live: true, now: time + second }));
    assert.deepEqual([early.actions, early.requeueAt], [[], time + 80 * second]);
    assert.equal(early.status?.reason, 'PodLost');
  });

  it('says the same reason while it waits, also when the Pod before it is gone by then', () => {
    const { at, pod } = inAttempt(3, time);
    const waiting = decide(observing({ at, pod: evicted(pod), now: time + second }));
    const told = withStatus(at, waiting.status);
    const gone = decide(observing({ at: told, live: true, now: time + 2 * second }));
    assert.deepEqual(gone.status, told.status);
    assert.deepEqual(gone.events, []);
  });

  it('does not wait where the one before it ran for longer', () => {
    const { at, pod } = inAttempt(5, time);
    const now = time + 3600 * second;
    const later = decide(observing({ at, pod: evicted(pod), now, live: true }));
    assert.deepEqual(actionTypes(later), ['CreatePod']);
  });
});

describe('decide, another attempt while an earlier Pod may be back', () => {
  const { at, pod } = inAttempt(2, dueTime);
  const due = dueTime + 10 * second;
  const lost = { at, pod: evicted(pod), now: due };
  const back = (attempt: number): Pod => {
    const late = started(created(at, dueTime + second, attempt));
    return { ...late, metadata: { ...late.metadata, uid: 'late-uid' } };
  };

  it('is created only by what the API server itself shows', () => {
    const cached = decide(observing(lost));
    assert.deepEqual([cached.need, cached.actions, cached.status], ['pods', [], undefined]);
    assert.deepEqual(actionTypes(decide(observing({ ...lost, live: true }))), ['CreatePod']);
    assert.equal(decide(observing({ ...lost, now: due - 1 })).need, undefined, 'before its time');
  });

  for (const [where, name, facts, reason] of [
    ['of the attempt before', 'example-at-pod', { earlierPods: [back(1)] }, 'Evicted'],
    ['under the name of the lost Pod', 'example-at-pod-2', { pod: back(2) }, 'PodLost'],
  ] as const) {
    it(`waits until the Pod that a late create brought back has ended, ${where}`, () => {
      const decision = decide(observing({ ...lost, ...facts, live: true }));
      assert.deepEqual(actionTypes(decision), ['PatchPod']);
      const stop = actionOf(decision, 'PatchPod');
      const { uid, annotations } = (stop.body as Pod).metadata;
      assert.deepEqual([stop.name, uid], [name, 'late-uid']);
      assert.equal(annotations?.['cnat.programming-kubernetes.info/stop-reason'], 'Superseded');
      const { phase, attempts, reason: told, message = '' } = decision.status ?? {};
      assert.deepEqual([phase, attempts, told], ['RUNNING', 2, reason]);
      assert.match(message, new RegExp(`^attempt 3 of 10 follows once Pod ${name} has ended: `));
      assert.ok(decision.requeueAfter !== undefined, 'it is looked at again');
    });
  }
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

describe('decide, the history of a run that was disrupted', () => {
  const time = dueTime + 3600 * second;

  it('has each attempt that ended, with one Event for each that was lost', () => {
    const { at, pod } = inAttempt(1, dueTime);
    const nextPod = created(launched(spec), time, 2);
    const second2 = decide(observing({ at, pod: evicted(pod), nextPod, now: time }));
    assert.deepEqual(second2.status?.history, [
      {
        attempt: 1,
        podName: 'example-at-pod',
        podUID: 'pod-uid-1',
        launchTime: '2030-01-31T09:00:00Z',
        startTime: '2030-01-31T09:00:01.000Z',
        completionTime: '2030-01-31T09:00:02.000Z',
        reason: 'Evicted',
        exitCode: 137,
        restarts: 0,
      },
    ]);
    assert.deepEqual(
      second2.events.map(({ note }) => note),
      ['attempt 1, Pod example-at-pod, was lost: Evicted', 'created Pod example-at-pod-2, attempt 2'],
    );
    const running = withStatus(at, second2.status);
    const end = decide(observing({ at: running, pod: succeeded(nextPod), now: time + 3 * second }));
    assert.deepEqual(
      end.status?.history?.map(({ attempt, reason, exitCode }) => [attempt, reason, exitCode]),
      [
        [1, 'Evicted', 137],
        [2, 'Succeeded', 0],
      ],
    );
  });

  it('says PodLost of an attempt whose Pod is gone', () => {
    const { at } = inAttempt(1, dueTime);
    const nextPod = created(launched(spec), time, 2);
    const [first] = decide(observing({ at, nextPod, now: time })).status?.history ?? [];
    assert.equal(first?.reason, 'PodLost');
  });

  it('says Evicted of an attempt whose Pod is gone, when status has said so while the Pod terminated', () => {
    const { at, pod } = inAttempt(1, dueTime);
    const soon = dueTime + 5 * second;
    const going = terminating(targeted(started(pod)), soon + 30 * second);
    const told = withStatus(at, decide(observing({ at, pod: going, now: soon })).status);
    const nextPod = created(launched(spec), soon + second, 2);
    const next = decide(observing({ at: told, nextPod, now: soon + second }));
    assert.deepEqual(
      next.status?.history?.map(({ attempt, reason }) => [attempt, reason]),
      [[1, 'Evicted']],
    );
    assert.equal(next.events[0]?.note, 'attempt 1, Pod example-at-pod, was lost: Evicted');
  });

  it('says of an attempt whose Pod is gone how it ended, when the watch has shown that', () => {
    const { at, pod } = inAttempt(1, dueTime);
    const nextPod = created(launched(spec), time, 2);
    const departed = [evicted(pod)];
    const [first] = decide(observing({ at, departed, nextPod, now: time })).status?.history ?? [];
    assert.deepEqual([first?.reason, first?.exitCode], ['Evicted', 137]);
    assert.equal(first?.completionTime, '2030-01-31T09:00:02.000Z');
  });

  it('says Evicted of an attempt whose Pod is gone, when it was shown to be evicted and not how it ended', () => {
    const { at, pod } = inAttempt(1, dueTime);
    const nextPod = created(launched(spec), time, 2);
    const departed = [terminating(targeted(pod), time)];
    const [first] = decide(observing({ at, departed, nextPod, now: time })).status?.history ?? [];
    assert.equal(first?.reason, 'Evicted');
  });

  it('has an Event also for the last attempt that was lost, when no other follows', () => {
    const { at, pod } = inAttempt(10, dueTime);
    const end = decide(observing({ at, pod: evicted(pod), now: time }));
    assert.equal(end.status?.phase, 'DONE');
    const podName = 'example-at-pod-10';
    assert.deepEqual(
      end.events.map(({ reason, note }) => [reason, note]),
      [
        ['Disrupted', `attempt 10, Pod ${podName}, was lost: Evicted`],
        ['Failed', 'Evicted, exit code 137'],
      ],
    );
    const told = decide(observing({ at: withStatus(at, end.status), pod: evicted(pod), now: time }));
    assert.deepEqual(told.events, []);
  });

  it('is not there for a run that was not disrupted', () => {
    const { at, pod } = inAttempt(1, dueTime);
    assert.equal(decide(observing({ at, pod: succeeded(pod) })).status?.history, undefined);
  });
});
