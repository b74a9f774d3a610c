/** Pods of an At that its run is not in: they come from creates that were late, and must not run on. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At, AtStatus } from '../../../src/api/at.generated.ts';
import type { Observed } from '../../../src/at/facts/observed.ts';
import { findAmong, podsAt } from '../../../src/at/facts/own-pod.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  evicted,
  finished,
  launched,
  observing,
  ownedBy,
  patched,
  second,
  started,
  succeeded,
  terminating,
  withStatus,
} from '../../fixtures/at.ts';

const stopReason = 'cnat.programming-kubernetes.info/stop-reason';

/** A second Pod at the name of this attempt. */
function surplusOf(at: At, attempt = 1): Pod {
  const pod = created(at, dueTime, attempt);
  return { ...pod, metadata: { ...pod.metadata, uid: 'surplus-uid' } };
}

function onNode(pod: Pod): Pod {
  return { ...pod, spec: { ...pod.spec, nodeName: 'node-1' } };
}

function stopReasonIn({ body }: { readonly body: object }): string | undefined {
  return (body as Pod).metadata.annotations?.[stopReason];
}

const retried = launched({ disruptionPolicy: 'Retry' });
const inSecondPod = withStatus(retried, { ...retried.status, attempts: 2, podUID: 'pod-uid-2' });
const done = finished();
const secondDone = withStatus(done, { ...done.status, attempts: 2, podUID: 'pod-uid-2' });
const canceled: AtStatus = { phase: 'DONE', outcome: 'Canceled', reason: 'Canceled', observedGeneration: 1 };

const rows: { name: string; of: (surplus: (at: At, attempt?: number) => Pod) => Observed; reason: string }[] =
  [
    {
      name: 'at the name of the run after its end',
      of: (surplus) => observing({ at: done, pod: surplus(done) }),
      reason: 'Superseded',
    },
    {
      name: 'after an end without a launch',
      of: (surplus) => observing({ at: withStatus(done, canceled), pod: surplus(done) }),
      reason: 'Canceled',
    },
    {
      name: 'of a further attempt after the end',
      of: (surplus) => observing({ at: done, pod: succeeded(created(done)), nextPod: surplus(done, 2) }),
      reason: 'Superseded',
    },
    {
      name: 'of an earlier attempt after the end',
      of: (surplus) => observing({ at: secondDone, earlierPods: [surplus(done)] }),
      reason: 'Superseded',
    },
    {
      name: 'of an earlier attempt beside the current one',
      of: (surplus) =>
        observing({
          at: inSecondPod,
          pod: started(created(inSecondPod, dueTime, 2)),
          earlierPods: [surplus(inSecondPod)],
        }),
      reason: 'Superseded',
    },
    {
      name: 'of an earlier attempt beside one that status does not show yet',
      of: (surplus) =>
        observing({ at: retried, pod: surplus(retried), nextPod: started(created(retried, dueTime, 2)) }),
      reason: 'Superseded',
    },
    {
      name: 'at the name of a Pod that is lost',
      of: (surplus) =>
        observing({
          at: retried,
          pod: surplus(retried),
          live: true,
          refusal: { reason: 'PodRejected', message: 'quota' },
        }),
      reason: 'Superseded',
    },
  ];

