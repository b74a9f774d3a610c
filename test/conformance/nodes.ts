/** Rows about a node: what a Pod's status says about starts, ends, back-offs, deadlines and what is missing. */
import assert from 'node:assert/strict';
import { type ContainerState, configMaps } from '../../src/kubernetes/objects.ts';
import { type ContainerStatus, type Pod, pods } from '../../src/testing/objects.ts';
import { conditionOf } from '../../src/testing/pod-facts.ts';
import {
  failingProbe,
  newPod,
  running,
  serving,
  type WorkloadRow,
  type WorkloadSubject,
} from './workload-subject.ts';

const sleeper = 'sleep 3600';
const polite = "trap 'exit 5' TERM; sleep 3600 & wait";

function main(pod: Pod | undefined): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.[0];
}

function reasonOf(state: ContainerState | undefined): string | undefined {
  return state?.waiting?.reason ?? state?.terminated?.reason;
}

function inPhase(subject: WorkloadSubject, name: string, phase: string): Promise<Pod> {
  return subject.until(`${name} in phase ${phase}`, async () => {
    const pod = await subject.find(pods, name);
    return pod?.status?.phase === phase && pod;
  });
}

function waitingFor(subject: WorkloadSubject, name: string, reason: string): Promise<Pod> {
  return subject.until(`${name} waiting for ${reason}`, async () => {
    const pod = await subject.find(pods, name);
    return main(pod)?.state?.waiting?.reason === reason && pod;
  });
}

/** Types, status and reasons of the conditions. */
function conditionsOf(pod: Pod): Record<string, string> {
  const list = pod.status?.conditions ?? [];
  return Object.fromEntries(
    list.map(({ type, status, reason }) => [type, reason ? `${status} ${reason}` : status]).sort(),
  );
}

/** The last state that the Pod was in before it was gone, once the watch has shown that. */
function lastState(subject: WorkloadSubject, name: string): Promise<Pod> {
  return subject.until(`the watch shows the end of ${name}`, async () => {
    const last = subject.history(pods).findLast(({ object }) => object.metadata.name === name);
    return last?.type === 'DELETED' && (last.object as Pod);
  });
}

