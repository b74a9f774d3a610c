/** What counts against the limits of a run, on a real API server. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { atAnnotation } from '../../src/api/at-constants.ts';
import type { ContainerState, ContainerStatus } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { AtRig, isGated, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** A container after so many restarts, in this state, and how its run before that has ended. */
function container(
  name: string,
  restartCount: number,
  state: ContainerState,
  lastState: ContainerState = {},
): ContainerStatus {
  const image = { image: 'busybox', imageID: '', ready: false };
  return { name, ...image, restartCount, state, lastState };
}

/** A run from one instant to another, epoch milliseconds. */
function run(exitCode: number, from: number, to: number): ContainerState {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return { terminated: { exitCode, reason, startedAt: seconds(from), finishedAt: seconds(to) } };
}

const backOff = { waiting: { reason: 'CrashLoopBackOff' } };
const initializing = { waiting: { reason: 'PodInitializing' } };
const running = (since: number): ContainerState => ({ running: { startedAt: seconds(since) } });

let looks = 0;

/** Once the operator has looked at everything that was there before, these Pods are not stopped. */
async function assertGoesOn(rig: AtRig, ...names: readonly string[]): Promise<void> {
  looks += 1;
  const later = `later-${looks}`;
  await rig.createAt({ pendingTimeoutSeconds: 0 }, later);
  await rig.inPhase('RUNNING', later);
  for (const name of names.length === 0 ? ['example-at-pod'] : names) {
    assert.notEqual((await rig.pod(name)).spec.activeDeadlineSeconds, 1, `${name} is not stopped`);
  }
}

describe('backoffLimit', { concurrency: true }, () => {
  it('counts the failures of init containers, of the command and of what runs beside it together', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const initContainers = [{ name: 'fetch', image: 'busybox' }];
    const containers = [{ name: 'main' }, { name: 'helper', image: 'busybox' }];
    await rig.createAt({
      ...{ command: 'true', backoffLimit: 3 },
      template: { spec: { initContainers, containers } },
    });
    await rig.inPhase('RUNNING');
    const time = parseTime((await rig.pod()).metadata.creationTimestamp ?? '');
    const failure = run(1, time, time);
    const fetch = container('fetch', 1, run(0, time, time), failure);
    const main = container('main', 1, running(time), failure);
    const helper = container('helper', 1, running(time), failure);
    await rig.setPod({
      ...{ phase: 'Running', startTime: seconds(time) },
      ...{ initContainerStatuses: [fetch], containerStatuses: [main, helper] },
    });
    await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    await assertGoesOn(rig);
    await rig.setPod({ containerStatuses: [main, container('helper', 1, backOff, failure)] });
    await rig.stopped();
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'BackoffLimitExceeded']);
    assert.match(status?.message ?? '', /^container helper failed 2 times/);
  });

  it('is there in full for each attempt, while restarts adds up', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    await rig.createAt({ disruptionPolicy: 'Retry', backoffLimit: 2 });
    await rig.inPhase('RUNNING');
    const fail = async (name: string, failures: number) => {
      const time = parseTime((await rig.pod(name)).metadata.creationTimestamp ?? '');
      const main = container('busybox', failures - 1, backOff, run(7, time, time));
      await rig.setPod({ phase: 'Running', startTime: seconds(time), containerStatuses: [main] }, name);
      return time;
    };
    const time = await fail('example-at-pod', 2);
    await rig.atWhen('failing', ({ status }) => status?.restarts === 1);
    const cut = container('busybox', 1, run(137, time, time));
    await rig.setPod({ phase: 'Failed', reason: 'Evicted', containerStatuses: [cut] });
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2);
    await fail('example-at-pod-2', 2);
    const failing = await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    assert.equal(failing.status?.restarts, 2);
    await assertGoesOn(rig, 'example-at-pod-2');
    await fail('example-at-pod-2', 3);
    await rig.stopped('example-at-pod-2');
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' }, 'example-at-pod-2');
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.reason, status?.restarts], ['BackoffLimitExceeded', 3]);
    assert.deepEqual(
      status?.history?.map(({ reason, restarts }) => [reason, restarts]),
      [
        ['Evicted', 1],
        ['BackoffLimitExceeded', 2],
      ],
    );
  });
});

/** What may stand beside it: in the template, and elsewhere in the spec. */
const besideZero: Readonly<Record<string, readonly [template: object, spec: Partial<AtSpec>]>> = {
  alone: [{}, {}],
  'beside a template that says OnFailure': [{ restartPolicy: 'OnFailure' }, {}],
  'beside a template that says Never': [{ restartPolicy: 'Never' }, {}],
  'with Retry': [{}, { disruptionPolicy: 'Retry' }],
  'with ExactlyOnce': [{}, { launchGuarantee: 'ExactlyOnce' }],
};

