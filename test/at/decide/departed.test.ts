/** The end of a run whose Pod went away before the turn of its At: what the watch has shown is never lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionTypes,
  crashLooping,
  created,
  decideInParts as decide,
  dueTime,
  evicted,
  failed,
  justAfterDue,
  launched,
  longBeforeDue,
  observing,
  ownedBy,
  started,
  succeeded,
  targeted,
  terminating,
  waiting,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const retried = { disruptionPolicy: 'Retry' } as const;

function stopped(pod: Pod, reason: string): Pod {
  const annotations = { ...pod.metadata.annotations, 'cnat.programming-kubernetes.info/stop-reason': reason };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function endOf(o: Partial<Observed>): string {
  const decision = decide(observing(o));
  if (decision.need !== undefined) return `need ${decision.need}`;
  const { phase, outcome, reason } = decision.status ?? {};
  return [...actionTypes(decision), phase, outcome, reason].filter(Boolean).join(' ');
}

describe('decide, about a Pod that is gone', () => {
  const at = launched(retried);
  const pod = created(at);

  it('takes the end that the watch has shown, without another look, and runs nothing again', () => {
    assert.equal(endOf({ at, departed: [terminating(succeeded(pod), dueTime)] }), 'DONE Succeeded Succeeded');
    assert.equal(endOf({ at, departed: [failed(pod)] }), 'DONE Failed CommandFailed');
    const stop = stopped(failed(pod), 'BackoffLimitExceeded');
    assert.equal(endOf({ at, departed: [stop] }), 'DONE Failed BackoffLimitExceeded');
    const podUID = 'pod-uid-2';
    const again = withStatus(at, { ...at.status, attempts: 2, podName: 'example-at-pod-2', podUID });
    const departed = [evicted(created(at, justAfterDue, 2))];
    assert.equal(endOf({ at: again, departed }), 'RUNNING Evicted', 'while the next attempt waits');
    // Only before that is created, the API server is asked.
    assert.equal(endOf({ at, departed: [evicted(pod)] }), 'need pods');
    assert.equal(endOf({ at, departed: [evicted(pod)], live: true }), 'CreatePod');
  });

  for (const [what, last, ends] of [
    ['a stop', stopped(started(pod), 'BackoffLimitExceeded'), 'DONE Failed BackoffLimitExceeded'],
    ['an eviction', targeted(started(pod)), 'CreatePod'],
    ['nothing', started(pod), 'CreatePod'],
  ] as const) {
    it(`asks the API server first when the watch has shown ${what} and no end`, () => {
      assert.equal(endOf({ at, departed: [last] }), 'need pods');
      assert.equal(endOf({ at, departed: [last], live: true }), ends);
      assert.notEqual(endOf({ at, departed: [last], pod: last, live: true }), ends, 'and it is there');
    });
  }

  it('takes a command that failed just before its Pod was deleted for one that failed', () => {
    const ended = failed(pod);
    // Of the end and the deletion alone it cannot be told which came first: clocks of nodes differ.
    const deleted = terminating(ended, dueTime + 32_500);
    assert.equal(endOf({ at, departed: [deleted], live: true }), 'CreatePod');
    assert.equal(endOf({ at, departed: [ended] }), 'DONE Failed CommandFailed');
    const held = observing({ at, pod: deleted, departed: [ended] });
    assert.equal(endOf(held), 'DONE Failed CommandFailed');
  });

  it('tells an eviction apart from a loss', () => {
    const once = launched();
    const departed = [targeted(started(created(once)))];
    assert.equal(endOf({ at: once, departed, live: true }), 'DONE Failed Evicted');
  });

  it('tells the end of a launch that status does not show yet', () => {
    const at = waiting();
    const { status } = decide(observing({ at, departed: [succeeded(created(at))] }));
    assert.deepEqual([status?.outcome, status?.podUID], ['Succeeded', 'pod-uid-1']);
    const gone = succeeded(created(launched(retried), justAfterDue, 2));
    const again = launched(retried);
    const second = decide(observing({ at: again, pod: evicted(created(again)), departed: [gone] }));
    assert.deepEqual([second.status?.outcome, second.status?.attempts], ['Succeeded', 2]);
  });
});

describe('decide, about a Pod that was shown before status records it', () => {
  const at = waiting();
  const pod = started(created(at));

  it('calls it lost where it is gone, with the time of its creation, and does not create it a second time', () => {
    assert.equal(endOf({ at, departed: [pod] }), 'need pods');
    const now = dueTime + 600_000;
    const { status } = decide(observing({ at, departed: [pod], live: true, now }));
    assert.deepEqual([status?.reason, status?.podUID], ['PodLost', 'pod-uid-1']);
    assert.equal(status?.launchTime, '2030-01-31T09:00:00.000Z');
  });

  it('takes it for the run, and stops the Pod that a late create has brought at its name', () => {
    const late = { ...pod, metadata: { ...pod.metadata, uid: 'late-uid' } };
    const o = observing({ at, pod: late, departed: [succeeded(created(at))] });
    const { actions, status } = decide(o);
    assert.deepEqual([status?.phase, status?.outcome, status?.podUID], ['DONE', 'Succeeded', 'pod-uid-1']);
    assert.deepEqual(
      actions.map((action) => [action.type, 'body' in action && (action.body as Pod).metadata.uid]),
      [['PatchPod', 'late-uid']],
    );
    const again = decide({ ...o, departed: [pod, late], live: true });
    assert.deepEqual([again.status?.reason, again.status?.podUID], ['PodLost', 'pod-uid-1']);
  });

  it('takes a podUID beside no attempt for no launch: a user has written it', () => {
    const forged = withStatus(waiting({ ...retried, suspend: true }), { podUID: 'forged' });
    assert.match(endOf({ at: forged, live: true, now: longBeforeDue }), /^PENDING/);
  });

  it('goes on with the next attempt under Retry, also where the lost one is no first one', () => {
    const first = waiting(retried);
    assert.equal(endOf({ at: first, departed: [started(created(first))], live: true }), 'CreatePod RUNNING');
    const again = launched(retried);
    const second = started(created(again, justAfterDue, 2));
    const o = observing({ at: again, pod: evicted(created(again)), departed: [second], live: true });
    assert.equal(decide(o).status?.attempts, 2);
  });

  it('follows it to its end where its owner was taken away, and writes it no more', () => {
    const taken = (one: Pod) => ownedBy(one, undefined);
    const decision = decide(observing({ at, pod: taken(pod), departed: [pod] }));
    assert.deepEqual(actionTypes(decision), []);
    assert.deepEqual([decision.status?.phase, decision.status?.podUID], ['RUNNING', 'pod-uid-1']);
    const ended = taken(succeeded(pod));
    assert.equal(endOf({ at, pod: ended, departed: [pod] }), 'DONE Succeeded Succeeded');
    assert.equal(endOf({ at, departed: [ended] }), 'DONE Succeeded Succeeded');
  });

  it('takes no Pod for its own of which that was never shown', () => {
    const { status } = decide(observing({ at, pod: ownedBy(pod, undefined), live: true }));
    assert.deepEqual([status?.phase, status?.reason], ['PENDING', 'PodNameConflict']);
  });
});

describe('decide, about a Pod that goes away', () => {
  const at = launched(retried);
  const going = (pod: Pod) => terminating(started(pod), dueTime + 30_000);

  it('writes why into status before it is gone', () => {
    const pod = going(stopped(created(at), 'BackoffLimitExceeded'));
    const { status } = decide(observing({ at, pod }));
    assert.deepEqual([status?.phase, status?.reason], ['RUNNING', 'BackoffLimitExceeded']);
    assert.equal(endOf({ at: withStatus(at, status), live: true }), 'DONE Failed BackoffLimitExceeded');
  });

  it('writes that it is evicted, and runs again when it is', () => {
    const pod = targeted(going(created(at)));
    const next = withStatus(at, decide(observing({ at, pod })).status);
    assert.equal(next.status?.reason, 'Evicted');
    assert.equal(endOf({ at: next, live: true }), 'CreatePod');
    const ended = terminating(targeted(failed(created(at), 143)), dueTime + 30_000);
    assert.equal(endOf({ at: next, pod: ended, live: true }), 'CreatePod');
    assert.equal(endOf({ at: next, pod: succeeded(created(at)) }), 'DONE Succeeded Succeeded');
    const once = { ...next, spec: { ...next.spec, disruptionPolicy: 'Fail' as const } };
    assert.equal(endOf({ at: once, live: true }), 'DONE Failed Evicted');
  });
});

describe('decide, about the reason that status notes before the Pod goes', () => {
  const noted = (at: At, reason: string, exitCode: number) =>
    withStatus(at, { ...at.status, reason, exitCode });

  it('keeps a success, whatever is canceled since', () => {
    const at = noted(launched({ cancel: true }), 'Succeeded', 0);
    assert.equal(endOf({ at, live: true }), 'DONE Succeeded Succeeded');
  });

  it('tries nothing again for which backoffLimit was exceeded, also where its Pod shows a deletion', () => {
    const at = noted(launched(retried), 'BackoffLimitExceeded', 3);
    const pod = terminating(failed(started(created(at))), dueTime + 60_000);
    assert.equal(endOf({ at, pod, live: true }), 'DONE Failed BackoffLimitExceeded');
  });
});

describe('decide, about a Pod that is drained long after its command failed', () => {
  const at = launched({ ...retried, backoffLimit: 0 });
  const end = failed(created(at));
  const hourLater = dueTime + 3_600_000;
  const drainedOf = (pod: Pod) => terminating(targeted(pod, hourLater), hourLater + 30_000);
  const drained = drainedOf(end);

  it('takes the failure for the end, and runs nothing again', () => {
    assert.equal(endOf({ at, pod: drained, live: true }), 'DONE Failed CommandFailed');
    assert.equal(endOf({ at, departed: [drained], live: true }), 'DONE Failed CommandFailed');
    const once = launched({ backoffLimit: 0 });
    const ofOnce = terminating(targeted(failed(created(once)), hourLater), hourLater + 30_000);
    const { status } = decide(observing({ at: once, pod: ofOnce, live: true }));
    assert.deepEqual([status?.reason, status?.exitCode], ['CommandFailed', 3]);
  });

  it('goes by what the watch has shown before, also where the clock of the node is ahead', () => {
    const pod = terminating(targeted(end, dueTime), dueTime + 30_000);
    assert.equal(endOf({ at, pod, live: true }), 'CreatePod', 'it seems to have ended after its eviction');
    assert.equal(endOf({ at, pod, departed: [end], live: true }), 'DONE Failed CommandFailed');
  });

  it('takes the deadline for the end of a Pod that has reached it, also one that would have been started again', () => {
    const limited = launched({ ...retried, activeDeadlineSeconds: 60 });
    const late = { phase: 'Failed', reason: 'DeadlineExceeded' } as const;
    const reached = withPodStatus(failed(created(limited), 137), late);
    for (const pod of [drainedOf(reached), terminating(reached, hourLater + 30_000)]) {
      assert.equal(endOf({ at: limited, pod, live: true }), 'DONE Failed DeadlineExceeded');
    }
  });

  it('takes the failure of an init container for the end', () => {
    const { status } = failed(created(at), 1);
    const initContainerStatuses = (status?.containerStatuses ?? []).map((one) => ({ ...one, name: 'init' }));
    const pod = withPodStatus(created(at), { phase: 'Failed', initContainerStatuses });
    for (const gone of [drainedOf(pod), terminating(pod, hourLater + 30_000)]) {
      assert.equal(endOf({ at, pod: gone, live: true }), 'DONE Failed CommandFailed');
    }
  });

  it('takes a command that was between two starts for disrupted', () => {
    const patient = launched({ ...retried, backoffLimit: 6 });
    const pod = crashLooping(created(patient), 2);
    const gone = terminating(withPodStatus(targeted(pod, hourLater), { phase: 'Failed' }), hourLater);
    assert.equal(endOf({ at: patient, pod: gone, live: true }), 'CreatePod');
  });
});