const endRows: readonly WorkloadRow[] = [
  {
    title: 'a Pod that succeeds goes from Pending to Running to Succeeded',
    async run(subject) {
      await subject.create(pods, newPod('ok', running('sleep 4')));
      const pod = await inPhase(subject, 'ok', 'Succeeded');
      const phases = await subject.until('the watch shows the end', async () => {
        const seen = subject.history(pods).map(({ object }) => (object as Pod).status?.phase);
        return seen.includes('Succeeded') && new Set(seen);
      });
      assert.deepEqual([...phases], ['Pending', 'Running', 'Succeeded']);
      const { terminated } = main(pod)?.state ?? {};
      assert.equal(terminated?.exitCode, 0);
      assert.equal(terminated?.reason, 'Completed');
      assert.ok(terminated?.startedAt && terminated.finishedAt);
      // The network of the Pod is taken down a moment later.
      const settled = await subject.until('the end of its network', async () => {
        const now = await subject.find(pods, 'ok');
        return now && conditionsOf(now).PodReadyToStartContainers === 'False' && now;
      });
      assert.deepEqual(conditionsOf(settled), {
        ContainersReady: 'False PodCompleted',
        Initialized: 'True PodCompleted',
        PodReadyToStartContainers: 'False',
        PodScheduled: 'True',
        Ready: 'False PodCompleted',
      });
    },
  },
  {
    title: 'a Pod that runs is ready, one whose probe fails is not',
    async run(subject) {
      const probe = { exec: { command: ['true'] }, periodSeconds: 2 };
      await subject.create(pods, newPod('ready', serving({ readinessProbe: probe })));
      await subject.create(pods, newPod('unready', serving({ readinessProbe: failingProbe })));
      const ready = await subject.until('readiness', async () => {
        const pod = await subject.find(pods, 'ready');
        return pod && conditionOf(pod, 'Ready')?.status === 'True' && pod;
      });
      assert.equal(main(ready)?.ready, true);
      assert.equal(main(ready)?.started, true);
      assert.ok(ready.status?.podIP && ready.status.hostIP && ready.status.startTime);
      const unready = await inPhase(subject, 'unready', 'Running');
      assert.equal(main(unready)?.ready, false);
      assert.equal(conditionsOf(unready).Ready, 'False ContainersNotReady');
      assert.equal(conditionOf(unready, 'Ready')?.message, 'containers with unready status: [main]');
    },
  },
  {
    title: 'a Pod that fails says its exit code and, asked for, the end of its output',
    async run(subject) {
      const fields = { terminationMessagePolicy: 'FallbackToLogsOnError' };
      await subject.create(pods, newPod('bad', running('echo broken; exit 3', fields)));
      const pod = await inPhase(subject, 'bad', 'Failed');
      const { terminated } = main(pod)?.state ?? {};
      assert.equal(terminated?.exitCode, 3);
      assert.equal(terminated?.reason, 'Error');
      assert.equal(terminated?.message, 'broken\n');
      assert.equal(main(pod)?.restartCount, 0);
      assert.equal(pod.status?.reason, undefined);
      assert.equal(conditionsOf(pod).Ready, 'False PodFailed');
    },
  },
  {
    title: 'OnFailure starts again at once, then after a back-off that shows',
    async run(subject) {
      await subject.create(pods, newPod('again', running('exit 4'), { restartPolicy: 'OnFailure' }));
      // A kubelet that looks at a Pod again only when the back-off is over may tell of none. An edit makes it look.
      let edits = 0;
      const pod = await subject.until('again waiting for CrashLoopBackOff', async () => {
        edits += 1;
        await subject.patch(pods, 'again', { metadata: { annotations: { edits: String(edits) } } });
        const now = await subject.find(pods, 'again');
        return main(now)?.state?.waiting?.reason === 'CrashLoopBackOff' && now;
      });
      const restarts = main(pod)?.restartCount ?? 0;
      assert.ok(restarts >= 1);
      assert.equal(main(pod)?.lastState?.terminated?.exitCode, 4);
      // It may have missed the first ones. Each is twice as long as the one before.
      const backOff = ['10s', '20s', '40s', '1m20s', '2m40s'][restarts - 1];
      const begin = `back-off ${backOff} restarting failed container=main pod=again_`;
      assert.equal(main(pod)?.state?.waiting?.message?.slice(0, begin.length), begin);
      assert.equal(pod.status?.phase, 'Running');
      assert.equal(main(pod)?.ready, false);
    },
  },
  {
    title: 'Always starts again what has succeeded',
    async run(subject) {
      await subject.create(pods, newPod('loop', running('true'), { restartPolicy: 'Always' }));
      const pod = await subject.until('a restart', async () => {
        const now = await subject.find(pods, 'loop');
        return (main(now)?.restartCount ?? 0) >= 1 && now;
      });
      assert.equal(main(pod)?.lastState?.terminated?.reason, 'Completed');
      assert.equal(pod.status?.phase, 'Running');
    },
  },
  {
    title: 'a program that is not there cannot be started',
    async run(subject) {
      const container = { name: 'main', image: 'busybox', command: ['no-such-program'] };
      await subject.create(pods, newPod('absent', container));
      const pod = await inPhase(subject, 'absent', 'Failed');
      const { terminated } = main(pod)?.state ?? {};
      assert.equal(terminated?.exitCode, 128);
      assert.equal(terminated?.reason, 'StartError');
      assert.match(terminated?.message ?? '', /executable file not found/);
    },
  },
  {
    title: 'init containers come first and in order; a failed one ends a Pod that is never restarted',
    async run(subject) {
      const inits = [running('sleep 1', { name: 'first' }), running('exit 9', { name: 'second' })];
      await subject.create(pods, newPod('init', running('true'), { initContainers: inits }));
      const pod = await inPhase(subject, 'init', 'Failed');
      const [first, second] = pod.status?.initContainerStatuses ?? [];
      assert.equal(first?.state?.terminated?.exitCode, 0);
      assert.equal(second?.state?.terminated?.exitCode, 9);
      assert.equal(reasonOf(main(pod)?.state), 'PodInitializing');
      assert.equal(conditionsOf(pod).Initialized, 'False ContainersNotInitialized');
    },
  },
  {
    title: 'a native sidecar runs beside the main container, and ends with it',
    async run(subject) {
      const sidecar = running(polite, { name: 'sidecar', restartPolicy: 'Always' });
      await subject.create(pods, newPod('with', running('sleep 1'), { initContainers: [sidecar] }));
      const pod = await inPhase(subject, 'with', 'Succeeded');
      assert.equal(main(pod)?.state?.terminated?.exitCode, 0);
      assert.equal(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 5);
    },
  },
  {
    title: 'one container of two that ends leaves the Pod running',
    async run(subject) {
      const containers = [running('exit 2'), serving({ name: 'other' })];
      await subject.create(pods, newPod('two', running('exit 2'), { containers }));
      const pod = await subject.until('the first end', async () => {
        const now = await subject.find(pods, 'two');
        const [one, two] = now?.status?.containerStatuses ?? [];
        return one?.state?.terminated !== undefined && two?.state?.running !== undefined && now;
      });
      assert.equal(pod.status?.phase, 'Running');
      assert.equal(conditionsOf(pod).Ready, 'False ContainersNotReady');
    },
  },
];

