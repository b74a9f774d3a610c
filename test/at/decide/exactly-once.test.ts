/** ExactlyOnce: created behind a gate, recorded by one status write, released, and held until the end is recorded. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import { transformPod } from '../../../src/at/facts/transform.ts';
import { recordedGate, trackingFinalizer } from '../../../src/at/plan/pod.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  accepted,
  actionOf,
  actionTypes,
  condition,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  effectTypes,
  eventReasons,
  evicted,
  justAfterDue,
  longBeforeDue,
  observing,
  ownedBy,
  second,
  started,
  succeeded,
  targeted,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const once = { launchGuarantee: 'ExactlyOnce' } as const;

/** The Pod after its release, on a node. */
function released(pod: Pod): Pod {
  const { schedulingGates: _, ...spec } = pod.spec;
  return { ...pod, spec: { ...spec, nodeName: 'node' } };
}

/** The At whose status records its gated Pod. */
function recorded(spec: Partial<AtSpec> = {}): At {
  const at = waiting({ ...once, ...spec });
  return withStatus(at, decide(observing({ at, pod: created(at) })).status);
}

function done(spec: Partial<AtSpec> = {}): At {
  const at = recorded(spec);
  return withStatus(at, decide(observing({ at, pod: succeeded(released(created(at))) })).status);
}

/** The Pod, whose deletion has been asked for and should be over. */
function deleted(pod: Pod, deletionGracePeriodSeconds = 0, due = dueTime): Pod {
  const deletion = { deletionTimestamp: timeText(due), deletionGracePeriodSeconds };
  return { ...pod, metadata: { ...pod.metadata, ...deletion } };
}

