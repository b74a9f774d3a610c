import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dueTime } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { World } from './world.ts';

/** An At with Retry whose first Pod is gone, while the API server refuses every Pod; after the first refused attempt. */
async function refusedRetry(): Promise<{ world: World; operator: Operator }> {
  const world = new World(dueTime);
  world.createAt({ disruptionPolicy: 'Retry' });
  const operator = new Operator(world);
  const pass = async () => {
    await operator.reconcile();
    operator.syncAts();
    operator.syncPods();
  };
  await pass();
  await pass();
  world.removePods();
  operator.syncPods();
  world.createFault = 'refused';
  await pass();
  assert.equal(world.ats.get('example-at')?.status?.reason, 'PodRejected');
  return { world, operator };
}

it('reads nothing for a further attempt before its turn, and says why it waits', async () => {
  const { world, operator } = await refusedRetry();
  const before = world.requests.length;
  const status = world.ats.get('example-at')?.status;
  for (let passes = 0; passes < 3; passes += 1) await operator.reconcile();
  assert.deepEqual(world.requests.slice(before), []);
  assert.equal(world.ats.get('example-at')?.status, status);
});

it('reads what may have come back and creates the next Pod at its turn', async () => {
  const { world, operator } = await refusedRetry();
  const before = world.requests.length;
  world.createFault = undefined;
  world.now += 10_000;
  await operator.reconcile();
  const requests = world.requests.slice(before);
  assert.deepEqual(requests, ['GET pods', 'GET pods', 'GET ats', 'POST pods']);
  assert.deepEqual([...world.pods.keys()], ['example-at-pod-2']);
});
