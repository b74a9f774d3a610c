/** The Pod that the API server gets of an At with a template: what stays the operator's own, and what is the user's. */
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { AtRig } from './at-rig.ts';
import { applyCrds } from './support.ts';

before(() => applyCrds());

it('a template decides neither who the Pod is, nor where it runs, nor its command', async (t) => {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'other', controller: true };
  const metadata = {
    ...{ name: 'other', namespace: 'other', finalizers: ['example.com/hold'], ownerReferences: [owner] },
    ...{ labels: { app: 'other', team: 'a' }, annotations: { note: 'b' } },
  };
  const containers = [
    { name: 'main', image: 'other', command: ['false'], args: ['x'], env: [{ name: 'KEY', value: 'c' }] },
    { name: 'side', image: 'busybox', securityContext: { runAsUser: 7 } },
  ];
  const initContainers = [{ name: 'first', image: 'busybox' }];
  const spec = { nodeName: 'other', activeDeadlineSeconds: 120, containers, initContainers };
  await rig.createAt({
    ...{ command: 'echo YAY', image: 'busybox:1', template: { metadata, spec } },
    ...{ pendingTimeoutSeconds: 0, activeDeadlineSeconds: 100 },
  });
  await rig.inPhase('RUNNING');
  const pod = await rig.pod();
  assert.deepEqual([pod.metadata.labels?.app, pod.metadata.labels?.team], ['example-at', 'a']);
  assert.equal(pod.metadata.annotations?.note, 'b');
  assert.equal(pod.metadata.finalizers, undefined);
  assert.deepEqual(
    pod.metadata.ownerReferences?.map(({ kind, name, controller }) => [kind, name, controller]),
    [['At', 'example-at', true]],
  );
  assert.deepEqual(
    [pod.spec.nodeName, pod.spec.restartPolicy, pod.spec.activeDeadlineSeconds],
    [undefined, 'OnFailure', 120],
  );
  const [main, side] = pod.spec.containers;
  assert.deepEqual(
    [main?.name, main?.image, main?.command, main?.args, main?.env],
    ['main', 'busybox:1', ['echo', 'YAY'], undefined, [{ name: 'KEY', value: 'c' }]],
  );
  const [first] = pod.spec.initContainers ?? [];
  const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  assert.deepEqual(
    [main, side, first].map((container) => container?.securityContext),
    [restricted, { ...restricted, runAsUser: 7 }, restricted],
  );
});

it('of two deadlines the smaller wins, and a Pod that waits for its image has the time for that, too', async (t) => {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  const own = { command: 'true', pendingTimeoutSeconds: 30, activeDeadlineSeconds: 10 };
  const template = (spec: object) => ({ spec: { containers: [{}], ...spec } });
  const first = { name: 'first', image: 'busybox' };
  const rows = {
    own: [{ template: template({ activeDeadlineSeconds: 500 }) }, 40],
    given: [{ template: template({ activeDeadlineSeconds: 20 }) }, 20],
    sidecar: [{ template: template({ initContainers: [{ ...first, restartPolicy: 'Always' }] }) }, 40],
    // The time in which these work, or for which the Pod may wait, is not known before.
    init: [{ template: template({ initContainers: [first] }) }, undefined],
    unlimited: [{ pendingTimeoutSeconds: 0 }, undefined],
  } as const;
  for (const [name, [spec]] of Object.entries(rows)) await rig.createAt({ ...own, ...spec }, name);
  for (const [name, [, seconds]] of Object.entries(rows)) {
    await rig.inPhase('RUNNING', name);
    assert.equal((await rig.pod(`${name}-pod`)).spec.activeDeadlineSeconds, seconds, name);
  }
});

it('the words of a template without a command of the At stay as they are', async (t) => {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  const main = { name: 'main', image: 'busybox', command: ['echo'], args: ['$(HOME)', '$$(x)', 'a b'] };
  await rig.createAt({ template: { spec: { containers: [main] } } });
  await rig.inPhase('RUNNING');
  const [container] = (await rig.pod()).spec.containers;
  assert.deepEqual([container?.command, container?.args], [main.command, main.args]);
});