function withoutFinalizer(pod: Pod): Pod {
  const { finalizers: _, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}

function outcome(o: Partial<Observed>): string {
  const { status } = decide(observing(o));
  return `${status?.phase} ${status?.outcome} ${status?.reason}`;
}

describe('decide, PENDING with launchGuarantee ExactlyOnce', () => {
  const at = waiting(once);

  it('creates a Pod that no node gets, and that stays until its end is recorded', () => {
    const { pod } = actionOf(decide(observing({ at })), 'CreatePod');
    assert.deepEqual(pod.metadata.finalizers, [trackingFinalizer]);
    assert.deepEqual(pod.spec.schedulingGates, [{ name: recordedGate }]);
    const untracked = actionOf(decide(observing({ at, tracks: false })), 'CreatePod').pod;
    assert.equal(untracked.metadata.finalizers, undefined);
    assert.deepEqual(untracked.spec.schedulingGates, [{ name: recordedGate }]);
  });

  it('says where the result goes with the Pod, because it has no finalizer', () => {
    for (const tracks of [true, false]) {
      const [first] = decide(observing({ at, pod: created(at), tracks })).locks;
      const launched = first?.conditions?.find(({ type }) => type === 'Launched');
      assert.equal(launched?.message.includes('its result is lost if the Pod is deleted'), !tracks);
    }
  });

  it('records which Pod it is before it releases it', () => {
    const pod = created(at);
    const record = decide(observing({ at, pod, now: justAfterDue + second }));
    const [first] = record.locks;
    assert.deepEqual([first?.phase, first?.podUID], ['RUNNING', 'pod-uid-1']);
    assert.equal(first?.launchTime, '2030-01-31T09:00:01.001Z');
    assert.deepEqual(effectTypes(observing({ at, pod })), [
      'WriteStatus',
      'RecordEvents',
      'ReleasePod',
      'WriteStatus',
    ]);
    assert.deepEqual(eventReasons(record), ['Launched']);
    const next = withStatus(at, first);
    const release = decide(observing({ at: next, pod, now: justAfterDue + second }));
    assert.deepEqual(actionOf(release, 'ReleasePod'), { type: 'ReleasePod', pod });
    assert.equal(release.status?.launchTime, '2030-01-31T09:00:01.001Z');
  });

  it('tells that the API server refuses the release, and writes its time once a minute at most', () => {
    const pod = created(at);
    const recorded = withStatus(at, decide(observing({ at, pod })).locks[0]);
    const refusal = { reason: 'CreateFailed', message: 'it waits for its release, which fails: no' };
    const now = justAfterDue + second;
    const told = decide(observing({ at: recorded, pod, now, refusal, retryDelay: 1000 }));
    assert.deepEqual(
      [told.actions, told.status?.reason, told.status?.message, told.requeueAfter],
      [[], 'CreateFailed', refusal.message, 1000],
    );
    assert.deepEqual(
      told.events.map(({ reason }) => reason),
      ['CreateFailed'],
    );
    const waits = withStatus(recorded, told.status);
    const later = { at: waits, pod, live: true, now: now + 30_000 };
    const tried = decide(observing(later));
    assert.deepEqual(actionTypes(tried), ['ReleasePod'], 'it is tried again');
    const launchTime = new Date(now + 30_000).toISOString();
    assert.equal(tried.status?.launchTime, launchTime, 'the Pod waits for its start from then on');
    const again = decide(observing({ ...later, refusal, retryDelay: 1000 }));
    assert.deepEqual([again.status, again.events], [waits.status, []]);
    const minuteLater = decide(observing({ ...later, now: now + 61_000 }));
    const [written] = minuteLater.locks;
    assert.deepEqual(
      [written?.reason, written?.launchTime],
      ['CreateFailed', new Date(now + 61_000).toISOString()],
    );
    assert.equal(written?.operatorDelaySeconds, undefined, 'the operator is not to blame');
    assert.deepEqual(minuteLater.events, []);
    assert.equal(minuteLater.status?.reason, undefined, 'once it is released');
  });

  it('says when it releases the Pod before it does, where that comes later', () => {
    const at = recorded();
    const cached = observing({ at, pod: created(at), now: dueTime + 3_600_000 });
    assert.equal(decide(cached).need, 'pods', 'it may be released, and the cache behind');
    const late = { ...cached, live: true };
    const writes = effectTypes(late).filter((type) => type !== 'RecordEvents');
    assert.deepEqual(writes.slice(0, 2), ['WriteStatus', 'ReleasePod']);
    const { status } = decide(late);
    assert.equal(status?.launchTime, '2030-01-31T10:00:00.000Z');
    assert.equal(status?.latenessMilliseconds, 3_600_000);
  });

  it("counts the time since the record as the operator's, and no other", () => {
    const at = recorded();
    const releasedLate = (status: object, facts: object = {}) => {
      const known = { ...at, status: { ...at.status, ...status } };
      const o = observing({ at: known, pod: created(at), now: dueTime + 60_000, live: true, ...facts });
      return decide(o).status?.operatorDelaySeconds;
    };
    // Held up by a quota, or moved into the past, before: the record has no delay.
    const launchTime = new Date(dueTime + 44_000).toISOString();
    assert.equal(releasedLate({ launchTime }), 16);
    assert.equal(releasedLate({ launchTime, operatorDelaySeconds: 3 }), 19);
    assert.equal(releasedLate({ launchTime }, { heldUpSince: dueTime + 50_000 }), 6);
    assert.equal(releasedLate({ launchTime }, { heldUpSince: dueTime }), 16, 'that was before the record');
    assert.equal(
      releasedLate({ launchTime }, { heldUpSince: dueTime, unreleasedSince: dueTime + 50_000 }),
      6,
    );
    const slowAnswers = [
      { from: dueTime + 40_000, to: dueTime + 48_000 },
      { from: dueTime + 52_000, to: dueTime + 57_000 },
    ];
    assert.equal(releasedLate({ launchTime }, { slowAnswers }), 7, 'but for what its requests took since');
    const byAnother = { launchTime, operatorDelaySeconds: 3 };
    assert.equal(
      releasedLate(byAnother, { unreleasedSince: dueTime }),
      3,
      'its own release fails since before',
    );
  });

  it('warns once of a launch that it has made late after the record', () => {
    const warningsAt = (passed: number, status: object = {}) => {
      const known = recorded();
      const at = { ...known, status: { ...known.status, ...status } };
      const o = observing({ at, pod: created(at), now: dueTime + passed, live: true });
      return decide(o).events.map(({ reason, note }) => [reason, note]);
    };
    const note = 'released Pod example-at-pod, which had been created: the operator took 16 s';
    assert.deepEqual(warningsAt(16_000), [['LaunchedLate', note]]);
    assert.deepEqual(warningsAt(5000), []);
    assert.deepEqual(warningsAt(16_000, { operatorDelaySeconds: 6 }), [], 'the launch was told so');
  });

  it('writes whole milliseconds, whatever the clock has', () => {
    const { status } = decide(observing({ at, pod: created(at), now: justAfterDue + 0.25 }));
    assert.equal(status?.latenessMilliseconds, 1);
    const late = decide(
      observing({ at: recorded(), pod: created(at), now: dueTime + 60_000.25, live: true }),
    );
    assert.equal(late.status?.latenessMilliseconds, 60_000);
  });

  for (const [what, edit, reason] of [
    ['suspended', { suspend: true }, 'Suspended'],
    ['moved', { schedule: timeText(dueTime + 3_600_000) }, 'Armed'],
    ['spoilt', { command: "'" }, 'InvalidCommand'],
    ['canceled', { cancel: true }, 'Canceled'],
  ] as const) {
    it(`lets go a Pod that was made before the At was ${what}, and was not recorded`, () => {
      const observed = { at: edited(accepted(once), edit), pod: created(accepted(once)) };
      assert.equal(decide(observing(observed)).need, 'pods');
      const decision = decide(observing({ ...observed, live: true }));
      assert.deepEqual(actionTypes(decision).slice(0, 2), ['DeletePod', 'UntrackPod']);
      assert.ok(!actionTypes(decision).includes('CreatePod'));
      assert.equal(actionOf(decision, 'DeletePod').resourceVersion, '20');
      assert.equal(decision.status?.reason, reason);
    });
  }

  it('makes another Pod of an edit that leaves it due, once the old one is gone', () => {
    const at = edited(accepted(once), { command: 'echo NO' });
    const decision = decide(observing({ at, pod: created(accepted(once)), live: true }));
    assert.deepEqual(actionTypes(decision), ['DeletePod', 'UntrackPod']);
    assert.deepEqual(actionTypes(decide(observing({ at }))), ['CreatePod']);
  });

  it('is missed although its Pod is there, because nothing has run', () => {
    const at = waiting({ ...once, startingDeadlineSeconds: 1 });
    const observed = { at, pod: created(at), now: dueTime + 2 * second };
    assert.equal(decide(observing(observed)).need, 'pods');
    assert.equal(outcome({ ...observed, live: true }), 'DONE Missed MissedDeadline');
  });

  it('leaves a Pod gated whose time has not come by this clock', () => {
    const decision = decide(observing({ at, pod: created(at), now: longBeforeDue }));
    assert.deepEqual([actionTypes(decision), decision.status?.reason], [['QueueDryRun'], 'Armed']);
  });

  it('says that a deleted Pod will not be the one before it takes the finalizer off', () => {
    const pod = deleted(created(at));
    const fence = decide(observing({ at, pod }));
    assert.deepEqual(effectTypes(observing({ at, pod })), ['WriteStatus', 'UntrackPod']);
    assert.equal(condition(fence.locks[0], 'Launched'), 'False PodNameConflict');
    const next = withStatus(at, fence.locks[0]);
    assert.deepEqual(actionTypes(decide(observing({ at: next, pod }))), ['UntrackPod']);
    const asBefore = decide(observing({ at: next, pod: created(at) }));
    assert.deepEqual(
      actionTypes(asBefore),
      ['UntrackPod'],
      'and is not recorded by whom a stale cache shows it',
    );
    assert.equal(decide(observing({ at: next })).actions[0]?.type, 'CreatePod');
  });

  it('takes the finalizer off a Pod whose owner a user has taken away, and nothing else', () => {
    const pod = ownedBy(created(at), undefined);
    const fence = decide(observing({ at, pod }));
    const decision = decide(observing({ at: withStatus(at, fence.status), pod }));
    assert.deepEqual(actionTypes(decision), ['UntrackPod']);
  });

  it('adopts a Pod that runs, also when another client removed its gate', () => {
    const decision = decide(observing({ at, pod: started(released(created(at))) }));
    assert.equal(decision.status?.podUID, 'pod-uid-1');
  });
});

describe('decide, RUNNING with launchGuarantee ExactlyOnce', () => {
  const at = recorded();
  const pod = created(at);

  it('cancels what it has not released', () => {
    const canceled = edited(at, { cancel: true });
    const decision = decide(observing({ at: canceled, pod }));
    assert.deepEqual(effectTypes(observing({ at: canceled, pod })).slice(0, 2), ['WriteStatus', 'DeletePod']);
    const next = withStatus(canceled, decision.locks[0]);
    assert.deepEqual(actionTypes(decide(observing({ at: next, pod }))), ['DeletePod']);
    assert.equal(outcome({ at: next, pod: deleted(pod) }), 'DONE Canceled Canceled');
  });

  it('counts no time before the release as time that the Pod waits', () => {
    const late = observing({ at, pod, now: dueTime + 3_600_000, live: true });
    const release = decide(late);
    assert.deepEqual(actionTypes(release), ['ReleasePod']);
    const next = withStatus(at, release.status);
    assert.deepEqual(decide({ ...late, at: next, pod: released(pod) }).actions, []);
  });

  it('releases no other Pod than the recorded one, and deletes it', () => {
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'other' } };
    const decision = decide(observing({ at, pod: other, live: true }));
    assert.deepEqual(actionTypes(decision), ['DeletePod', 'UntrackPod']);
    assert.equal(decision.status?.reason, 'PodLost');
  });

  const bound = released(pod);
  for (const [what, found, now, ends] of [
    ['deleted before a node has it', deleted(pod), justAfterDue, 'DONE Failed PodLost'],
    ['deleted while a node has it', deleted(bound, 30), justAfterDue, 'RUNNING undefined undefined'],
    ['deleted by force, for a minute', deleted(bound), dueTime + 60_000, 'RUNNING undefined undefined'],
    ['deleted by force, for longer', deleted(bound), dueTime + 60_001, 'DONE Failed PodLost'],
    ['deleted by force after its end', deleted(succeeded(bound)), justAfterDue, 'DONE Succeeded Succeeded'],
    ['gated, and its owner taken away', ownedBy(pod, undefined), justAfterDue, 'DONE Failed PodLost'],
  ] as const) {
    it(`judges a Pod that is ${what}`, () => {
      for (const one of [found, transformPod(found)]) {
        assert.equal(outcome({ at, pod: one, now, live: true }), ends);
      }
    });
  }

  it('says Evicted of a Pod that was evicted before a node had it, as the Pod itself tells', () => {
    const at = recorded();
    const facts = { at, live: true, now: dueTime + 60 * second };
    assert.equal(outcome({ ...facts, pod: deleted(targeted(created(at))) }), 'DONE Failed Evicted');
    assert.equal(outcome({ ...facts, pod: deleted(created(at)) }), 'DONE Failed PodLost');
  });

  it('asks the API server before it gives up a Pod that was deleted by force', () => {
    const decision = decide(observing({ at, pod: deleted(bound), now: dueTime + 60_001 }));
    assert.equal(decision.need, 'pods');
  });

  it('holds the Pod until its end is recorded, and then no longer', () => {
    const ended = succeeded(bound);
    assert.deepEqual(decide(observing({ at, pod: ended })).actions, []);
    assert.deepEqual(actionTypes(decide(observing({ at: done(), pod: ended }))), ['UntrackPod']);
    assert.deepEqual(decide(observing({ at: done(), pod: withoutFinalizer(ended) })).actions, []);
    const stripped = ownedBy(ended, undefined);
    assert.deepEqual(actionTypes(decide(observing({ at: done(), pod: stripped }))), ['UntrackPod']);
  });

  it('lets a Pod without the label go as soon as its end stands: no further look finds it', () => {
    const { metadata, ...ended } = succeeded(bound);
    const stripped = { ...ended, metadata: { ...metadata, labels: {} } };
    const observed = observing({ at, pod: stripped, live: true });
    assert.deepEqual(effectTypes(observed), ['WriteStatus', 'RecordEvents', 'UntrackPod', 'WriteStatus']);
    const free = decide(observing({ at, pod: withoutFinalizer(stripped), live: true }));
    assert.deepEqual(
      [free.actions, free.status?.outcome],
      [[], 'Succeeded'],
      'of no use where nothing holds it',
    );
  });

  it('lets the Pod go when the At is deleted', () => {
    const { metadata } = at;
    const doomed = { ...at, metadata: { ...metadata, deletionTimestamp: timeText(dueTime) } };
    const decision = decide(observing({ at: doomed, pod }));
    assert.deepEqual([actionTypes(decision), decision.status], [['UntrackPod'], undefined]);
  });
});