describe('backoffLimit 0', { concurrency: true }, () => {
  for (const [what, [inTemplate, more]] of Object.entries(besideZero)) {
    it(`lets the kubelet start the command once, and is over at its failure, ${what}`, async (t) => {
      const rig = await AtRig.create(t);
      const released = await rig.watchReleases(t);
      await rig.startOperator();
      const template = { spec: { ...inTemplate, containers: [{}] } };
      await rig.createAt({ ...more, command: 'false', backoffLimit: 0, template });
      await rig.inPhase('RUNNING');
      // No kubelet starts the containers of such a Pod again, whatever becomes of the operator.
      assert.equal((await rig.pod()).spec.restartPolicy, 'Never');
      await eventually(async () => !isGated(await rig.pod()), { message: 'the Pod is released' });
      await rig.start();
      await rig.exit(3);
      const { status } = await rig.inPhase('DONE');
      assert.deepEqual(
        [status?.outcome, status?.reason, status?.exitCode, status?.restarts, status?.attempts],
        ['Failed', 'CommandFailed', 3, 0, 1],
      );
      await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
      await rig.inPhase('RUNNING', 'afterwards');
      await eventually(() => released.created.size >= 2, { message: 'the Pod afterwards is seen' });
      assert.equal(released.created.size, 2, 'its own, and that of the At afterwards');
    });
  }
});

// Spans of time are so long that a slow machine adds nothing to them that counts.
describe('activeDeadlineSeconds', () => {
  it('is there in full for each attempt', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({
      ...{ disruptionPolicy: 'Retry', activeDeadlineSeconds: 36_000, pendingTimeoutSeconds: 0 },
    });
    await rig.inPhase('RUNNING');
    await rig.start();
    await rig.atWhen('started', ({ status }) => status?.startTime !== undefined);
    await advance(30_000_000);
    await assertGoesOn(rig);
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2);
    const startedAt = Date.now() + 30_000_000;
    await rig.setPod(
      {
        ...{ phase: 'Running', startTime: seconds(startedAt) },
        containerStatuses: [container('busybox', 0, running(startedAt))],
      },
      'example-at-pod-2',
    );
    await rig.atWhen('started again', ({ status }) => status?.startTime === formatted(startedAt));
    await advance(30_000_000);
    await assertGoesOn(rig, 'example-at-pod-2');
    await advance(6_001_000);
    await rig.stopped('example-at-pod-2');
    await rig.exit(143, 'example-at-pod-2');
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.reason, status?.attempts], ['DeadlineExceeded', 2]);
  });

  it('counts from the first start of the command, whatever of it is started again', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt({ activeDeadlineSeconds: 36_000, pendingTimeoutSeconds: 0 });
    await rig.inPhase('RUNNING');
    const created = parseTime((await rig.pod()).metadata.creationTimestamp ?? '');
    // What the Pod took to start does not count.
    await advance(20_000_000);
    const startedAt = created + 20_000_000;
    const startTime = seconds(created);
    const first = container('busybox', 0, running(startedAt));
    await rig.setPod({ phase: 'Running', startTime, containerStatuses: [first] });
    await rig.atWhen('started', ({ status }) => status?.startTime === formatted(startedAt));
    await advance(30_000_000);
    await assertGoesOn(rig);
    // From the second restart on nothing in the Pod tells of the first start.
    const failure = run(1, startedAt + 10_000_000, startedAt + 30_000_000);
    const third = container('busybox', 2, running(startedAt + 30_000_000), failure);
    await rig.setPod({ containerStatuses: [third] });
    await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    await assertGoesOn(rig);
    await advance(6_010_000);
    await rig.stopped();
    await rig.exit(143);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'DeadlineExceeded']);
    assert.equal(status?.startTime, formatted(startedAt));
  });
});

/** As status has it. */
function formatted(epochMs: number): string {
  return new Date(Math.floor(epochMs / 1000) * 1000).toISOString();
}

describe('pendingTimeoutSeconds', { concurrency: true }, () => {
  const initContainers = [{ name: 'fetch', image: 'busybox' }];
  const spec = {
    ...{ command: 'true', pendingTimeoutSeconds: 6000, backoffLimit: 100 },
    template: { spec: { initContainers, containers: [{}] } },
  };

  /** An At whose Pod has an init container. `show` tells of it; its times are in seconds after the Pod's creation. */
  async function initializingAt(t: TestContext) {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    await rig.createAt(spec);
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    const created = parseTime((await rig.pod()).metadata.creationTimestamp ?? '');
    const show = async (fetch: (at: (second: number) => number) => ContainerStatus) => {
      await rig.setPod({
        ...{ phase: 'Pending', startTime: seconds(created) },
        initContainerStatuses: [fetch((second) => created + second * 1000)],
        containerStatuses: [container('busybox', 0, initializing)],
      });
    };
    return { rig, advance: (second: number) => advance(second * 1000), show };
  }

  it('does not count the work of an init container, and counts what it waits for its next start', async (t) => {
    const { rig, advance, show } = await initializingAt(t);
    await show((at) => container('fetch', 0, running(at(0))));
    await advance(28_000);
    await assertGoesOn(rig);
    await show((at) => container('fetch', 0, backOff, run(1, at(0), at(25_000))));
    await assertGoesOn(rig);
    await advance(3100);
    await rig.stopped();
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'CrashLoopBackOff']);
    assert.equal(status?.startTime, undefined);
  });
});

