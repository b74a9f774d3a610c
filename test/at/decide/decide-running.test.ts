import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { podUidLabel } from '../../../src/at/plan/pod.ts';
import {
  accepted,
  actionOf,
  actionTypes,
  conditions,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  eventReasons,
  evicted,
  exited,
  failed,
  inState,
  justAfterDue,
  launched,
  observing,
  ownedBy,
  second,
  started,
  succeeded,
  targeted,
  terminating,
  timeText,
  waiting,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const retrying = { disruptionPolicy: 'Retry' } as const;

describe('decide, from launch to RUNNING', () => {
  it('writes the launch when the Pod is seen, with the time at which its 201 arrived', () => {
    const at = accepted();
    const launchTime = dueTime + 12;
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime };
    const decision = decide(observing({ at, pod: created(at), launch, now: dueTime + 20 }));
    assert.equal(decision.status?.phase, 'RUNNING');
    assert.equal(decision.status?.podName, 'example-at-pod');
    assert.equal(decision.status?.podUID, 'pod-uid-1');
    assert.equal(decision.status?.attempts, 1);
    assert.equal(decision.status?.launchTime, '2030-01-31T09:00:00.012Z');
    assert.equal(decision.status?.latenessMilliseconds, 12);
    assert.equal(decision.status?.reason, undefined);
    assert.deepEqual(eventReasons(decision), ['Launched']);
    assert.deepEqual(conditions(decision.status), {
      Accepted: 'True Armed',
      Ready: 'True Launched',
      Launched: 'True Launched',
    });
  });

  it('is never negatively late', () => {
    const at = accepted();
    const pod = created(at, dueTime);
    const early = { ...pod, metadata: { ...pod.metadata, creationTimestamp: timeText(dueTime - second) } };
    assert.equal(decide(observing({ at, pod: early })).status?.latenessMilliseconds, 0);
  });

  it('skips RUNNING when the Pod has ended already', () => {
    const at = waiting();
    const decision = decide(observing({ at, pod: succeeded(created(at)) }));
    assert.equal(decision.status?.phase, 'DONE');
    assert.equal(decision.status?.podUID, 'pod-uid-1');
    assert.deepEqual(eventReasons(decision), ['Launched', 'Completed']);
  });

  it('warns of an operator in a command that was due before it was accepted', () => {
    const at = waiting({ command: 'echo a; echo b' });
    const decision = decide(observing({ at, pod: created(at) }));
    assert.deepEqual(eventReasons(decision), ['ShellOperator (W)', 'Launched']);
  });

  it('writes nothing the second time (B12)', () => {
    const at = launched();
    const decision = decide(observing({ at, pod: created(at) }));
    assert.deepEqual(decision.actions, []);
    assert.deepEqual(decision.events, []);
    assert.deepEqual(decision.status, at.status);
  });

  it('raises observedGeneration, everywhere, for an edit without effect', () => {
    const at = launched();
    const pod = created(at);
    assert.deepEqual(decide(observing({ at: edited(at, { suspend: true }), pod })).status, {
      ...at.status,
      observedGeneration: 2,
      conditions: at.status?.conditions?.map((condition) => ({ ...condition, observedGeneration: 2 })),
    });
  });
});

