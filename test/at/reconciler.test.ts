import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { launchPriority, retryPriority } from '../../src/at/facts/queue-priority.ts';
import { type Result, RetryError } from '../../src/runtime/controller/reconciler.ts';
import { condition, dueTime, longBeforeDue } from '../fixtures/at.ts';
import { Operator } from './operator.ts';
import { type Fault, World } from './world.ts';

function due(fault?: Fault): { world: World; operator: Operator } {
  const world = new World(dueTime);
  world.createAt();
  const operator = new Operator(world);
  operator.faults = [fault];
  return { world, operator };
}

describe('AtReconciler', () => {
  it('launches with one request, and tells it when the Pod is seen (B11)', async () => {
    const { world, operator } = due();
    await operator.reconcile();
    assert.deepEqual(world.requests, ['POST pods']);
    assert.deepEqual(operator.events, []);
    await operator.reconcile();
    assert.deepEqual(world.requests, ['POST pods', 'PATCH ats/status']);
    assert.deepEqual(operator.events, ['Launched']);
    assert.deepEqual(operator.lines, ['info created Pod example-at-pod']);
  });

  it('tells nothing and asks nothing of an At that is not there', async () => {
    const { world, operator } = due();
    assert.deepEqual(await operator.reconcile('another-at'), {});
    assert.deepEqual(world.requests, []);
  });

  it('finds out who has the name before it speaks of a conflict (B4)', async () => {
    const { world, operator } = due();
    world.createStranger('example-at-pod');
    const result = await operator.reconcile();
    assert.deepEqual(world.requests, ['POST pods', 'GET pods', 'GET ats', 'PATCH ats/status']);
    assert.deepEqual(operator.events, ['PodNameConflict (W)']);
    assert.match(operator.lines.join(), /^warn .*example-at-pod/);
    assert.deepEqual(result, { requeueAfter: 250, priority: retryPriority });
    assert.equal(world.ats.get('example-at')?.status?.reason, 'PodNameConflict');
  });

  it('waits longer with each refusal, 10 s at most, and runs soon after the stranger is gone', async () => {
    const { world, operator } = due();
    world.createStranger('example-at-pod');
    const waits: (number | undefined)[] = [];
    for (let tries = 0; tries < 8; tries += 1) {
      const result = await operator.reconcile();
      waits.push('requeueAfter' in result ? result.requeueAfter : undefined);
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    assert.equal(world.requests.filter((request) => request === 'PATCH ats/status').length, 1);
    world.removePods();
    await operator.reconcile();
    assert.equal(world.creations.length, 1);
  });

  it('looks less and less often at a stranger that has the name, also after a create without an answer', async () => {
    const { world, operator } = due('lostBefore');
    await operator.reconcile();
    world.createStranger('example-at-pod');
    const waits: (number | undefined)[] = [];
    for (let tries = 0; tries < 7; tries += 1) {
      const result = await operator.reconcile();
      waits.push('requeueAfter' in result ? result.requeueAfter : undefined);
    }
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000]);
    world.removePods();
    world.now += 10_000;
    await operator.reconcile();
    assert.equal(world.creations.length, 1);
  });

  it('tells of a status that is refused once, and tries again soon, then less and less', async () => {
    const world = new World(longBeforeDue);
    world.createAt({ command: "echo 'open" });
    const operator = new Operator(world);
    const waits: (number | undefined)[] = [];
    for (let tries = 0; tries < 13; tries += 1) {
      operator.faults = ['invalid'];
      const result = await operator.reconcile();
      waits.push('requeueAfter' in result ? result.requeueAfter : undefined);
    }
    assert.deepEqual([waits[0], waits[1], waits[4], waits[12]], [250, 500, 4000, 300_000]);
    assert.deepEqual(operator.events, ['InvalidCommand (W)']);
    operator.faults = [];
    await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.reason, 'InvalidCommand');
  });

  it('adopts the Pod that another replica has created (B11)', async () => {
    const { world, operator } = due();
    const other = new Operator(world);
    await other.reconcile();
    await operator.reconcile();
    assert.equal(world.creations.length, 1);
    assert.equal(world.ats.get('example-at')?.status?.phase, 'RUNNING');
    assert.equal(world.ats.get('example-at')?.status?.podUID, world.pods.get('example-at-pod')?.metadata.uid);
  });

  it('tells the instant that a lost Pod was made for, although status still tells an earlier one', async () => {
    const world = new World(longBeforeDue);
    world.createAt();
    const operator = new Operator(world);
    await operator.reconcile();
    const edit = new Date(longBeforeDue - 60_000).toISOString();
    world.editAt({ schedule: edit });
    operator.syncAts();
    await operator.reconcile();
    assert.equal(world.creations.length, 1);
    world.removePods();
    operator.syncAts();
    operator.syncPods();
    await operator.reconcile();
    const { scheduledTime, reason, latenessMilliseconds } = world.ats.get('example-at')?.status ?? {};
    assert.deepEqual([scheduledTime, reason, latenessMilliseconds], [edit, 'PodLost', 60_000]);
  });

  it('says why the API server rejects the Pod, and goes on trying', async () => {
    const { world, operator } = due('refused');
    const result = await operator.reconcile();
    assert.deepEqual(result, { requeueAfter: 250, priority: retryPriority });
    assert.deepEqual(operator.events, ['PodRejected (W)']);
    assert.equal(world.ats.get('example-at')?.status?.message, 'exceeded quota');
    const sent = world.requests.length;
    await operator.reconcile();
    assert.equal(world.requests.length, sent, 'its own watch event is no turn');
    world.now += 250;
    await operator.reconcile();
    assert.equal(world.creations.length, 1);
  });

  for (const fault of ['lostAfter', 'lostBefore'] as const) {
    it(`looks after 250 ms what became of a create: ${fault}`, async () => {
      const { world, operator } = due(fault);
      assert.deepEqual(await operator.reconcile(), { requeueAfter: 250, priority: retryPriority });
      world.now += 250;
      await operator.reconcile();
      assert.equal(world.creations.length, 1);
      assert.ok(world.requests.includes('GET pods'));
      assert.deepEqual(
        operator.events.filter((event) => event.endsWith('(W)')),
        [],
      );
    });
  }

  for (const fault of ['failing', 'lostBefore'] as const) {
    it(`says within seconds that creates fail, and blames no one for it: ${fault}`, async () => {
      const { world, operator } = due();
      world.createFault = fault;
      for (let waited = 0; waited < 3000; waited += 250) {
        await operator.reconcile();
        world.now += 250;
      }
      const status = world.ats.get('example-at')?.status;
      assert.equal(status?.reason, 'CreateFailed');
      assert.equal(condition(status, 'Launched'), 'False CreateFailed');
      assert.deepEqual(operator.events, ['CreateFailed (W)']);
      world.now += 10_000;
      world.createFault = undefined;
      await operator.reconcile();
      operator.syncPods();
      await operator.reconcile();
      const launched = world.ats.get('example-at')?.status;
      assert.equal(launched?.phase, 'RUNNING');
      assert.equal(launched?.operatorDelaySeconds, undefined);
      assert.deepEqual(operator.events, ['CreateFailed (W)', 'Launched']);
    });
  }

  it('whose status is refused before it is due is looked at when it is due at the latest', async () => {
    const world = new World(longBeforeDue);
    world.createAt();
    const operator = new Operator(world);
    operator.faults = ['refused'];
    const error = await operator.reconcile();
    assert.ok(error instanceof RetryError);
    assert.equal(error.maxDelay, dueTime - longBeforeDue);
  });

  for (const [fault, atMost] of [
    ['busy', 10_000],
    ['conflict', 10_000],
  ] as const) {
    it(`tries again within ${atMost} ms after the fault ${fault}`, async () => {
      const { world, operator } = due(fault);
      const error = await operator.reconcile();
      assert.ok(error instanceof RetryError);
      assert.equal(error.maxDelay, atMost);
      await operator.reconcile();
      assert.equal(world.creations.length, 1);
      // Only after an answer that is missing does it have to look first.
      assert.ok(!world.requests.includes('GET pods'));
      assert.deepEqual(
        operator.events.filter((event) => event.endsWith('(W)')),
        [],
      );
    });
  }

  for (const [name, spec, faults] of [
    ['the create', {}, []],
    ['the read after a create without an answer', {}, ['lostBefore']],
    ['the intent', { launchGuarantee: 'AtMostOnce', backoffLimit: 0 }, []],
  ] as const satisfies readonly (readonly [string, Partial<AtSpec>, readonly Fault[]])[]) {
    it(`launches within 2 s after the API server is back, however long it refused ${name}`, async () => {
      const world = new World(dueTime);
      world.createAt(spec);
      const operator = new Operator(world);
      for (const fault of faults) {
        operator.faults = [fault];
        await operator.reconcile();
      }
      world.isDown = true;
      const answer = await operator.reconcile();
      const limit = answer instanceof RetryError ? answer.maxDelay : (answer as Result).requeueAfter;
      assert.ok(limit !== undefined && limit <= 2000);
      world.isDown = false;
      world.now += 2000;
      await operator.reconcile();
      assert.equal(world.creations.length, 1);
    });
  }

  it('launches what has been due for long after a read alone, also where that failed before', async () => {
    const world = new World(longBeforeDue);
    world.createAt();
    const operator = new Operator(world);
    await operator.reconcile();
    operator.syncAts();
    world.now = dueTime + 60_000;
    world.isDown = true;
    for (let pass = 0; pass < 12; pass += 1) {
      await operator.reconcile();
      world.now += 250;
    }
    assert.ok(!world.requests.includes('POST pods'));
    world.isDown = false;
    world.requests.length = 0;
    await operator.reconcile();
    assert.deepEqual(world.requests, ['GET pods', 'GET ats', 'POST pods']);
  });

  it('starts nothing that was suspended while the answer was missing', async () => {
    const { world, operator } = due('lostBefore');
    await operator.reconcile();
    world.editAt({ suspend: true });
    await operator.reconcile();
    assert.equal(world.creations.length, 0);
  });

  it('tries the Pod without storing it, once, and warns when it will be rejected', async () => {
    const world = new World(longBeforeDue);
    world.createAt();
    const operator = new Operator(world);
    operator.faults = [undefined, 'refused'];
    await operator.reconcile();
    assert.deepEqual(world.requests, ['PATCH ats/status']);
    await operator.reconcile();
    await operator.reconcile();
    assert.deepEqual(world.requests, ['PATCH ats/status', 'DRYRUN pods', 'PATCH ats/status']);
    assert.deepEqual(operator.events, ['PodRejected (W)']);
    const { status } = world.ats.get('example-at') ?? {};
    assert.deepEqual([status?.reason, status?.message], ['PodRejected', 'exceeded quota']);
    assert.equal(condition(status, 'PodAdmitted'), 'False PodRejected');
    assert.equal(world.creations.length, 0);
  });

  it('ignores other errors of a dry run', async () => {
    const world = new World(longBeforeDue);
    world.createAt();
    const operator = new Operator(world);
    operator.faults = [undefined, 'busy'];
    await operator.reconcile();
    assert.deepEqual(await operator.reconcile(), { requeueAt: dueTime, priority: launchPriority });
    assert.deepEqual(operator.events, []);
  });

  it('leaves a status to the next pass when the At has changed meanwhile', async () => {
    const { world, operator } = due();
    await operator.reconcile();
    world.editAt({ ttlSecondsAfterFinished: 60 });
    assert.deepEqual(await operator.reconcile(), { requeueAfter: 1000 });
    assert.deepEqual(operator.events, []);
    operator.syncAts();
    await operator.reconcile();
    assert.deepEqual(operator.events, ['Launched']);
  });

  it('deletes what has lived long enough, after another look', async () => {
    const world = new World(dueTime);
    world.createAt({ ttlSecondsAfterFinished: 5 });
    const operator = new Operator(world);
    for (let step = 0; step < 4; step += 1) {
      await operator.reconcile();
      world.kubelet(0);
      operator.syncPods();
    }
    await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.phase, 'DONE');
    world.now += 6001;
    world.requests.length = 0;
    await operator.reconcile();
    assert.deepEqual(world.requests, ['GET ats', 'DELETE ats']);
    assert.equal(world.ats.size, 0);
  });
});

