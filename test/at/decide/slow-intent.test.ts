/** AtMostOnce: between the intent and its create the process may have been stopped, for any time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/at/decide/decide.ts';
import {
  actionTypes,
  dueTime,
  justAfterDue,
  observing,
  second,
  timeText,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

describe('decide, an intent that was written in this pass', () => {
  const intend = () => {
    const at = waiting({ launchGuarantee: 'AtMostOnce', backoffLimit: 0 });
    return withStatus(at, decide(observing({ at })).status);
  };
  const seen = (age: number) => ({ time: '2030-01-31T09:00:00.001Z', age });

  it('is renewed when it was written too slowly for its create', () => {
    const observed = { at: intend(), continued: true, now: justAfterDue + second };
    for (const intent of [seen(1000), seen(4999), { ...seen(0), time: timeText(dueTime) }]) {
      const decision = decide(observing({ ...observed, intent }));
      assert.deepEqual(decision.actions, []);
      assert.equal(decision.again, true);
      assert.equal(decision.status?.launchAttempt?.time, '2030-01-31T09:00:01.001Z');
    }
  });

  it('is given up when others may have done so meanwhile', () => {
    const observed = { at: intend(), continued: true, intent: seen(5000) };
    assert.deepEqual(actionTypes(decide(observing(observed))), ['ReadLive']);
    const end = decide(observing({ ...observed, live: true }));
    assert.deepEqual(end.actions, []);
    assert.equal(end.status?.reason, 'LaunchUnknown');
  });
});
