/**
 * Deletes and edits of Pods and Ats meet exactly what they were decided on, on the real API server: here another object
 * of the same name takes its place, or a user changes it, right before the call goes out.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { ats } from '../../src/api/resources.ts';
import { recordedGate, trackingFinalizer } from '../../src/at/plan/pod.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { AtRig, isGated } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const once = { launchGuarantee: 'ExactlyOnce' } as const;

/** What is called, by what it is to do. */
const calls = {
  deletePod: 'delete pods',
  deleteAt: 'delete ats',
  stop: 'patch pods spec',
  release: 'patch pods /spec/schedulingGates',
  untrack: 'patch pods /metadata/finalizers',
} as const;

/** Acts once, right before the first such call about the example At goes out. */
class Ambush {
  /** The codes of the API server's answers to the calls from then on, 200 for any that it carries out. */
  readonly codes: number[] = [];
  readonly #call: string;
  #act: (() => Promise<unknown>) | undefined;

  constructor(call: keyof typeof calls, act: () => Promise<unknown>) {
    this.#call = calls[call];
    this.#act = act;
  }

  /** For an operator. */
  readonly onConnect = (client: Client): void => {
    const remove = client.delete.bind(client);
    client.delete = (resource, key, options) =>
      this.#send(`delete ${resource.plural}`, key.name, () => remove(resource, key, options));
    const patch = client.patch.bind(client);
    client.patch = (resource, key, body, options) => {
      const place =
        body.type === 'json'
          ? body.operations.find(({ op }) => op === 'remove')?.path.replace(/\/\d+$/, '')
          : Object.keys(body.body).find((field) => field === 'spec');
      const call = `patch ${resource.plural} ${place}`;
      return this.#send(call, key.name, () => patch(resource, key, body, options));
    };
  };

  async #send<T>(call: string, name: string, send: () => Promise<T>): Promise<T> {
    if (call !== this.#call || !name.startsWith('example-at')) return await send();
    const act = this.#act;
    this.#act = undefined;
    await act?.();
    try {
      const answer = await send();
      this.codes.push(200);
      return answer;
    } catch (error) {
      if (error instanceof ApiError) this.codes.push(error.code);
      throw error;
    }
  }

  /** The API server has refused the call, for what is there by then. */
  async assertRefused(code: number): Promise<void> {
    await eventually(() => this.codes.length > 0, { message: 'the call is answered' });
    assert.equal(this.codes[0], code);
  }
}

const podKey = ({ namespace }: AtRig) => ({ namespace, name: 'example-at-pod' });

/** Makes the Pod go away whatever holds it. */
async function removePod(rig: AtRig): Promise<void> {
  await rig.client.patch(pods, podKey(rig), { type: 'merge', body: { metadata: { finalizers: null } } });
  // Its last finalizer may have been what held it.
  await rig.client.delete(pods, podKey(rig), { gracePeriodSeconds: 0 }).catch(() => {});
  await eventually(() => rig.isPodGone(), { message: 'the Pod is gone' });
}

/** A stranger's Pod takes the place of that of the At. */
async function replacePod(
  t: TestContext,
  rig: AtRig,
  like: { readonly finalizers?: string[]; readonly schedulingGates?: { readonly name: string }[] } = {},
): Promise<Pod> {
  await removePod(rig);
  const { finalizers = [], schedulingGates = [] } = like;
  const containers = [{ name: 'main', image: 'stranger' }];
  const stranger = await rig.client.create(pods, {
    metadata: { ...podKey(rig), finalizers },
    spec: { containers, schedulingGates },
  });
  // A finalizer of it would hold its namespace.
  t.after(() => removePod(rig).catch(() => {}));
  return stranger;
}

/** What the operator might have changed. */
function written({ metadata, spec }: Pod) {
  const { uid, labels, annotations, ownerReferences, finalizers, deletionTimestamp } = metadata;
  return { uid, labels, annotations, ownerReferences, finalizers, deletionTimestamp, spec };
}

