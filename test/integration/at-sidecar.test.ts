/** A real API server that puts a sidecar before the command of every Pod: the At is about the command. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { pods } from '../../src/kubernetes/objects.ts';
import { AtRig, seconds } from './at-rig.ts';
import { noMutatingPolicies } from './mutating-policies.ts';
import { admitPodsBy } from './pod-policy.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

/** Every Pod of the namespace gets a container `proxy` before its own, as service meshes do it. */
async function injectProxies(t: TestContext, rig: AtRig): Promise<void> {
  const { client, namespace } = rig;
  const proxy = "Object.spec.containers{name: 'proxy', image: 'busybox'}";
  const expression = `[JSONPatch{op: 'add', path: '/spec/containers/0', value: ${proxy}}]`;
  await admitPodsBy(t, rig, {
    verb: 'Mutating',
    policy: {
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
    },
  });
  // A policy is in force a moment after it was stored.
  const probe = { metadata: { namespace, name: 'probe' }, spec: { containers: [{ name: 'a', image: 'b' }] } };
  await eventually(
    async () => (await client.create(pods, probe, { dryRun: true })).spec.containers[0]?.name === 'proxy',
    { message: 'proxies are put in' },
  );
}

describe('an At into whose Pod admission puts a sidecar', () => {
  it('is judged by its command', { skip: noMutatingPolicies }, async (t) => {
    const rig = await AtRig.create(t);
    await injectProxies(t, rig);
    await rig.startOperator();
    await rig.createAt();
    await rig.inPhase('RUNNING');
    const { spec } = await rig.pod();
    assert.deepEqual(
      spec.containers.map((container) => container.name),
      ['proxy', 'busybox'],
    );
    const finishedAt = seconds(Date.now());
    const ended = (container: string, exitCode: number) => ({
      ...{ name: container, image: 'busybox', imageID: '', ready: false, restartCount: 0 },
      state: { terminated: { exitCode, startedAt: finishedAt, finishedAt } },
    });
    await rig.setPod({
      phase: 'Failed',
      startTime: finishedAt,
      conditions: [{ type: 'DisruptionTarget', status: 'True' }],
      containerStatuses: [ended('busybox', 3), ended('proxy', 0)],
    });
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], ['Failed', 'Evicted', 3]);
  });

  it('has ended as its command did where the sidecar reached the deadline of the Pod', {
    skip: noMutatingPolicies,
  }, async (t) => {
    const rig = await AtRig.create(t);
    await injectProxies(t, rig);
    await rig.startOperator();
    await rig.createAt({ activeDeadlineSeconds: 60, pendingTimeoutSeconds: 900 });
    await rig.inPhase('RUNNING');
    await rig.stopOperators();
    assert.equal((await rig.pod()).spec.activeDeadlineSeconds, 960);
    const began = Date.now() - 1_000_000;
    const ended = (name: string, exitCode: number, afterMs: number) => ({
      ...{ name, image: 'busybox', imageID: '', ready: false, restartCount: 0 },
      state: {
        terminated: { exitCode, startedAt: seconds(began), finishedAt: seconds(began + afterMs) },
      },
    });
    await rig.setPod({
      ...{ phase: 'Failed', reason: 'DeadlineExceeded', startTime: seconds(began) },
      containerStatuses: [ended('busybox', 0, 5000), ended('proxy', 137, 961_000)],
    });
    await rig.startOperator();
    const { status } = await rig.inPhase('DONE');
    assert.deepEqual([status?.outcome, status?.reason, status?.exitCode], ['Succeeded', 'Succeeded', 0]);
  });
});
