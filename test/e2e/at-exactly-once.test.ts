/** ExactlyOnce on a real scheduler, kubelet and garbage collector: what the gate and the finalizer rest on. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { At } from '../../src/api/at.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { eventually, installCrds, kubectl, type Namespace, withNamespace } from './kubectl.ts';
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

/** The first process of a container ignores SIGTERM unless it has a trap: SIGKILL ends it a second later. */
const template = { spec: { terminationGracePeriodSeconds: 1, containers: [{}] } };
const deaf = { ...untilTold, template };
/** SIGTERM makes it succeed. */
const polite = { ...untilTold, command: `trap 'exit 0' TERM; ${untilTold.command}` };

/** Resolves once its Pod runs, and status tells of that Pod: of one that is not there yet kubectl waits for nothing. */
async function running(namespace: Namespace, name: string): Promise<void> {
  await waitFor(namespace, `at/${name}`, '.status.phase', 'RUNNING');
  await waitFor(namespace, `pod/${name}-pod`, '.status.phase', 'Running');
}

/** Resolves once the command of the At has begun, and has set its trap. */
async function started(namespace: Namespace, name: string): Promise<void> {
  await running(namespace, name);
  const log = () => namespace.kubectl('logs', `${name}-pod`);
  await eventually('its first line', async () => (await log()) === 'run');
}

/** Name and uid of a Pod of the At for each start of its command. */
async function starts(namespace: Namespace, name: string): Promise<string[]> {
  const field = 'involvedObject.fieldPath=spec.containers{busybox},reason=Started';
  const rows = '--output=jsonpath={range .items[*]}{.involvedObject.name} {.involvedObject.uid}{"\\n"}{end}';
  const all = await namespace.kubectl('get', 'events', `--field-selector=${field}`, rows);
  return all.split('\n').filter((start) => start.startsWith(`${name}-pod`));
}

/**
 * The At has ended, nothing holds its Pod, and its command has begun once.
 *
 * @param expected outcome, reason and exit code.
 */
async function assertEnded(namespace: Namespace, name: string, expected: readonly unknown[]): Promise<void> {
  await waitFor(namespace, `at/${name}`, '.status.phase', 'DONE');
  await namespace.kubectl('wait', '--for=delete', '--timeout=110s', `pod/${name}-pod`);
  // Once it has seen this edit, the operator has looked at the At without its Pod.
  await namespace.kubectl(
    ...['patch', 'at', name, '--type=merge', '--patch={"spec":{"ttlSecondsAfterFinished":3600}}'],
  );
  await waitFor(namespace, `at/${name}`, '.status.observedGeneration', '2');
  const { status } = await namespace.getJson<At>(`at/${name}`);
  assert.deepEqual([status?.outcome, status?.reason, status?.exitCode, status?.attempts], [...expected, 1]);
  const pods = await namespace.kubectl('get', 'pods', '--output=name', `--selector=app=${name}`);
  assert.equal(pods, '');
  assert.deepEqual(await starts(namespace, name), [`${name}-pod ${status?.podUID}`]);
}

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
    await running(namespace, 'kept');
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
    await namespace.apply(atObject('gone', deaf));
    await running(namespace, 'gone');
    await operator.kill();
    await namespace.kubectl('delete', 'at/gone', '--timeout=110s');
    await operator.start();
    await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'pod/gone-pod');
  });

  it('does not run again where its node is drained, and tells how it has ended', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('deaf', deaf));
    await namespace.apply(atObject('polite', polite));
    for (const name of ['deaf', 'polite']) await started(namespace, name);
    const { nodeName = '' } = (await namespace.getJson<Pod>('pod/deaf-pod')).spec;
    t.after(() => kubectl(['uncordon', nodeName]));
    // It waits until the Pods are gone, which the finalizer must not prevent.
    await namespace.kubectl('drain', nodeName, '--pod-selector=app in (deaf, polite)', '--timeout=110s');
    await assertEnded(namespace, 'deaf', ['Failed', 'Evicted', 137]);
    await assertEnded(namespace, 'polite', ['Succeeded', 'Succeeded', 0]);
  });

  it('does not run again where its Pod is deleted by force, and tells how it has ended', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(atObject('forced', deaf));
    await started(namespace, 'forced');
    const how = ['--force', '--grace-period=0', '--timeout=110s'];
    await namespace.kubectl('delete', 'pod/forced-pod', ...how);
    await assertEnded(namespace, 'forced', ['Failed', 'PodLost', 137]);
  });

  for (const launchGuarantee of ['AtLeastOnce', 'ExactlyOnce']) {
    it(`goes with its Pod where it is deleted in the foreground while it runs, ${launchGuarantee}`, async (t) => {
      const namespace = await withNamespace(t);
      await namespace.apply(atObject('doomed', { ...deaf, launchGuarantee, disruptionPolicy: 'Retry' }));
      await started(namespace, 'doomed');
      await namespace.kubectl('delete', 'at/doomed', '--cascade=foreground', '--timeout=110s');
      await namespace.kubectl('wait', '--for=delete', '--timeout=110s', 'pod/doomed-pod');
      assert.equal(await namespace.kubectl('get', 'pods', '--output=name'), '');
      assert.equal((await starts(namespace, 'doomed')).length, 1);
    });
  }

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
