/** A Pod that the finalizer holds for an earlier At of the same name, and that cannot be let go. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { launchPriority } from '../../src/at/facts/queue-priority.ts';
import { RetryError } from '../../src/runtime/controller/reconciler.ts';
import { created, dueTime, longBeforeDue, ownedBy, succeeded, waiting } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { World } from './world.ts';

/** The API server refuses to let the Pod go that is left of another At. */
function withOrphan(now: number): { world: World; operator: Operator } {
  const world = new World(now);
  const earlier = waiting({ launchGuarantee: 'ExactlyOnce' }, { uid: 'earlier' });
  const orphan = ownedBy(succeeded(created(earlier, now, 3)), 'earlier');
  world.pods.set(orphan.metadata.name, orphan);
  world.createAt();
  const operator = new Operator(world);
  operator.faults = ['refused'];
  return { world, operator };
}

describe('an At beside a Pod of an earlier At that cannot be let go', () => {
  it('is launched all the same, and the Pod is tried again', async () => {
    const { world, operator } = withOrphan(dueTime);
    assert.match(String(await operator.reconcile()), /exceeded quota/);
    assert.deepEqual(world.requests, ['GET ats', 'PATCH pods', 'POST pods']);
    await operator.reconcile();
    const { phase, podName } = world.ats.get('example-at')?.status ?? {};
    assert.deepEqual([phase, podName], ['RUNNING', 'example-at-pod']);
    assert.deepEqual(world.pods.get('example-at-pod-3')?.metadata.finalizers, []);
  });

  it('is accepted, and looked at when it is due at the latest', async () => {
    const { world, operator } = withOrphan(longBeforeDue);
    await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.reason, 'Armed');
    operator.faults = ['refused'];
    await operator.reconcile();
    assert.equal(world.requests.at(-1), 'DRYRUN pods');
    operator.faults = ['refused'];
    const error = await operator.reconcile();
    assert.ok(error instanceof RetryError);
    assert.deepEqual([error.maxDelay, error.priority], [dueTime - longBeforeDue, launchPriority]);
    assert.match(error.message, /exceeded quota/);
  });

  it('is tried again as soon as its own create asks for that', async () => {
    const { world, operator } = withOrphan(dueTime);
    world.createFault = 'refused';
    const error = await operator.reconcile();
    assert.ok(error instanceof RetryError);
    assert.equal(error.maxDelay, 250);
  });
});
