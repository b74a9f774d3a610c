/** AtMostOnce: between the intent and its create the process may have been stopped, for any time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/at/decide/decide.ts';
import { retryPriority } from '../../../src/at/decide/decision.ts';
import {
  actionOf,
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

  const rows = [
    { age: 0, sendWithin: 1000, serverTimeout: 4000 },
    { age: 500, sendWithin: 500, serverTimeout: 4000 },
    { age: 501, sendWithin: 500, serverTimeout: 3999 },
    { age: 1200.75, sendWithin: 500.25, serverTimeout: 3299 },
    { age: 2000, sendWithin: 500, serverTimeout: 2500 },
    { age: 2250, sendWithin: 500, serverTimeout: 2250 },
  ];
  for (const { age, ...limits } of rows) {
    it(`leaves its create what 5 s have left after ${age} ms`, () => {
      const decision = decide(observing({ at: intend(), continued: true, intent: seen(age) }));
      assert.deepEqual(actionOf(decision, 'CreatePod').limits, limits);
      assert.equal(age + limits.sendWithin + limits.serverTimeout, 5000);
    });
  }

  it('is left alone for a while when it was written too slowly for its create', () => {
    const observed = { at: intend(), continued: true, now: justAfterDue + second };
    for (const intent of [seen(2251), seen(4999), { ...seen(0), time: timeText(dueTime) }]) {
      const decision = decide(observing({ ...observed, intent }));
      assert.deepEqual(decision, { actions: [], events: [], tooSlow: true, priority: retryPriority });
    }
  });

  it('is not renewed before its wait is over, whatever wakes it', () => {
    const paused = decide(observing({ at: intend(), pause: 700 }));
    assert.deepEqual(paused, { actions: [], events: [], requeueAfter: 700, priority: retryPriority });
    assert.equal(decide(observing({ at: intend(), pause: 0 })).again, true);
  });

  it('is given up when others may have done so meanwhile', () => {
    const observed = { at: intend(), continued: true, intent: seen(5000) };
    assert.deepEqual(actionTypes(decide(observing(observed))), ['ReadLive']);
    const end = decide(observing({ ...observed, live: true }));
    assert.deepEqual(end.actions, []);
    assert.equal(end.status?.reason, 'LaunchUnknown');
  });
});
