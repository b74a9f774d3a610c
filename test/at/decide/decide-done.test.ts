import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  actionTypes,
  condition,
  conditions,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  finished,
  observing,
  second,
  succeeded,
  waiting,
  withStatus,
} from '../../fixtures/at.ts';

describe('decide, DONE', () => {
  it('does nothing more', () => {
    const at = finished();
    const decision = decide(observing({ at, pod: succeeded(created(at)), now: dueTime + 1e9 }));
    assert.deepEqual(decision.actions, []);
    assert.deepEqual(decision.events, []);
    assert.deepEqual(decision.status, at.status);
    assert.equal(decision.requeueAt, undefined);
  });

  it('does not mind that its Pod is gone', () => {
    const at = finished();
    assert.deepEqual(decide(observing({ at })).status, at.status);
  });

  it('takes an edit, says that it comes too late, and stays what it is', () => {
    const at = finished();
    const { status, actions, events } = decide(observing({ at: edited(at, { command: 'echo NO' }) }));
    assert.deepEqual([actions, events], [[], []]);
    const { conditions: before, ...rest } = at.status ?? {};
    const { conditions: after, ...seen } = status ?? {};
    assert.deepEqual(seen, { ...rest, observedGeneration: 2 });
    assert.deepEqual(conditions(status), { ...conditions(at.status), Accepted: 'True EditedTooLate' });
    assert.ok(before !== undefined && after?.every(({ observedGeneration }) => observedGeneration === 2));
    assert.deepEqual(decide(observing({ at: withStatus(edited(at, {}), status) })).status, status);
  });

  it('of an edit that mends a spec that could not be run changes nothing', () => {
    const at = waiting({ command: 'echo "', cancel: true });
    const done = withStatus(at, decide(observing({ at, live: true })).status);
    assert.equal(done.status?.phase, 'DONE');
    const { status } = decide(observing({ at: edited(done, { command: 'echo', cancel: false }) }));
    assert.equal(condition(status, 'Accepted'), 'False InvalidCommand');
    assert.equal(status?.outcome, 'Canceled');
  });
});

describe('decide, DONE with ttlSecondsAfterFinished', () => {
  const at = finished({ ttlSecondsAfterFinished: 60 });
  // The command ended at 09:00:02; status told it at once, of which a condition keeps whole seconds.
  const expiry = dueTime + 62 * second + 999;

  it('waits for its end', () => {
    const decision = decide(observing({ at, now: expiry - 1 }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAt, expiry);
  });

  it('counts from the time at which DONE was written when that is later', () => {
    const conditions = (at.status?.conditions ?? []).map((condition) => ({
      ...condition,
      lastTransitionTime: '2030-01-31T10:00:00Z',
    }));
    const late = withStatus(at, { ...at.status, conditions });
    assert.equal(
      decide(observing({ at: late, now: expiry })).requeueAt,
      dueTime + 3_600_000 + 999 + 60 * second,
    );
  });

  it('reads the At again before it deletes it', () => {
    assert.equal(decide(observing({ at, now: expiry })).need, 'at');
  });

  it('deletes exactly the At that was read', () => {
    assert.deepEqual(decide(observing({ at, now: expiry, live: true })).actions, [
      { type: 'DeleteAt', namespace: 'default', name: 'example-at', uid: 'at-uid', resourceVersion: '10' },
    ]);
  });

  it('keeps an At whose time to live is no number', () => {
    const done = finished();
    const at = { ...done, spec: { ...done.spec, ttlSecondsAfterFinished: 'soon' as unknown as number } };
    const decision = decide(observing({ at, now: dueTime + 365 * 86_400_000, live: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAt, undefined);
  });

  it('deletes at once with 0', () => {
    const now = finished({ ttlSecondsAfterFinished: 0 });
    assert.deepEqual(actionTypes(decide(observing({ at: now, now: dueTime + 3 * second, live: true }))), [
      'DeleteAt',
    ]);
  });
});