/** Once the operator has gone on with other work, nothing was done to the Pod. */
async function assertUntouched(rig: AtRig, before: Pod | undefined): Promise<void> {
  assert.ok(before, 'the Pod was replaced');
  await rig.createAt({}, 'afterwards');
  await rig.inPhase('RUNNING', 'afterwards');
  assert.deepEqual(written(await rig.pod()), written(before));
}

/** An operator, and what happens before its first such call. */
async function ambushed(t: TestContext, call: keyof typeof calls, act: (rig: AtRig) => Promise<unknown>) {
  const rig = await AtRig.create(t);
  const ambush = new Ambush(call, () => act(rig));
  await rig.startOperator({ onConnect: ambush.onConnect });
  return { rig, ambush };
}

describe('the delete of a Pod', { concurrency: true }, () => {
  /** A Pod that comes after the end of its At, and is to be deleted. */
  async function superfluous(rig: AtRig): Promise<void> {
    await rig.createAt({ cancel: true });
    await rig.inPhase('DONE');
    await rig.createPodOf();
  }

  it('does not meet the Pod that has taken the place of one that came too late', async (t) => {
    let stranger: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'deletePod', async (self) => {
      stranger = await replacePod(t, self);
    });
    await superfluous(rig);
    await ambush.assertRefused(409);
    await assertUntouched(rig, stranger);
  });

  it('does not meet the Pod that has taken the place of one that no kubelet had', async (t) => {
    let stranger: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'deletePod', async (self) => {
      stranger = await replacePod(t, self);
    });
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.editAt({ cancel: true });
    await ambush.assertRefused(409);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
    await assertUntouched(rig, stranger);
  });

  it('does not meet a Pod that a user has taken away from its At meanwhile', async (t) => {
    let taken: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'deletePod', async (self) => {
      const body = { metadata: { ownerReferences: null } };
      taken = await self.client.patch(pods, podKey(self), { type: 'merge', body });
    });
    await superfluous(rig);
    await ambush.assertRefused(409);
    await assertUntouched(rig, taken);
  });

  it('does not meet a Pod that a kubelet has taken meanwhile, which is stopped and kept', async (t) => {
    const { rig, ambush } = await ambushed(t, 'deletePod', (self) => self.start());
    await rig.createAt();
    const { status } = await rig.inPhase('RUNNING');
    await rig.editAt({ cancel: true });
    await ambush.assertRefused(409);
    const { metadata } = await rig.stopped();
    assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [status?.podUID, undefined]);
    await rig.exit(143);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
  });
});

describe('the delete of an At whose time to live is over', { concurrency: true }, () => {
  const expiring = { cancel: true, ttlSecondsAfterFinished: 0 };

  it('does not meet the At that has taken its place', async (t) => {
    let uid: string | undefined;
    const { rig, ambush } = await ambushed(t, 'deleteAt', async (self) => {
      await self.client.delete(ats, { namespace: self.namespace, name: 'example-at' });
      ({ uid } = (await self.createAt({ schedule: '2100-01-01T00:00:00Z' })).metadata);
    });
    await rig.createAt(expiring);
    await ambush.assertRefused(409);
    const { metadata } = await rig.atWhen('accepted', ({ status }) => status?.reason === 'Armed');
    assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, undefined]);
    assert.deepEqual(ambush.codes, [409]);
  });

  it('does not meet an At whose time to live was raised meanwhile', async (t) => {
    const { rig, ambush } = await ambushed(t, 'deleteAt', (self) =>
      self.editAt({ ttlSecondsAfterFinished: 3600 }),
    );
    const { metadata } = await rig.createAt(expiring);
    await ambush.assertRefused(409);
    const seen = await rig.atWhen('seen', ({ status }) => status?.observedGeneration === 2);
    assert.deepEqual([seen.metadata.uid, seen.metadata.deletionTimestamp], [metadata.uid, undefined]);
    assert.deepEqual(ambush.codes, [409]);
  });
});

