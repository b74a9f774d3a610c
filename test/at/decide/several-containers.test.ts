/** A Pod of several containers: the first one is the command, and the run ends with it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atAnnotation } from '../../../src/api/at-constants.ts';
import { transformPod } from '../../../src/at/facts/transform.ts';
import { trackingFinalizer } from '../../../src/at/plan/pod.ts';
import type { ContainerState, Pod, PodStatus } from '../../../src/kubernetes/objects.ts';
import {
  actionOf,
  actionTypes,
  created,
  decideInParts as decide,
  dueTime,
  exited,
  launched,
  observing,
  patched,
  second,
  terminating,
  timeText,
  withPodStatus,
  withStatus,
} from '../../fixtures/at.ts';

const at = launched({
  backoffLimit: 1,
  template: { spec: { containers: [{ name: 'main' }, { name: 'proxy' }] } },
  command: 'migrate',
});
const running: ContainerState = { running: { startedAt: timeText(dueTime + second) } };

/** The kubelet lists containers in any order. */
function podOf(
  phase: NonNullable<PodStatus['phase']>,
  main: ContainerState,
  proxy: ContainerState,
  restarts: { readonly main: number; readonly proxy: number } = { main: 0, proxy: 0 },
): Pod {
  const pod = withPodStatus(created(at), {
    phase,
    startTime: timeText(dueTime),
    containerStatuses: [
      { name: 'proxy', restartCount: restarts.proxy, state: proxy },
      { name: 'main', restartCount: restarts.main, state: main },
    ],
  });
  return transformPod(pod);
}

describe('a Pod of several containers', () => {
  it('is stopped when the command has ended for good and another container has not', () => {
    const pod = podOf('Running', exited(0), running);
    const decision = decide(observing({ at, pod }));
    assert.deepEqual(actionTypes(decision), ['PatchPod']);
    assert.equal(decision.status?.phase, 'RUNNING');
    const stopped = patched(pod, actionOf(decision, 'PatchPod'));
    assert.equal(stopped.metadata.annotations?.[atAnnotation.stopReason], 'Succeeded');
    const killed = podOf('Failed', exited(0), exited(137));
    const end = { ...stopped, status: { ...killed.status, reason: 'DeadlineExceeded' } };
    const { status, events } = decide(observing({ at, pod: end }));
    assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], ['Succeeded', 'Succeeded', 0]);
    assert.equal(status?.message, undefined);
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ['Completed'],
    );
  });

  it('is stopped as failed when a command failed that is not started again', () => {
    const once = launched({
      backoffLimit: 0,
      template: { spec: { containers: [{ name: 'main' }, { name: 'proxy' }] } },
      command: 'migrate',
    });
    const pod = podOf('Running', exited(3, 'no such table'), running);
    const never = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } };
    const decision = decide(observing({ at: once, pod: never }));
    const stopped = patched(never, actionOf(decision, 'PatchPod'));
    const killed = podOf('Failed', exited(3, 'no such table'), exited(137));
    const end = { ...stopped, status: { ...killed.status, reason: 'DeadlineExceeded' } };
    const { status } = decide(observing({ at: once, pod: end }));
    assert.deepEqual(
      [status?.reason, status?.exitCode, status?.message],
      ['CommandFailed', 3, 'no such table'],
    );
  });

  it('has succeeded when the command has, also if it is canceled before the others have ended', () => {
    const canceled = { ...at, spec: { ...at.spec, cancel: true } };
    const pod = podOf('Running', exited(0), running);
    const { annotations } = patched(
      pod,
      actionOf(decide(observing({ at: canceled, pod })), 'PatchPod'),
    ).metadata;
    assert.equal(annotations?.[atAnnotation.stopReason], 'Succeeded');
  });

  it('has the exit code, the restarts and the words of the first', () => {
    const pod = podOf('Failed', exited(3, 'no such table'), exited(137, 'killed'), { main: 1, proxy: 5 });
    const { status } = decide(observing({ at, pod }));
    assert.equal(status?.outcome, 'Failed');
    assert.equal(status?.exitCode, 3);
    assert.equal(status?.restarts, 1);
    assert.equal(status?.message, 'no such table');
  });

  it('has succeeded with the command, whatever became of another container', () => {
    const { status } = decide(observing({ at, pod: podOf('Failed', exited(0), exited(1)) }));
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.exitCode, 0);
  });

  it('says which init container kept the command from starting', () => {
    const pod = withPodStatus(created(at), {
      phase: 'Failed',
      startTime: timeText(dueTime),
      initContainerStatuses: [
        { name: 'first', restartCount: 0, state: exited(0) },
        { name: 'second', restartCount: 0, state: exited(4) },
      ],
      containerStatuses: [
        { name: 'main', restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } },
      ],
    });
    const { status } = decide(observing({ at, pod: transformPod(pod) }));
    assert.equal(status?.reason, 'CommandFailed');
    assert.equal(status?.exitCode, undefined);
    assert.equal(status?.message, 'init container second ended with exit code 4');
  });

  it('is stopped for the failures of all containers together, and says which failed', () => {
    const backOff: ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
    const once = podOf('Running', running, backOff, { main: 0, proxy: 1 });
    assert.deepEqual(actionTypes(decide(observing({ at, pod: once }))), []);
    const pod = podOf('Running', running, backOff, { main: 1, proxy: 1 });
    const noted = decide(observing({ at, pod }));
    assert.equal(noted.status?.reason, 'BackoffLimitExceeded');
    assert.match(noted.status?.message ?? '', /^container proxy failed once;/);
    const stop = decide(observing({ at: withStatus(at, noted.status), pod }));
    assert.deepEqual(actionTypes(stop), ['PatchPod']);
  });

  it('is stopped for an init container that fails again and again', () => {
    const pod = withPodStatus(created(at), {
      phase: 'Pending',
      startTime: timeText(dueTime),
      initContainerStatuses: [
        { name: 'first', restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } },
      ],
    });
    const { status } = decide(observing({ at, pod: transformPod(pod) }));
    assert.equal(status?.reason, 'BackoffLimitExceeded');
    assert.match(status?.message ?? '', /^container first failed 2 times;/);
  });

  it('of one start only is not stopped for another container', () => {
    const pod = podOf('Running', running, exited(1));
    const never = { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } };
    assert.deepEqual(actionTypes(decide(observing({ at, pod: never }))), []);
  });
});

