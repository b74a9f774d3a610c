import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  accepted,
  condition,
  conditions,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  eventReasons,
  justAfterDue,
  launched,
  longBeforeDue,
  observing,
  ownedBy,
  second,
  started,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

describe('decide, PENDING and canceled', () => {
  it('asks the API server, then is DONE without a Pod', () => {
    const at = edited(accepted(), { cancel: true });
    assert.equal(decide(observing({ at, now: longBeforeDue })).need, 'pods');
    const decision = decide(observing({ at, now: longBeforeDue, live: true }));
    assert.equal(decision.status?.outcome, 'Canceled');
    assert.deepEqual(eventReasons(decision), ['Canceled']);
    assert.deepEqual(conditions(decision.status), {
      Accepted: 'True Armed',
      Ready: 'True Canceled',
      Launched: 'False Canceled',
      Complete: 'False Canceled',
      Failed: 'False Canceled',
    });
  });

  it('says what is true of one that is due, too, and held up', () => {
    const at = waiting();
    const refusal = { reason: 'PodRejected', message: 'exceeded quota: few' };
    const held = withStatus(at, decide(observing({ at, now: justAfterDue, refusal })).status);
    const { status } = decide(
      observing({ at: edited(held, { cancel: true }), now: justAfterDue, live: true }),
    );
    assert.equal(status?.message, 'canceled before its launch');
  });

  it('is no longer suspended then', () => {
    const held = withStatus(
      waiting({ suspend: true }),
      decide(observing({ at: waiting({ suspend: true }), now: longBeforeDue })).status,
    );
    assert.equal(condition(held.status, 'Suspended'), 'True Suspended');
    const { status } = decide(observing({ at: edited(held, { cancel: true }), live: true }));
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(condition(status, 'Suspended'), 'False Canceled');
  });

  it('stays not ready when its spec could not be run either', () => {
    const bad = waiting({ command: `'` });
    const at = edited(withStatus(bad, decide(observing({ at: bad })).status), { cancel: true });
    const { status } = decide(observing({ at, live: true }));
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(condition(status, 'Ready'), 'False InvalidCommand');
  });
});

describe('decide, RUNNING and canceled before a kubelet took the Pod', () => {
  it('is canceled for good once the operator has seen it', () => {
    const at = launched();
    const pod = created(at);
    const canceled = edited(at, { cancel: true });
    const noted = withStatus(canceled, decide(observing({ at: canceled, pod })).status);
    assert.equal(noted.status?.reason, 'Canceled');
    const back = edited(noted, { cancel: false });
    const looks = observing({ at: back, pod });
    const { actions, requeueAt } = decide(looks);
    assert.deepEqual(
      [actions.map(({ type }) => type), requeueAt],
      [['DeletePod'], looks.now + 10_000],
      'also where the watch never shows that Pod',
    );
    assert.equal(decide(observing({ at: back, live: true })).status?.outcome, 'Canceled');
  });
});

describe('decide, RUNNING in a Pod whose owner was taken away', () => {
  const run = launched({ disruptionPolicy: 'Retry', activeDeadlineSeconds: 30 });
  const pod = ownedBy(started(created(run)), undefined);
  for (const [what, spec, now, end] of [
    [
      'a cancel, also once it is taken back',
      { cancel: true },
      dueTime + 2 * second,
      ['Canceled', 'Canceled'],
    ],
    ['the deadline', {}, dueTime + 31 * second, ['Failed', 'DeadlineExceeded']],
  ] as const) {
    it(`tells ${what}, without a write of the Pod, and tries nothing again`, () => {
      const at = edited(run, spec);
      const seen = decide(observing({ at, pod, now }));
      assert.deepEqual([seen.actions, seen.status?.phase, seen.status?.reason], [[], 'RUNNING', end[1]]);
      const back = edited(withStatus(at, seen.status), { cancel: false });
      assert.equal(decide(observing({ at: back, pod, now })).status?.reason, end[1]);
      const gone = decide(observing({ at: back, now, live: true }));
      assert.deepEqual([gone.actions, gone.status?.outcome, gone.status?.reason], [[], ...end]);
    });
  }
});
