/** A Pod of several containers: the first one is the command, and the run lasts as long as the Pod does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/at/decide/decide.ts';
import { slimPod } from '../../../src/at/facts/transform.ts';
import type { ContainerState, Pod, PodStatus } from '../../../src/kubernetes/objects.ts';
import {
  actionTypes,
  created,
  dueTime,
  exited,
  launched,
  observing,
  second,
  timeText,
  withPodStatus,
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
  return slimPod(pod);
}

describe('a Pod of several containers', () => {
  it('runs on when the command has ended and another container has not', () => {
    const decision = decide(observing({ at, pod: podOf('Running', exited(0), running) }));
    assert.deepEqual(decision.actions, []);
    assert.equal(decision.status?.phase, 'RUNNING');
  });

  it('has the exit code, the restarts and the words of the first', () => {
    const pod = podOf('Failed', exited(3, 'no such table'), exited(137, 'killed'), { main: 1, proxy: 5 });
    const { status } = decide(observing({ at, pod }));
    assert.equal(status?.outcome, 'Failed');
    assert.equal(status?.exitCode, 3);
    assert.equal(status?.restarts, 1);
    assert.equal(status?.message, 'no such table');
  });

  it('fails with the Pod, whichever container failed', () => {
    const { status } = decide(observing({ at, pod: podOf('Failed', exited(0), exited(1)) }));
    assert.equal(status?.outcome, 'Failed');
    assert.equal(status?.exitCode, 0);
    assert.match(status?.message ?? '', /another container/);
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
    const { status } = decide(observing({ at, pod: slimPod(pod) }));
    assert.equal(status?.reason, 'CommandFailed');
    assert.equal(status?.exitCode, undefined);
    assert.equal(status?.message, 'init container second ended with exit code 4');
  });

  it('is not stopped for the failures of another container', () => {
    const pod = podOf('Running', running, { waiting: { reason: 'CrashLoopBackOff' } }, { main: 0, proxy: 9 });
    assert.deepEqual(actionTypes(decide(observing({ at, pod }))), []);
  });
});
