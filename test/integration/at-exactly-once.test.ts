/**
 * ExactlyOnce on the real API server: what happens between the Pod and its record, after a finalizer was taken off, and
 * when a create lands late.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { recordedGate, trackingFinalizer } from '../../src/at/plan/pod.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { AtRig, isGated, type Releases } from './at-rig.ts';
import { failure, HostileProxy } from './hostile-proxy.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const once = { launchGuarantee: 'ExactlyOnce' } as const;

/** An At with a Pod that no status records yet, because none is taken. */
async function unrecorded(t: TestContext, spec: Partial<AtSpec> = once) {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  const { created, released } = await rig.watchReleases(t);
  proxy.treat = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('/status') ? { code: 503, body: 'busy' } : undefined;
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  await rig.createAt(spec);
  const first = await eventually(() => rig.pod(), { message: 'the first Pod' });
  const takeStatuses = () => {
    proxy.treat = () => undefined;
  };
  /** Not those that were decided before the Pod is read again: they may not know yet what became of it. */
  const takeLaterStatuses = () => {
    let isRead = false;
    proxy.treat = ({ method, path }) => {
      isRead ||= method === 'GET' && path.endsWith('/pods/example-at-pod');
      const isTaken = isRead || method !== 'PATCH' || !path.endsWith('/status');
      return isTaken ? undefined : failure(409, 'Conflict');
    };
  };
  /** It runs in another Pod than the first, which no node could have had. */
  const assertInAnotherPod = async () => {
    const { status } = await rig.inPhase('RUNNING', undefined, 60_000);
    await eventually(() => released.size > 0, { message: 'a Pod is released' });
    assert.deepEqual([...released.keys()], [status?.podUID]);
    assert.notEqual(status?.podUID, first.metadata.uid);
    assert.equal(created.size, 2);
  };
  return { rig, first, released, takeStatuses, takeLaterStatuses, assertInAnotherPod };
}

describe('a run with ExactlyOnce', { concurrency: true }, () => {
  it('is not recorded once the At is suspended, and has another Pod when that is over', async (t) => {
    const { rig, takeStatuses, assertInAnotherPod } = await unrecorded(t);
    await rig.editAt({ suspend: true });
    takeStatuses();
    await rig.atWhen('suspended', ({ status }) => status?.reason === 'Suspended', undefined, 60_000);
    await eventually(() => rig.isPodGone(), { message: 'the Pod is gone' });
    await rig.editAt({ suspend: false });
    await assertInAnotherPod();
  });

  it('has another Pod where a user deletes the first one before it is recorded', async (t) => {
    const { rig, takeLaterStatuses, assertInAnotherPod } = await unrecorded(t);
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });
    assert.ok((await rig.pod()).metadata.deletionTimestamp, 'the finalizer holds it');
    takeLaterStatuses();
    await assertInAnotherPod();
  });

  it('is what the deprecated AtMostOnce asks for: nothing is released before it is recorded', async (t) => {
    const { rig, first, released, takeStatuses } = await unrecorded(t, { launchGuarantee: 'AtMostOnce' });
    const { uid = '', finalizers } = first.metadata;
    assert.deepEqual(first.spec.schedulingGates, [{ name: recordedGate }]);
    assert.deepEqual(finalizers, [trackingFinalizer]);
    assert.equal((await rig.at()).status?.podUID, undefined);
    assert.deepEqual([...released.keys()], []);
    takeStatuses();
    const { status } = await rig.inPhase('RUNNING', undefined, 60_000);
    assert.equal(status?.podUID, uid);
    await eventually(() => released.has(uid), { message: 'the Pod is released' });
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    await eventually(async () => (await rig.pod()).metadata.finalizers === undefined, {
      message: 'nothing holds the Pod any more',
    });
  });

  it('tells that its release is refused, and is released once it is not', async (t) => {
    const rig = await AtRig.create(t);
    const proxy = await HostileProxy.start(t);
    await rig.startOperator({ kubeConfig: proxy.kubeConfig });
    proxy.treat = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/pods/example-at-pod') ? failure(500, 'InternalError') : undefined;
    await rig.createAt(once);
    const refused = await rig.atWhen('refused', ({ status }) => status?.reason === 'CreateFailed');
    assert.match(refused.status?.message ?? '', /^Pod example-at-pod waits for its release, which fails: /);
    assert.equal(refused.status?.phase, 'RUNNING');
    assert.ok(isGated(await rig.pod()));
    const recordedAt = Date.parse(refused.status?.launchTime ?? '');
    // Times are whole seconds.
    await eventually(() => Date.now() >= recordedAt + 3000, { message: 'a later second' });
    proxy.treat = () => undefined;
    await eventually(async () => !isGated(await rig.pod()), { message: 'the Pod is released' });
    await rig.bind(t);
    await rig.start();
    await rig.exit(0);
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Succeeded');
    assert.ok(
      Date.parse(status?.launchTime ?? '') >= recordedAt + 2000,
      'it was launched when it was released',
    );
  });

  it('is lost, and not run again, where its finalizer was taken off and its Pod is gone', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await rig.startOperator();
    await rig.createAt(once);
    await rig.inPhase('RUNNING');
    await eventually(async () => !isGated(await rig.pod()), { message: 'the Pod is released' });
    await rig.stopOperators();
    await rig.start();
    const key = { namespace: rig.namespace, name: 'example-at-pod' };
    await rig.client.patch(pods, key, { type: 'merge', body: { metadata: { finalizers: null } } });
    await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
    await rig.startOperator();
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'PodLost']);
    assert.equal(created.size, 1);
  });

  it('has failed, and is not run again, where its Pod is drained later and no operator saw either', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.watchPods(t);
    await rig.startOperator();
    await rig.createAt({ ...once, disruptionPolicy: 'Retry', backoffLimit: 0 });
    await rig.inPhase('RUNNING');
    await eventually(async () => !isGated(await rig.pod()), { message: 'the Pod is released' });
    await rig.stopOperators();
    await rig.start();
    await rig.exit(3, 'example-at-pod', 'no such port');
    const failedAt = Date.now();
    // The clocks of nodes differ from the API server's by seconds.
    await eventually(() => Date.now() - failedAt > 7000, { message: 'the failure is long over' });
    const { metadata } = await rig.pod();
    const key = { namespace: rig.namespace, name: metadata.name };
    await rig.client.evict(key, { uid: metadata.uid ?? '' });
    const drained = await rig.pod();
    assert.ok(drained.metadata.deletionTimestamp, 'the finalizer holds it');
    assert.ok(drained.status?.conditions?.some(({ type }) => type === 'DisruptionTarget'));
    await rig.startOperator();
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual(
      [status?.reason, status?.exitCode, status?.message, status?.attempts, created.size],
      ['CommandFailed', 3, 'no such port', 1, 1],
    );
  });
});