const deletionRows: readonly WorkloadRow[] = [
  {
    title: 'a deleted Pod is told, waited for and killed: 137 without a handler, its own code with one',
    async run(subject) {
      await subject.create(pods, newPod('deaf', running(sleeper)));
      await subject.create(pods, newPod('polite', running(polite)));
      for (const name of ['deaf', 'polite']) await inPhase(subject, name, 'Running');
      for (const name of ['deaf', 'polite']) await subject.delete(pods, name);
      const held = await subject.find(pods, 'deaf');
      assert.equal(held?.metadata.deletionGracePeriodSeconds, 2);
      for (const [name, code] of [
        ['deaf', 137],
        ['polite', 5],
      ] as const) {
        await subject.until(`the end of ${name}`, async () => !(await subject.find(pods, name)));
        const pod = await lastState(subject, name);
        assert.equal(main(pod)?.state?.terminated?.exitCode, code);
        assert.equal(pod.status?.phase, 'Failed');
        assert.equal(pod.metadata.deletionGracePeriodSeconds, 0);
      }
    },
  },
  {
    title: 'a finalizer keeps a deleted Pod with its terminal status',
    async run(subject) {
      await subject.create(pods, newPod('held', running(polite)));
      const finalizers = ['example.com/hold'];
      await subject.patch(pods, 'held', { metadata: { finalizers } });
      await inPhase(subject, 'held', 'Running');
      await subject.delete(pods, 'held');
      const pod = await subject.until('its end', async () => {
        const now = await subject.find(pods, 'held');
        return now?.metadata.deletionGracePeriodSeconds === 0 && now;
      });
      assert.equal(pod.status?.phase, 'Failed');
      assert.equal(main(pod)?.state?.terminated?.exitCode, 5);
      await subject.patch(pods, 'held', { metadata: { finalizers: null } });
      await subject.until('its removal', async () => !(await subject.find(pods, 'held')));
    },
  },
  {
    title: 'a Pod that is deleted before it could start ends as Failed',
    async run(subject) {
      const container = running('true', { envFrom: [{ configMapRef: { name: 'absent' } }] });
      await subject.create(pods, newPod('early', container));
      await waitingFor(subject, 'early', 'CreateContainerConfigError');
      await subject.delete(pods, 'early');
      await subject.until('its removal', async () => !(await subject.find(pods, 'early')));
      assert.equal((await lastState(subject, 'early')).status?.phase, 'Failed');
    },
  },
  {
    title: 'activeDeadlineSeconds ends a Pod and keeps it, also when it is lowered in flight',
    async run(subject) {
      await subject.create(pods, newPod('deadline', running(sleeper), { activeDeadlineSeconds: 3 }));
      await subject.create(pods, newPod('lowered', running(polite), { activeDeadlineSeconds: 3000 }));
      await inPhase(subject, 'lowered', 'Running');
      await subject.patch(pods, 'lowered', { spec: { activeDeadlineSeconds: 1 } });
      for (const [name, code] of [
        ['deadline', 137],
        ['lowered', 5],
      ] as const) {
        const pod = await inPhase(subject, name, 'Failed');
        assert.equal(pod.status?.reason, 'DeadlineExceeded');
        assert.equal(pod.status?.message, 'Pod was active on the node longer than the specified deadline');
        assert.equal(main(pod)?.state?.terminated?.exitCode, code);
      }
    },
  },
];

const stopRows: readonly WorkloadRow[] = [
  {
    title:
      'the end of a container shows while a native sidecar ends, unless the kubelet has stopped them both',
    async run(subject) {
      const initContainers = [running(sleeper, { name: 'sidecar', restartPolicy: 'Always' })];
      await subject.create(pods, newPod('done', running('sleep 1'), { initContainers }));
      await subject.create(pods, newPod('gone', running(polite), { initContainers }));
      const late = { initContainers, activeDeadlineSeconds: 3 };
      await subject.create(pods, newPod('late', running(polite), late));
      await inPhase(subject, 'gone', 'Running');
      await subject.delete(pods, 'gone');
      await lastState(subject, 'gone');
      await inPhase(subject, 'late', 'Failed');
      await inPhase(subject, 'done', 'Succeeded');
      const shows = (name: string) =>
        subject.history(pods).some(({ object }) => {
          const pod = object as Pod;
          const isEnded = main(pod)?.state?.terminated !== undefined;
          return pod.metadata.name === name && pod.status?.phase === 'Running' && isEnded;
        });
      assert.deepEqual([shows('done'), shows('gone'), shows('late')], [true, false, false]);
    },
  },
];

