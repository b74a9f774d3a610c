import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtSpec } from '../../../src/api/at.generated.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  actionTypes,
  crashLooping,
  created,
  decideInParts as decide,
  dueTime,
  effectTypes,
  eventReasons,
  evicted,
  exited,
  failed,
  inState,
  launched,
  observing,
  patched,
  second,
  started,
  succeeded,
  terminating,
  timeText,
  waiting,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const retry = { disruptionPolicy: 'Retry' } as const;
const prefix = 'cnat.programming-kubernetes.info';

function canceled(at: At): At {
  return { ...at, metadata: { ...at.metadata, generation: 2 }, spec: { ...at.spec, cancel: true } };
}

describe('a stop under way', () => {
  it('is left to the client that deletes the Pod meanwhile', () => {
    const at = canceled(launched());
    const alive = started(created(at));
    const [patch] = decide(observing({ at, pod: alive })).actions;
    assert.equal(patch?.type, 'PatchPod');
    const stopped = patched(alive, patch as Extract<typeof patch, { type: 'PatchPod' }>);
    const due = dueTime + 3600 * second;
    const decision = decide(observing({ at, pod: terminating(stopped, due), now: due }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.requeueAt, due + 60 * second + 1);
  });
});

describe('a Pod that was stopped', () => {
  const stops: readonly [string, Partial<AtSpec>, (pod: Pod) => Pod, number][] = [
    ['BackoffLimitExceeded', { backoffLimit: 1 }, (pod) => crashLooping(pod, 2), dueTime + 5 * second],
    ['DeadlineExceeded', { activeDeadlineSeconds: 5 }, started, dueTime + 60 * second],
  ];
  for (const [reason, spec, look, now] of stops) {
    it(`is not retried when it is drained or deleted before it ended: ${reason}`, () => {
      const at = launched({ ...retry, ...spec });
      const alive = look(created(at));
      const decision = decide(observing({ at, pod: alive, now }));
      assert.deepEqual(actionTypes(decision), ['PatchPod']);
      const stopped = withStatus(at, decision.status);
      assert.equal(stopped.status?.reason, reason);
      const { status } = decide(observing({ at: stopped, now, live: true }));
      assert.deepEqual([status?.outcome, status?.reason], ['Failed', reason]);
    });

    it(`is told in status by the next process, too, which the first one did not come to: ${reason}`, () => {
      const at = launched({ ...retry, ...spec });
      const alive = look(created(at));
      const pod = patched(alive, actionOf(decide(observing({ at, pod: alive, now })), 'PatchPod'));
      assert.equal(decide(observing({ at, pod, now })).status?.reason, reason);
    });
  }
});

describe('a Pod on a node that does not answer', () => {
  const due = dueTime + 3600 * second;
  const overdue = due + 60 * second + 1;

  it('ends its At once it is canceled, and says that the command may still run', () => {
    const at = canceled(launched(retry));
    const pod = terminating(started(created(at)), due);
    const { status } = decide(observing({ at, pod, now: overdue }));
    assert.deepEqual([status?.phase, status?.outcome], ['DONE', 'Canceled']);
    assert.match(status?.message ?? '', /may still run there$/);
  });

  it('ends its At when the deadline is over', () => {
    const at = launched({ ...retry, activeDeadlineSeconds: 7200 });
    const pod = terminating(started(created(at)), due);
    const waiting = decide(observing({ at, pod, now: overdue }));
    assert.equal(waiting.status?.reason, 'PodUnreachable');
    assert.equal(waiting.requeueAt, dueTime + 7201 * second);
    const { status } = decide(observing({ at, pod, now: dueTime + 7201 * second }));
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'DeadlineExceeded']);
  });

  describe('and that is being stopped for its failures', () => {
    const at = launched({ ...retry, backoffLimit: 1, activeDeadlineSeconds: 7200 });
    const alive = crashLooping(created(at), 2);
    const stopped = patched(alive, actionOf(decide(observing({ at, pod: alive, now: due })), 'PatchPod'));
    const pod = terminating(stopped, due);
    const deadline = dueTime + 7200 * second;

    it('is waited for until the deadline of its At', () => {
      const { status, requeueAt } = decide(observing({ at, pod, now: overdue }));
      assert.deepEqual([status?.phase, status?.reason], ['RUNNING', 'BackoffLimitExceeded']);
      assert.equal(requeueAt, deadline);
    });

    for (const [when, facts] of [
      ['it is canceled', { at: canceled(at), now: overdue }],
      ['the deadline is over', { at, now: deadline }],
    ] as const) {
      it(`ends its At once ${when}`, () => {
        const { status } = decide(observing({ ...facts, pod }));
        assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'BackoffLimitExceeded']);
        assert.match(status?.message ?? '', /may still run there$/);
      });
    }
  });

  /** Of a run that is going away, and whose command has ended so beside a sidecar. */
  function withSidecar(exitCode: number) {
    const at = launched({ ...retry, backoffLimit: 0 });
    const ended = inState(created(at), exited(exitCode));
    const state = { running: { startedAt: timeText(dueTime) } };
    const sidecar = { name: 'sidecar', restartCount: 0, state };
    const containerStatuses = [...(ended.status?.containerStatuses ?? []), sidecar];
    return { at, pod: terminating(withPodStatus(ended, { phase: 'Running', containerStatuses }), due) };
  }

  it('ends its At where the command has succeeded and only a sidecar is left', () => {
    const { at, pod } = withSidecar(0);
    assert.equal(decide(observing({ at, pod, now: overdue - 1 })).status?.phase, 'RUNNING');
    const { status } = decide(observing({ at, pod, now: overdue }));
    assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], ['Succeeded', 'Succeeded', 0]);
    assert.match(status?.message ?? '', /its node does not answer$/, 'and nothing of it still runs');
    assert.equal(status?.completionTime, '2030-01-31T09:00:02.000Z');
  });

  it('is no failure of a command that may have been killed with it: another attempt follows once it is gone', () => {
    const { at, pod } = withSidecar(143);
    for (const now of [due - 1, overdue]) {
      const { status } = decide(observing({ at, pod, now }));
      assert.deepEqual([status?.phase, status?.outcome, status?.exitCode], ['RUNNING', undefined, undefined]);
      const seen = withStatus(at, status ?? {});
      const gone = decide(observing({ at: seen, now: overdue + 60_000, live: true }));
      assert.deepEqual(actionTypes(gone), ['CreatePod']);
    }
  });

  it('wakes its At no more for the limits of a start that is not seen', () => {
    const at = launched({ pendingTimeoutSeconds: 60 });
    const pod = terminating(inState(created(at), { waiting: { reason: 'ContainerCreating' } }), due);
    const { status, requeueAt } = decide(observing({ at, pod, now: overdue }));
    assert.deepEqual([status?.phase, status?.reason], ['RUNNING', 'PodUnreachable']);
    assert.equal(requeueAt, undefined);
  });
});