describe('the stop of a Pod', { concurrency: true }, () => {
  /** An At whose command runs, and is to be stopped. */
  async function canceled(rig: AtRig): Promise<void> {
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.start();
    await rig.editAt({ cancel: true });
  }

  it('does not meet the Pod that has taken its place', async (t) => {
    let stranger: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'stop', async (self) => {
      stranger = await replacePod(t, self);
    });
    await canceled(rig);
    await ambush.assertRefused(409);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
    await assertUntouched(rig, stranger);
  });

  it('does not meet a Pod that has ended meanwhile, and what it ended with counts', async (t) => {
    const { rig, ambush } = await ambushed(t, 'stop', (self) => self.exit(0));
    await canceled(rig);
    await ambush.assertRefused(409);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    const { spec, metadata } = await rig.pod();
    assert.equal(spec.activeDeadlineSeconds, undefined);
    assert.equal(metadata.annotations?.[atAnnotation.stopReason], undefined);
  });
});

describe('the release of a Pod', { concurrency: true }, () => {
  it("does not meet a stranger's Pod that has taken its place", async (t) => {
    let stranger: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'release', async (self) => {
      stranger = await replacePod(t, self, { schedulingGates: [{ name: recordedGate }] });
    });
    await rig.createAt(once);
    await ambush.assertRefused(422);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'PodLost']);
    await assertUntouched(rig, stranger);
    assert.ok(isGated(await rig.pod()));
  });

  it('does not meet another Pod of the same At that has taken its place', async (t) => {
    let uid = '';
    const { rig, ambush } = await ambushed(t, 'release', async (self) => {
      await removePod(self);
      ({ uid = '' } = (await self.createPodOf()).metadata);
    });
    const { released, gone } = await rig.watchReleases(t);
    await rig.createAt(once);
    await ambush.assertRefused(422);
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Failed', 'PodLost']);
    await eventually(() => gone.has(uid), { message: 'the other Pod is gone' });
    assert.equal(released.size, 0);
  });

  it('does not meet a Pod that a user has taken away from its At meanwhile', async (t) => {
    const { rig, ambush } = await ambushed(t, 'release', (self) => {
      const body = { metadata: { ownerReferences: null } };
      return self.client.patch(pods, podKey(self), { type: 'merge', body });
    });
    const { released } = await rig.watchReleases(t);
    await rig.createAt(once);
    await ambush.assertRefused(422);
    await rig.createAt({}, 'afterwards');
    const { podUID } = (await rig.inPhase('RUNNING', 'afterwards')).status ?? {};
    await eventually(() => released.size > 0, { message: 'the later Pod is seen' });
    assert.deepEqual([...released.keys()], [podUID]);
  });
});

describe('the end of the hold on a Pod', { concurrency: true }, () => {
  /** An At with ExactlyOnce whose command ends. */
  async function ended(rig: AtRig): Promise<void> {
    await rig.createAt(once);
    await rig.inPhase('RUNNING');
    await eventually(async () => !isGated(await rig.pod()), { message: 'the Pod is released' });
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  }

  it('does not meet the Pod that has taken its place', async (t) => {
    let stranger: Pod | undefined;
    const { rig, ambush } = await ambushed(t, 'untrack', async (self) => {
      stranger = await replacePod(t, self, { finalizers: [trackingFinalizer] });
    });
    await ended(rig);
    await ambush.assertRefused(422);
    await assertUntouched(rig, stranger);
  });

  it('takes off no other finalizer that has come meanwhile', async (t) => {
    const { rig, ambush } = await ambushed(t, 'untrack', async (self) => {
      t.after(() => removePod(self).catch(() => {}));
      const body = { metadata: { finalizers: ['example.com/first', trackingFinalizer] } };
      await self.client.patch(pods, podKey(self), { type: 'merge', body });
    });
    await ended(rig);
    await ambush.assertRefused(422);
    const isFree = async () => !(await rig.pod()).metadata.finalizers?.includes(trackingFinalizer);
    await eventually(isFree, { message: 'its own finalizer is off' });
    assert.deepEqual((await rig.pod()).metadata.finalizers, ['example.com/first']);
  });
});
