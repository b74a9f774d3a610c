/**
 * ExactlyOnce on the real API server, between the creation of the Pod and its release: what a user does meanwhile
 * counts, because nothing has started yet.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { At, AtSpec } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { AtRig, isGated, type Releases } from './at-rig.ts';
import { type Asked, failure, Hold, HostileProxy } from './hostile-proxy.ts';
import { applyCrds, eventually, isGone } from './support.ts';

before(() => applyCrds());

const once = { launchGuarantee: 'ExactlyOnce' } as const;
/** After one that tells less the operator would read the At, which is to be edited unseen. */
const refusal = failure(403, 'Forbidden');
/** Milliseconds: the garbage collector may take half a minute to learn of a new kind. */
const limit = 120_000;

const isStatusWrite = ({ method, path }: Asked) =>
  method === 'PATCH' && path.endsWith('/ats/example-at/status');
const isPodEdit = ({ method, path }: Asked) => method === 'PATCH' && path.endsWith('/pods/example-at-pod');

/** An At whose Pod is there, while requests of one kind are refused. `accept` ends that. */
async function heldUp(t: TestContext, isRefused: (asked: Asked) => boolean, spec: Partial<AtSpec> = {}) {
  const rig = await AtRig.create(t);
  const proxy = await HostileProxy.start(t);
  const seen = await rig.watchReleases(t);
  proxy.treat = (asked) => (isRefused(asked) ? { code: 503, body: 'busy' } : undefined);
  await rig.startOperator({ kubeConfig: proxy.kubeConfig });
  await rig.createAt({ ...once, ...spec });
  const { metadata } = await eventually(() => rig.pod(), { message: 'the Pod' });
  await eventually(() => proxy.asked.some(isRefused), { message: 'what follows is tried' });
  const accept = () => {
    proxy.treat = () => undefined;
  };
  return { rig, seen, accept, uid: metadata.uid ?? '' };
}

/** Nothing holds the Pod of the At. */
async function isFree(rig: AtRig): Promise<boolean> {
  return (await rig.pod()).metadata.finalizers === undefined;
}

/** The Pod is gone, and neither it nor one in its place was ever released, but for that of an At that comes later. */
async function assertNoneReleased(
  rig: AtRig,
  { created, released, gone }: Releases,
  uid: string,
): Promise<void> {
  await eventually(() => gone.has(uid), { timeout: limit, message: 'the Pod is gone' });
  await rig.createAt(once, 'afterwards');
  const { podUID = '' } = (await rig.inPhase('RUNNING', 'afterwards')).status ?? {};
  await eventually(() => released.has(podUID), { message: 'the later Pod is released' });
  assert.deepEqual([...released.keys()], [podUID]);
  assert.deepEqual([...created.keys()], [uid, podUID]);
}