/** A Pod that no node has room for. */
function unschedulable(pod: Pod): Pod {
  return withPodStatus(pod, {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
  });
}

describe('stop in place', () => {
  const rows: {
    name: string;
    spec: Partial<AtSpec>;
    pod: (at: At) => Pod;
    now: number;
    reason: string;
    code?: string;
  }[] = [
    {
      name: 'activeDeadlineSeconds',
      spec: { activeDeadlineSeconds: 30 },
      pod: (at) => started(created(at)),
      now: dueTime + 31 * second,
      reason: 'DeadlineExceeded',
    },
    {
      name: 'a command that has failed backoffLimit + 1 times (B2)',
      spec: { backoffLimit: 2 },
      pod: (at) => crashLooping(created(at), 3),
      now: dueTime + 60 * second,
      reason: 'BackoffLimitExceeded',
      code: '3',
    },
  ];
  for (const { name, spec, pod: podOf, now, reason, code } of rows) {
    it(`ends ${name} by one patch that keeps Pod and log, and says why on the Pod`, () => {
      const at = launched(spec);
      const pod = podOf(at);
      const patch = actionOf(decide(observing({ at, pod, now })), 'PatchPod');
      assert.deepEqual(patch.body, {
        metadata: {
          uid: 'pod-uid-1',
          resourceVersion: '20',
          annotations: {
            [`${prefix}/stop-reason`]: reason,
            ...(code === undefined ? {} : { [`${prefix}/exit-code`]: code }),
            [`${prefix}/stop-time`]: new Date(now).toISOString(),
          },
        },
        spec: { activeDeadlineSeconds: 1 },
      });
      const ended = withPodStatus(failed(patched(pod, patch), 137), { reason: 'DeadlineExceeded' });
      const { status } = decide(observing({ at, pod: ended, now }));
      assert.equal(status?.outcome, 'Failed');
      assert.equal(status?.reason, reason);
      assert.equal(status?.exitCode, code === undefined ? 137 : Number(code));
    });
  }

  it('ends a canceled run as Canceled', () => {
    const at = canceled(launched());
    const pod = started(created(at));
    const patch = actionOf(decide(observing({ at, pod })), 'PatchPod');
    const decision = decide(observing({ at, pod: failed(patched(pod, patch), 143) }));
    assert.equal(decision.status?.outcome, 'Canceled');
    assert.deepEqual(eventReasons(decision), ['Canceled']);
    assert.equal(decision.status?.message, 'canceled while the command ran');
  });

  for (const word of ['', 'two words', 'x'.repeat(200)]) {
    it(`does not believe the stop reason ${JSON.stringify(word.slice(0, 12))} on a Pod`, () => {
      const at = launched();
      const pod = failed(created(at));
      const annotations = { [`${prefix}/stop-reason`]: word, [`${prefix}/exit-code`]: '99999999999' };
      const forged = { ...pod, metadata: { ...pod.metadata, annotations } };
      const { status } = decide(observing({ at, pod: forged }));
      assert.equal(status?.reason, 'CommandFailed');
      assert.equal(status?.exitCode, 3);
    });
  }

  it('stops once', () => {
    const at = canceled(launched());
    const pod = started(created(at));
    const first = decide(observing({ at, pod }));
    const stopping = patched(pod, actionOf(first, 'PatchPod'));
    const again = decide(observing({ at: withStatus(at, first.status), pod: stopping }));
    assert.deepEqual(again.actions, []);
    assert.deepEqual(again.status, first.status);
    assert.equal(again.requeueAt, dueTime + 1 + 40 * second);
  });

  it('is asked for again when the time of the stop is unknown', () => {
    const at = canceled(launched());
    const pod = started(created(at));
    const stopping = patched(pod, actionOf(decide(observing({ at, pod })), 'PatchPod'));
    const annotations = { ...stopping.metadata.annotations, [`${prefix}/stop-time`]: 'yesterday' };
    const undated = { ...stopping, metadata: { ...stopping.metadata, annotations } };
    const again = patched(undated, actionOf(decide(observing({ at, pod: undated })), 'PatchPod'));
    assert.deepEqual(again, stopping);
  });

  it('is Succeeded when the command has succeeded before the cancel was seen', () => {
    const at = canceled(launched());
    assert.equal(decide(observing({ at, pod: succeeded(created(at)) })).status?.outcome, 'Succeeded');
  });

  const patient: { name: string; spec: Partial<AtSpec>; pod: (at: At) => Pod; now: number }[] = [
    {
      name: 'a moment before activeDeadlineSeconds',
      spec: { activeDeadlineSeconds: 30 },
      pod: (at) => started(created(at)),
      now: dueTime + 31 * second - 1,
    },
    {
      name: 'as long as backoffLimit allows',
      spec: { backoffLimit: 2 },
      pod: (at) => crashLooping(created(at), 2),
      now: dueTime + 60 * second,
    },
    {
      name: 'another container with restartPolicy Never',
      spec: { backoffLimit: 0 },
      pod: (at) => inState(created(at), { terminated: { exitCode: 1 } }),
      now: dueTime + 30 * second,
    },
    {
      name: 'without any limit on waiting',
      spec: { pendingTimeoutSeconds: 0 },
      pod: created,
      now: dueTime + 1e9,
    },
  ];
  for (const { name, spec, pod, now } of patient) {
    it(`lets the Pod go on ${name}`, () => {
      const at = launched(spec);
      assert.deepEqual(decide(observing({ at, pod: pod(at), now })).actions, []);
    });
  }

  it('deletes a Pod that does not end, after its grace period and 10 s, once status says why', () => {
    const at = canceled(launched());
    const pod = { ...started(created(at)) };
    const slow = { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 5 } };
    const stopping = patched(slow, actionOf(decide(observing({ at, pod: slow })), 'PatchPod'));
    const overdue = dueTime + 1 + 15 * second;
    assert.deepEqual(decide(observing({ at, pod: stopping, now: overdue - 1 })).actions, []);
    const noted = decide(observing({ at, pod: stopping, now: overdue }));
    assert.deepEqual(effectTypes(observing({ at, pod: stopping, now: overdue })).slice(0, 2), [
      'WriteStatus',
      'DeletePod',
    ]);
    assert.equal(noted.locks[0]?.reason, 'Canceled');
    const deletion = decide(observing({ at: withStatus(at, noted.locks[0]), pod: stopping, now: overdue }));
    assert.deepEqual(deletion.actions, [
      {
        ...{ type: 'DeletePod', namespace: 'default', name: 'example-at-pod', uid: 'pod-uid-1' },
        resourceVersion: stopping.metadata.resourceVersion,
      },
    ]);
  });
});

