/** ExactlyOnce on a real scheduler, kubelet and garbage collector: what the gate and the finalizer rest on. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { installCrds, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

const gate = 'cnat.programming-kubernetes.info/recorded';
const finalizer = 'cnat.programming-kubernetes.info/tracked';

function atObject(name: string, spec: object): object {
  return {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name },
    spec: { schedule: new Date().toISOString(), launchGuarantee: 'ExactlyOnce', ...spec },
  };
}

/** Waits for a value of a field of an object. */
function waitFor(namespace: Namespace, what: string, path: string, value: string): Promise<string> {
  return namespace.kubectl('wait', `--for=jsonpath={${path}}=${value}`, '--timeout=110s', what);
}

/** It runs until it is told to end. */
const untilTold = { shell: '/bin/sh', command: 'echo run; until [ -e /tmp/end ]; do sleep 0.2; done' };

describe('At with ExactlyOnce on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  it('runs, and leaves a Pod that nothing holds', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('once', { command: 'echo YAY' }));
    await waitFor(namespace, 'at/once', '.status.phase', 'DONE');
    assert.equal(await namespace.kubectl('logs', 'once-pod'), 'YAY');
    const { status } = await namespace.getJson<At>('at/once');
    const { metadata, spec } = await namespace.getJson<Pod>('pod/once-pod');
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.podUID, metadata.uid);
    assert.equal(spec.schedulingGates, undefined);
    await namespace.kubectl('delete', 'pod/once-pod', '--timeout=110s');
  });

  it('keeps the result of a Pod that is deleted while no operator runs', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('kept', untilTold));
    await waitFor(namespace, 'pod/kept-pod', '.status.phase', 'Running');
    await waitFor(namespace, 'at/kept', '.status.phase', 'RUNNING');
    await operator.kill();
    await namespace.kubectl('exec', 'kept-pod', '--', 'touch', '/tmp/end');
    await waitFor(namespace, 'pod/kept-pod', '.status.phase', 'Succeeded');
    await namespace.kubectl('delete', 'pod/kept-pod', '--wait=false');
    const held = await namespace.getJson<Pod>('pod/kept-pod');
    assert.ok(held.metadata.deletionTimestamp);
    assert.deepEqual(held.metadata.finalizers, [finalizer]);
    await operator.start();
    await waitFor(namespace, 'at/kept', '.status.outcome', 'Succeeded');
    await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'pod/kept-pod');
  });

  it('lets the Pod of an At go that was deleted while no operator ran', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('gone', untilTold));
    await waitFor(namespace, 'pod/gone-pod', '.status.phase', 'Running');
    await operator.kill();
    await namespace.kubectl('delete', 'at/gone', '--timeout=110s');
    await operator.start();
    await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'pod/gone-pod');
  });

  it('never starts a gated Pod that it has not recorded', async (t) => {
    const namespace = await withNamespace(t);
    await operator.kill();
    await namespace.apply(atObject('late', { command: 'echo YAY' }));
    const { metadata } = await namespace.getJson<At>('at/late');
    await namespace.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'late-pod',
        labels: { app: 'late', 'cnat.programming-kubernetes.info/controller-uid': metadata.uid },
        annotations: { 'cnat.programming-kubernetes.info/run': JSON.stringify({ generation: 9 }) },
        finalizers: [finalizer],
        ownerReferences: [
          {
            apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
            kind: 'At',
            name: 'late',
            uid: metadata.uid,
            controller: true,
          },
        ],
      },
      spec: {
        schedulingGates: [{ name: gate }],
        containers: [{ name: 'busybox', image: 'busybox', command: ['echo', 'NO'] }],
      },
    });
    const other = await namespace.getJson<Pod>('pod/late-pod');
    await waitFor(namespace, 'pod/late-pod', '.status.conditions[0].reason', 'SchedulingGated');
    await operator.start();
    await waitFor(namespace, 'at/late', '.status.outcome', 'Succeeded');
    assert.equal(await namespace.kubectl('logs', 'late-pod'), 'YAY');
    assert.notEqual((await namespace.getJson<Pod>('pod/late-pod')).metadata.uid, other.metadata.uid);
  });
});
