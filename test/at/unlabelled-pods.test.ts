import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { World } from './world.ts';

describe('an ended Pod of ExactlyOnce whose label a user has taken away', () => {
  /** The Pod has ended, and a user has taken its label away while no operator ran. */
  async function stripped(disruptionPolicy: 'Fail' | 'Retry', status: object | undefined) {
    const world = new World(dueTime);
    world.createAt({ launchGuarantee: 'ExactlyOnce', disruptionPolicy });
    const operator = new Operator(world);
    await operator.reconcile();
    await operator.reconcile();
    world.kubelet(undefined);
    if (status === undefined) for (let step = 0; step < 3; step += 1) world.kubelet(0);
    else world.setPod('example-at-pod', status);
    const pod = world.pods.get('example-at-pod');
    assert.ok(pod);
    world.pods.set('example-at-pod', { ...pod, metadata: { ...pod.metadata, labels: {} } });
    operator.restart();
    operator.pods.clear();
    return { world, operator };
  }

  const changes: readonly (readonly [string, (world: World) => void])[] = [
    ['has changed', (world) => world.setPod('example-at-pod', {})],
    ['is gone', (world) => world.pods.clear()],
  ];
  for (const [what, change] of changes) {
    it(`is recorded also where it ${what} since it was read`, async () => {
      const { world, operator } = await stripped('Fail', undefined);
      operator.faults = ['conflict'];
      await operator.reconcile();
      change(world);
      for (let pass = 0; pass < 4; pass += 1) await operator.reconcile();
      assert.equal(world.ats.get('example-at')?.status?.outcome, 'Succeeded');
      assert.deepEqual(world.pods.get('example-at-pod')?.metadata.finalizers ?? [], []);
    });
  }

  it('loses the finalizer also where another one follows it', async () => {
    const { world, operator } = await stripped('Retry', { phase: 'Failed', reason: 'Evicted' });
    for (let pass = 0; pass < 4; pass += 1) {
      operator.syncAts();
      await operator.reconcile();
      world.now += 5000;
    }
    assert.equal(world.ats.get('example-at')?.status?.attempts, 2);
    assert.deepEqual(world.pods.get('example-at-pod')?.metadata.finalizers, []);
  });
});

describe('a Pod of ExactlyOnce that no node ever had, and whose label a user has taken away', () => {
  for (const disruptionPolicy of ['Fail', 'Retry'] as const) {
    it(`loses the finalizer once it is deleted, under ${disruptionPolicy}`, async () => {
      const world = new World(dueTime);
      world.createAt({ launchGuarantee: 'ExactlyOnce', disruptionPolicy });
      const operator = new Operator(world);
      await operator.reconcile();
      await operator.reconcile();
      world.removePods();
      const pod = world.pods.get('example-at-pod');
      assert.equal(pod?.metadata.finalizers?.length, 1);
      world.pods.set('example-at-pod', { ...pod, metadata: { ...pod.metadata, labels: {} } });
      operator.restart();
      operator.pods.clear();
      for (let pass = 0; pass < 4; pass += 1) await operator.reconcile();
      assert.equal(world.pods.get('example-at-pod'), undefined);
    });
  }
});

describe('a Pod of ExactlyOnce that goes out of sight as the end of its At is recorded', () => {
  /** Its At is DONE, and the watch shows the Pod no more. */
  async function outOfSight() {
    const world = new World(dueTime);
    world.createAt({ launchGuarantee: 'ExactlyOnce' });
    const operator = new Operator(world);
    await operator.reconcile();
    await operator.reconcile();
    const pod = world.pods.get('example-at-pod');
    const at = world.ats.get('example-at');
    assert.ok(pod && at);
    world.ats.set('example-at', { ...at, status: { ...at.status, phase: 'DONE' } });
    operator.pods.clear();
    operator.hidden = [pod];
    return { world, operator, pod, finalizers: () => world.pods.get('example-at-pod')?.metadata.finalizers };
  }

  for (const isGone of [false, true]) {
    it(`loses the finalizer once its At is ${isGone ? 'gone' : 'done'}`, async () => {
      const { world, operator, finalizers } = await outOfSight();
      if (isGone) world.ats.clear();
      operator.syncAts();
      await operator.reconcile();
      assert.deepEqual([finalizers(), operator.hidden], [[], []]);
    });
  }

  it('keeps it while its At runs, also where the cache does not show that one', async () => {
    const { world, operator, finalizers, pod } = await outOfSight();
    const at = world.ats.get('example-at');
    assert.ok(at);
    world.ats.set('example-at', { ...at, status: { ...at.status, phase: 'RUNNING' } });
    operator.syncPods();
    await operator.reconcile();
    assert.deepEqual([finalizers()?.length, operator.hidden], [1, [pod]]);
    operator.ats.clear();
    operator.pods.clear();
    await operator.reconcile();
    assert.deepEqual([finalizers()?.length, operator.hidden], [1, [pod]]);
  });

  it('loses it also where there is another finalizer by now, and the first try meets a newer Pod', async () => {
    const { world, operator, finalizers, pod } = await outOfSight();
    const { metadata } = pod;
    const foreign = ['example.com/other', ...(metadata.finalizers ?? [])];
    world.pods.set('example-at-pod', { ...pod, metadata: { ...metadata, finalizers: foreign } });
    operator.syncAts();
    operator.pods.clear();
    operator.faults = ['conflict'];
    const again = await operator.reconcile();
    assert.ok(!(again instanceof Error) && again.requeueAfter === 1000);
    await operator.reconcile();
    assert.deepEqual([finalizers(), operator.hidden], [['example.com/other'], []]);
  });

  it('is forgotten where it is gone, or another one has its name', async () => {
    for (const isGone of [true, false]) {
      const { world, operator, pod } = await outOfSight();
      if (isGone) world.pods.clear();
      else world.pods.set('example-at-pod', { ...pod, metadata: { ...pod.metadata, uid: 'other' } });
      operator.syncAts();
      await operator.reconcile();
      assert.deepEqual([operator.hidden, world.requests.at(-1)], [[], 'GET pods']);
    }
  });
});