describe('decide, ExactlyOnce with Retry', () => {
  const at = recorded({ disruptionPolicy: 'Retry' });
  const first = evicted(released(created(at)));
  const second = created(at, justAfterDue, 2);

  it('records the second Pod before it releases it, and lets the first one go', () => {
    assert.deepEqual(actionTypes(decide(observing({ at, pod: first, live: true }))), ['CreatePod']);
    const record = decide(observing({ at, pod: first, nextPod: second }));
    assert.deepEqual(actionTypes(record), ['ReleasePod', 'UntrackPod']);
    const [stands] = record.locks;
    assert.deepEqual([stands?.attempts, stands?.podUID], [2, 'pod-uid-2']);
    const next = { at: withStatus(at, stands), pod: second, earlierPods: [first] };
    assert.deepEqual(actionTypes(decide(observing(next))), ['ReleasePod', 'UntrackPod']);
  });

  it('counts no time before the release of the second Pod as time that it waits, whichever process looks', () => {
    const record = decide(observing({ at, pod: first, nextPod: second })).locks[0];
    const recorded = withStatus(at, record);
    // The process that recorded it died before the release; the next one finds it an hour later.
    const now = dueTime + 3_600_000;
    const late = { at: recorded, pod: second, earlierPods: [withoutFinalizer(first)], now, live: true };
    const release = decide(observing(late));
    assert.deepEqual(effectTypes(observing(late)).slice(0, 2), ['WriteStatus', 'ReleasePod']);
    assert.equal(release.locks[0]?.launchTime, timeText(now).replace('Z', '.000Z'));
    assert.equal(release.status?.latenessMilliseconds, record?.latenessMilliseconds, 'of the first attempt');
    const waits = { ...late, at: withStatus(recorded, release.status), pod: released(second) };
    const timeout = now + 900_000;
    const soon = decide(observing({ ...waits, now: now + 1000 }));
    assert.deepEqual([soon.actions, soon.requeueAt], [[], timeout]);
    const over = decide(observing({ ...waits, now: timeout }));
    assert.equal(over.locks[0]?.reason, 'PendingTimeout');
  });

  it('takes another Pod when the second was deleted before it was recorded', () => {
    const nextPod = deleted(second);
    const fence = decide(observing({ at, pod: first, nextPod }));
    assert.deepEqual([actionTypes(fence), fence.locks[0]?.attempts], [['UntrackPod'], 1]);
    const next = withStatus(at, fence.locks[0]);
    assert.deepEqual(actionTypes(decide(observing({ at: next, pod: first, nextPod }))), ['UntrackPod']);
    assert.deepEqual(actionTypes(decide(observing({ at: next, pod: first, live: true }))), ['CreatePod']);
  });

  it('is canceled with a second Pod that is not recorded', () => {
    const canceled = edited(at, { cancel: true });
    const end = decide(observing({ at: canceled, pod: first, nextPod: second }));
    assert.equal(end.status?.outcome, 'Canceled');
    const next = withStatus(canceled, end.status);
    const after = decide(observing({ at: next, pod: first, nextPod: second }));
    assert.deepEqual(actionTypes(after), ['DeletePod', 'UntrackPod', 'UntrackPod']);
  });
});