describe('AtReconciler, where the creates of several Ats are refused', () => {
  for (const [name, edit] of [
    ['rescheduled', { schedule: '2100-01-01T00:00:00Z' }],
    ['suspended', { suspend: true }],
  ] as const) {
    it(`leaves its place to the next one once it is refused and then ${name}`, async () => {
      const { world, operator } = due();
      world.createAt({}, 'other-at');
      operator.syncAts();
      world.createFault = 'refused';
      for (const at of ['example-at', 'other-at']) await operator.reconcile(at);
      world.editAt(edit);
      operator.syncAts();
      await operator.reconcile();
      world.createFault = undefined;
      world.now += 250;
      await operator.reconcile('other-at');
      assert.deepEqual([...world.pods.keys()], ['other-at-pod']);
    });
  }
});

describe('AtReconciler, whose cache is older than what it has read', () => {
  /** A stranger has the name, so that the operator reads; then it is gone, and the cache is as old as before. */
  async function beforeAnotherPass(change: (world: World) => void): Promise<World> {
    const { world, operator } = due();
    world.createStranger('example-at-pod');
    change(world);
    // The answer to the status is lost, so that the cache keeps what it had.
    operator.faults = [undefined, 'lostAfter'];
    await operator.reconcile();
    world.removeStrangers();
    await operator.reconcile();
    return world;
  }

  for (const [name, change] of [
    ['deleted', (world) => world.removeAt()],
    [
      'created again',
      (world) => {
        world.removeAt();
        world.createAt();
      },
    ],
    ['deleted in the foreground', (world) => world.doomAt()],
    ['canceled', (world) => world.editAt({ cancel: true })],
    ['suspended', (world) => world.editAt({ suspend: true })],
  ] as const satisfies readonly (readonly [string, (world: World) => void])[]) {
    it(`creates no Pod for an At that it has seen to be ${name}`, async () => {
      assert.deepEqual((await beforeAnotherPass(change)).creations, []);
    });
  }

  it('goes on with what the cache shows once that is as new', async () => {
    const world = await beforeAnotherPass((world) => world.editAt({ ttlSecondsAfterFinished: 9 }));
    assert.equal(world.creations.length, 1);
    const reads = world.requests.filter((request) => request === 'GET ats');
    assert.equal(reads.length, 3, 'after the refusal, after the lost answer, and before the next create');
    const { operator } = due();
    await operator.reconcile();
    assert.deepEqual(operator.world.requests, ['POST pods'], 'and reads nothing when it never had to');
  });
});