describe('a run with ExactlyOnce that no status records yet', { concurrency: true }, () => {
  const unrecorded = async (t: TestContext) => {
    const held = await heldUp(t, isStatusWrite);
    assert.equal((await held.rig.at()).status?.podUID, undefined);
    return held;
  };

  it('does not begin once the At is canceled', async (t) => {
    const { rig, seen, accept, uid } = await unrecorded(t);
    await rig.editAt({ cancel: true });
    accept();
    const { status } = await rig.inPhase('DONE', undefined, limit);
    assert.deepEqual([status?.outcome, status?.podUID], ['Canceled', undefined]);
    await assertNoneReleased(rig, seen, uid);
    await eventually(async () => (await rig.events()).length > 0, { message: 'the end is told' });
    assert.deepEqual(await rig.events(), ['Canceled']);
  });

  it('begins with the command that the At has by then, and with no other', async (t) => {
    const { rig, seen, accept, uid } = await unrecorded(t);
    await rig.editAt({ command: 'echo LATER' });
    accept();
    const { status } = await rig.inPhase('RUNNING', undefined, limit);
    const { podUID = '' } = status ?? {};
    await eventually(() => seen.released.has(podUID), { message: 'the Pod is released' });
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    const released = [...seen.released].map(([id, { spec }]) => [id, spec.containers[0]?.command]);
    assert.deepEqual(released, [[podUID, ['echo', 'LATER']]]);
    assert.deepEqual([...seen.created.keys()], [uid, podUID]);
  });

  for (const propagationPolicy of ['Background', 'Foreground'] as const) {
    it(`does not begin once the At is deleted, ${propagationPolicy}, and nothing holds its Pod`, async (t) => {
      const { rig, seen, accept, uid } = await unrecorded(t);
      await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' }, { propagationPolicy });
      accept();
      await assertNoneReleased(rig, seen, uid);
      const isAtGone = () => isGone(rig.client, ats, rig.namespace, 'example-at');
      await eventually(isAtGone, { timeout: limit, message: 'the At is gone' });
    });
  }

  it('does not begin once the At is deleted without its Pod, which nothing holds', async (t) => {
    const { rig, seen, accept, uid } = await unrecorded(t);
    const key = { namespace: rig.namespace, name: 'example-at' };
    await rig.client.delete(ats, key, { propagationPolicy: 'Orphan' });
    accept();
    await eventually(() => isFree(rig), { timeout: limit, message: 'the finalizer is off' });
    const isAtGone = () => isGone(rig.client, ats, rig.namespace, 'example-at');
    await eventually(isAtGone, { timeout: limit, message: 'the At is gone' });
    assert.ok(isGated(await rig.pod()));
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' }, { uid });
    await assertNoneReleased(rig, seen, uid);
  });

  it('does not begin once the At is being deleted, however long that takes', async (t) => {
    const { rig, seen, accept, uid } = await unrecorded(t);
    const letGo = await rig.holdAt(t);
    await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' });
    accept();
    await eventually(() => isFree(rig), { timeout: limit, message: 'the finalizer is off' });
    assert.ok(isGated(await rig.pod()));
    assert.equal((await rig.at()).status?.podUID, undefined);
    await letGo();
    await assertNoneReleased(rig, seen, uid);
  });

  it('does not begin where the operator does not see that the At was deleted', async (t) => {
    const rig = await AtRig.create(t);
    const proxy = await HostileProxy.start(t);
    const seen = await rig.watchReleases(t);
    const hold = new Hold();
    let refusesStatuses = true;
    proxy.treat = (asked) => {
      if (refusesStatuses && isStatusWrite(asked)) return refusal;
      const isWatch = asked.path.endsWith('/ats') && asked.query.has('watch');
      return isWatch ? { through: hold.through() } : undefined;
    };
    await rig.startOperator({ kubeConfig: proxy.kubeConfig });
    await rig.createAt(once);
    const { uid = '' } = (await eventually(() => rig.pod(), { message: 'the Pod' })).metadata;
    const records = () => proxy.asked.filter(isStatusWrite).length;
    await eventually(() => records() > 0, { message: 'it is to be recorded' });
    hold.begin();
    await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' });
    refusesStatuses = false;
    const before = records();
    await eventually(() => records() > before, { timeout: limit, message: 'it is recorded again, in vain' });
    hold.end();
    await assertNoneReleased(rig, seen, uid);
  });
});

describe('a run with ExactlyOnce that is to be recorded while the operator sees no edit', () => {
  /** The At is edited, unseen: the API server refuses the record of what it was before. */
  async function unseen(t: TestContext, edit: Partial<AtSpec>) {
    const rig = await AtRig.create(t);
    const proxy = await HostileProxy.start(t);
    const seen = await rig.watchReleases(t);
    const hold = new Hold();
    let refusesStatuses = true;
    proxy.treat = (asked) => {
      if (refusesStatuses && isStatusWrite(asked)) return refusal;
      const isWatch = asked.path.endsWith('/ats') && asked.query.has('watch');
      return isWatch ? { through: hold.through() } : undefined;
    };
    /** The codes of all answers to the record but those of the proxy, 200 for any that is carried out. */
    const answers: number[] = [];
    const noteAnswers = (client: Client) => {
      const patchStatus = client.patchStatus.bind(client);
      client.patchStatus = async (resource, key, patch, options) => {
        try {
          const written = await patchStatus(resource, key, patch, options);
          if (key.name === 'example-at') answers.push(200);
          return written;
        } catch (error) {
          if (error instanceof ApiError && error.code !== refusal.code) answers.push(error.code);
          throw error;
        }
      };
    };
    await rig.startOperator({ kubeConfig: proxy.kubeConfig, onConnect: noteAnswers });
    await rig.createAt(once);
    const { uid = '' } = (await eventually(() => rig.pod(), { message: 'the Pod' })).metadata;
    await eventually(() => proxy.asked.some(isStatusWrite), { message: 'it is to be recorded' });
    hold.begin();
    await rig.editAt(edit);
    assert.deepEqual(answers, []);
    refusesStatuses = false;
    await eventually(() => answers.length > 0, { message: 'the record is answered' });
    assert.equal(answers[0], 409);
    assert.equal((await rig.at()).status?.podUID, undefined);
    hold.end();
    return { rig, seen, uid };
  }

  it('does not begin once the At is suspended', async (t) => {
    const { rig, seen, uid } = await unseen(t, { suspend: true });
    const isSuspended = (at: At) => at.status?.reason === 'Suspended';
    const { status } = await rig.atWhen('suspended', isSuspended, undefined, limit);
    assert.deepEqual([status?.phase, status?.podUID], ['PENDING', undefined]);
    await assertNoneReleased(rig, seen, uid);
  });

  it('does not begin once the At is canceled', async (t) => {
    const { rig, seen, uid } = await unseen(t, { cancel: true });
    const { status } = await rig.inPhase('DONE', undefined, limit);
    assert.deepEqual([status?.outcome, status?.podUID], ['Canceled', undefined]);
    await assertNoneReleased(rig, seen, uid);
  });

  it('begins with the command that the At has by then, and with no other', async (t) => {
    const { rig, seen, uid } = await unseen(t, { command: 'echo LATER' });
    const { podUID = '' } = (await rig.inPhase('RUNNING', undefined, limit)).status ?? {};
    await eventually(() => seen.released.has(podUID), { message: 'the Pod is released' });
    const released = [...seen.released].map(([id, { spec }]) => [id, spec.containers[0]?.command]);
    assert.deepEqual(released, [[podUID, ['echo', 'LATER']]]);
    assert.deepEqual([...seen.created.keys()], [uid, podUID]);
    await eventually(() => seen.gone.has(uid), { timeout: limit, message: 'the first Pod is gone' });
  });
});