describe('decide, startTime', () => {
  it('is left to the end when the command starts soon', () => {
    const at = launched();
    assert.equal(decide(observing({ at, pod: started(created(at)) })).status?.startTime, undefined);
  });

  it('is written when the command starts late', () => {
    const at = launched();
    const pod = started(created(at), dueTime + 60 * second);
    assert.equal(
      decide(observing({ at, pod, now: dueTime + 61 * second })).status?.startTime,
      '2030-01-31T09:01:00.000Z',
    );
  });

  it('counts as late 10 s after the launch', () => {
    const at = launched({}, dueTime);
    const startTimeAfter = (ms: number) =>
      decide(observing({ at, pod: started(created(at), dueTime + ms), now: dueTime + ms })).status?.startTime;
    assert.equal(startTimeAfter(10 * second), undefined);
    assert.equal(startTimeAfter(11 * second), '2030-01-31T09:00:11.000Z');
  });

  it('counts as late 10 s after the launch of this very attempt', () => {
    const first = launched({ disruptionPolicy: 'Retry' }, dueTime);
    const at = withStatus(first, { ...first.status, attempts: 2, podUID: 'pod-uid-2' });
    const begun = dueTime + 60 * second;
    const startTimeAfter = (ms: number) => {
      const pod = started(created(at, begun, 2), begun + ms);
      return decide(observing({ at, pod, now: begun + ms })).status?.startTime;
    };
    assert.equal(startTimeAfter(10 * second), undefined);
    assert.equal(startTimeAfter(11 * second), '2030-01-31T09:01:11.000Z');
  });

  it('is written when a deadline counts from it', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const decision = decide(observing({ at, pod: started(created(at)), now: dueTime + second }));
    assert.equal(decision.status?.startTime, '2030-01-31T09:00:01.000Z');
    assert.equal(decision.requeueAt, dueTime + 31 * second);
  });

  it('is that of the Pod when restarts have made it unknown', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const pod = inState(
      created(at),
      { running: { startedAt: timeText(dueTime + 99 * second) } },
      2,
      exited(1),
    );
    assert.equal(decide(observing({ at, pod })).status?.startTime, '2030-01-31T09:00:00.000Z');
  });
});

describe('decide, the end of the Pod (B3)', () => {
  it('is Succeeded with exit code 0', () => {
    const at = launched();
    const decision = decide(observing({ at, pod: succeeded(created(at)), now: dueTime + 3 * second }));
    const { status } = decision;
    assert.equal(status?.phase, 'DONE');
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.exitCode, 0);
    assert.equal(status?.restarts, 0);
    assert.equal(status?.startTime, '2030-01-31T09:00:01.000Z');
    assert.equal(status?.completionTime, '2030-01-31T09:00:02.000Z');
    assert.deepEqual(eventReasons(decision), ['Completed']);
    assert.deepEqual(conditions(status), {
      Accepted: 'True Armed',
      Ready: 'True Succeeded',
      Launched: 'True Launched',
      Complete: 'True Succeeded',
      Failed: 'False Succeeded',
    });
  });

  it('is Failed with the exit code and the words of the command', () => {
    const at = launched({ backoffLimit: 0 });
    const decision = decide(observing({ at, pod: failed(created(at), 3, 'no such table\n') }));
    const { status } = decision;
    assert.equal(status?.outcome, 'Failed');
    assert.equal(status?.reason, 'CommandFailed');
    assert.equal(status?.exitCode, 3);
    assert.equal(status?.message, 'no such table');
    assert.deepEqual(eventReasons(decision), ['Failed (W)']);
    assert.equal(decision.events[0]?.note, 'CommandFailed, exit code 3');
    assert.doesNotMatch(JSON.stringify(decision.events), /table/, 'output stays in the status');
    assert.deepEqual(conditions(status), {
      Accepted: 'True Armed',
      Ready: 'False CommandFailed',
      Launched: 'True Launched',
      Stalled: 'True CommandFailed',
      Complete: 'False CommandFailed',
      Failed: 'True CommandFailed',
    });
  });

  it('counts the restarts', () => {
    const at = launched();
    const pod = withPodStatus(inState(created(at), exited(0), 2, exited(1)), { phase: 'Succeeded' });
    assert.equal(decide(observing({ at, pod })).status?.restarts, 2);
  });

  it('names memory as the cause when the kernel says so', () => {
    const at = launched({ backoffLimit: 0 });
    const pod = withPodStatus(inState(created(at), { terminated: { exitCode: 137, reason: 'OOMKilled' } }), {
      phase: 'Failed',
    });
    assert.equal(decide(observing({ at, pod })).status?.message, 'OOMKilled');
  });

  it('takes a Pod that its backstop has ended for DeadlineExceeded', () => {
    const at = launched({ activeDeadlineSeconds: 5 });
    const pod = withPodStatus(failed(created(at), 137), { reason: 'DeadlineExceeded' });
    assert.equal(decide(observing({ at, pod })).status?.reason, 'DeadlineExceeded');
  });
});

