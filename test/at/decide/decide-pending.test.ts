import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { dryRunPriority, launchPriority, retryPriority } from '../../../src/at/facts/queue-priority.ts';
import {
  accepted,
  actionOf,
  actionTypes,
  condition,
  conditions,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  effectTypes,
  eventReasons,
  justAfterDue,
  justBeforeDue,
  longBeforeDue,
  observing,
  ownedBy,
  second,
  terminating,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

describe('decide, PENDING and not due', () => {
  it('accepts a new At in one status write without Events (B1)', () => {
    const observed = observing({ at: waiting(), now: longBeforeDue });
    assert.deepEqual(effectTypes(observed), ['QueueDryRun', 'WriteStatus']);
    const { status } = decide(observed);
    assert.equal(status?.phase, 'PENDING');
    assert.equal(status?.observedGeneration, 1);
    assert.equal(status?.scheduledTime, '2030-01-31T09:00:00.000Z');
    assert.deepEqual(conditions(status), { Accepted: 'True Armed', Ready: 'True Armed' });
  });

  it('waits for the very instant, ahead of everything else', () => {
    const decision = decide(observing({ at: accepted(), now: longBeforeDue }));
    assert.equal(decision.requeueAt, dueTime);
    assert.equal(decision.priority, launchPriority);
  });

  it('is never early, not by a millisecond', () => {
    const early = decide(observing({ at: accepted(), now: justBeforeDue }));
    assert.deepEqual(early.actions, []);
    assert.deepEqual(actionTypes(decide(observing({ at: accepted(), now: dueTime }))), ['CreatePod']);
  });

  it('goes by the rules that its zone has now, whatever they were when it was accepted', () => {
    const at = accepted({ schedule: '2030-01-31T10:00:00', timeZone: 'Europe/Berlin' });
    assert.equal(at.status?.scheduledTime, '2030-01-31T09:00:00.000Z');
    const before = withStatus(at, { ...at.status, scheduledTime: '2030-01-31T08:00:00.000Z' });
    const { actions, status, requeueAt } = decide(observing({ at: before, now: longBeforeDue }));
    assert.deepEqual(actions, []);
    assert.equal(requeueAt, dueTime);
    assert.deepEqual(status, at.status);
  });

  it('writes nothing the second time (B12)', () => {
    const at = accepted();
    const { actions, status, events } = decide(observing({ at, now: longBeforeDue + second }));
    assert.deepEqual(actions, []);
    assert.deepEqual(events, []);
    assert.deepEqual(status, at.status);
  });

  it('tries the Pod after the acceptance, when nothing else waits', () => {
    const first = decide(observing({ at: waiting(), now: longBeforeDue }));
    assert.deepEqual(actionTypes(first), ['QueueDryRun']);
    assert.equal(first.requeueAfter, 0);
    assert.equal(first.priority, dryRunPriority);
    const second = decide(observing({ at: accepted(), now: longBeforeDue, untried: true }));
    assert.deepEqual(actionTypes(second), ['DryRunPod']);
    assert.equal(second.requeueAt, dueTime);
  });

  it('tries no Pod that is due in a moment', () => {
    const decision = decide(observing({ at: waiting(), now: dueTime - 5 * second }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAt, dueTime);
  });

  it('tries no Pod whose turn comes only when it is due in a moment', () => {
    const decision = decide(observing({ at: accepted(), now: dueTime - 5 * second, untried: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAt, dueTime);
  });

  it('is armed again by an edit, and says so', () => {
    const at = edited(accepted(), { schedule: timeText(dueTime + 60 * second) });
    const decision = decide(observing({ at, now: longBeforeDue }));
    assert.deepEqual(eventReasons(decision), ['Rescheduled']);
    assert.equal(decision.status?.scheduledTime, '2030-01-31T09:01:00.000Z');
    assert.equal(decision.status?.observedGeneration, 2);
  });

  it('says nothing when an edit leaves the time', () => {
    const at = edited(accepted(), { command: 'echo NO' });
    assert.deepEqual(eventReasons(decide(observing({ at, now: longBeforeDue }))), []);
  });

  it('warns once of an operator that no shell will see (B9)', () => {
    const at = waiting({ command: 'echo a | wc' });
    const decision = decide(observing({ at, now: longBeforeDue }));
    assert.deepEqual(eventReasons(decision), ['ShellOperator (W)']);
    assert.equal(decision.status?.message, decision.events[0]?.note);
    const told = withStatus(at, decision.status);
    const again = decide(observing({ at: told, now: longBeforeDue }));
    assert.deepEqual(eventReasons(again), []);
    assert.deepEqual(again.status, decision.status);
    const mended = decide(observing({ at: edited(told, { shell: '/bin/sh' }), now: longBeforeDue }));
    assert.equal(mended.status?.message, undefined);
  });
});

describe('decide, PENDING with a spec that cannot be run (B8)', () => {
  const rows: { name: string; spec: Partial<AtSpec>; reason: string }[] = [
    { name: 'an impossible day', spec: { schedule: '2030-02-30T00:00:00Z' }, reason: 'InvalidSchedule' },
    { name: 'no offset', spec: { schedule: '2030-02-01T00:00:00' }, reason: 'InvalidSchedule' },
    { name: 'a number', spec: { schedule: 20_300_201 as unknown as string }, reason: 'InvalidSchedule' },
    {
      name: 'an unknown zone',
      spec: { schedule: '2030-02-01T00:00:00', timeZone: 'Mars/Olympus' },
      reason: 'InvalidTimeZone',
    },
    {
      name: 'an offset as a zone',
      spec: { schedule: '2030-02-01T00:00:00', timeZone: '+02:00' },
      reason: 'InvalidTimeZone',
    },
    { name: 'a quote left open', spec: { command: `echo 'a` }, reason: 'InvalidCommand' },
    { name: 'blanks only', spec: { command: '  ' }, reason: 'InvalidCommand' },
    { name: 'an empty program', spec: { command: `'' a` }, reason: 'InvalidCommand' },
    { name: 'a NUL', spec: { command: 'echo a\0b' }, reason: 'InvalidCommand' },
    { name: 'a list that is none', spec: { command: ['a'] as unknown as string }, reason: 'InvalidCommand' },
    {
      name: 'a limit that is no number',
      spec: { backoffLimit: 'six' as unknown as number },
      reason: 'InvalidCommand',
    },
    { name: 'two commands', spec: { command: 'a', argv: ['b'] }, reason: 'InvalidCommand' },
    {
      name: 'a shell without an absolute path',
      spec: { shell: 'sh', command: 'a' },
      reason: 'InvalidCommand',
    },
    { name: 'a template without anything to run', spec: { template: {} }, reason: 'InvalidCommand' },
    {
      name: 'containers that are none',
      spec: { command: 'a', template: { spec: { containers: 'all' as unknown as [] } } },
      reason: 'InvalidTemplate',
    },
    {
      name: 'a template that never ends',
      spec: { command: 'a', template: { spec: { restartPolicy: 'Always' } } },
      reason: 'InvalidTemplate',
    },
    {
      name: 'a container that is started for ever',
      spec: {
        backoffLimit: 0,
        template: { spec: { containers: [{ restartPolicy: 'Always', image: 'x' }] } },
      },
      reason: 'InvalidTemplate',
    },
    {
      name: 'a container with rules of its own',
      spec: {
        template: {
          spec: { containers: [{}, { restartPolicyRules: [{ action: 'Restart' }] }] },
        },
        command: 'a',
      },
      reason: 'InvalidTemplate',
    },
  ];
  for (const { name, spec, reason } of rows) {
    it(`refuses ${name} with a condition, one Event, and no retry`, () => {
      const at = waiting(spec);
      const decision = decide(observing({ at, now: justAfterDue }));
      assert.deepEqual(decision.actions, []);
      assert.deepEqual(eventReasons(decision), [`${reason} (W)`]);
      assert.deepEqual(conditions(decision.status), {
        Accepted: `False ${reason}`,
        Ready: `False ${reason}`,
        Stalled: `True ${reason}`,
      });
      assert.equal(decision.requeueAt ?? decision.requeueAfter, undefined);
      const again = decide(observing({ at: withStatus(at, decision.status), now: justAfterDue }));
      assert.deepEqual(again.events, []);
      assert.deepEqual(again.status, decision.status);
    });
  }

  it('refuses a name that no label can hold (B10)', () => {
    const at = waiting({}, { name: 'a'.repeat(64) });
    assert.equal(condition(decide(observing({ at })).status, 'Accepted'), 'False InvalidTemplate');
  });

  it('forgets the refusal when the spec is mended', () => {
    const bad = waiting({ command: `echo 'a` });
    const refused = withStatus(bad, decide(observing({ at: bad, now: longBeforeDue })).status);
    const { status } = decide(observing({ at: edited(refused, { command: 'echo a' }), now: longBeforeDue }));
    assert.deepEqual(conditions(status), { Accepted: 'True Armed', Ready: 'True Armed' });
    assert.equal(status?.message, undefined);
  });

  it('never shows the command', () => {
    const at = waiting({ command: `echo 'secret` });
    const { status, events } = decide(observing({ at }));
    assert.doesNotMatch(JSON.stringify([status, events]), /secret/);
  });
});

describe('decide, PENDING and due', () => {
  it('creates the Pod of a new At at once, without accepting it first', () => {
    const decision = decide(observing({ at: waiting(), now: justAfterDue }));
    const { pod, attempt } = actionOf(decision, 'CreatePod');
    assert.equal(pod.metadata.name, 'example-at-pod');
    assert.equal(attempt, 1);
    assert.equal(decision.status, undefined);
    assert.deepEqual(decision.events, []);
  });

  it('runs a schedule that is long past, as the samples of the book are', () => {
    const at = waiting(
      { schedule: '2019-04-12T10:12:00Z' },
      { creationTimestamp: new Date(justAfterDue - 1000).toISOString() },
    );
    assert.deepEqual(actionTypes(decide(observing({ at }))), ['CreatePod']);
  });

  it('asks the API server first when its time passed long ago: another process may have launched it', () => {
    const at = accepted();
    const late = { at, now: dueTime + 31 * second };
    assert.deepEqual(actionTypes(decide(observing({ at, now: dueTime + 30 * second }))), ['CreatePod']);
    assert.equal(decide(observing(late)).need, 'pods');
    assert.deepEqual(actionTypes(decide(observing({ ...late, live: true }))), ['CreatePod']);
  });

  it('asks the API server first where what it sees may be minutes old, at whatever time', () => {
    const resumed = { ...accepted(), metadata: { ...accepted().metadata, generation: 3 } };
    for (const at of [accepted(), resumed]) {
      assert.equal(decide(observing({ at, blind: true })).need, 'pods');
      assert.deepEqual(actionTypes(decide(observing({ at, blind: true, live: true }))), ['CreatePod']);
    }
  });

  it('asks for that once: a create that was refused is repeated without it', () => {
    const late = { at: accepted(), now: dueTime + 31 * second, heldUpSince: dueTime };
    assert.deepEqual(actionTypes(decide(observing(late))), ['CreatePod']);
  });

  it('takes no cached stranger for an answer of the API server', () => {
    const pod = ownedBy(created(waiting()), 'other-uid');
    assert.deepEqual(actionTypes(decide(observing({ pod }))), ['CreatePod']);
  });

  for (const [name, uid] of [
    ['of a stranger', undefined],
    ['of an earlier At of the same name', 'earlier-uid'],
  ] as const) {
    it(`does not touch a Pod ${name}, and tries again (B4, B5)`, () => {
      const pod = ownedBy(created(waiting()), uid);
      const decision = decide(observing({ pod, live: true, retryDelay: 500 }));
      assert.deepEqual(decision.actions, []);
      assert.equal(decision.status?.phase, 'PENDING');
      assert.equal(decision.status?.podUID, undefined);
      assert.deepEqual(conditions(decision.status), {
        Accepted: 'True Armed',
        Ready: 'True Armed',
        Launched: 'False PodNameConflict',
      });
      assert.deepEqual(eventReasons(decision), ['PodNameConflict (W)']);
      assert.equal(decision.requeueAfter, 500);
      assert.equal(decision.priority, retryPriority);
    });
  }

  it('says once that the API server rejects the Pod, however its sentence changes', () => {
    const first = decide(
      observing({ refusal: { reason: 'PodRejected', message: 'exceeded quota, used: 5' } }),
    );
    assert.deepEqual(eventReasons(first), ['PodRejected (W)']);
    assert.equal(condition(first.status, 'Launched'), 'False PodRejected');
    assert.equal(condition(first.status, 'Ready'), 'True Armed');
    const at = withStatus(waiting(), first.status);
    const second = decide(
      observing({ at, refusal: { reason: 'PodRejected', message: 'exceeded quota, used: 6' } }),
    );
    assert.deepEqual(eventReasons(second), []);
    assert.deepEqual(second.status, first.status);
    assert.deepEqual(actionTypes(decide(observing({ at }))), ['CreatePod']);
  });

  it('reads before it creates again when an answer is missing', () => {
    assert.equal(decide(observing({ ambiguous: true })).need, 'pods');
    assert.deepEqual(actionTypes(decide(observing({ ambiguous: true, live: true }))), ['CreatePod']);
  });

  it('does nothing for an At that is being deleted', () => {
    const at = waiting({}, { deletionTimestamp: timeText(dueTime) });
    assert.deepEqual(effectTypes(observing({ at })), []);
  });
});

describe('decide, PENDING with startingDeadlineSeconds', () => {
  const at = waiting({ startingDeadlineSeconds: 60 });
  const lastMoment = dueTime + 60 * second;

  it('still launches at the last moment', () => {
    const last = observing({ at, now: lastMoment, live: true });
    assert.deepEqual(actionTypes(decide(last)), ['CreatePod']);
  });

  it('asks the API server before it says Missed', () => {
    assert.equal(decide(observing({ at, now: lastMoment + 1 })).need, 'pods');
  });

  it('is DONE, Missed, without a Pod after that', () => {
    const decision = decide(observing({ at, now: lastMoment + 1, live: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.phase, 'DONE');
    assert.equal(decision.status?.outcome, 'Missed');
    assert.equal(decision.status?.completionTime, '2030-01-31T09:01:00.001Z');
    assert.deepEqual(conditions(decision.status), {
      Accepted: 'True Armed',
      Ready: 'False MissedDeadline',
      Stalled: 'True MissedDeadline',
      Launched: 'False MissedDeadline',
      Complete: 'False MissedDeadline',
      Failed: 'True MissedDeadline',
    });
    assert.deepEqual(eventReasons(decision), ['MissedDeadline (W)']);
  });

  it('looks again right after the deadline, however long the retry would wait', () => {
    const decision = decide(
      observing({
        at,
        now: lastMoment - 100,
        refusal: { reason: 'PodRejected', message: 'no' },
        retryDelay: 10_000,
      }),
    );
    assert.equal(decision.requeueAfter, 101);
  });
});

describe('decide, PENDING and suspended', () => {
  const suspended = () => {
    const at = edited(accepted(), { suspend: true });
    return withStatus(at, decide(observing({ at, now: longBeforeDue })).status);
  };

  it('says so once and starts nothing, even when due', () => {
    const at = edited(accepted(), { suspend: true });
    const decision = decide(observing({ at, now: longBeforeDue }));
    assert.deepEqual(eventReasons(decision), ['Suspended']);
    assert.equal(condition(decision.status, 'Suspended'), 'True Suspended');
    assert.equal(condition(decision.status, 'Ready'), 'True Suspended');
    assert.equal(decision.status?.message, 'suspended; due 2030-01-31T09:00:00.000Z');
    const due = decide(observing({ at: suspended(), now: justAfterDue }));
    assert.deepEqual(due.actions, []);
    assert.deepEqual(due.events, []);
    assert.equal(due.requeueAt, undefined);
  });

  it('waits again after a resume', () => {
    const decision = decide(observing({ at: edited(suspended(), { suspend: false }), now: longBeforeDue }));
    assert.deepEqual(eventReasons(decision), ['Resumed', 'Scheduled']);
    assert.equal(condition(decision.status, 'Suspended'), 'False Resumed');
    assert.equal(decision.status?.message, undefined);
  });

  it('is due at once after a resume past its time, and not late', () => {
    const at = edited(suspended(), { suspend: false });
    const now = dueTime + 3_600_000;
    assert.deepEqual(actionTypes(decide(observing({ at, now }))), ['CreatePod']);
    const launched = decide(observing({ at, now, pod: created(at, now) }));
    assert.deepEqual(eventReasons(launched), ['Resumed', 'Launched']);
    assert.equal(condition(launched.status, 'Suspended'), 'False Resumed');
  });

  it('can be missed while it is suspended', () => {
    const at = edited(suspended(), { suspend: false, startingDeadlineSeconds: 1 });
    assert.equal(decide(observing({ at, now: dueTime + 2 * second, live: true })).status?.outcome, 'Missed');
  });
});

describe('decide, PENDING and our Pod exists', () => {
  it('adopts it, by the uid of its owner', () => {
    const at = waiting();
    const decision = decide(observing({ at, pod: created(at) }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.phase, 'RUNNING');
    assert.equal(decision.status?.podUID, 'pod-uid-1');
    assert.equal(decision.status?.launchTime, '2030-01-31T09:00:00.000Z');
  });

  it('lets no edit change the run (schedule, limits, suspend)', () => {
    const before = waiting({ activeDeadlineSeconds: 10 });
    const pod = created(before);
    const later = timeText(dueTime + 3_600_000);
    const at = edited(before, { schedule: later, activeDeadlineSeconds: 99, backoffLimit: 0, suspend: true });
    const decision = decide(observing({ at, pod }));
    assert.equal(decision.status?.phase, 'RUNNING');
    assert.equal(decision.status?.scheduledTime, '2030-01-31T09:00:00.000Z');
    assert.equal(decision.status?.observedGeneration, 2);
  });

  it('waits for a terminating Pod of an earlier At', () => {
    const pod = terminating(ownedBy(created(waiting()), 'earlier-uid'), dueTime + 30 * second);
    const decision = decide(observing({ pod, live: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(condition(decision.status, 'Launched'), 'False PodNameConflict');
  });
});
