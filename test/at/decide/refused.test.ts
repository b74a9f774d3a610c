/** What is said, and how often, of a Pod that the API server does not take. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import {
  accepted,
  actionTypes,
  condition,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  eventReasons,
  evicted,
  justAfterDue,
  launched,
  longBeforeDue,
  observing,
  ownedBy,
  second,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const refused = (at: At, message: string) =>
  decide(observing({ at, refusal: { reason: 'PodRejected', message } }));
const security = 'pods "example-at-pod" is forbidden: violates PodSecurity "restricted:latest": privileged';
const quota = 'pods "example-at-pod" is forbidden: exceeded quota: q, used: pods=5,memory=900Mi';

function assertSaid(decision: ReturnType<typeof decide>, message: string): void {
  assert.equal(decision.status?.message, message);
  assert.equal(findCondition(decision.status?.conditions, 'Launched')?.message, message);
}

describe('a Pod that the API server does not take', () => {
  const at = withStatus(waiting(), refused(waiting(), security).status);

  it('is told in another sentence when it is another one, without an Event', () => {
    const decision = refused(at, quota);
    assertSaid(decision, quota);
    assert.deepEqual(eventReasons(decision), []);
    const next = withStatus(at, decision.status);
    const again = refused(next, quota.replace('5', '16').replace('900Mi', '1.5Gi'));
    assertSaid(again, quota);
    assert.deepEqual(eventReasons(again), []);
    assert.deepEqual(again.status, next.status);
  });

  it('is handed over again at each look, as a repetition: how often that is an Event is for the actuator', () => {
    const again = refused(at, security).events.map((event) => 'isRepeated' in event && event.isRepeated);
    assert.deepEqual(again, [true]);
  });

  it('is told again when the reason is another', () => {
    const refusal = { reason: 'CreateFailed', message: 'failed calling webhook "w"' };
    const decision = decide(observing({ at, refusal }));
    assertSaid(decision, refusal.message);
    assert.equal(decision.status?.reason, 'CreateFailed');
    assert.deepEqual(eventReasons(decision), ['CreateFailed (W)']);
  });

  it('is told again, once, of a spec that was edited', () => {
    const decision = refused(edited(at, { image: 'alpine' }), security);
    assert.deepEqual(eventReasons(decision), ['PodRejected (W)']);
    const next = withStatus(edited(at, { image: 'alpine' }), decision.status);
    assert.deepEqual(eventReasons(refused(next, security)), []);
  });

  it('is told once for numbers in a sentence that is too long for status', () => {
    const long = (used: number) => `${'quota exceeded, '.repeat(100)}used: ${used}`;
    const next = withStatus(at, refused(at, long(9)).status);
    assert.deepEqual(eventReasons(refused(next, long(10))), []);
  });

  it('is told of the stranger at its name, and when that one is on its way out', () => {
    const pod = ownedBy(created(at), undefined);
    const next = withStatus(at, decide(observing({ at, pod, live: true })).status);
    const gone = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2030-01-31T09:01:00Z' } };
    const decision = decide(observing({ at: next, pod: gone, live: true }));
    assertSaid(
      decision,
      'a Pod example-at-pod that does not belong to this At is being deleted, and is not gone yet',
    );
  });
});

describe('an At that is missed', () => {
  const over = 'not started: it was 1m1s late, and startingDeadlineSeconds is 60';
  const missed = (at: At) => decide(observing({ at, now: dueTime + 61 * second, live: true })).status;
  const at = waiting({ startingDeadlineSeconds: 60 });

  it('tells what kept the command from starting', () => {
    const status = missed(withStatus(at, refused(at, quota).status));
    assert.equal(status?.outcome, 'Missed');
    assert.equal(status?.message, `${over}: ${quota}`);
    const pod = ownedBy(created(at), undefined);
    const held = withStatus(at, decide(observing({ at, pod, live: true })).status);
    assert.match(
      missed(held)?.message ?? '',
      /: a Pod example-at-pod that does not belong to this At exists$/,
    );
  });

  it('tells that its author may not have it run', () => {
    const refusal = { reason: 'NotAuthorized', message: 'its author may not create Pods' };
    const held = withStatus(at, decide(observing({ at, live: true, refusal })).status);
    assert.equal(missed(held)?.message, `${over}: ${refusal.message}`);
  });

  it('tells it at any length', () => {
    const message = missed(withStatus(at, refused(at, `${'x'.repeat(2000)} the end`).status))?.message ?? '';
    assert.ok(message.startsWith(over) && message.endsWith('x the end'));
    assert.ok(message.length <= 1024);
  });

  it('does not blame what kept it from starting at another time', () => {
    const held = withStatus(at, refused(at, quota).status);
    const moved = missed(edited(held, { schedule: '2020-01-01T00:00:00Z' }))?.message ?? '';
    assert.match(moved, /^not started: it was \d+h1m1s late, and startingDeadlineSeconds is 60$/);
    assert.equal(missed(at)?.message, over);
  });
});

const rejectedWith = (reason: string, message = quota) => ({ rejection: { reason, message } });

describe('a Pod that the API server would not take, long before it is due', () => {
  const rejected = decide(
    observing({ at: accepted(), now: longBeforeDue, preflight: rejectedWith('PodRejected') }),
  );
  const at = withStatus(accepted(), rejected.status);

  it('is told in status, with one Warning, while the At stays ready and waits', () => {
    assert.deepEqual([rejected.status?.reason, rejected.status?.message], ['PodRejected', quota]);
    assert.equal(condition(rejected.status, 'PodAdmitted'), 'False PodRejected');
    assert.equal(condition(rejected.status, 'Ready'), 'True Armed');
    assert.equal(condition(rejected.status, 'Launched'), undefined);
    assert.deepEqual(eventReasons(rejected), ['PodRejected (W)']);
    assert.equal(rejected.requeueAt, dueTime);
  });

  it('stays told, without another word', () => {
    const again = decide(observing({ at, now: longBeforeDue + second }));
    assert.deepEqual(again.status, at.status);
    assert.deepEqual(eventReasons(again), []);
  });

  it('is no longer told of a spec that was edited', () => {
    const { status } = decide(observing({ at: edited(at, { image: 'alpine' }), now: longBeforeDue }));
    assert.equal(status?.reason, 'Armed');
    assert.equal(condition(status, 'PodAdmitted'), undefined);
  });

  it('is admitted once it exists', () => {
    const { status } = decide(observing({ at, pod: created(at) }));
    assert.equal(status?.phase, 'RUNNING');
    assert.equal(condition(status, 'PodAdmitted'), 'True Launched');
    assert.equal(status?.reason, undefined);
  });
});

describe('what a later dry run comes to', () => {
  const told = decide(
    observing({ at: accepted(), now: longBeforeDue, preflight: rejectedWith('PodRejected') }),
  );
  const at = withStatus(accepted(), told.status);

  it('is told anew where it is refused for another cause, without another Warning', () => {
    const later = decide(
      observing({ at, now: dueTime - 60 * second, preflight: rejectedWith('PodRejected', 'full') }),
    );
    assert.equal(later.status?.message, 'full');
    assert.deepEqual(later.events, []);
  });

  it('makes PodAdmitted True where it passes, and stays so', () => {
    const passed = decide(observing({ at, now: dueTime - 60 * second, preflight: {} }));
    assert.equal(condition(passed.status, 'PodAdmitted'), 'True Armed');
    assert.equal(passed.status?.reason, 'Armed');
    const after = withStatus(at, passed.status);
    assert.deepEqual(decide(observing({ at: after, now: dueTime - 50 * second })).status, passed.status);
  });

  it('is not said as long as they pass', () => {
    const { status } = decide(observing({ at: accepted(), now: longBeforeDue, preflight: {} }));
    assert.equal(condition(status, 'PodAdmitted'), undefined);
  });
});

describe('a Pod of which the API server says that it is not valid', () => {
  const sentence = 'Pod "example-at-pod" is invalid: spec.dnsPolicy: Unsupported value: "Nowhere"';
  const invalid = rejectedWith('InvalidTemplate', sentence);
  const at = (() => {
    const { status } = decide(observing({ at: accepted(), now: longBeforeDue, preflight: invalid }));
    return withStatus(accepted(), status);
  })();

  const assertRefused = ({ status, actions, requeueAt, requeueAfter }: ReturnType<typeof decide>) => {
    for (const type of ['Accepted', 'Ready', 'PodAdmitted']) {
      assert.equal(condition(status, type), 'False InvalidTemplate', type);
    }
    assert.equal(condition(status, 'Stalled'), 'True InvalidTemplate');
    assert.deepEqual([status?.reason, status?.message], ['InvalidTemplate', sentence]);
    assert.deepEqual([actions, requeueAt, requeueAfter], [[], undefined, undefined]);
  };

  it('is refused for good, by the dry run or by the create, with one Warning', () => {
    const before = decide(observing({ at: accepted(), now: longBeforeDue, preflight: invalid }));
    assertRefused(before);
    assert.deepEqual(eventReasons(before), ['InvalidTemplate (W)']);
    assertRefused(
      decide(observing({ at: accepted(), refusal: { reason: 'InvalidTemplate', message: sentence } })),
    );
  });

  it('is not tried again, also when it is due and by another process', () => {
    const due = decide(observing({ at, now: justAfterDue + 3_600_000 }));
    assertRefused(due);
    assert.deepEqual([due.status, due.events], [at.status, []]);
  });

  it('is looked at again when the spec is edited, suspended or not', () => {
    const suspended = decide(observing({ at: edited(at, { suspend: true }), now: longBeforeDue }));
    assert.equal(condition(suspended.status, 'Accepted'), 'True Armed');
    assert.equal(condition(suspended.status, 'PodAdmitted'), undefined);
    const mended = decide(observing({ at: edited(at, { image: 'busybox:1' }), now: longBeforeDue }));
    assert.equal(condition(mended.status, 'Accepted'), 'True Armed');
    assert.equal(condition(mended.status, 'PodAdmitted'), undefined);
    assert.deepEqual(actionTypes(decide(observing({ at: edited(at, { image: 'busybox:1' }) }))), [
      'CreatePod',
    ]);
  });

  it('is tried on where it is a later attempt, whose first Pod was valid', () => {
    const running = launched({ disruptionPolicy: 'Retry' });
    const refusal = { reason: 'InvalidTemplate', message: sentence };
    const { status, requeueAfter } = decide(
      observing({ at: running, pod: evicted(created(running)), refusal }),
    );
    assert.deepEqual([status?.phase, status?.reason, requeueAfter], ['RUNNING', 'PodRejected', 250]);
  });
});
