/** What status says of an At that ends without a Pod. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import {
  accepted,
  condition,
  decideInParts as decide,
  edited,
  eventReasons,
  longBeforeDue,
  observing,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

const past = { schedule: '2020-01-01T00:00:00Z', startingDeadlineSeconds: 60 };
const badZone = { schedule: '2031-02-01T00:00:00', timeZone: 'Mars/Olympus' };
const decided = (at: At) => withStatus(at, decide(observing({ at, now: longBeforeDue })).status);

describe('an At that ends without a Pod', () => {
  for (const [name, at, events] of [
    ['is new', waiting(past), ['MissedDeadline (W)']],
    ['was armed for another time', edited(accepted(), past), ['Rescheduled', 'MissedDeadline (W)']],
    [
      'could not be run',
      edited(decided(waiting(badZone)), {
        ...past,
        schedule: '2020-01-01T01:00:00',
        timeZone: 'Europe/Berlin',
      }),
      ['Rescheduled', 'MissedDeadline (W)'],
    ],
  ] as const) {
    it(`speaks of the spec that is missed, when it ${name}`, () => {
      const decision = decide(observing({ at, live: true }));
      const { status } = decision;
      assert.equal(status?.outcome, 'Missed');
      assert.equal(status?.observedGeneration, at.metadata.generation);
      assert.equal(status?.scheduledTime, '2020-01-01T00:00:00.000Z');
      assert.equal(condition(status, 'Accepted'), 'True Armed');
      assert.equal(condition(status, 'Ready'), 'False MissedDeadline');
      assert.equal(condition(status, 'Stalled'), 'True MissedDeadline');
      assert.deepEqual(eventReasons(decision), events);
    });
  }

  it('speaks of the spec that is canceled, when an edit has mended it', () => {
    const at = edited(decided(waiting(badZone)), { timeZone: 'Europe/Berlin', cancel: true });
    const { status } = decide(observing({ at, live: true }));
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(status?.scheduledTime, '2031-01-31T23:00:00.000Z');
    assert.equal(condition(status, 'Accepted'), 'True Armed');
    assert.equal(condition(status, 'Ready'), 'True Canceled');
    assert.equal(condition(status, 'Stalled'), undefined);
  });

  it('speaks of the spec that is canceled, when an edit has spoilt it', () => {
    const at = edited(accepted(), { ...badZone, cancel: true });
    const { status } = decide(observing({ at, live: true }));
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(status?.scheduledTime, undefined);
    assert.equal(condition(status, 'Accepted'), 'False InvalidTimeZone');
    assert.equal(condition(status, 'Ready'), 'False InvalidTimeZone');
    assert.equal(condition(status, 'Stalled'), 'True InvalidTimeZone');
  });
});
