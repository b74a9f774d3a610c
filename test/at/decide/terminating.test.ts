/** An At that is being deleted and that a finalizer still holds: nothing begins, and what is under way is followed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec } from '../../../src/api/at.generated.ts';
import {
  actionOf,
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  effectTypes,
  eventReasons,
  evicted,
  launched,
  observing,
  ownedBy,
  patched,
  second,
  started,
  succeeded,
  terminating,
  timeText,
  waiting,
} from '../../fixtures/at.ts';

function deleted(at: At, finalizer = 'example.com/hold'): At {
  const metadata = { ...at.metadata, deletionTimestamp: timeText(dueTime), finalizers: [finalizer] };
  return { ...at, metadata };
}

const running = (spec: Partial<AtSpec> = {}) => deleted(launched(spec));

describe('decide, an At that is being deleted', () => {
  it('does not launch', () => assert.deepEqual(effectTypes(observing({ at: deleted(waiting()) })), []));

  it('records the end of its run, and tries it no more', () => {
    const at = running({ disruptionPolicy: 'Retry' });
    const lost = decide(observing({ at, pod: evicted(created(at)) }));
    assert.deepEqual([lost.actions, lost.status?.phase, lost.status?.reason], [[], 'DONE', 'Evicted']);
    assert.equal(decide(observing({ at, pod: succeeded(created(at)) })).status?.outcome, 'Succeeded');
    assert.equal(decide(observing({ at, live: true })).status?.reason, 'PodLost');
  });

  const stops: readonly { readonly why: string; readonly spec: Partial<AtSpec>; readonly now: number }[] = [
    { why: 'Canceled', spec: { cancel: true }, now: dueTime + 2 * second },
    { why: 'DeadlineExceeded', spec: { activeDeadlineSeconds: 30 }, now: dueTime + 31 * second },
  ];
  for (const { why, spec, now } of stops) {
    it(`stops what runs, ${why}`, () => {
      const at = running(spec);
      const pod = started(created(at));
      const stopped = patched(pod, actionOf(decide(observing({ at, pod, now })), 'PatchPod'));
      assert.equal(stopped.metadata.annotations?.['cnat.programming-kubernetes.info/stop-reason'], why);
    });
  }

  it('releases no Pod that is gated, and lets it go', () => {
    const at = deleted(launched({ launchGuarantee: 'ExactlyOnce' }));
    const gated = decide(observing({ at, pod: created(at) }));
    assert.deepEqual([actionTypes(gated), gated.events], [['UntrackPod'], []]);
    const retried = deleted(launched({ launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' }));
    const nextPod = created(retried, dueTime, 2);
    const next = decide(observing({ at: retried, pod: evicted(created(retried)), nextPod }));
    assert.deepEqual(actionTypes(next).toSorted(), ['DeletePod', 'UntrackPod', 'UntrackPod']);
  });

  it('says nothing of a Pod that the garbage collector deletes with it', () => {
    const at = deleted(launched(), 'foregroundDeletion');
    const pod = started(created(at));
    const going = evicted(terminating(pod, dueTime + 30 * second));
    for (const seen of [{ pod: terminating(pod, dueTime + 30 * second) }, { pod: going }, { live: true }]) {
      assert.deepEqual(eventReasons(decide(observing({ at, ...seen }))), []);
      assert.notEqual(decide(observing({ at, ...seen })).status?.phase, 'DONE');
    }
  });

  it('touches no Pod of another owner', () => {
    const at = running({ cancel: true });
    assert.deepEqual(decide(observing({ at, pod: ownedBy(started(created(at)), 'other') })).actions, []);
  });
});
