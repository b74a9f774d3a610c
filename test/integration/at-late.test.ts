/** What comes too late for an At, on a real API server: creates that are not awaited any more, and edits. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { condition } from '../fixtures/at.ts';
import { AtRig } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';
import { timeTravel } from './time-travel.ts';

/** Milliseconds: longer than a slow machine takes for a launch. */
const outageMs = 20_000;
/** From then on a launch counts as late, seconds. */
const lateAfterSeconds = 5;

before(() => applyCrds());

async function operating(t: TestContext): Promise<AtRig> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  return rig;
}

describe('a Pod that is created too late', { concurrency: true }, () => {
  it('is stopped beside the second attempt of its At, and deleted when it does not end', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ disruptionPolicy: 'Retry' });
    const { status } = await rig.inPhase('RUNNING');
    const uid = status?.podUID ?? '';
    await rig.client.delete(pods, { namespace: rig.namespace, name: 'example-at-pod' }, { uid });
    await rig.atWhen('in its second attempt', (at) => at.status?.attempts === 2);
    // Until it is seen to run it is only deleted: so no kubelet may look while a test makes a kubelet of itself.
    await rig.stopOperators();
    await rig.createPodOf('example-at', { terminationGracePeriodSeconds: 0 });
    await rig.start();
    await rig.startOperator();
    const stopped = await rig.stopped();
    assert.equal(stopped.metadata.annotations?.[atAnnotation.stopReason], 'Superseded');
    const told = async () => (await rig.events()).includes('Superseded (W)');
    await eventually(told, { message: 'the Event of the stop' });
    await eventually(() => rig.isPodGone(), { message: 'the Pod is gone', timeout: 30_000 });
    await rig.exit(0, 'example-at-pod-2');
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('is deleted after the end of its At', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ cancel: true });
    await rig.inPhase('DONE');
    await rig.createPodOf();
    await eventually(() => rig.isPodGone(), { message: 'the Pod is gone' });
  });
});

describe('an edit that comes too late', { concurrency: true }, () => {
  it('lets nothing else run after a disruption, and says so', async (t) => {
    const rig = await AtRig.create(t);
    await rig.createAt({ disruptionPolicy: 'Retry' });
    // The operator is killed before it writes RUNNING.
    await rig.createPodOf();
    await rig.editAt({ command: 'echo NO' });
    await rig.startOperator();
    assert.equal(condition((await rig.inPhase('RUNNING')).status, 'Accepted'), 'True EditedTooLate');
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.reason, 'Evicted');
    assert.match(status?.message ?? '', /not repeated: the spec was edited after the Pod was created/);
    assert.ok(await rig.isPodGone('example-at-pod-2'));
  });

  it('is told of a run that is not repeated', async (t) => {
    const rig = await AtRig.create(t);
    await rig.createAt();
    await rig.createPodOf();
    await rig.editAt({ command: 'echo NO' });
    await rig.startOperator();
    assert.equal(condition((await rig.inPhase('RUNNING')).status, 'Accepted'), 'True EditedTooLate');
    await rig.exit(0);
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.message, 'the spec was edited after the Pod was created');
  });

  it('changes neither the limits of the run nor that it goes on', async (t) => {
    const rig = await AtRig.create(t);
    const { options, advance } = await timeTravel(t);
    await rig.createAt({ activeDeadlineSeconds: 36_000, backoffLimit: 3 });
    // The operator is killed before it writes RUNNING.
    const { spec, metadata } = await rig.createPodOf();
    await rig.editAt({
      ...{ schedule: '2100-01-01T00:00:00Z', suspend: true },
      ...{ activeDeadlineSeconds: 1, pendingTimeoutSeconds: 1, backoffLimit: 0 },
    });
    await rig.startOperator(options);
    const launched = (await rig.inPhase('RUNNING')).status;
    assert.deepEqual([launched?.podUID, launched?.attempts], [metadata.uid, 1]);
    assert.deepEqual([launched?.reason, launched?.scheduledTime], [undefined, '2019-04-12T10:12:00.000Z']);
    // Longer than the edited limits allow, less than those of the Pod.
    await advance(60_000);
    await rig.start();
    await rig.atWhen('started', ({ status }) => status?.startTime !== undefined);
    await advance(60_000);
    await rig.failAgain(1);
    await rig.atWhen('failing', ({ status }) => status?.reason === 'CommandFailing');
    const pod = await rig.pod();
    assert.deepEqual(pod.spec.activeDeadlineSeconds, spec.activeDeadlineSeconds);
    assert.deepEqual(pod.metadata.annotations, metadata.annotations);
    assert.equal((await rig.at()).status?.phase, 'RUNNING');
    await rig.exit(0);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('is no such edit when it changes nothing about further attempts', async (t) => {
    const rig = await AtRig.create(t);
    await rig.createAt({
      disruptionPolicy: 'Retry',
      template: {
        metadata: { labels: { b: '1', a: '2' } },
        spec: { containers: [{ name: 'main', command: ['true'] }] },
      },
    });
    await rig.createPodOf();
    await rig.editAt({ ttlSecondsAfterFinished: 3600 });
    await rig.startOperator();
    assert.equal(condition((await rig.inPhase('RUNNING')).status, 'Accepted'), 'True Armed');
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    await rig.atWhen('in its second attempt', (at) => at.status?.attempts === 2);
  });
});