describe('decide, disruption with policy Fail', () => {
  const at = launched();
  const rows = [
    { name: 'evicted', pod: evicted(created(at)), reason: 'Evicted' },
    ...[
      'Evicted',
      'Preempting',
      'NodeLost',
      'Terminated',
      'NodeAffinity',
      'UnexpectedAdmissionError',
      'OutOfcpu',
      'OutOfpods',
    ].map((word) => ({
      name: `ended with the reason ${word}`,
      pod: withPodStatus(created(at), { phase: 'Failed', reason: word }),
      reason: 'Evicted',
    })),
    {
      name: 'failed while it was deleted',
      pod: terminating(failed(created(at), 137), dueTime + 30 * second),
      reason: 'PodLost',
    },
  ];
  for (const { name, pod, reason } of rows) {
    it(`ends as ${reason} when the Pod was ${name}`, () => {
      const { status } = decide(observing({ at, pod }));
      assert.equal(status?.outcome, 'Failed');
      assert.equal(status?.reason, reason);
    });
  }

  it('is Succeeded all the same when the command had ended with 0', () => {
    const pod = terminating(withPodStatus(inState(created(at), exited(0)), { phase: 'Failed' }), dueTime);
    assert.equal(decide(observing({ at, pod })).status?.outcome, 'Succeeded');
  });

  it('never runs the command of a lost Pod again (B6)', () => {
    assert.equal(decide(observing({ at })).need, 'pods');
    const decision = decide(observing({ at, live: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.reason, 'PodLost');
    assert.equal(decision.status?.podUID, 'pod-uid-1');
  });

  it('takes a Pod of the same name with another uid for no Pod of this run (B5)', () => {
    const other = { ...created(at), metadata: { ...created(at).metadata, uid: 'other-uid' } };
    assert.equal(decide(observing({ at, pod: other, live: true })).status?.reason, 'PodLost');
  });

  it('records a launch that only memory knows before it says that the Pod is lost', () => {
    const launch = { attempt: 1, podName: 'example-at-pod', podUID: 'pod-uid-1', launchTime: justAfterDue };
    const observed = { at: accepted(), launch, live: true };
    const { locks, actions, status } = decide(observing(observed));
    assert.deepEqual(
      locks.map(({ phase, podUID }) => [phase, podUID]),
      [['RUNNING', 'pod-uid-1']],
    );
    assert.deepEqual(actions, []);
    assert.equal(status?.reason, 'PodLost');
    const second = decide(observing({ ...observed, at: withStatus(accepted(), locks[0]) }));
    assert.deepEqual([second.locks, second.status?.reason], [[], 'PodLost']);
  });
});

describe('decide, disruption with policy Retry', () => {
  const at = launched(retrying);

  it('creates the next Pod, under the next name', () => {
    const decision = decide(observing({ at, pod: evicted(created(at)), live: true }));
    const { pod, attempt } = actionOf(decision, 'CreatePod');
    assert.equal(pod.metadata.name, 'example-at-pod-2');
    assert.equal(attempt, 2);
  });

  it('does so for a Pod that is gone, once the API server says so', () => {
    assert.equal(decide(observing({ at })).need, 'pods');
    assert.deepEqual(actionTypes(decide(observing({ at, live: true }))), ['CreatePod']);
  });

  it('goes on with the next Pod when that is there', () => {
    const pod = withPodStatus(inState(created(at), exited(137), 2, exited(1)), {
      phase: 'Failed',
      reason: 'Evicted',
    });
    const nextPod = created(at, dueTime + 60 * second, 2);
    const decision = decide(observing({ at, pod, nextPod }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.attempts, 2);
    assert.equal(decision.status?.podUID, 'pod-uid-2');
    assert.equal(decision.status?.restarts, 2);
    assert.equal(decision.status?.launchTime, '2030-01-31T09:01:00.000Z');
    assert.equal(decision.status?.latenessMilliseconds, at.status?.latenessMilliseconds);
    assert.deepEqual(eventReasons(decision), ['Disrupted (W)', 'Launched']);
  });

  it('gives up after ten attempts, with the last reason', () => {
    const tenth = withStatus(at, { ...at.status, attempts: 10, podUID: 'pod-uid-10' });
    const decision = decide(observing({ at: tenth, pod: evicted(created(at, dueTime, 10)) }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.reason, 'Evicted');
  });

  it('gives up when an edit before the first status has made the spec impossible, with the last reason', () => {
    const spoiled = { ...at, spec: { ...at.spec, command: `'` } };
    const { actions, status } = decide(observing({ at: spoiled, pod: evicted(created(at)) }));
    assert.deepEqual(actions, []);
    assert.deepEqual(
      [status?.reason, status?.message],
      ['Evicted', 'command has a quote that is never closed'],
    );
  });

  it('does not wait for a starting deadline', () => {
    const late = launched({ ...retrying, startingDeadlineSeconds: 1 });
    const now = dueTime + 60 * second;
    const decision = decide(observing({ at: late, pod: evicted(created(late)), now, live: true }));
    assert.deepEqual(actionTypes(decision), ['CreatePod']);
  });

  const rows: { name: string; spec: Partial<AtSpec>; reason: string }[] = [
    { name: 'a command that fails', spec: { ...retrying, backoffLimit: 0 }, reason: 'CommandFailed' },
  ];
  for (const { name, spec, reason } of rows) {
    it(`does not repeat ${name}`, () => {
      const once = launched(spec);
      const decision = decide(observing({ at: once, pod: failed(created(once)) }));
      assert.deepEqual(decision.actions, []);
      assert.equal(decision.status?.reason, reason);
    });
  }

  it('does not repeat what was canceled', () => {
    const canceled = { ...at, spec: { ...at.spec, cancel: true } };
    const decision = decide(observing({ at: canceled, pod: evicted(created(at)) }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.outcome, 'Canceled');
  });

  it('waits while the API server rejects the next Pod', () => {
    const observed = {
      at,
      pod: evicted(created(at)),
      refusal: { reason: 'PodRejected', message: 'quota' },
      retryDelay: 500,
    };
    const decision = decide(observing(observed));
    assert.deepEqual(eventReasons(decision), ['Disrupted (W)', 'PodRejected (W)']);
    assert.equal(decision.status?.history?.length, 1);
    assert.equal(decision.requeueAfter, 500);
  });
});

describe('decide, a Pod that a user deletes', () => {
  const at = launched(retrying);
  const deletionDue = dueTime + 30 * second;
  const pod = terminating(started(created(at)), deletionDue);

  it('is waited for', () => {
    const decision = decide(observing({ at, pod, now: deletionDue }));
    assert.deepEqual(decision.actions, []);
    assert.deepEqual(decision.status, at.status);
    assert.equal(decision.requeueAt, deletionDue + 60 * second + 1);
  });

  it('is waited for a minute longer', () => {
    const decision = decide(observing({ at, pod, now: deletionDue + 60 * second }));
    assert.deepEqual(decision.events, []);
    assert.deepEqual(decision.status, at.status);
  });

  it('is called stuck once, when it is still there a minute too late', () => {
    const now = deletionDue + 60 * second + 1;
    const decision = decide(observing({ at, pod, now }));
    assert.deepEqual(eventReasons(decision), ['PodStuck (W)']);
    assert.equal(decision.status?.phase, 'RUNNING');
    assert.equal(decision.status?.reason, 'PodUnreachable');
    const again = decide(observing({ at: withStatus(at, decision.status), pod, now }));
    assert.deepEqual(again.events, []);
    assert.deepEqual(again.actions, []);
    assert.deepEqual(again.status, decision.status);
  });

  it('is called stuck, too, when this operator has deleted it, and the cause stays', () => {
    const now = deletionDue + 60 * second + 1;
    const doomed = withStatus(at, { ...at.status, reason: 'DeadlineExceeded' });
    const decision = decide(observing({ at: doomed, pod, now }));
    assert.deepEqual(eventReasons(decision), ['PodStuck (W)']);
    assert.equal(decision.status?.reason, 'DeadlineExceeded');
    const stuck = withStatus(at, decision.status);
    assert.deepEqual(eventReasons(decide(observing({ at: stuck, pod, now }))), []);
    assert.equal(decide(observing({ at: stuck, live: true })).status?.reason, 'DeadlineExceeded');
  });
});

describe('decide, a Pod whose ownerReference a user took away', () => {
  const at = { ...launched(), spec: { ...launched().spec, cancel: true } };

  it('is not written, and looked at again', () => {
    const decision = decide(observing({ at, pod: ownedBy(started(created(at)), undefined) }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAfter, 10_000);
  });

  it('that goes away is told with the reason, without a write to it', () => {
    const going = terminating(targeted(started(created(launched()))), dueTime + 30 * second);
    const decision = decide(observing({ at: launched(), pod: ownedBy(going, undefined) }));
    assert.deepEqual([decision.actions, decision.status?.reason], [[], 'Evicted']);
    assert.equal(decision.requeueAfter, 10_000);
  });

  it('is followed to its end', () => {
    const decision = decide(observing({ at, pod: ownedBy(succeeded(created(at)), undefined) }));
    assert.equal(decision.status?.outcome, 'Succeeded');
  });
});

describe('decide, an At that the operator of the book has launched', () => {
  const at = withStatus(waiting(), { phase: 'RUNNING' });
  const pod = created(at);
  const plain = { ...pod, metadata: { ...pod.metadata, annotations: {}, labels: { app: 'example-at' } } };

  it('is taken over, by the owner of its Pod', () => {
    const decision = decide(observing({ at, pod: plain, live: true }));
    assert.equal(decision.status?.podUID, 'pod-uid-1');
    assert.equal(decision.status?.attempts, 1);
    assert.deepEqual(actionTypes(decision), ['PatchPod'], 'with our label its end is seen');
  });

  it('is PodLost when its Pod is gone, and not run again', () => {
    const decision = decide(observing({ at, live: true }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.reason, 'PodLost');
  });
});

describe('decide, a Pod without our label', () => {
  it('gets it back, when the API server shows that the Pod is ours', () => {
    const at = launched();
    const pod = created(at);
    const unlabelled = { ...pod, metadata: { ...pod.metadata, labels: { app: 'example-at' } } };
    const { body } = actionOf(decide(observing({ at, pod: unlabelled, live: true })), 'PatchPod');
    assert.deepEqual(body, {
      metadata: { uid: 'pod-uid-1', resourceVersion: '20', labels: { [podUidLabel]: 'at-uid' } },
    });
  });

  it('gets it back after it was stopped, although nothing is left to write then', () => {
    const at = launched({ cancel: true });
    const pod = started(created(at));
    const unlabelled = { ...pod, metadata: { ...pod.metadata, labels: { app: 'example-at' } } };
    const told = withStatus(at, { ...at.status, phase: 'RUNNING', reason: 'Canceled' });
    const stop = decide(observing({ at: told, pod: unlabelled, live: true }));
    assert.deepEqual([actionTypes(stop), stop.requeueAfter], [['PatchPod'], 1000]);
    assert.equal(actionOf(stop, 'PatchPod').ifRefused?.reason, 'Canceled');
  });

  it('gets it back while it goes away, also from a node that does not answer', () => {
    const at = launched();
    const going = terminating(started(created(at)), dueTime + 30 * second);
    const pod = { ...going, metadata: { ...going.metadata, labels: { app: 'example-at' } } };
    for (const now of [dueTime + 30 * second, dueTime + 3600 * second]) {
      const { body } = actionOf(decide(observing({ at, pod, now, live: true })), 'PatchPod');
      assert.partialDeepStrictEqual(body, { metadata: { labels: { [podUidLabel]: 'at-uid' } } });
    }
  });
});
