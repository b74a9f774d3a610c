/** How a run fails and is stopped, on a real API server. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { events } from '../../src/runtime/events/event.ts';
import { AtRig, seconds } from './at-rig.ts';
import { failure, HostileProxy } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** Creates an At whose command the kubelet has started. */
async function run(rig: AtRig, spec: Parameters<AtRig['createAt']>[0] = {}): Promise<void> {
  await rig.createAt(spec);
  await rig.inPhase('RUNNING');
  await rig.start();
}

async function running(t: TestContext, spec: Parameters<AtRig['createAt']>[0] = {}): Promise<AtRig> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  await run(rig, spec);
  return rig;
}

/** The same with what the operator asks, and what it is answered. */
async function runningBehindProxy(t: TestContext): Promise<{ rig: AtRig; proxy: HostileProxy }> {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  await run(rig);
  return { rig, proxy };
}

/** The command has failed so often, and the kubelet waits before it starts it again. */
async function failed(rig: AtRig, failures: number, message: string): Promise<void> {
  const [container] = (await rig.pod()).status?.containerStatuses ?? [];
  assert.ok(container);
  const time = seconds(Date.now());
  const lastState = {
    terminated: { exitCode: 7, reason: 'Error', message, startedAt: time, finishedAt: time },
  };
  const state = { waiting: { reason: 'CrashLoopBackOff' } };
  await rig.setPod({
    containerStatuses: [{ ...container, restartCount: failures - 1, state, lastState }],
  });
}

describe('a command that fails and is started again', () => {
  it('shows each failure while it runs, with one Warning that does not quote it', async (t) => {
    const rig = await running(t);
    await failed(rig, 1, 'no such table');
    const first = await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    const { phase, exitCode, restarts, message } = first.status ?? {};
    assert.deepEqual([phase, exitCode, restarts, message], ['RUNNING', 7, 0, 'no such table']);
    await failed(rig, 2, 'no such column');
    const again = await rig.atWhen('failing again', ({ status }) => status?.restarts === 1);
    assert.deepEqual([again.status?.reason, again.status?.message], ['CommandFailing', 'no such column']);
    await rig.exit(0);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual(
      [status?.outcome, status?.reason, status?.message],
      ['Succeeded', 'Succeeded', undefined],
    );
    const told = async () => (await rig.events()).includes('Completed') && rig.events();
    assert.deepEqual(await eventually(told, { message: 'the last Event' }), [
      ...['Launched', 'CommandFailing (W)', 'Completed'],
    ]);
    assert.doesNotMatch((await rig.notes()).join(), /no such/);
  });

  it('costs one status write and one Warning at the first, whatever its Pod shows in between', async (t) => {
    const { rig, proxy } = await runningBehindProxy(t);
    const writes = async () => {
      const name = `after-${(await rig.pod()).metadata.resourceVersion}`;
      await rig.createAt({}, name);
      await rig.inPhase('RUNNING', name);
      return proxy.asked.filter(({ path }) => path.endsWith('/example-at/status')).length;
    };
    const before = await writes();
    const [container] = (await rig.pod()).status?.containerStatuses ?? [];
    assert.ok(container);
    for (const failures of [1, 2, 3, 4]) {
      const restartCount = failures - 1;
      const time = seconds(Date.now());
      const message = `failure ${failures}`;
      const terminated = { exitCode: 7, reason: 'Error', message, startedAt: time, finishedAt: time };
      const lastState = { terminated };
      const backOff = (left: string) => ({ waiting: { reason: 'CrashLoopBackOff', message: left } });
      for (const shown of [
        { restartCount, state: { terminated } },
        { restartCount, state: backOff('back-off 20 s'), lastState },
        { restartCount, state: backOff('back-off 10 s'), lastState },
        { restartCount: failures, state: { running: { startedAt: time } }, lastState },
      ]) {
        await rig.setPod({ containerStatuses: [{ ...container, ...shown }] });
        const count = (await writes()) - before;
        assert.ok(count <= failures, `${count} status writes for ${failures} failures`);
      }
      assert.equal((await rig.at()).status?.message, message);
    }
    await rig.exit(0);
    const told = async () => (await rig.events()).includes('Completed') && rig.events();
    assert.deepEqual(await eventually(told, { message: 'the last Event' }), [
      ...['Launched', 'CommandFailing (W)', 'Completed'],
    ]);
    const { items } = await rig.client.list(events, { namespace: rig.namespace });
    const warnings = items.filter(({ reason }) => reason === 'CommandFailing');
    assert.deepEqual(
      warnings.map(({ series }) => series),
      [undefined],
    );
  });
});

describe('outputInStatus false', () => {
  it('leaves the output of a command out, and stands while it runs', async (t) => {
    const rig = await running(t, { outputInStatus: false });
    await failed(rig, 1, 'the password is x');
    const failing = await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    const edit = rig.editAt({ outputInStatus: true });
    await assert.rejects(edit, /is immutable while the At is RUNNING/);
    await rig.exit(3, undefined, 'the password is x');
    const ended = await rig.inPhase('DONE');
    assert.deepEqual(
      [failing, ended].map(({ status }) => status?.exitCode),
      [7, 3],
    );
    assert.doesNotMatch(JSON.stringify([failing.status, ended.status]), /password/);
  });
});

describe('a suspension', () => {
  it('that comes after the launch has no effect', async (t) => {
    const rig = await running(t, { disruptionPolicy: 'Retry' });
    await rig.editAt({ suspend: true });
    const seen = await rig.atWhen('seen', ({ status }) => status?.observedGeneration === 2);
    assert.equal(seen.status?.phase, 'RUNNING');
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2);
    await rig.exit(0, 'example-at-pod-2');
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });
});

