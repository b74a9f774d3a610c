import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { World } from './world.ts';

describe('AtReconciler, with Retry', () => {
  /** The first Pod is evicted and the second created; status does not show that yet. */
  async function inSecondPod(edit: Partial<AtSpec> = {}): Promise<{ world: World; operator: Operator }> {
    const world = new World(dueTime);
    world.createAt({ disruptionPolicy: 'Retry' });
    const operator = new Operator(world);
    await operator.reconcile();
    // An edit after the Pod, and before the status that forbids it.
    world.editAt(edit);
    await seeAndReconcile(operator);
    world.setPod('example-at-pod', { phase: 'Failed', reason: 'Evicted' });
    await seeAndReconcile(operator);
    assert.deepEqual([...world.pods.keys()], ['example-at-pod', 'example-at-pod-2']);
    assert.equal(world.ats.get('example-at')?.status?.attempts, 1);
    return { world, operator };
  }

  async function seeAndReconcile(operator: Operator): Promise<void> {
    operator.syncAts();
    operator.syncPods();
    await operator.reconcile();
  }

  it('looks before it creates the second Pod again when the answer is missing', async () => {
    const world = new World(dueTime);
    world.createAt({ disruptionPolicy: 'Retry' });
    const operator = new Operator(world);
    await operator.reconcile();
    await operator.reconcile();
    world.setPod('example-at-pod', { phase: 'Failed', reason: 'Evicted' });
    operator.syncPods();
    operator.faults = ['lostBefore'];
    await operator.reconcile();
    world.requests.length = 0;
    world.now += 250;
    await operator.reconcile();
    assert.deepEqual(world.requests, ['GET pods', 'GET pods', 'GET ats', 'POST pods']);
    operator.faults = [];
    await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.attempts, 2);
  });

  const meanwhile: readonly (readonly [string, (world: World) => void])[] = [
    ['it is suspended meanwhile', (world) => world.editAt({ suspend: true })],
    [
      "a stranger's Pod has the name of the first one",
      (world) => {
        world.removePods();
        world.createStranger('example-at-pod');
      },
    ],
  ];
  for (const [name, change] of meanwhile)
    it(`waits longer with each refusal of its next Pod, also where ${name}`, async () => {
      const world = new World(dueTime);
      world.createAt({ disruptionPolicy: 'Retry' });
      const operator = new Operator(world);
      await seeAndReconcile(operator);
      await seeAndReconcile(operator);
      world.setPod('example-at-pod', { phase: 'Failed', reason: 'Evicted' });
      world.createFault = 'refused';
      await seeAndReconcile(operator);
      change(world);
      const tries: number[] = [];
      for (let second = 0; second < 60; second += 1) {
        const sent = world.requests.filter((request) => request === 'POST pods').length;
        await seeAndReconcile(operator);
        if (world.requests.filter((request) => request === 'POST pods').length > sent) tries.push(second);
        world.now += 1000;
      }
      assert.ok(tries.length > 4 && tries.length < 12, `it was tried in the seconds ${tries}`);
    });

  it('counts a Pod once that was evicted before status showed it', async () => {
    const { world, operator } = await inSecondPod();
    world.setPod('example-at-pod-2', { phase: 'Failed', reason: 'Evicted' });
    await seeAndReconcile(operator);
    assert.equal(world.creations.length, 2, 'the third does not come at once');
    world.now += 10_000;
    await seeAndReconcile(operator);
    await seeAndReconcile(operator);
    assert.deepEqual([...world.pods.keys()].at(-1), 'example-at-pod-3');
    assert.equal(world.ats.get('example-at')?.status?.attempts, 3);
    const again = ['Disrupted (W)', 'Launched'];
    assert.deepEqual(operator.events, ['Launched', ...again, ...again]);
  });

  it('follows its second Pod although an edit came between the first and its status', async () => {
    const { world, operator } = await inSecondPod({ suspend: true, ttlSecondsAfterFinished: 3600 });
    operator.restart();
    for (let step = 0; step < 4; step += 1) {
      world.kubelet(0);
      await seeAndReconcile(operator);
    }
    const { outcome, podName } = world.ats.get('example-at')?.status ?? {};
    assert.deepEqual([outcome, podName], ['Succeeded', 'example-at-pod-2']);
  });

  for (const isLost of [true, false]) {
    it(`runs no other command after an edit that came too late, its Pod ${isLost ? 'lost' : 'evicted'}`, async () => {
      const world = new World(dueTime);
      world.createAt({ disruptionPolicy: 'Retry' });
      const operator = new Operator(world);
      await operator.reconcile();
      world.editAt({ command: 'echo NO' });
      if (isLost) world.removePods();
      else world.setPod('example-at-pod', { phase: 'Failed', reason: 'Evicted' });
      await seeAndReconcile(operator);
      await seeAndReconcile(operator);
      assert.equal(world.creations.length, 1);
      const { reason, message } = world.ats.get('example-at')?.status ?? {};
      assert.equal(reason, isLost ? 'PodLost' : 'Evicted');
      assert.match(message ?? '', /; not repeated: the spec was edited after the Pod was created$/);
    });
  }
});