describe('decide, a lost Pod of ExactlyOnce while the next one is refused', () => {
  const at = recorded({ disruptionPolicy: 'Retry' });
  const refusal = { reason: 'PodRejected', message: 'quota' };
  const lost = evicted(released(created(at)));
  const told = (pod: Pod) => withStatus(at, decide(observing({ at, pod, refusal, live: true })).status);

  it('is held until its end stands in the history, and is let go before anything else then', () => {
    const refused = decide(observing({ at, pod: lost, refusal }));
    assert.deepEqual([refused.actions, refused.status?.history?.length], [[], 1]);
    const look = (pod: Pod) => decide(observing({ at: told(lost), pod, live: true }));
    assert.deepEqual(actionTypes(look(lost)), ['UntrackPod', 'CreatePod']);
    assert.deepEqual(actionTypes(look(withoutFinalizer(lost))), ['CreatePod']);
    assert.deepEqual(actionTypes(decide(observing({ at: told(lost), pod: lost, refusal }))), ['UntrackPod']);
  });

  it('is let go while the next attempt waits for its time, which stays the same without the Pod', () => {
    const pod = evicted(released(created(at, justAfterDue, 2)));
    const launch = { attempts: 2, podName: pod.metadata.name, podUID: pod.metadata.uid ?? '' };
    const second = withStatus(at, { ...at.status, ...launch });
    const wait = decide(observing({ at: second, pod }));
    assert.deepEqual([wait.actions, wait.status?.history?.at(-1)?.attempt], [[], 2]);
    const waiting = withStatus(second, wait.status);
    const held = decide(observing({ at: waiting, pod }));
    assert.deepEqual([actionTypes(held), held.status], [['UntrackPod'], wait.status]);
    const gone = decide(observing({ at: waiting, live: true }));
    assert.deepEqual([gone.actions, gone.status], [[], wait.status]);
    assert.ok(wait.requeueAt !== undefined);
    assert.deepEqual([held.requeueAt, gone.requeueAt], [wait.requeueAt, wait.requeueAt]);
  });

  it('is followed by the next one also where another finalizer keeps it', () => {
    const pod = deleted(created(at));
    const going = { ...pod, spec: { ...pod.spec, schedulingGates: [] } };
    assert.deepEqual(actionTypes(decide(observing({ at: told(going), pod: going, live: true }))), [
      'UntrackPod',
      'CreatePod',
    ]);
    const kept = decide(observing({ at: told(going), pod: withoutFinalizer(going), live: true }));
    assert.deepEqual(actionTypes(kept), ['CreatePod']);
  });

  it('tells its exit code and its restarts at the end also when it is gone by then', () => {
    const before = told({
      ...lost,
      status: {
        ...lost.status,
        containerStatuses: lost.status?.containerStatuses?.map((one) => ({ ...one, restartCount: 2 })) ?? [],
      },
    });
    const canceled = edited(before, { cancel: true });
    const { status } = decide(observing({ at: canceled, live: true }));
    assert.deepEqual([status?.outcome, status?.exitCode, status?.restarts], ['Canceled', 137, 2]);
  });
});