describe('a run with ExactlyOnce that is recorded and not released yet', { concurrency: true }, () => {
  const unreleased = async (t: TestContext, spec: Partial<AtSpec> = {}) => {
    const held = await heldUp(t, isPodEdit, spec);
    assert.equal((await held.rig.at()).status?.podUID, held.uid);
    assert.ok(isGated(await held.rig.pod()));
    return held;
  };
  const deletePod = (rig: AtRig) =>
    rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' });

  it('does not begin once the At is canceled', async (t) => {
    const { rig, seen, accept, uid } = await unreleased(t);
    await rig.editAt({ cancel: true });
    const { status } = await rig.inPhase('DONE', undefined, limit);
    assert.deepEqual([status?.outcome, status?.podUID], ['Canceled', uid]);
    // Taking off the finalizer is refused until then, as the release is.
    accept();
    await assertNoneReleased(rig, seen, uid);
  });

  it('is lost, and nothing begins, where a user deletes the Pod', async (t) => {
    const { rig, seen, accept, uid } = await unreleased(t);
    await deletePod(rig);
    const { status } = await rig.inPhase('DONE', undefined, limit);
    assert.deepEqual([status?.outcome, status?.reason, status?.podUID], ['Failed', 'PodLost', uid]);
    accept();
    await assertNoneReleased(rig, seen, uid);
  });

  it('is followed by another attempt, where a user deletes the Pod and the At is to be retried', async (t) => {
    const { rig, seen, accept, uid } = await unreleased(t, { disruptionPolicy: 'Retry' });
    await deletePod(rig);
    const second = await rig.atWhen(
      'in its second attempt',
      (at) => at.status?.attempts === 2,
      undefined,
      limit,
    );
    accept();
    const { podUID = '' } = second.status ?? {};
    await eventually(() => seen.gone.has(uid), { timeout: limit, message: 'the first Pod is gone' });
    await eventually(() => seen.released.has(podUID), {
      timeout: limit,
      message: 'the next Pod is released',
    });
    await rig.exit(0, 'example-at-pod-2');
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    assert.deepEqual([...seen.released.keys()], [podUID]);
    assert.deepEqual([...seen.created.keys()], [uid, podUID]);
  });

  for (const propagationPolicy of ['Background', 'Foreground'] as const) {
    it(`does not begin once the At is deleted, ${propagationPolicy}, and nothing holds its Pod`, async (t) => {
      const { rig, seen, accept, uid } = await unreleased(t);
      await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' }, { propagationPolicy });
      // A release that is under way may still come, and must not find a Pod that could go to a node.
      const isGoing = async () => (await rig.pod()).metadata.deletionTimestamp !== undefined;
      await eventually(isGoing, { timeout: limit, message: 'the Pod is being deleted' });
      accept();
      await eventually(() => seen.gone.has(uid), { timeout: limit, message: 'the Pod is gone' });
      await assertNoneReleased(rig, seen, uid);
    });
  }
});
