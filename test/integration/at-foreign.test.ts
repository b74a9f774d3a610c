/** Ats and Pods that other hands have written into: forged statuses, finalizers of others, an owner taken away. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { At, AtSpec, AtStatus } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually, isGone } from './support.ts';

const name = 'example-at';
const farAway = '2100-01-01T00:00:00Z';
const longPast = '2019-04-12T10:12:00Z';
const time = '2019-04-12T10:12:00Z';

before(() => applyCrds());

interface Forgery {
  readonly it: string;
  readonly status: AtStatus;
  readonly spec?: Partial<AtSpec>;
  /** What becomes of the At. */
  readonly expected: Partial<AtStatus>;
  /** How many Pods it has in its life. */
  readonly pods: number;
}

const forgeries: readonly Forgery[] = [
  {
    it: 'runs although a condition is there already, and none is of its spec',
    status: {
      phase: 'PENDING',
      conditions: [
        { type: 'Accepted', status: 'True', reason: 'Armed', message: '', lastTransitionTime: time },
      ],
      reason: 'PodRejected',
      exitCode: 3,
    },
    expected: { phase: 'RUNNING' },
    pods: 1,
  },
  {
    it: 'runs although its status is ahead of it and names another time',
    status: { phase: 'PENDING', observedGeneration: 99, scheduledTime: farAway },
    expected: { phase: 'RUNNING' },
    pods: 1,
  },
  {
    it: 'is not run when it is said to run',
    status: { phase: 'RUNNING' },
    expected: { phase: 'DONE', outcome: 'Failed', reason: 'PodLost' },
    pods: 0,
  },
  {
    it: 'is not run when it is said to run somewhere else for the seventh time',
    status: { phase: 'RUNNING', podName: 'kube-apiserver', podUID: 'forged', attempts: 7 },
    spec: { disruptionPolicy: 'Retry', cancel: true },
    expected: { phase: 'DONE', outcome: 'Canceled' },
    pods: 0,
  },
  {
    it: 'is not run when it is said to run, if it runs exactly once',
    status: { phase: 'RUNNING' },
    spec: { launchGuarantee: 'ExactlyOnce' },
    expected: { phase: 'DONE', outcome: 'Failed', reason: 'PodLost' },
    pods: 0,
  },
  {
    it: 'is over when it is said to be',
    status: { phase: 'DONE', outcome: 'Succeeded', observedGeneration: 1 },
    expected: { phase: 'DONE', outcome: 'Succeeded' },
    pods: 0,
  },
];

async function forge({ client, namespace }: AtRig, status: AtStatus): Promise<void> {
  await client.patchStatus(ats, { namespace, name }, { type: 'merge', body: { status } });
}

/** Resolves when the operator has looked at everything that was there before. */
async function lookedAt(rig: AtRig): Promise<void> {
  await rig.createAt({ command: 'true' }, 'afterwards');
  await rig.inPhase('RUNNING', 'afterwards');
}

/** All of a Pod but what the scheduler writes at its own pace. */
function touchable({ metadata, spec }: Pod): object {
  const { resourceVersion: _, managedFields: __, ...rest } = metadata;
  return { metadata: rest, spec };
}

/** An At that a finalizer of another controller holds until the end of the test. */
async function held(
  t: TestContext,
  spec: Partial<AtSpec>,
): Promise<{ rig: AtRig; finalize: () => Promise<unknown> }> {
  const rig = await AtRig.create(t);
  await rig.createAt(spec);
  const finalize = await rig.holdAt(t);
  await rig.startOperator();
  return { rig, finalize };
}

