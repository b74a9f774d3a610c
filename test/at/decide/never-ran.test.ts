/** What the kubelet writes of a container that it cannot find when it ends the Pod: an exit code, and no start. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { observePod } from '../../../src/at/facts/observe-pod.ts';
import type { ContainerState, Pod } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  created,
  decideInParts as decide,
  dueTime,
  edited,
  exited,
  inState,
  launched,
  observing,
  patched,
  second,
  timeText,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const standIn: ContainerState = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};

/** The kubelet has ended the Pod before its container ran. */
function endedEarly(pod: Pod, reason?: string): Pod {
  return withPodStatus(inState(pod, standIn), {
    phase: 'Failed',
    ...(reason === undefined ? {} : { reason }),
  });
}

describe('a Pod that is ended before its command ran', () => {
  for (const startedAt of [undefined, null, '1970-01-01T00:00:00Z'] as const) {
    it(`has not been started when it says so with the start ${startedAt}`, () => {
      const terminated = { ...standIn.terminated, exitCode: 137, startedAt: startedAt as string };
      const view = observePod(inState(created(launched()), { terminated }));
      assert.equal(view.started, false);
      assert.equal(view.startTime, undefined);
      assert.equal(view.last, undefined);
      assert.equal(view.failedStarts, 0);
    });
  }

  it('is a PendingTimeout when its own deadline ended it', () => {
    const at = launched({ activeDeadlineSeconds: 5, pendingTimeoutSeconds: 5 });
    const { status } = decide(observing({ at, pod: endedEarly(created(at), 'DeadlineExceeded') }));
    assert.equal(status?.reason, 'PendingTimeout');
    assert.equal(status?.exitCode, undefined);
    assert.equal(status?.startTime, undefined);
  });

  describe('is DeadlineExceeded when that was a deadline of its template', () => {
    const said = 'the Pod reached its activeDeadlineSeconds before the command started';
    const template = (initContainers: object[] = []) => ({
      spec: { activeDeadlineSeconds: 60, ...(initContainers.length > 0 && { initContainers }) },
    });
    const endOf = (at: At, status: Pod['status'] = {}) => {
      const pod = withPodStatus(endedEarly(created(at), 'DeadlineExceeded'), status);
      const { status: end } = decide(observing({ at, pod, now: dueTime + 130 * second }));
      return [end?.outcome, end?.reason, end?.message];
    };
    const exceeded = ['Failed', 'DeadlineExceeded', said];

    it('and less than pendingTimeoutSeconds, or that is off', () => {
      for (const pendingTimeoutSeconds of [900, 61, 0]) {
        assert.deepEqual(
          endOf(launched({ command: 'echo YAY', template: template(), pendingTimeoutSeconds })),
          exceeded,
        );
      }
      const [, reason] = endOf(
        launched({ command: 'echo YAY', template: template(), pendingTimeoutSeconds: 60 }),
      );
      assert.equal(reason, 'PendingTimeout');
    });

    it('and an init container was at work', () => {
      const at = launched({
        command: 'echo YAY',
        template: template([{ name: 'fetch' }]),
        pendingTimeoutSeconds: 50,
      });
      const [startedAt, finishedAt] = [timeText(dueTime + second), timeText(dueTime + 61 * second)];
      const state = { terminated: { exitCode: 137, startedAt, finishedAt } };
      assert.deepEqual(
        endOf(at, { initContainerStatuses: [{ name: 'fetch', restartCount: 0, state }] }),
        exceeded,
      );
    });

    it('unless status tells what the Pod waited for', () => {
      const at = launched({ command: 'echo YAY', template: template() });
      const pod = inState(created(at), { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } });
      const told = withStatus(at, decide(observing({ at, pod, now: dueTime + 20 * second })).status);
      assert.deepEqual(endOf(told), ['Failed', 'ImagePullBackOff', 'no such image']);
    });
  });

  it('is canceled after its Pod was created, not while it ran', () => {
    const at = edited(launched(), { cancel: true });
    const pod = inState(created(at), { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } });
    const stopping = patched(pod, actionOf(decide(observing({ at, pod })), 'PatchPod'));
    const { status } = decide(observing({ at, pod: endedEarly(stopping, 'DeadlineExceeded') }));
    assert.equal(status?.outcome, 'Canceled');
    assert.equal(status?.message, 'canceled after its Pod was created');
    assert.equal(status?.exitCode, undefined);
  });

  it('has no exit code when its node had no room', () => {
    const at = launched();
    const { status } = decide(observing({ at, pod: endedEarly(created(at), 'OutOfcpu') }));
    assert.equal(status?.reason, 'Evicted');
    assert.equal(status?.exitCode, undefined);
  });

  it('has run when it ran before, and ends as its last run did', () => {
    const at = launched({ activeDeadlineSeconds: 5 });
    const pod = inState(created(at), standIn, 0, exited(3, 'no such table'));
    const view = observePod(pod);
    assert.equal(view.startTime, dueTime + second);
    assert.equal(view.failedStarts, 1);
    const ended = withPodStatus(pod, { phase: 'Failed', reason: 'DeadlineExceeded' });
    const { status } = decide(observing({ at, pod: ended }));
    assert.equal(status?.reason, 'DeadlineExceeded');
    assert.equal(status?.exitCode, 3);
    assert.equal(status?.message, 'no such table');
  });

  it('has run when the kubelet lost a container that did', () => {
    const { terminated } = standIn;
    const pod = inState(created(launched()), standIn, 1, { terminated } as ContainerState);
    const view = observePod(pod);
    assert.equal(view.started, true);
    assert.equal(view.startTime, dueTime);
    assert.equal(view.last?.exitCode, 137);
  });
});