describe('an instant that has passed when the At is created', () => {
  it('makes a late launch, for which the operator is not to blame', async (t) => {
    const rig = await AtRig.create(t);
    const registry = new Registry();
    await rig.startOperator({ registry });
    await rig.createAt();
    const { status } = await rig.inPhase('RUNNING');
    const year = 31_536_000_000;
    assert.ok((status?.latenessMilliseconds ?? 0) > year);
    const delay = status?.operatorDelaySeconds ?? 0;
    assert.ok(delay < 3600, `${delay} s of the operator`);
    assert.equal(await rig.isLaunchToldLate(), delay >= lateAfterSeconds);
    // The status may be read before its writer has its answer.
    const isCounted = async () =>
      /^atwatch_at_launch_lateness_seconds_count 1$/m.test(await registry.metrics());
    await eventually(isCounted, { message: 'the launch is counted' });
    const sum = /^atwatch_at_launch_lateness_seconds_sum (\S+)$/m.exec(await registry.metrics())?.[1];
    assert.ok(Number(sum) < 3600, `${sum} s late`);
  });
});

describe('an outage over the time of an At', () => {
  it('is blamed on the operator, but not where the schedule was edited meanwhile', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'edited');
    await rig.atWhen('accepted', ({ status }) => status?.observedGeneration === 1, 'edited');
    const { name: untouched, due } = await rig.createWaiting(
      () => rig.stopOperators(),
      () => rig.startOperator(),
    );
    // When in the outage that was is not known: so it counts as the moment in which the operator is back.
    await rig.editAt({ schedule: new Date(due).toISOString() }, 'edited');
    await eventually(() => Date.now() > due + outageMs, { timeout: 150_000, message: 'both are overdue' });
    const registry = new Registry();
    await rig.startOperator({ registry });
    let onTime = 0;
    for (const [name, isDelayed] of [
      ['edited', false],
      [untouched, true],
    ] as const) {
      const {
        launchTime = '',
        scheduledTime = '',
        ...status
      } = (await rig.inPhase('RUNNING', name)).status ?? {};
      assert.equal(parseTime(scheduledTime), due);
      assert.equal(status.latenessMilliseconds, parseTime(launchTime) - due);
      const delay = status.operatorDelaySeconds ?? 0;
      assert.equal(delay >= outageMs / 1000, isDelayed, `${name}: ${delay} s`);
      // Where this machine takes seconds for the launch that the outage has no part in, that is late as well.
      const isLate = delay >= lateAfterSeconds;
      assert.equal(await rig.isLaunchToldLate(name), isLate, name);
      if (!isLate) onTime++;
    }
    const isCounted = async () =>
      /^atwatch_at_launch_lateness_seconds_count 2$/m.test(await registry.metrics());
    await eventually(isCounted, { message: 'both launches are counted' });
    const metrics = await registry.metrics();
    const counted = /^atwatch_at_launch_lateness_seconds_bucket\{le="5"\} (\d+)$/m.exec(metrics)?.[1];
    assert.equal(Number(counted), onTime, metrics);
  });
});