describe('what other hands have written', { concurrency: true }, () => {
  describe('an At with a forged status', { concurrency: true }, () => {
    for (const { it: title, status, spec = {}, expected, pods: count } of forgeries) {
      it(title, async (t) => {
        const rig = await AtRig.create(t);
        const created = await rig.watchPods(t);
        await rig.createAt(spec);
        await forge(rig, status);
        await rig.startOperator();
        const isExpected = (at: At) =>
          Object.entries(expected).every(([field, value]) => at.status?.[field as keyof AtStatus] === value);
        await rig.atWhen(JSON.stringify(expected), isExpected, name);
        await lookedAt(rig);
        assert.ok(isExpected(await rig.at()));
        await eventually(() => created.size > count, { message: 'the Pods have been seen' });
        assert.equal(created.size, count + 1, 'its own, and that of the At afterwards');
      });
    }

    it('that names the Pod of a stranger touches it neither when it is canceled nor when its time is over', async (t) => {
      const rig = await AtRig.create(t);
      const metadata = { namespace: rig.namespace, name: `${name}-pod` };
      const containers = [{ name: 'main', image: 'busybox' }];
      await rig.client.create(pods, { metadata, spec: { containers } });
      await rig.start();
      const stranger = await rig.pod();
      await rig.createAt({ activeDeadlineSeconds: 1 });
      const { uid = '' } = stranger.metadata;
      await forge(rig, {
        phase: 'RUNNING',
        podName: metadata.name,
        podUID: uid,
        attempts: 1,
        startTime: time,
      });
      await rig.startOperator();
      await rig.editAt({ cancel: true });
      await rig.atWhen('looked at', ({ status }) => status?.observedGeneration === 2, name);
      await lookedAt(rig);
      assert.deepEqual(touchable(await rig.pod()), touchable(stranger));
      await rig.exit(0);
      await rig.inPhase('DONE', name);
    });
  });

  describe('an At with a finalizer of another controller', { concurrency: true }, () => {
    it('runs, is deleted when its time to live is over, and is not written again', async (t) => {
      const { rig, finalize } = await held(t, { ttlSecondsAfterFinished: 0 });
      await rig.inPhase('RUNNING');
      await rig.exit(0);
      const leaving = await rig.atWhen('deleted', ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await lookedAt(rig);
      assert.equal((await rig.at()).metadata.resourceVersion, leaving.metadata.resourceVersion);
      await finalize();
      await eventually(() => isGone(rig.client, ats, rig.namespace, name), { message: 'the At is gone' });
    });

    it('is not launched any more once it is deleted, whatever its schedule becomes', async (t) => {
      const { rig, finalize } = await held(t, { schedule: farAway });
      await rig.atWhen('accepted', ({ status }) => status?.observedGeneration === 1);
      await rig.client.delete(ats, { namespace: rig.namespace, name });
      await rig.editAt({ schedule: longPast });
      await lookedAt(rig);
      assert.equal(await rig.isPodGone(), true);
      await finalize();
    });
  });

  describe('a run in which a user meddles', { concurrency: true }, () => {
    it('is followed to its end, and its Pod not written, once its owner was taken away', async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator();
      await rig.createAt();
      await rig.inPhase('RUNNING');
      await rig.start();
      const key = { namespace: rig.namespace, name: `${name}-pod` };
      await rig.client.patch(pods, key, { type: 'merge', body: { metadata: { ownerReferences: null } } });
      const orphan = await rig.pod();
      await rig.editAt({ cancel: true });
      await rig.atWhen('looked at', ({ status }) => status?.observedGeneration === 2);
      assert.deepEqual(touchable(await rig.pod()), touchable(orphan));
      await rig.exit(0);
      // Its events do not lead to the At any more: it is looked at every 10 s.
      assert.equal((await rig.inPhase('DONE', name, 60_000)).status?.outcome, 'Succeeded');
    });

    it('has no finalizer of ours once it is over, although its owner was taken away', async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator();
      await rig.createAt({ launchGuarantee: 'ExactlyOnce' });
      await rig.inPhase('RUNNING');
      const isReleased = async () => ((await rig.pod()).spec.schedulingGates ?? []).length === 0;
      await eventually(isReleased, { message: 'the Pod is released' });
      await rig.start();
      const key = { namespace: rig.namespace, name: `${name}-pod` };
      await rig.client.patch(pods, key, { type: 'merge', body: { metadata: { ownerReferences: null } } });
      await rig.exit(0);
      assert.equal((await rig.inPhase('DONE', name, 60_000)).status?.outcome, 'Succeeded');
      const isFree = async () => ((await rig.pod()).metadata.finalizers ?? []).length === 0;
      await eventually(isFree, { message: 'the finalizer is gone' });
    });

    it('is not held where the operator has rights in its namespaces alone, and status says what that means', async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator({ tracks: false });
      await rig.createAt({ launchGuarantee: 'ExactlyOnce' });
      const { status } = await rig.inPhase('RUNNING');
      assert.equal((await rig.pod()).metadata.finalizers, undefined);
      const launched = status?.conditions?.find(({ type }) => type === 'Launched');
      assert.match(launched?.message ?? '', /its result is lost if the Pod is deleted/);
    });

    it('is over when a user says so, and the status of the Pod does not count any more', async (t) => {
      const rig = await AtRig.create(t);
      await rig.startOperator();
      await rig.createAt();
      await rig.inPhase('RUNNING');
      await rig.start();
      await forge(rig, { phase: 'DONE', outcome: 'Canceled' });
      await rig.exit(3);
      await lookedAt(rig);
      const { status } = await rig.at();
      assert.deepEqual([status?.phase, status?.outcome, status?.exitCode], ['DONE', 'Canceled', undefined]);
    });
  });
});
