/** An At that is resumed long past its time, on a real API server: it is late, and the operator is not to blame. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { parseTime } from '../../src/kubernetes/time.ts';
import { condition } from '../fixtures/at.ts';
import { resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig } from './at-rig.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

before(() => applyCrds());

/** Milliseconds: twice as long as what an operator may be late before it says so. */
const late = 10_000;

/** An At that is suspended over its time, which has passed long ago. */
async function overslept(t: TestContext, launchGuarantee: 'AtLeastOnce' | 'ExactlyOnce') {
  const rig = await AtRig.create(t);
  const registry = new Registry();
  await rig.startOperator({ registry });
  // The At is there before: from its creation on an operator could be to blame.
  const due = Date.now() + 2000;
  await rig.createAt({ schedule: new Date(due).toISOString(), suspend: true, launchGuarantee });
  await rig.atWhen('suspended', ({ status }) => condition(status, 'Suspended') === 'True Suspended');
  await eventually(() => Date.now() > due + late, { message: 'its time has passed long ago' });
  assert.ok(await rig.isPodGone());
  return { rig, due, registry };
}

/** It says by how much it is late, and blames nobody. */
async function assertLate(rig: AtRig, due: number): Promise<void> {
  const { status } = await rig.inPhase('RUNNING');
  const launchTime = parseTime(status?.launchTime ?? '');
  assert.equal(parseTime(status?.scheduledTime ?? ''), due);
  assert.equal(status?.latenessMilliseconds, launchTime - due);
  assert.ok(launchTime - due >= late, `${launchTime - due} ms late`);
  assert.equal(status?.operatorDelaySeconds, undefined);
  assert.equal(condition(status, 'Suspended'), 'False Resumed');
  assert.equal(await rig.isLaunchToldLate(), false);
  assert.deepEqual(await rig.events(), ['Suspended', 'Resumed', 'Launched']);
}

/** The one launch is counted, with less than the operator may take before it counts as late. */
async function assertOnTime(registry: Registry): Promise<void> {
  const name = 'atwatch_at_launch_lateness_seconds';
  const read = async (series: string) =>
    (await registry.metrics())
      .split('\n')
      .find((line) => line.startsWith(series))
      ?.slice(series.length + 1);
  await eventually(async () => (await read(`${name}_count`)) === '1', {
    message: 'the launch is counted',
  });
  assert.equal(await read(`${name}_bucket{le="5"}`), '1');
}

describe('an At that is resumed long past its time', { concurrency: true }, () => {
  for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
    it(`is late, and not by the operator (${launchGuarantee})`, async (t) => {
      const { rig, due, registry } = await overslept(t, launchGuarantee);
      await rig.editAt({ suspend: false });
      await assertLate(rig, due);
      await assertOnTime(registry);
    });

    it(`is so also where no operator is there when it is resumed (${launchGuarantee})`, async (t) => {
      const { rig, due } = await overslept(t, launchGuarantee);
      await rig.stopOperators();
      await rig.editAt({ suspend: false });
      const resumedAt = Date.now();
      await eventually(() => Date.now() > resumedAt + 6000, { message: 'a while has passed' });
      const registry = new Registry();
      await rig.startOperator({ registry });
      await assertLate(rig, due);
      await assertOnTime(registry);
    });
  }
});

describe('an At that is resumed before an operator has seen it', () => {
  it('is late by nobody, also for an operator that meets it when its Pod was refused', async (t) => {
    const rig = await AtRig.create(t);
    await rig.createAt({ suspend: true });
    const createdAt = Date.now();
    await eventually(() => Date.now() > createdAt + late, { message: 'a while has passed' });
    const quota = await imposeQuota(rig, { pods: '0' });
    await rig.editAt({ suspend: false });
    await rig.startOperator();
    await rig.atWhen('refused', ({ status }) => status?.reason === 'PodRejected');
    await rig.stopOperators();
    await rig.client.delete(resourceQuotas, quota);
    await rig.startOperator();
    const { status } = await rig.inPhase('RUNNING');
    assert.equal(status?.operatorDelaySeconds, undefined);
    assert.equal(await rig.isLaunchToldLate(), false);
  });
});

describe('an At that is suspended over its starting deadline', () => {
  it('waits as any that is suspended, and is missed when it is resumed', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advanceAtRest } = await timeTravel(t);
    const created = await rig.watchPods(t);
    await rig.startOperator(options);
    // Not in the past: suspended by its creation, but missed by nobody's fault.
    const schedule = new Date(Date.now()).toISOString();
    await rig.createAt({ schedule, suspend: true, startingDeadlineSeconds: 600 });
    await rig.atWhen('suspended', ({ status }) => condition(status, 'Suspended') === 'True Suspended');
    await advanceAtRest(1_200_000);
    // One that starts looks at all there is.
    await rig.stopOperators();
    await rig.startOperator(options);
    await rig.createAt({ pendingTimeoutSeconds: 0 }, 'afterwards');
    await rig.inPhase('RUNNING', 'afterwards');
    const suspended = (await rig.at()).status;
    assert.deepEqual([suspended?.phase, suspended?.reason], ['PENDING', 'Suspended']);
    await rig.editAt({ suspend: false });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason], ['Missed', 'MissedDeadline']);
    assert.equal(condition(status, 'Suspended'), 'False MissedDeadline');
    assert.deepEqual(await rig.eventsSoFar(), ['Suspended', 'Resumed', 'MissedDeadline (W)']);
    await eventually(() => created.size > 0, { message: 'the Pod afterwards is seen' });
    assert.equal(created.size, 1);
    assert.ok(await rig.isPodGone());
  });
});