describe('the Pod of a create with ExactlyOnce that lands late', { concurrency: true }, () => {
  /** An At whose first Pod is released. */
  async function running(t: TestContext, spec: Partial<AtSpec> = {}) {
    const rig = await AtRig.create(t);
    const seen = await rig.watchReleases(t);
    await rig.startOperator();
    await rig.createAt({ ...once, ...spec });
    const { podUID = '' } = (await rig.inPhase('RUNNING')).status ?? {};
    await eventually(() => seen.released.has(podUID), { message: 'the Pod is released' });
    const deleteFirst = async () => {
      const key = { namespace: rig.namespace, name: 'example-at-pod' };
      await rig.client.delete(pods, key, { uid: podUID });
      await eventually(() => seen.gone.has(podUID), { message: 'the first Pod is gone' });
    };
    return { rig, seen, deleteFirst, podUID };
  }

  /** The Pod of the first attempt comes once more, and goes again without a release. */
  async function assertNotReleased(rig: AtRig, { released, gone }: Releases, isWatched: boolean) {
    if (!isWatched) await rig.stopOperators();
    const late = await rig.createPodOf();
    assert.ok(isGated(late));
    assert.equal(late.metadata.finalizers?.length, 1);
    if (!isWatched) await rig.startOperator();
    const { uid = '' } = late.metadata;
    await eventually(() => gone.has(uid), { message: 'the late Pod is gone' });
    assert.ok(!released.has(uid), 'the late Pod was released');
  }

  for (const [when, isWatched] of [
    ['while an operator works', true],
    ['while none does', false],
  ] as const) {
    it(`is never released after the end of its At, ${when}`, async (t) => {
      const { rig, seen, deleteFirst, podUID } = await running(t);
      await rig.exit(0);
      const ended = await rig.inPhase('DONE');
      assert.equal(ended.status?.outcome, 'Succeeded');
      await deleteFirst();
      await assertNotReleased(rig, seen, isWatched);
      assert.deepEqual((await rig.at()).status, ended.status);
      assert.deepEqual([...seen.released.keys()], [podUID]);
      assert.equal(seen.created.size, 2);
    });

    it(`is never released beside the second attempt of its At, ${when}`, async (t) => {
      const { rig, seen, deleteFirst, podUID } = await running(t, { disruptionPolicy: 'Retry' });
      await deleteFirst();
      const second = await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2);
      const { podUID: secondUID = '' } = second.status ?? {};
      await eventually(() => seen.released.has(secondUID), { message: 'the second Pod is released' });
      await assertNotReleased(rig, seen, isWatched);
      await rig.exit(0, 'example-at-pod-2');
      const { status } = await rig.inPhase('DONE');
      assert.deepEqual([status?.outcome, status?.attempts, status?.podUID], ['Succeeded', 2, secondUID]);
      assert.deepEqual([...seen.released.keys()], [podUID, secondUID]);
      assert.equal(seen.created.size, 3);
    });
  }
});
