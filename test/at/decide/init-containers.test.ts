/** Init containers: a long one is work, not waiting, so that pendingTimeoutSeconds does not end it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transformPod } from '../../../src/at/facts/transform.ts';
import type { ContainerState, ContainerStatus, Pod } from '../../../src/kubernetes/objects.ts';
import {
  created,
  decideInParts as decide,
  dueTime,
  launched,
  observing,
  second,
  timeText,
  withPodStatus,
} from '../../fixtures/at.ts';

const minute = 60 * second;
const timeout = 15 * minute;
const sidecar = { name: 'proxy', restartPolicy: 'Always' };
const at = launched({
  template: { spec: { initContainers: [sidecar, { name: 'fetch' }, { name: 'check' }], containers: [{}] } },
});

/** Times are minutes from the creation of the Pod. */
const ranFrom = (from: number, to: number, exitCode = 0): ContainerState => ({
  terminated: {
    exitCode,
    startedAt: timeText(dueTime + from * minute),
    finishedAt: timeText(dueTime + to * minute),
  },
});
const runsSince = (from: number): ContainerState => ({
  running: { startedAt: timeText(dueTime + from * minute) },
});
const waits: ContainerState = { waiting: { reason: 'PodInitializing' } };
const backOff: ContainerState = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };

/** The Pod as the informer keeps it. */
function podWith(fetch: Partial<ContainerStatus>, check: Partial<ContainerStatus> = {}, main = waits): Pod {
  const pod = withPodStatus(created(at, dueTime), {
    phase: 'Pending',
    startTime: timeText(dueTime),
    initContainerStatuses: [
      { name: 'proxy', restartCount: 0, state: runsSince(0) },
      { name: 'fetch', restartCount: 0, state: waits, ...fetch },
      { name: 'check', restartCount: 0, state: waits, ...check },
    ],
    containerStatuses: [{ name: 'busybox', restartCount: 0, state: main }],
  });
  return transformPod(pod);
}

/** When the run ends because the command has not started, minutes from the creation of its Pod; undefined: never. */
function endOf(pod: Pod): number | undefined {
  const { requeueAt } = decide(observing({ at, pod, now: dueTime + 20 * second }));
  if (requeueAt === undefined) {
    const later = decide(observing({ at, pod, now: dueTime + 1e9 }));
    assert.deepEqual([later.actions, later.locks], [[], []]);
    return undefined;
  }
  const before = decide(observing({ at, pod, now: requeueAt - 1 }));
  assert.deepEqual([before.actions, before.locks], [[], []]);
  const { locks } = decide(observing({ at, pod, now: requeueAt }));
  assert.ok(locks.length > 0, 'the cause of a stop stands in status');
  return (requeueAt - dueTime) / minute;
}

describe('pendingTimeoutSeconds', () => {
  const pull: ContainerState = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
  const limit = timeout / minute;
  const rows: readonly { readonly it: string; readonly pod: Pod; readonly end: number | undefined }[] = [
    { it: 'counts from the creation, also while a native sidecar runs', pod: podWith({}), end: limit },
    { it: 'does not count while one runs', pod: podWith({ state: runsSince(1) }), end: undefined },
    {
      it: 'does not count the time in which they have run',
      pod: podWith({ state: ranFrom(1, 61) }, { state: ranFrom(62, 72) }, pull),
      end: limit + 60 + 10,
    },
    {
      it: 'counts the back-off between two runs of one',
      pod: podWith({ restartCount: 1, lastState: ranFrom(0, 60, 1), state: ranFrom(65, 95) }, {}, pull),
      end: limit + 60 + 30,
    },
    {
      it: 'takes for work what status has forgotten of one that failed again and again',
      pod: podWith({ restartCount: 3, lastState: ranFrom(90, 120, 1), state: backOff }),
      end: limit + 120,
    },
    {
      it: 'takes no clock of a node for work that comes before the Pod',
      pod: podWith({ state: ranFrom(-60, -70) }, {}, pull),
      end: limit,
    },
  ];
  for (const { it: title, pod, end } of rows) it(title, () => assert.equal(endOf(pod), end));
});