describe('a limit that passes around a restart of the operator', () => {
  it('ends the run that the next operator finds, before it passes and after it', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.startOperator(options);
    // No operator that has seen the start, or the creation, is there when these pass.
    const limits = { before: 36_000, after: 72_000 };
    const ats = Object.entries(limits).flatMap(([when, limit]) => [
      [`run-${when}`, { activeDeadlineSeconds: limit, pendingTimeoutSeconds: 0 }] as const,
      [`pull-${when}`, { pendingTimeoutSeconds: limit }] as const,
      [`schedule-${when}`, { pendingTimeoutSeconds: limit }] as const,
    ]);
    for (const [name, spec] of ats) {
      await rig.createAt(spec, name);
      await rig.inPhase('RUNNING', name);
    }
    const noImage = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
    for (const when of Object.keys(limits)) {
      await rig.start(`run-${when}-pod`);
      await rig.atWhen('started', ({ status }) => status?.startTime !== undefined, `run-${when}`);
      await rig.bind(t, `pull-${when}-pod`);
      const containerStatuses = [container('busybox', 0, noImage)];
      const startTime = seconds(Date.now());
      await rig.setPod({ phase: 'Pending', startTime, containerStatuses }, `pull-${when}-pod`);
      await rig.unschedulable(`schedule-${when}-pod`);
    }
    const restartAfter = async (ms: number) => {
      await rig.stopOperators();
      await advance(ms);
      await rig.startOperator(options);
    };
    const assertEnded = async (when: string) => {
      await rig.stopped(`run-${when}-pod`);
      await rig.exit(143, `run-${when}-pod`);
      await rig.stopped(`pull-${when}-pod`);
      await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' }, `pull-${when}-pod`);
      const reasons = { run: 'DeadlineExceeded', pull: 'ImagePullBackOff', schedule: 'Unschedulable' };
      for (const [what, reason] of Object.entries(reasons)) {
        const { status } = await rig.inPhase('DONE', `${what}-${when}`);
        assert.deepEqual([status?.outcome, status?.reason], ['Failed', reason], `${what}-${when}`);
      }
      // No kubelet has it that could stop it.
      assert.ok(await rig.isPodGone(`schedule-${when}-pod`));
    };
    await restartAfter(30_000_000);
    const podNames = ats.map(([name]) => `${name}-pod`);
    await assertGoesOn(rig, ...podNames);
    await advance(6_100_000);
    await assertEnded('before');
    await assertGoesOn(rig, ...podNames.filter((name) => name.includes('-after-')));
    await restartAfter(36_000_000);
    await assertEnded('after');
  });
});

describe('a command that has succeeded before an operator sees that it should be stopped', () => {
  it('counts as Succeeded', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const limits = { activeDeadlineSeconds: 36_000, pendingTimeoutSeconds: 0 };
    const names = ['deadline', 'cancel', 'both'];
    await rig.startOperator(options);
    for (const name of names) {
      await rig.createAt(name === 'cancel' ? {} : limits, name);
      await rig.inPhase('RUNNING', name);
      await rig.start(`${name}-pod`);
      if (name === 'cancel') continue;
      await rig.atWhen('started', ({ status }) => status?.startTime !== undefined, name);
    }
    await rig.stopOperators();
    for (const name of names) await rig.exit(0, `${name}-pod`);
    for (const name of ['cancel', 'both']) await rig.editAt({ cancel: true }, name);
    await advance(40_000_000);
    await rig.startOperator(options);
    for (const name of names) {
      const { status } = await rig.inPhase('DONE', name);
      assert.deepEqual(
        [status?.outcome, status?.exitCode, status?.reason],
        ['Succeeded', 0, 'Succeeded'],
        name,
      );
      const { metadata, spec } = await rig.pod(`${name}-pod`);
      assert.notEqual(spec.activeDeadlineSeconds, 1, `${name} is not stopped`);
      assert.equal(metadata.annotations?.[atAnnotation.stopReason], undefined);
    }
  });
});
