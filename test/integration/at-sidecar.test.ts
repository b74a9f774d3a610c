/** A real API server that puts a sidecar before the command of every Pod: the At is about the command. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { type KubernetesObject, pods, type Resource } from '../../src/api/kubernetes.ts';
import { AtRig, seconds } from './at-rig.ts';
import { applyCrds, eventually } from './support.ts';

before(() => applyCrds());

type Policy = KubernetesObject & { readonly spec: object };
const admission = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
const policies: Resource<Policy> = {
  ...admission,
  plural: 'mutatingadmissionpolicies',
  kind: 'MutatingAdmissionPolicy',
};
const bindings: Resource<Policy> = {
  ...admission,
  plural: 'mutatingadmissionpolicybindings',
  kind: 'MutatingAdmissionPolicyBinding',
};

/** Every Pod of the namespace gets a container `proxy` before its own, as service meshes do it. */
async function injectProxies(t: TestContext, { client, namespace }: AtRig): Promise<void> {
  const metadata = { name: namespace };
  t.after(() => client.delete(bindings, metadata));
  t.after(() => client.delete(policies, metadata));
  const proxy = "Object.spec.containers{name: 'proxy', image: 'busybox'}";
  await client.create(policies, {
    metadata,
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: { expression: `[JSONPatch{op: 'add', path: '/spec/containers/0', value: ${proxy}}]` },
        },
      ],
    },
  });
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  await client.create(bindings, {
    metadata,
    spec: { policyName: namespace, matchResources: { namespaceSelector } },
  });
  // A policy is in force a moment after it was stored.
  const probe = { metadata: { namespace, name: 'probe' }, spec: { containers: [{ name: 'a', image: 'b' }] } };
  await eventually(
    async () => (await client.create(pods, probe, { dryRun: true })).spec.containers[0]?.name === 'proxy',
    { message: 'proxies are put in' },
  );
}

describe('an At into whose Pod admission puts a sidecar', () => {
  it('is judged by its command', async (t) => {
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
});