const waitingRows: readonly WorkloadRow[] = [
  {
    title: 'a gated Pod is not scheduled before its gate is gone',
    async run(subject) {
      const gates = [{ name: 'example.com/gate' }];
      await subject.create(pods, newPod('gated', running('true'), { schedulingGates: gates }));
      await subject.pass(2);
      const pod = await subject.find(pods, 'gated');
      assert.equal(pod?.spec.nodeName, undefined);
      assert.equal(pod?.status?.phase, 'Pending');
      assert.deepEqual(pod && conditionsOf(pod), { PodScheduled: 'False SchedulingGated' });
      await subject.patch(pods, 'gated', { spec: { schedulingGates: null } });
      await inPhase(subject, 'gated', 'Succeeded');
    },
  },
  {
    title: 'a Pod that fits no node says so',
    async run(subject) {
      await subject.create(pods, newPod('nowhere', running('true'), { nodeSelector: { moon: 'yes' } }));
      const pod = await subject.until('its condition', async () => {
        const now = await subject.find(pods, 'nowhere');
        return now && conditionOf(now, 'PodScheduled') !== undefined && now;
      });
      assert.deepEqual(conditionsOf(pod), { PodScheduled: 'False Unschedulable' });
      assert.match(
        conditionOf(pod, 'PodScheduled')?.message ?? '',
        /^0\/\d+ nodes are available: \d+ node\(s\) didn't match/,
      );
    },
  },
  {
    title: 'a missing ConfigMap or key keeps a container waiting, and its appearance helps',
    async run(subject) {
      const container = running('true', { envFrom: [{ configMapRef: { name: 'settings' } }] });
      await subject.create(pods, newPod('config', container));
      const reference = { configMapKeyRef: { name: 'settings', key: 'absent' } };
      const other = running('true', { env: [{ name: 'A', valueFrom: reference }] });
      await subject.create(pods, newPod('key', other));
      const pod = await waitingFor(subject, 'config', 'CreateContainerConfigError');
      assert.equal(main(pod)?.state?.waiting?.message, 'configmap "settings" not found');
      assert.equal(pod.status?.phase, 'Pending');
      await subject.create(configMaps, { metadata: { name: 'settings' }, data: { present: '1' } });
      await inPhase(subject, 'config', 'Succeeded');
      const lacking = await subject.until('the key that is missing', async () => {
        const now = await subject.find(pods, 'key');
        return main(now)?.state?.waiting?.message?.startsWith("couldn't find key") && now;
      });
      assert.equal(
        main(lacking)?.state?.waiting?.message,
        `couldn't find key absent in ConfigMap ${subject.namespace}/settings`,
      );
    },
  },
  {
    title: 'a container that would run as root and must not is not made',
    async run(subject) {
      const container = running('true', { securityContext: { runAsNonRoot: true, runAsUser: 0 } });
      await subject.create(pods, newPod('root', container));
      const pod = await waitingFor(subject, 'root', 'CreateContainerConfigError');
      assert.match(main(pod)?.state?.waiting?.message ?? '', /runAsUser breaks non-root policy/);
    },
  },
  {
    title: 'an image that no registry has: ErrImagePull, then ImagePullBackOff; no image name at all',
    async run(subject) {
      await subject.create(pods, newPod('image', running('true', { image: 'no-such-image' })));
      await subject.create(pods, newPod('name', running('true', { image: 'No Such Image' })));
      const pod = await waitingFor(subject, 'image', 'ImagePullBackOff');
      assert.match(main(pod)?.state?.waiting?.message ?? '', /Back-off pulling image "no-such-image"/);
      assert.equal(pod.status?.phase, 'Pending');
      assert.equal(main(pod)?.restartCount, 0);
      await waitingFor(subject, 'name', 'InvalidImageName');
    },
  },
  {
    title: 'a volume of a missing ConfigMap keeps the Pod from starting; an optional one does not',
    async run(subject) {
      const volume = (optional: boolean) => ({
        volumes: [{ name: 'files', configMap: { name: 'files', optional } }],
      });
      await subject.create(pods, newPod('optional', running('true'), volume(true)));
      await inPhase(subject, 'optional', 'Succeeded');
      await subject.create(pods, newPod('needed', running('true'), volume(false)));
      await waitingFor(subject, 'needed', 'ContainerCreating');
      await subject.create(configMaps, { metadata: { name: 'files' }, data: { a: '1' } });
      await inPhase(subject, 'needed', 'Succeeded');
    },
  },
];

export const nodeRows: readonly WorkloadRow[] = [...endRows, ...deletionRows, ...stopRows, ...waitingRows];