describe('a Pod whose command has ended for good while its native sidecars end', () => {
  const limited = launched({ command: 'migrate', backoffLimit: 0, activeDeadlineSeconds: 60 });
  const sidecar = (state: ContainerState, restartCount = 0) => ({ name: 'mesh', restartCount, state });
  const podWith = (main: ContainerState, mesh = sidecar(running)): Pod =>
    transformPod(
      withPodStatus(created(limited), {
        phase: 'Running',
        startTime: timeText(dueTime),
        initContainerStatuses: [mesh],
        containerStatuses: [{ name: 'busybox', restartCount: 0, state: main }],
      }),
    );
  const over = podWith(exited(0));
  const ended = Date.parse(over.status?.containerStatuses?.[0]?.state?.terminated?.finishedAt ?? '');
  const late = ended + 35 * second;

  it('is left alone, whatever comes now, and succeeds', () => {
    const canceled = { ...limited, spec: { ...limited.spec, cancel: true } };
    const killed = podWith(exited(0), sidecar(exited(143), 1));
    for (const [at, pod, now] of [
      [limited, over, late],
      [canceled, over, dueTime + 2 * second],
      [limited, killed, dueTime + 2 * second],
    ] as const) {
      const decision = decide(observing({ at, pod, now }));
      assert.deepEqual([actionTypes(decision), decision.status?.reason], [[], undefined]);
      assert.equal(decision.requeueAt, ended + 40 * second, 'the end of the Pod arrives through the watch');
      const end = withPodStatus(pod, { ...pod.status, phase: 'Succeeded' });
      assert.equal(decide(observing({ at, pod: end, now })).status?.outcome, 'Succeeded');
    }
  });

  it('is stopped as succeeded where its kubelet does not end the others in time', () => {
    const now = ended + 40 * second;
    const stopped = patched(over, actionOf(decide(observing({ at: limited, pod: over, now })), 'PatchPod'));
    assert.equal(stopped.metadata.annotations?.[atAnnotation.stopReason], 'Succeeded');
  });

  it('keeps the reason for which it was stopped before, also while it is being deleted', () => {
    const stop = { ...over.metadata.annotations, [atAnnotation.stopReason]: 'BackoffLimitExceeded' };
    const pod = terminating({ ...over, metadata: { ...over.metadata, annotations: stop } }, late);
    const { status } = decide(observing({ at: limited, pod, now: dueTime + 2 * second }));
    assert.equal(status?.reason, 'BackoffLimitExceeded');
  });

  it('has succeeded also where it is gone before it has ended', () => {
    const retried = { ...limited, spec: { ...limited.spec, disruptionPolicy: 'Retry' as const } };
    const { status, actions } = decide(observing({ at: retried, departed: [over], live: true, now: late }));
    assert.deepEqual([status?.outcome, status?.exitCode, actions], ['Succeeded', 0, []]);
  });

  it('says so in status while it is being deleted, so that a process that starts then knows it', () => {
    const { status } = decide(
      observing({ at: limited, pod: terminating(over, late), now: dueTime + 2 * second }),
    );
    assert.deepEqual([status?.phase, status?.reason, status?.exitCode], ['RUNNING', 'Succeeded', 0]);
    const restarted = withStatus(limited, status);
    assert.equal(decide(observing({ at: restarted, live: true, now: late })).status?.outcome, 'Succeeded');
  });

  it('has succeeded also where only the finalizer is left of it', () => {
    const once = launched({ command: 'migrate', launchGuarantee: 'ExactlyOnce', disruptionPolicy: 'Retry' });
    const pod = podWith(exited(0));
    const metadata = {
      ...pod.metadata,
      finalizers: [trackingFinalizer],
      deletionTimestamp: timeText(dueTime + 5 * second),
      deletionGracePeriodSeconds: 0,
    };
    const held = { ...pod, metadata, spec: { ...pod.spec, nodeName: 'node-1' } };
    const { status } = decide(observing({ at: once, pod: held, live: true, now: late + 60 * second }));
    assert.deepEqual([status?.outcome, status?.exitCode], ['Succeeded', 0]);
  });
});

describe('a Pod whose command has succeeded and whose sidecar fails as it ends', () => {
  it('is stopped as succeeded, since the sidecar is started again', () => {
    const pod = podOf('Running', exited(0), exited(1), { main: 1, proxy: 0 });
    const stopped = patched(pod, actionOf(decide(observing({ at, pod })), 'PatchPod'));
    assert.equal(stopped.metadata.annotations?.[atAnnotation.stopReason], 'Succeeded');
  });
});
