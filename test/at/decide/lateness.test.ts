import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import {
  accepted,
  created,
  decideInParts as decide,
  dueTime,
  eventReasons,
  observing,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

/** Status speaks of the edit. */
const edited = [59_000, 1000].map((editedAt) => {
  const { metadata, status, ...rest } = accepted();
  return {
    name: `edited ${editedAt} ms after its time, and launched after 60 s`,
    at: {
      ...{ ...rest, metadata: { ...metadata, generation: 2 } },
      ...{ status: { ...status, observedGeneration: 2 }, editedAt: dueTime + editedAt },
    },
    launchTime: dueTime + 60_000,
    late: editedAt === 1000,
  };
});

describe('decide, LaunchedLate', () => {
  const rows: { name: string; at: At; launchTime: number; late: boolean }[] = [
    { name: 'on time', at: accepted(), launchTime: dueTime + 5000, late: false },
    { name: 'more than 5 s late', at: accepted(), launchTime: dueTime + 5001, late: true },
    {
      name: 'past at its creation',
      at: waiting({ schedule: '2019-04-12T10:12:00Z' }, { creationTimestamp: timeText(dueTime) }),
      launchTime: dueTime + 1000,
      late: false,
    },
    {
      name: 'past at its creation, and the operator away',
      at: waiting({ schedule: '2019-04-12T10:12:00Z' }, { creationTimestamp: timeText(dueTime) }),
      launchTime: dueTime + 60_000,
      late: true,
    },
    {
      name: 'edited to a past time a moment ago',
      at: { ...accepted(), metadata: { ...accepted().metadata, generation: 2 } },
      launchTime: dueTime + 60_000,
      late: false,
    },
  ];
  for (const { name, at, launchTime, late } of [...rows, ...edited]) {
    it(`${late ? 'warns of' : 'takes for normal'} a launch ${name}`, () => {
      const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
      const decision = decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime }));
      assert.deepEqual(eventReasons(decision), [late ? 'LaunchedLate (W)' : 'Launched']);
    });
  }
});

describe('decide, operatorDelaySeconds', () => {
  const delayAfter = (ms: number, schedule = '2019-04-12T10:12:00Z') => {
    const metadata = { creationTimestamp: timeText(dueTime) };
    const at = waiting({ schedule }, metadata);
    const launchTime = dueTime + ms;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const decision = decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime }));
    return decision.status?.operatorDelaySeconds;
  };

  it('is absent where a creation at the end of its second explains it', () => {
    assert.equal(delayAfter(1000), undefined);
    assert.equal(delayAfter(1990), undefined);
    assert.equal(delayAfter(2000), 2);
  });

  it('is absent where it may also have been created after its instant in the same second', () => {
    for (const ms of [0, 400]) {
      const schedule = new Date(dueTime + ms).toISOString();
      assert.equal(delayAfter(ms + 1500, schedule), undefined);
      assert.equal(delayAfter(ms + 2000, schedule), 2);
    }
    assert.equal(delayAfter(2500, new Date(dueTime + 1000).toISOString()), 1, 'a second later it was there');
  });
});

describe('decide, a launch that the API server held up', () => {
  it("is nobody's failure where the spec was edited a moment before another process met the refusal", () => {
    const now = dueTime + 30_000;
    const { metadata, ...rest } = accepted();
    const at = { ...rest, metadata: { ...metadata, generation: 2 }, editedAt: now - 2000 };
    const refusal = { reason: 'PodRejected', message: 'exceeded quota' };
    const held = { ...withStatus(at, decide(observing({ at, now, refusal })).status), editedAt: now - 2000 };
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime: now };
    const decision = decide(observing({ at: held, pod: created(held, now), launch, now }));
    assert.deepEqual(eventReasons(decision), ['Launched']);
    assert.equal(decision.status?.operatorDelaySeconds, 2);
  });

  it('is late for everybody to see, and no failure of the operator', () => {
    const held = decide(
      observing({ at: accepted(), refusal: { reason: 'PodRejected', message: 'exceeded quota' } }),
    );
    const launchTime = dueTime + 60_000;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const at = withStatus(accepted(), held.status);
    const decision = decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime }));
    assert.deepEqual(eventReasons(decision), ['Launched']);
    assert.equal(decision.events[0]?.note, 'created Pod example-at-pod 60 s late, after PodRejected');
    assert.equal(decision.status?.latenessMilliseconds, 60_000);
  });

  it('is the failure of the operator but for the time that answers took', () => {
    const launchTime = dueTime + 9000;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const at = accepted();
    const slow = (...spans: readonly (readonly [number, number])[]) => {
      const slowAnswers = spans.map(([from, to]) => ({ from: dueTime + from, to: dueTime + to }));
      return decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime, slowAnswers }));
    };
    const excused = slow([-2000, 1000], [4000, 8000]);
    assert.deepEqual(eventReasons(excused), ['Launched']);
    assert.equal(
      excused.events[0]?.note,
      'created Pod example-at-pod 9 s late, after requests that failed or were slow',
    );
    assert.equal(excused.status?.operatorDelaySeconds, 4);
    const blamed = slow([-2000, 1000], [9000, 12_000]);
    assert.deepEqual(eventReasons(blamed), ['LaunchedLate (W)']);
    assert.equal(blamed.status?.operatorDelaySeconds, 8);
  });

  it('is the failure of the operator until its first create failed', () => {
    const launchTime = dueTime + 60_000;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const at = accepted();
    const heldUp = (afterMs: number) => {
      const heldUpSince = dueTime + afterMs;
      return decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime, heldUpSince }));
    };
    const inTime = heldUp(400);
    assert.deepEqual(eventReasons(inTime), ['Launched']);
    assert.equal(
      inTime.events[0]?.note,
      'created Pod example-at-pod 60 s late, after requests that failed or were slow',
    );
    assert.equal(inTime.status?.operatorDelaySeconds, undefined);
    const late = heldUp(7000);
    assert.deepEqual(eventReasons(late), ['LaunchedLate (W)']);
    assert.equal(late.status?.operatorDelaySeconds, 7);
    const waiting = { at, pod: created(at, launchTime), launch, now: launchTime, waitsSince: dueTime + 400 };
    const others = decide(observing({ ...waiting, heldUpSince: dueTime + 30_000 }));
    assert.equal(others.status?.operatorDelaySeconds, undefined, 'creates of others failed before');
  });

  it('is the failure of the operator until its first create was refused, where status tells that, too', () => {
    const refusal = { reason: 'PodRejected', message: 'exceeded quota' };
    const launchTime = dueTime + 60_000;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const launched = (heldUpSince?: number) => {
      const held = decide(observing({ at: accepted(), now: dueTime + 30_000, refusal }));
      const at = withStatus(accepted(), held.status);
      const known = heldUpSince === undefined ? {} : { heldUpSince: dueTime + heldUpSince };
      return decide(observing({ at, pod: created(at, launchTime), launch, now: launchTime, ...known }));
    };
    const late = launched(30_000);
    assert.deepEqual(eventReasons(late), ['LaunchedLate (W)']);
    assert.equal(
      late.events[0]?.note,
      'created Pod example-at-pod 60 s late: the operator took 30 s, then came PodRejected',
    );
    assert.equal(late.status?.operatorDelaySeconds, 30);
    // In time, by another process, and since before an edit.
    for (const decision of [
      launched(200),
      launched(),
      launched(40_000),
      launched(Number.NEGATIVE_INFINITY),
    ]) {
      assert.deepEqual(eventReasons(decision), ['Launched']);
      assert.equal(decision.status?.operatorDelaySeconds, undefined);
    }
  });
});