describe('pendingTimeoutSeconds (B7)', () => {
  const timeout = dueTime + 900 * second;

  it('is looked at in time', () => {
    const at = launched();
    assert.equal(decide(observing({ at, pod: created(at) })).requeueAt, timeout);
  });

  it('deletes a Pod that no kubelet has taken, once status says what it waited for', () => {
    const at = launched();
    const pod = unschedulable(created(at));
    assert.deepEqual(decide(observing({ at, pod, now: timeout - 1 })).actions, []);
    const noted = decide(observing({ at, pod, now: timeout }));
    assert.deepEqual(effectTypes(observing({ at, pod, now: timeout })).slice(0, 2), [
      'WriteStatus',
      'DeletePod',
    ]);
    const doomed = withStatus(at, noted.locks[0]);
    assert.deepEqual(decide(observing({ at: doomed, pod, now: timeout })).actions, [
      {
        type: 'DeletePod',
        namespace: 'default',
        name: 'example-at-pod',
        uid: 'pod-uid-1',
        resourceVersion: '20',
      },
    ]);
    const end = decide(observing({ at: doomed, live: true, now: timeout + second }));
    assert.equal(end.status?.outcome, 'Failed');
    assert.equal(end.status?.reason, 'Unschedulable');
    assert.equal(end.status?.message, '0/1 nodes');
  });

  it('does not retry it', () => {
    const at = launched(retry);
    const noted = decide(observing({ at, pod: unschedulable(created(at)), now: timeout }));
    const end = decide(observing({ at: withStatus(at, noted.status), live: true, now: timeout }));
    assert.deepEqual(end.actions, []);
    assert.equal(end.status?.phase, 'DONE');
  });

  for (const [name, spec, reason] of [
    ['did not start in time', retry, 'Unschedulable'],
    ['was canceled', { ...retry, cancel: true }, 'Canceled'],
  ] as const) {
    it(`is the end also when a kubelet takes the Pod that ${name}, and reports how it was deleted`, () => {
      const at = launched(spec);
      const pod = unschedulable(created(at));
      const doomed = withStatus(at, decide(observing({ at, pod, now: timeout })).status);
      assert.deepEqual(actionTypes(decide(observing({ at: doomed, pod, now: timeout }))), ['DeletePod']);
      const ended = withPodStatus(terminating(pod, timeout), {
        phase: 'Failed',
        startTime: timeText(timeout),
      });
      const { actions, status } = decide(observing({ at: doomed, pod: ended, now: timeout + second }));
      assert.deepEqual(actions, []);
      assert.equal(status?.phase, 'DONE');
      assert.equal(status?.reason, reason);
    });
  }

  it('is no end of a Pod that came to life after all and was evicted then', () => {
    const at = launched(retry);
    const pod = unschedulable(created(at));
    const doomed = withStatus(at, decide(observing({ at, pod, now: timeout })).status);
    const { attempt } = actionOf(
      decide(observing({ at: doomed, pod: evicted(pod), now: timeout, live: true })),
      'CreatePod',
    );
    assert.equal(attempt, 2);
  });

  for (const reason of ['ImagePullBackOff', 'ErrImagePull']) {
    it(`stops a Pod whose image cannot be pulled (${reason})`, () => {
      const at = launched();
      const pod = inState(created(at), { waiting: { reason, message: 'no such image' } });
      const noted = decide(observing({ at, pod, now: timeout }));
      assert.equal(noted.status?.reason, 'ImagePullBackOff');
      const doomed = withStatus(at, noted.status);
      const patch = actionOf(decide(observing({ at: doomed, pod, now: timeout })), 'PatchPod');
      const ended = withPodStatus(patched(pod, patch), { phase: 'Failed', reason: 'DeadlineExceeded' });
      const { status } = decide(observing({ at: doomed, pod: ended, now: timeout + second }));
      assert.equal(status?.reason, 'ImagePullBackOff');
      assert.equal(status?.message, 'no such image');
    });
  }

  it('goes on with a stop that another process has noted, whose time is ahead', () => {
    const at = launched({ ...retry, pendingTimeoutSeconds: 1 });
    const pod = created(at);
    const [early, late] = [dueTime + 500, dueTime + second];
    assert.deepEqual(decide(observing({ at, pod, now: early })).actions, []);
    const doomed = withStatus(at, decide(observing({ at, pod, now: late })).locks[0]);
    assert.equal(doomed.status?.reason, 'PendingTimeout');
    const decision = decide(observing({ at: doomed, pod, now: early }));
    assert.deepEqual([actionTypes(decision), decision.status?.reason], [['DeletePod'], 'PendingTimeout']);
    const end = decide(observing({ at: doomed, live: true, now: early }));
    assert.deepEqual([end.actions, end.status?.phase, end.status?.reason], [[], 'DONE', 'PendingTimeout']);
    const shown = inState(pod, { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } });
    const named = decide(observing({ at: doomed, pod: shown, now: early }));
    assert.equal(named.locks[0]?.reason ?? named.status?.reason, 'ImagePullBackOff');
  });

  it('is taken back where its init container turns out to have been at work', () => {
    const at = launched();
    const doomed = withStatus(at, decide(observing({ at, pod: created(at), now: timeout })).locks[0]);
    assert.equal(doomed.status?.reason, 'PendingTimeout');
    const fetch = { name: 'fetch', restartCount: 0, state: { running: { startedAt: timeText(dueTime) } } };
    const pod = withPodStatus(created(at), {
      ...{ phase: 'Pending', startTime: timeText(dueTime) },
      initContainerStatuses: [fetch],
    });
    assert.deepEqual(decide(observing({ at: doomed, pod, now: timeout })).actions, []);
  });

  it('is not meant by a reason that the At had before its launch', () => {
    const at = launched();
    const armed = withStatus(at, { ...at.status, reason: 'Armed' });
    assert.deepEqual(decide(observing({ at: armed, pod: created(at) })).actions, []);
  });

  it('takes its note back when the command starts after all', () => {
    const at = launched();
    const pending = inState(created(at), { waiting: { reason: 'ImagePullBackOff' } });
    const doomed = withStatus(at, decide(observing({ at, pod: pending, now: timeout })).status);
    const decision = decide(observing({ at: doomed, pod: started(created(at), timeout), now: timeout }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.reason, undefined);
    assert.equal(decision.status?.startTime, new Date(timeout).toISOString());
  });

  it('is no limit for a command that has started', () => {
    const at = launched();
    const pod = started(created(at));
    assert.deepEqual(actionTypes(decide(observing({ at, pod, now: timeout + second }))), []);
  });
});

