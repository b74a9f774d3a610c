/**
 * A command that has ended before its sidecars: what comes meanwhile is no end of it. On a real API server, where the test
 * reports what a kubelet would.
 */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import type { AtSpec } from '../../src/api/at.generated.ts';
import { atAnnotation } from '../../src/api/at-constants.ts';
import { type PodStatus, pods } from '../../src/kubernetes/objects.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

const mesh = { name: 'mesh', image: 'busybox', restartPolicy: 'Always' };
const proxy = { name: 'proxy', image: 'busybox' };
const native = { template: { spec: { initContainers: [mesh], containers: [{ name: 'main' }] } } };

function container(name: string, state: object, restartCount = 0) {
  return { name, image: 'busybox', imageID: '', ready: false, restartCount, state };
}

function exited(exitCode: number) {
  const time = seconds(Date.now());
  return { terminated: { exitCode, startedAt: time, finishedAt: time } };
}

const going = { running: { startedAt: seconds(Date.now()) } };

/** Its command has ended with 0, and the sidecar that the kubelet ends goes on. */
async function over(t: TestContext, spec: Partial<AtSpec> = {}): Promise<AtRig> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  await rig.createAt({ command: 'true', ...native, ...spec });
  await rig.inPhase('RUNNING');
  await rig.bind(t);
  await report(rig, 'Running', going);
  return rig;
}

function report(rig: AtRig, phase: NonNullable<PodStatus['phase']>, sidecar: object) {
  return rig.setPod({
    ...{ phase, startTime: seconds(Date.now()) },
    initContainerStatuses: [container('mesh', sidecar)],
    containerStatuses: [container('main', exited(0))],
  });
}

/** What the operator has seen by now is not stopped. */
async function goesOn(rig: AtRig): Promise<void> {
  await rig.eventsSoFar();
  assert.equal((await rig.pod()).metadata.annotations?.[atAnnotation.stopReason], undefined);
}

describe('a command that has ended before its native sidecar', { concurrency: true }, () => {
  it('has succeeded in spite of a cancel', async (t) => {
    const rig = await over(t);
    await rig.editAt({ cancel: true });
    await goesOn(rig);
    await report(rig, 'Succeeded', exited(143));
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('has succeeded in spite of its deadline', async (t) => {
    const rig = await over(t, { activeDeadlineSeconds: 1, backoffLimit: 0 });
    const { creationTimestamp = '' } = (await rig.pod()).metadata;
    const late = Date.parse(creationTimestamp) + 10_000;
    await eventually(() => Date.now() > late, { message: 'its deadline is over' });
    await goesOn(rig);
    await report(rig, 'Succeeded', exited(143));
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce'] as const) {
    it(`has succeeded, by ${launchGuarantee}, where its Pod is deleted by force, and runs once`, async (t) => {
      const rig = await AtRig.create(t);
      const seen = await rig.watchPods(t);
      await rig.startOperator();
      await rig.createAt({ command: 'true', ...native, launchGuarantee, disruptionPolicy: 'Retry' });
      await rig.inPhase('RUNNING');
      await eventually(async () => ((await rig.pod()).spec.schedulingGates ?? []).length === 0);
      await rig.bind(t);
      await report(rig, 'Running', going);
      await rig.eventsSoFar();
      const key = { namespace: rig.namespace, name: 'example-at-pod' };
      await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
      const { status } = await rig.inPhase('DONE', undefined, 120_000);
      assert.deepEqual([status?.outcome, status?.exitCode, seen.size], ['Succeeded', 0, 1]);
    });
  }
});

describe('a command that has succeeded, and whose sidecar fails as it ends', () => {
  it('has succeeded, whatever its backoffLimit', async (t) => {
    const rig = await AtRig.create(t);
    await rig.startOperator();
    const template = { spec: { containers: [{ name: 'main' }, proxy] } };
    await rig.createAt({ command: 'true', template, backoffLimit: 1 });
    await rig.inPhase('RUNNING');
    await rig.setPod({
      ...{ phase: 'Running', startTime: seconds(Date.now()) },
      containerStatuses: [container('main', exited(0), 1), container('proxy', exited(1))],
    });
    const { metadata } = await rig.stopped();
    assert.equal(metadata.annotations?.[atAnnotation.stopReason], 'Succeeded');
    await rig.setPod({
      phase: 'Failed',
      containerStatuses: [container('main', exited(0), 1), container('proxy', exited(137), 1)],
    });
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });
});
