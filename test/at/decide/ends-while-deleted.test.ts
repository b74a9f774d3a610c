import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  failed,
  launched,
  observing,
  second,
  started,
  succeeded,
  terminating,
  withStatus,
} from '../../fixtures/at.ts';

const retry = { disruptionPolicy: 'Retry' } as const;
const deletionDue = dueTime + 30 * second;

describe('a run whose Pod others delete', () => {
  const at = launched({ ...retry, activeDeadlineSeconds: 20 });
  const pod = terminating(started(created(at)), deletionDue);
  const deadline = dueTime + 21 * second;

  it('is looked at when its deadline is over, and then once it should have gone', () => {
    const before = decide(observing({ at, pod, now: deadline - 1 }));
    assert.deepEqual([before.status?.reason, before.requeueAt], [undefined, deadline]);
    const then = decide(observing({ at, pod, now: deadline }));
    assert.deepEqual([then.status?.reason, then.requeueAt], ['DeadlineExceeded', deletionDue + 60_001]);
  });

  const noted = withStatus(at, decide(observing({ at, pod, now: deadline })).status);
  const canceled = edited(at, { cancel: true });
  const seen = withStatus(canceled, decide(observing({ at: canceled, pod, now: dueTime })).status);
  const takenBack = edited(seen, { cancel: false });
  for (const [what, shown, end] of [
    ['the deadline that passed meanwhile', noted, ['Failed', 'DeadlineExceeded']],
    ['a cancel, also one that is taken back', takenBack, ['Canceled', 'Canceled']],
  ] as const) {
    it(`ends by ${what}, whether its end is seen or not`, () => {
      for (const facts of [{ pod: terminating(failed(created(at), 143), deletionDue) }, { live: true }]) {
        const decision = decide(observing({ at: shown, now: deadline + second, ...facts }));
        assert.deepEqual([decision.status?.outcome, decision.status?.reason], end);
        assert.deepEqual(actionTypes(decision), [], 'no other attempt follows');
      }
    });

    it(`has succeeded all the same, in spite of ${what}`, () => {
      const ended = terminating(succeeded(created(at)), deletionDue);
      const { status } = decide(observing({ at: shown, pod: ended, now: deadline + second }));
      assert.equal(status?.outcome, 'Succeeded');
    });
  }
});