describe('a surplus Pod', () => {
  for (const { name, of, reason } of rows) {
    it(`is deleted while no kubelet has taken it: ${name}`, () => {
      assert.deepEqual(actionOf(decide(of(surplusOf)), 'DeletePod').uid, 'surplus-uid');
      assert.equal(actionOf(decide(of(surplusOf)), 'DeletePod').resourceVersion, '20');
    });

    it(`is stopped in place when it runs, then deleted as it was seen when it does not end: ${name}`, () => {
      const running = (at: At, attempt?: number) => started(surplusOf(at, attempt));
      const patch = actionOf(decide(of(running)), 'PatchPod');
      assert.equal(stopReasonIn(patch), reason);
      const stopping = (at: At, attempt?: number) => patched(running(at, attempt), patch);
      const { now } = of(surplusOf);
      const overdue = now + 40 * second;
      const early = decide({ ...of(stopping), now: overdue - 1 });
      assert.deepEqual(actionTypes(early), []);
      assert.equal(early.requeueAt, overdue);
      const { uid, resourceVersion } = actionOf(decide({ ...of(stopping), now: overdue }), 'DeletePod');
      const seen = of(stopping).at;
      assert.deepEqual([uid, resourceVersion], ['surplus-uid', stopping(seen).metadata.resourceVersion]);
    });

    it(`is let be when it has ended, is on its way out, or has another owner: ${name}`, () => {
      for (const change of [
        (pod: Pod) => evicted(pod),
        (pod: Pod) => terminating(started(pod), dueTime),
        (pod: Pod) => ownedBy(started(pod), 'other-uid'),
        (pod: Pod) => ownedBy(started(pod), undefined),
      ]) {
        const { actions } = decide(of((at, attempt) => change(surplusOf(at, attempt))));
        assert.deepEqual(
          actions.filter((action) => 'uid' in action && action.uid === 'surplus-uid'),
          [],
        );
        assert.deepEqual(
          actions.filter(({ type }) => type === 'PatchPod'),
          [],
        );
      }
    });
  }

  it('has to end before another attempt is created', () => {
    const running = onNode(started(surplusOf(retried)));
    const look = (pod: Pod) => decide(observing({ at: retried, pod, live: true }));
    const first = look(running);
    assert.deepEqual(actionTypes(first), ['PatchPod']);
    const { phase, reason, message } = first.status ?? {};
    assert.deepEqual([phase, reason], ['RUNNING', 'PodLost']);
    assert.match(message ?? '', /attempt 2 of 10 follows once Pod example-at-pod has ended/);
    const stopped = patched(running, actionOf(first, 'PatchPod'));
    assert.deepEqual(actionTypes(look(stopped)), []);
    assert.deepEqual(actionTypes(look(terminating(running, dueTime))), []);
    assert.deepEqual(actionTypes(look(evicted(stopped))), ['CreatePod']);
    assert.deepEqual(actionTypes(look(ownedBy(running, 'other-uid'))), ['CreatePod']);
  });

  it('is the end of the At where the command has succeeded in it: nothing is run again', () => {
    const look = (pod: Pod) => decide(observing({ at: retried, pod, live: true }));
    const { actions, status, events } = look(succeeded(onNode(surplusOf(retried))));
    assert.deepEqual(actions, []);
    const { phase, outcome, podUID, exitCode, attempts } = status ?? {};
    assert.deepEqual(
      [phase, outcome, podUID, exitCode, attempts],
      ['DONE', 'Succeeded', 'surplus-uid', 0, 1],
    );
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ['Completed'],
    );
    assert.deepEqual(actionTypes(look(ownedBy(succeeded(surplusOf(retried)), 'other-uid'))), ['CreatePod']);
  });

  it('is named with its start in the status of the At that has succeeded in it', () => {
    const lost = withStatus(retried, {
      ...retried.status,
      ...{
        attempts: 2,
        podName: 'example-at-pod-2',
        podUID: 'pod-uid-2',
        startTime: '2030-01-31T09:10:00.000Z',
      },
    });
    const earlierPods = [succeeded(surplusOf(retried))];
    const { status } = decide(observing({ at: lost, earlierPods, live: true, now: dueTime + 3600 * second }));
    assert.deepEqual(
      [status?.outcome, status?.podName, status?.podUID, status?.startTime],
      ['Succeeded', 'example-at-pod', 'surplus-uid', '2030-01-31T09:00:01.000Z'],
    );
  });

  it('keeps no attempt waiting once nothing more will be heard of it, whoever holds it', () => {
    const deleted = terminating(surplusOf(retried), dueTime);
    const look = (pod: Pod, seconds: number) =>
      actionTypes(decide(observing({ at: retried, pod, live: true, now: dueTime + seconds * second })));
    assert.deepEqual(look(deleted, 1), ['CreatePod'], 'no node has it');
    const byForce = onNode({ ...deleted, metadata: { ...deleted.metadata, deletionGracePeriodSeconds: 0 } });
    assert.deepEqual([look(byForce, 59), look(byForce, 61)], [[], ['CreatePod']]);
    assert.deepEqual(look(onNode(deleted), 3600), [], 'its node may come back');
  });

  it('has to end before another attempt is created, also beside the Pod of an attempt before that', () => {
    const lost = { at: inSecondPod, live: true, now: dueTime + 3600 * second };
    const look = (earlier: Pod) => actionTypes(decide(observing({ ...lost, earlierPods: [earlier] })));
    assert.deepEqual(look(started(surplusOf(inSecondPod))), ['PatchPod']);
    assert.deepEqual(look(evicted(surplusOf(inSecondPod))), ['CreatePod']);
  });

  it('does not keep an At beyond its time to live, with which it goes', () => {
    const at = finished({ ttlSecondsAfterFinished: 0 });
    const observed = { at, pod: started(surplusOf(at)), now: dueTime + 60 * second, live: true };
    assert.deepEqual(actionTypes(decide(observing(observed))), ['DeleteAt']);
  });

  it('is looked for under the names of all attempts there have been', () => {
    const looked: string[] = [];
    const find = (name: string): undefined => void looked.push(name);
    podsAt(withStatus(retried, { ...retried.status, attempts: 3 }), find);
    assert.deepEqual(looked.toSorted(), [
      'example-at-pod',
      'example-at-pod-2',
      'example-at-pod-3',
      'example-at-pod-4',
    ]);
    looked.length = 0;
    podsAt(withStatus(retried, { ...retried.status, attempts: 2_000_000_000 }), find);
    assert.ok(looked.length < 20, 'whatever a forged status counts');
  });

  it('is found again when another attempt has begun', () => {
    const pods = { pod: created(retried), nextPod: created(retried, dueTime, 2), earlierPods: [] };
    const found = podsAt(inSecondPod, findAmong(observing(pods)));
    assert.deepEqual(found, { pod: pods.nextPod, nextPod: undefined, earlierPods: [pods.pod] });
  });
});
