/**
 * A Pod into which admission has put a sidecar before the command, as service meshes do that want theirs to start
 * first. The operator reads it whole or transformed, and decides alike.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec, AtStatus } from '../../../src/api/at.generated.ts';
import { atAnnotation } from '../../../src/api/at-constants.ts';
import { transformPod } from '../../../src/at/facts/transform.ts';
import { runAnnotation } from '../../../src/at/plan/run.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../src/kubernetes/objects.ts';
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
  timeText,
} from '../../fixtures/at.ts';

const commandStart = dueTime + 5 * second;
const proxyRuns = runningSince(dueTime);
const commandRuns = runningSince(commandStart);
const creating: ContainerState = { waiting: { reason: 'ContainerCreating' } };
const backOff: ContainerState = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
const noImage: ContainerState = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };

function runningSince(time: number): ContainerState {
  return { running: { startedAt: timeText(time) } };
}

interface Containers {
  readonly command: Partial<ContainerStatus>;
  readonly proxy: Partial<ContainerStatus>;
}

/** The Pod as it is stored, with a container of another author in the first place. */
function injected(pod: Pod, { command, proxy }: Containers, status: PodStatus): Pod {
  return {
    ...pod,
    spec: { ...pod.spec, containers: [{ name: 'linkerd-proxy' }, ...pod.spec.containers] },
    status: {
      startTime: timeText(dueTime),
      ...status,
      containerStatuses: [
        { name: 'linkerd-proxy', restartCount: 0, ...proxy },
        { name: 'busybox', restartCount: 0, ...command },
      ],
    },
  };
}

interface Row {
  readonly it: string;
  readonly spec?: Partial<AtSpec>;
  readonly containers: Containers;
  readonly pod: PodStatus;
  /** By default a minute after the Pod was created. */
  readonly now?: number;
  readonly actions?: readonly string[];
  readonly expected: { readonly [Field in keyof AtStatus]?: AtStatus[Field] | undefined };
}

const disrupted = { conditions: [{ type: 'DisruptionTarget', status: 'True' }] } as const;
const rows: readonly Row[] = [
  {
    it: 'has failed as the command did, with what that said',
    containers: { command: { state: exited(3, 'no such table') }, proxy: { state: exited(0, 'bye') } },
    pod: { phase: 'Failed' },
    expected: {
      outcome: 'Failed',
      reason: 'CommandFailed',
      exitCode: 3,
      message: 'no such table',
      startTime: '2030-01-31T09:00:01.000Z',
    },
  },
  {
    it: 'has the restarts of the command',
    containers: {
      command: { state: exited(0), restartCount: 1 },
      proxy: { state: exited(0), restartCount: 4 },
    },
    pod: { phase: 'Succeeded' },
    expected: { outcome: 'Succeeded', exitCode: 0, restarts: 1 },
  },
  {
    it: 'has succeeded as the command did, where the sidecar failed',
    containers: { command: { state: exited(0) }, proxy: { state: exited(1) } },
    pod: { phase: 'Failed' },
    expected: { outcome: 'Succeeded', exitCode: 0, message: undefined },
  },
  {
    it: 'is stopped when the command has ended and the sidecar runs on',
    containers: { command: { state: exited(0) }, proxy: { state: proxyRuns } },
    pod: { phase: 'Running' },
    actions: ['PatchPod'],
    expected: { phase: 'RUNNING' },
  },
  {
    it: 'has not succeeded when it was disrupted and the sidecar ended well',
    containers: { command: { state: exited(143) }, proxy: { state: exited(0) } },
    pod: { phase: 'Failed', ...disrupted },
    expected: { outcome: 'Failed', reason: 'Evicted', exitCode: 143 },
  },
  {
    it: 'has succeeded when it was disrupted after the command had ended well',
    containers: { command: { state: exited(0) }, proxy: { state: exited(137) } },
    pod: { phase: 'Failed', ...disrupted },
    expected: { outcome: 'Succeeded', exitCode: 0 },
  },
  {
    it: 'has the start of the command, not that of the sidecar',
    spec: { activeDeadlineSeconds: 100 },
    containers: { command: { state: commandRuns }, proxy: { state: proxyRuns } },
    pod: { phase: 'Running' },
    expected: { phase: 'RUNNING', startTime: '2030-01-31T09:00:05.000Z' },
  },
  {
    it: 'is not stopped before the command has had its time',
    spec: { activeDeadlineSeconds: 30 },
    containers: { command: { state: commandRuns }, proxy: { state: proxyRuns } },
    pod: { phase: 'Running' },
    now: commandStart + 30 * second - 1,
    expected: { phase: 'RUNNING' },
  },
  {
    it: 'is stopped when the command has had its time',
    spec: { activeDeadlineSeconds: 30 },
    containers: {
      command: { state: commandRuns },
      proxy: { state: runningSince(commandStart + 20 * second) },
    },
    pod: { phase: 'Running' },
    now: commandStart + 30 * second,
    actions: ['PatchPod'],
    expected: { phase: 'RUNNING' },
  },
  {
    it: 'is stopped for the failures of the command',
    spec: { backoffLimit: 1 },
    containers: {
      command: { state: backOff, lastState: exited(3), restartCount: 1 },
      proxy: { state: proxyRuns },
    },
    pod: { phase: 'Running' },
    actions: ['PatchPod'],
    expected: { phase: 'RUNNING' },
  },
  {
    it: 'is not stopped while the failures of the sidecar are within backoffLimit',
    spec: { backoffLimit: 9 },
    containers: {
      command: { state: commandRuns },
      proxy: { state: backOff, lastState: exited(3), restartCount: 8 },
    },
    pod: { phase: 'Running' },
    expected: { phase: 'RUNNING' },
  },
  {
    it: 'has not started while only the sidecar has',
    containers: { command: { state: noImage }, proxy: { state: proxyRuns } },
    pod: { phase: 'Pending' },
    expected: { phase: 'RUNNING', reason: 'ImagePullBackOff', message: 'no such image' },
  },
  {
    it: 'does not take what the sidecar waits for as what keeps the command from starting',
    containers: { command: { state: creating }, proxy: { state: noImage } },
    pod: { phase: 'Pending' },
    expected: { phase: 'RUNNING', reason: undefined },
  },
];