describe('AtReconciler, with ExactlyOnce', () => {
  async function created(): Promise<{ world: World; operator: Operator }> {
    const world = new World(dueTime);
    world.createAt({ launchGuarantee: 'ExactlyOnce' });
    const operator = new Operator(world);
    await operator.reconcile();
    return { world, operator };
  }

  it('releases no Pod that the stored status does not name', async () => {
    const world = new World(dueTime);
    world.createAt({ launchGuarantee: 'ExactlyOnce' });
    world.dropped = ['podUID'];
    const operator = new Operator(world);
    await operator.reconcile();
    for (let pass = 0; pass < 3; pass += 1) await operator.reconcile();
    assert.deepEqual(world.releases, []);
    assert.equal(world.started.size, 0);
    assert.ok(world.requests.length < 12, world.requests.join());
  });

  it('creates with one request, and records and releases with one more each', async () => {
    const { world, operator } = await created();
    assert.deepEqual(world.requests, ['POST pods']);
    assert.deepEqual(await operator.reconcile(), { requeueAfter: 5000 });
    assert.deepEqual(world.requests, ['POST pods', 'PATCH ats/status', 'PATCH pods']);
    assert.equal(world.releases.length, 1);
    for (let step = 0; step < 4; step += 1) {
      world.kubelet(0);
      operator.syncPods();
      await operator.reconcile();
    }
    assert.deepEqual(world.requests.slice(3), ['PATCH ats/status', 'PATCH pods']);
    assert.equal(world.pods.get('example-at-pod')?.metadata.finalizers?.length, 0);
    assert.deepEqual(world.violations, []);
  });

  it('tells the end of a Pod that was deleted while no operator ran', async () => {
    const { world, operator } = await created();
    await operator.reconcile();
    for (let step = 0; step < 3; step += 1) world.kubelet(0);
    world.removePods();
    operator.restart();
    await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.outcome, 'Succeeded');
    await operator.reconcile();
    assert.equal(world.pods.size, 0);
  });

  it('takes the finalizer off the Pod of an At that is gone, and of one that has its name again', async () => {
    for (const isBorn of [false, true]) {
      const { world, operator } = await created();
      world.removeAt();
      if (isBorn) world.createAt({ schedule: '2100-01-01T00:00:00Z' });
      world.collectGarbage();
      assert.equal(world.pods.size, 1);
      operator.restart();
      operator.faults = ['conflict'];
      assert.partialDeepStrictEqual(await operator.reconcile(), { requeueAfter: isBorn ? 0 : 1000 });
      await operator.reconcile();
      assert.equal(world.pods.size, 0, `${isBorn}`);
    }
  });

  it('takes it off a Pod whose label a user took away while no operator ran', async () => {
    const { world, operator } = await created();
    await operator.reconcile();
    for (let step = 0; step < 3; step += 1) world.kubelet(0);
    const pod = world.pods.get('example-at-pod');
    assert.ok(pod);
    world.pods.set('example-at-pod', { ...pod, metadata: { ...pod.metadata, labels: {} } });
    operator.restart();
    // A cache holds what has the label.
    operator.pods.clear();
    for (let pass = 0; pass < 2; pass += 1) await operator.reconcile();
    assert.equal(world.ats.get('example-at')?.status?.outcome, 'Succeeded');
    assert.deepEqual(world.pods.get('example-at-pod')?.metadata.finalizers, []);
    assert.deepEqual(world.violations, []);
  });

  it('takes it off no Pod of an At that its cache does not show yet', async () => {
    const { world, operator } = await created();
    operator.ats = new Map();
    await operator.reconcile();
    assert.equal(world.pods.get('example-at-pod')?.metadata.finalizers?.length, 1);
  });

  it('asks before it goes on from an At that a write has shown to be old', async () => {
    const { world, operator } = await created();
    world.editAt({ suspend: true });
    await operator.reconcile();
    operator.syncPods();
    world.requests.length = 0;
    await operator.reconcile();
    assert.deepEqual(world.requests, [
      'GET pods',
      'GET ats',
      'DELETE pods',
      'PATCH pods',
      'PATCH ats/status',
    ]);
    assert.deepEqual([world.pods.size, world.releases.length], [0, 0]);
  });
});