describe('a cancel', { concurrency: true }, () => {
  it('holds once the operator has seen it, also when it is set back', async (t) => {
    const rig = await running(t);
    await rig.editAt({ cancel: true });
    await rig.stopped();
    await rig.atWhen('canceled', ({ status }) => status?.reason === 'Canceled');
    await rig.editAt({ cancel: false });
    await rig.exit(143);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
  });

  for (const [what, answer] of [
    ['the API server refuses its stop', failure(500, 'InternalError')],
    ['its stop meets a newer Pod', failure(409, 'Conflict')],
  ] as const) {
    it(`holds, and is told, also while ${what}`, async (t) => {
      const { rig, proxy } = await runningBehindProxy(t);
      proxy.treat = ({ method, path }) =>
        method === 'PATCH' && path.endsWith('/pods/example-at-pod') ? answer : undefined;
      await rig.editAt({ cancel: true });
      await rig.atWhen('canceled', ({ status }) => status?.reason === 'Canceled');
      await rig.editAt({ cancel: false });
      proxy.treat = () => undefined;
      await rig.stopped();
      await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' });
      assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
    });
  }

  it('does not change the outcome of a command that had succeeded before it was seen', async (t) => {
    const rig = await running(t);
    await rig.stopOperators();
    await rig.exit(0);
    await rig.editAt({ cancel: true });
    await rig.startOperator();
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('deletes a Pod that does not end 10 s after its grace period', async (t) => {
    const template = { spec: { terminationGracePeriodSeconds: 0, containers: [{}] } };
    const rig = await running(t, { command: 'true', template });
    const stoppedAt = Date.now();
    await rig.editAt({ cancel: true });
    await rig.stopped();
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Canceled');
    assert.ok(await rig.isPodGone());
    assert.ok(Date.now() - stoppedAt >= 10_000, 'it had its time');
  });

  it('deletes a Pod that still runs 10 s after a long grace period, and no sooner', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance, advanceUntil } = await timeTravel(t);
    let deletedAt = Number.NaN;
    await rig.watch(t, pods, (_, { metadata }) => {
      if (metadata.deletionTimestamp === undefined || !Number.isNaN(deletedAt)) return;
      deletedAt = options.clock.now();
    });
    await rig.startOperator(options);
    const template = { spec: { terminationGracePeriodSeconds: 120, containers: [{}] } };
    await rig.createAt({ command: 'sleep 3600', template });
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    await rig.start();
    const canceledAt = options.clock.now();
    await rig.editAt({ cancel: true });
    await rig.stopped();
    await advance(115_000);
    await rig.createAt({}, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    assert.equal((await rig.pod()).metadata.deletionTimestamp, undefined);
    const isDeleted = () => !Number.isNaN(deletedAt);
    await advanceUntil(isDeleted, { limitMs: 20_000, stepMs: 1000, message: 'the Pod is deleted' });
    assert.ok(deletedAt - canceledAt >= 130_000, `deleted after ${deletedAt - canceledAt} ms`);
    assert.equal((await rig.at()).status?.phase, 'RUNNING', 'the Pod has not ended');
    const key = { namespace: rig.namespace, name: 'example-at-pod' };
    await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
  });
});

describe('a run of an At that is being deleted and that a finalizer holds', { concurrency: true }, () => {
  /** An At with Retry that runs, and is being deleted then. The operator knows that. */
  async function leaving(t: TestContext, spec: Parameters<AtRig['createAt']>[0] = {}) {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    await rig.createAt({ ...spec, disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    await rig.bind(t);
    await rig.holdAt(t);
    const { namespace } = rig;
    await rig.client.delete(ats, { namespace, name: 'example-at' });
    await rig.atWhen('being deleted', ({ metadata, status }) => {
      return metadata.deletionTimestamp !== undefined && status?.observedGeneration === metadata.generation;
    });
    const assertOver = async (outcome: string, reason: string) => {
      const { status } = await rig.inPhase('DONE');
      assert.deepEqual([status?.outcome, status?.reason, status?.attempts], [outcome, reason, 1]);
      await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
      await rig.inPhase('RUNNING', 'afterwards');
      await eventually(() => created.size >= 2, { message: 'the Pod afterwards is seen' });
      assert.equal(created.size, 2, 'its own, and that of the At afterwards');
    };
    return { rig, advance, key: { namespace, name: 'example-at-pod' }, assertOver };
  }

  it('is stopped by a cancel', async (t) => {
    const { rig, key, assertOver } = await leaving(t);
    await rig.start();
    await rig.editAt({ cancel: true });
    await rig.stopped();
    await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
    await assertOver('Canceled', 'Canceled');
  });

  it('is stopped by its deadline', async (t) => {
    const { rig, advance, key, assertOver } = await leaving(t, { activeDeadlineSeconds: 60 });
    await rig.start();
    await rig.atWhen('started', ({ status }) => status?.startTime !== undefined);
    await advance(61_000);
    await rig.stopped();
    await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
    await assertOver('Failed', 'DeadlineExceeded');
  });

  it('is stopped when its image has not come in time', async (t) => {
    const { rig, advance, assertOver } = await leaving(t, { pendingTimeoutSeconds: 60 });
    const waiting = { reason: 'ImagePullBackOff', message: 'no such image' };
    const main = { name: 'busybox', image: 'busybox', imageID: '', ready: false, restartCount: 0 };
    await rig.setPod({
      ...{ phase: 'Pending', startTime: seconds(Date.now()) },
      containerStatuses: [{ ...main, state: { waiting } }],
    });
    await advance(61_000);
    await rig.stopped();
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' });
    await assertOver('Failed', 'ImagePullBackOff');
  });

  it('is not repeated after an eviction', async (t) => {
    const { rig, assertOver } = await leaving(t);
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    await assertOver('Failed', 'Evicted');
  });
});
