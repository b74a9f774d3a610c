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
  const template = (activeDeadlineSeconds: number) => ({ spec: { activeDeadlineSeconds, containers: [{}] } });
  await rig.createAt({ ...own, template: template(500) }, 'own');
  await rig.createAt({ ...own, template: template(20) }, 'given');
  for (const [name, seconds] of [
    ['own', 40],
    ['given', 20],
  ] as const) {
    await rig.inPhase('RUNNING', name);
    assert.equal((await rig.pod(`${name}-pod`)).spec.activeDeadlineSeconds, seconds, name);
  }
});