const forms = { whole: (pod: Pod) => pod, transformed: transformPod } as const;

describe('a Pod with a sidecar of another author in the first place', () => {
  for (const { it: title, spec = {}, containers, pod: status, now, actions = [], expected } of rows) {
    for (const [form, read] of Object.entries(forms)) {
      it(`${title}: ${form}`, () => {
        const at = launched(spec);
        const pod = read(injected(created(at), containers, status));
        const decision = decide(observing({ at, pod, now: now ?? dueTime + 60 * second }));
        assert.deepEqual(actionTypes(decision), actions);
        for (const [field, value] of Object.entries(expected)) {
          assert.deepEqual(decision.status?.[field as keyof AtStatus], value, field);
        }
      });
    }
  }

  it('is stopped with the exit code of the command', () => {
    const at = launched({ backoffLimit: 1 });
    const command = { state: backOff, lastState: exited(3), restartCount: 1 };
    const pod = transformPod(
      injected(created(at), { command, proxy: { state: proxyRuns } }, { phase: 'Running' }),
    );
    const { annotations } = patched(pod, actionOf(decide(observing({ at, pod })), 'PatchPod')).metadata;
    assert.equal(annotations?.[atAnnotation.exitCode], '3');
  });

  for (const run of [undefined, 'nonsense', '{"container":"other"}', '{"container":7}']) {
    for (const [form, read] of Object.entries(forms)) {
      it(`is judged by its first container when its annotation is ${run}: ${form}`, () => {
        const at = launched();
        const pod = created(at);
        const annotations = run === undefined ? {} : { [runAnnotation]: run };
        const untold = { ...pod, metadata: { ...pod.metadata, annotations } };
        const containers = { command: { state: exited(0) }, proxy: { state: exited(7, 'proxy') } };
        const seen = read(injected(untold, containers, { phase: 'Failed' }));
        const { status } = decide(observing({ at, pod: seen }));
        assert.deepEqual([status?.exitCode, status?.message], [7, 'proxy']);
      });
    }
  }
});