describe('the terms of a run', () => {
  it('are those of its Pod, whatever the spec says by now', () => {
    const before = launched({ activeDeadlineSeconds: 30 });
    const pod = started(created(before));
    const at = { ...before, spec: { ...before.spec, activeDeadlineSeconds: 3000 } };
    assert.deepEqual(actionTypes(decide(observing({ at, pod, now: dueTime + 31 * second }))), ['PatchPod']);
  });

  it('are those of the spec for a Pod that does not carry them', () => {
    const at = launched({ activeDeadlineSeconds: 30 });
    const pod = started(created(at));
    const plain = { ...pod, metadata: { ...pod.metadata, annotations: {} } };
    const observed = { at, pod: plain, now: dueTime + 31 * second };
    assert.deepEqual(actionTypes(decide(observing(observed))), ['PatchPod']);
    assert.equal(at.status?.scheduledTime, '2030-01-31T09:00:00.000Z');
  });

  for (const annotation of ['', '{', '[]', '"x"', '{"backoffLimit":"six"}']) {
    it(`survive the annotation ${JSON.stringify(annotation)}`, () => {
      const at = launched();
      const pod = started(created(at));
      const annotations = { [`${prefix}/run`]: annotation };
      const damaged = { ...pod, metadata: { ...pod.metadata, annotations } };
      assert.equal(decide(observing({ at, pod: damaged })).status?.phase, 'RUNNING');
    });
  }

  it('know their time from the Pod, and from the spec of an At that was never accepted', () => {
    const at = waiting();
    const pod = created(at);
    const plain = { ...pod, metadata: { ...pod.metadata, annotations: {} } };
    const edited = { ...at, spec: { ...at.spec, schedule: timeText(dueTime + second) } };
    const scheduledTime = timeText(dueTime).replace('Z', '.000Z');
    assert.equal(decide(observing({ at: edited, pod })).status?.scheduledTime, scheduledTime);
    assert.equal(decide(observing({ at, pod: plain })).status?.scheduledTime, scheduledTime);
  });
});
