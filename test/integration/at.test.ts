/** At on a real API server. The kubelet's part is the test's. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { before, describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import type { At } from '../../src/api/at.generated.ts';
import { ats } from '../../src/api/resources.ts';
import { findCondition } from '../../src/kubernetes/conditions.ts';
import { pods } from '../../src/kubernetes/objects.ts';
import { parseTime } from '../../src/kubernetes/time.ts';
import { namespaces, resourceQuotas } from '../fixtures/cluster-resources.ts';
import { AtRig, seconds } from './at-rig.ts';
import { imposeQuota } from './quota.ts';
import { applyCrds, eventually, isGone } from './support.ts';

const book = '../shared/books/cnat';

/** What was refused for long is tried again after 10 s, in milliseconds with room for a slow machine. */
const slowRetry = 60_000;

before(() => applyCrds());

async function operating(t: TestContext): Promise<AtRig> {
  const rig = await AtRig.create(t);
  await rig.startOperator();
  return rig;
}

function is(at: At, type: string): string | undefined {
  const found = findCondition(at.status?.conditions, type);
  return found && `${found.status} ${found.reason}`;
}

describe('At, the life of the book', () => {
  it('shows PENDING at once (B1), runs the Pod of the book, tells success (B3) and is silent then', async (t) => {
    const rig = await AtRig.create(t);
    const created = await rig.createAt();
    assert.deepEqual(created.status, { phase: 'PENDING', observedGeneration: -1 });
    await rig.startOperator();
    const running = await rig.inPhase('RUNNING');
    const pod = await rig.pod();
    assert.equal(pod.metadata.labels?.app, 'example-at');
    const { uid } = created.metadata;
    const apiVersion = `${ats.group}/${ats.version}`;
    // Without blockOwnerDeletion, for which a right on the finalizers of Ats is needed in some clusters.
    const owner = { apiVersion, kind: 'At', name: 'example-at', uid, controller: true };
    assert.deepEqual(pod.metadata.ownerReferences, [owner]);
    assert.equal(pod.spec.restartPolicy, 'OnFailure');
    const { name, image, command } = pod.spec.containers[0] ?? {};
    assert.deepEqual(
      { name, image, command },
      { name: 'busybox', image: 'busybox', command: ['echo', 'YAY'] },
    );
    assert.equal(running.status?.podUID, pod.metadata.uid);
    assert.ok((running.status?.latenessMilliseconds ?? 0) > 0);
    await rig.start();
    await rig.exit(0);
    const { metadata, status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Succeeded');
    assert.equal(status?.exitCode, 0);
    assert.equal(status?.history, undefined);
    assert.deepEqual(await eventually(async () => (await rig.events()).length === 2 && rig.events()), [
      'Launched',
      'Completed',
    ]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal((await rig.at()).metadata.resourceVersion, metadata.resourceVersion, 'silence (B12)');
  });

  for (const file of [
    'kubebuilder-cnat_v1alpha1_at.yaml',
    'readme-runat.yaml',
    'operator-cnat_v1alpha1_at_cr.yaml',
    'client-go-cnat-example.yaml',
  ]) {
    const skip = existsSync(`${book}/${file}`) ? false : `the manifest of the book is not at ${book}/${file}`;
    it(`runs ${file}`, { skip }, async (t) => {
      const rig = await operating(t);
      const manifest: At = parse(await readFile(`${book}/${file}`, 'utf8'));
      const metadata = { ...manifest.metadata, namespace: rig.namespace };
      await rig.client.create(ats, { ...manifest, metadata });
      await rig.inPhase('RUNNING');
      await rig.exit(0);
      assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    });
  }

  it('says why a command failed', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ backoffLimit: 0 });
    await rig.inPhase('RUNNING');
    assert.equal((await rig.pod()).spec.restartPolicy, 'Never');
    await rig.exit(3, 'example-at-pod', `${'x'.repeat(2000)} \u001b[31mno such table\u001b[0m\n`);
    const at = await rig.inPhase('DONE');
    assert.equal(at.status?.outcome, 'Failed');
    assert.equal(at.status?.reason, 'CommandFailed');
    assert.equal(at.status?.exitCode, 3);
    assert.match(at.status?.message ?? '', /^x{1010} no such table$/);
    assert.equal(is(at, 'Failed'), 'True CommandFailed');
    assert.equal(is(at, 'Ready'), 'False CommandFailed');
  });
});

describe('At, time', { concurrency: true }, () => {
  it('waits for its instant, to the millisecond', async (t) => {
    const rig = await operating(t);
    const { name, due } = await rig.createWaiting();
    const armed = await rig.atWhen('accepted', (at) => is(at, 'Accepted') === 'True Armed', name);
    assert.equal(parseTime(armed.status?.scheduledTime ?? ''), due);
    const { status } = await rig.inPhase('RUNNING', name, 150_000);
    const launchTime = parseTime(status?.launchTime ?? '');
    assert.ok(launchTime >= due, 'not early');
    assert.equal(status?.latenessMilliseconds, launchTime - due);
  });

  it('reads a local time in its zone', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ schedule: '2100-07-01T09:00:00', timeZone: 'Europe/Berlin' });
    const at = await rig.atWhen('accepted', ({ status }) => status?.scheduledTime !== undefined);
    assert.equal(at.status?.scheduledTime, '2100-07-01T07:00:00.000Z');
  });

  it('tells a zone that it does not know, and waits for an edit (B8)', async (t) => {
    const rig = await operating(t);
    // In the zone data of Go, hence of the API server, and not in that of Node.js.
    await rig.createAt({ schedule: '2019-07-01T09:00:00', timeZone: 'Factory' });
    const refused = await rig.atWhen('refused', (at) => is(at, 'Accepted') === 'False InvalidTimeZone');
    assert.equal(is(refused, 'Stalled'), 'True InvalidTimeZone');
    await rig.editAt({ timeZone: 'Europe/Berlin' });
    const at = await rig.inPhase('RUNNING');
    assert.equal(is(at, 'Stalled'), undefined);
  });

  it('follows an edit', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    await rig.atWhen('accepted', (at) => is(at, 'Accepted') === 'True Armed');
    await rig.editAt({ schedule: '2019-01-01T00:00:00Z' });
    await rig.inPhase('RUNNING');
  });

  it('misses its starting deadline', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ schedule: '2019-01-01T00:00:00Z', startingDeadlineSeconds: 1 });
    const at = await rig.inPhase('DONE');
    assert.equal(at.status?.outcome, 'Missed');
    assert.match(
      at.status?.message ?? '',
      /^not started: it was \d+h.* late, and startingDeadlineSeconds is 1$/,
    );
    assert.equal(at.status?.scheduledTime, '2019-01-01T00:00:00.000Z');
    assert.equal(is(at, 'Accepted'), 'True Armed');
    assert.ok(await rig.isPodGone());
  });

  it('does nothing while it is suspended', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ suspend: true });
    await rig.atWhen('suspended', (at) => is(at, 'Suspended') === 'True Suspended');
    assert.ok(await rig.isPodGone());
    await rig.editAt({ suspend: false });
    assert.equal(is(await rig.inPhase('RUNNING'), 'Suspended'), 'False Resumed');
  });

  it('is deleted when its time to live is over', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ ttlSecondsAfterFinished: 0 });
    await rig.inPhase('RUNNING');
    await rig.exit(0);
    await eventually(() => isGone(rig.client, ats, rig.namespace, 'example-at'), {
      message: 'the At is gone',
    });
  });
});

describe('At, whose Pod it is', { concurrency: true }, () => {
  it('never touches the Pod of another owner (B4), and runs when that is gone', async (t) => {
    const rig = await operating(t);
    const metadata = { namespace: rig.namespace, name: 'example-at-pod' };
    const stranger = await rig.client.create(pods, {
      metadata,
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    await rig.createAt();
    const at = await rig.atWhen('held', ({ status }) => status?.reason === 'PodNameConflict');
    assert.equal(at.status?.phase, 'PENDING');
    assert.deepEqual(await eventually(async () => (await rig.events()).length > 0 && rig.events()), [
      'PodNameConflict (W)',
    ]);
    assert.equal((await rig.pod()).metadata.uid, stranger.metadata.uid);
    await rig.client.delete(pods, metadata, { gracePeriodSeconds: 0 });
    const running = await rig.inPhase('RUNNING', undefined, slowRetry);
    assert.notEqual(running.status?.podUID, stranger.metadata.uid);
  });

  it('tells of the Pod of another owner when that has kept it from starting in time', async (t) => {
    const rig = await operating(t);
    await rig.client.create(pods, {
      metadata: { namespace: rig.namespace, name: 'example-at-pod' },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    });
    await rig.createAt();
    await rig.atWhen('held', ({ status }) => status?.reason === 'PodNameConflict');
    await rig.editAt({ startingDeadlineSeconds: 1 });
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.reason, 'MissedDeadline');
    assert.match(status?.message ?? '', /: a Pod example-at-pod that does not belong to this At exists$/);
  });

  it('waits for the Pod of an earlier At of the same name to go, and runs again (B5)', async (t) => {
    const rig = await operating(t);
    await rig.createAt();
    const first = await rig.inPhase('RUNNING');
    await rig.exit(0);
    await rig.inPhase('DONE');
    // A finalizer keeps the old Pod there for as long as the test wants, as a slow node does.
    const key = { namespace: rig.namespace, name: 'example-at-pod' };
    const hold = (finalizers: string[] | null) =>
      rig.client.patch(pods, key, { type: 'merge', body: { metadata: { finalizers } } });
    await hold(['example.com/test']);
    await rig.client.delete(ats, { namespace: rig.namespace, name: 'example-at' });
    const { metadata } = await rig.createAt();
    await rig.atWhen('held', ({ status }) => status?.reason === 'PodNameConflict');
    const { uid = '' } = (await rig.pod()).metadata;
    await rig.client.delete(pods, key, { uid });
    await hold(null);
    const second = await rig.inPhase('RUNNING', undefined, slowRetry);
    assert.notEqual(second.status?.podUID, first.status?.podUID);
    assert.equal((await rig.pod()).metadata.ownerReferences?.[0]?.uid, metadata.uid);
  });

  for (const { when, until, reason } of [
    { when: 'before it has started', until: async () => {}, reason: 'PodLost' },
    { when: 'while it runs', until: (rig: AtRig) => rig.start(), reason: 'PodLost' },
    {
      when: 'after its end',
      until: async (rig: AtRig) => {
        await rig.exit(0);
        await rig.inPhase('DONE');
      },
      reason: 'Succeeded',
    },
  ]) {
    it(`is not run twice when its Pod is deleted ${when} (B6)`, async (t) => {
      const rig = await operating(t);
      await rig.createAt();
      const running = await rig.inPhase('RUNNING');
      await until(rig);
      const key = { namespace: rig.namespace, name: 'example-at-pod' };
      await rig.client.delete(pods, key, { gracePeriodSeconds: 0 });
      const { status } = await rig.inPhase('DONE');
      assert.equal(status?.reason, reason);
      assert.equal(status?.podUID, running.status?.podUID);
      assert.ok(await rig.isPodGone());
      // A second operator has to come to the same conclusion.
      await rig.stopOperators();
      await rig.createAt({}, 'another');
      await rig.startOperator();
      await rig.inPhase('RUNNING', 'another');
      assert.ok(await rig.isPodGone());
    });
  }

  it('runs in a second Pod with Retry', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    await rig.atWhen('in its second attempt', ({ status }) => status?.attempts === 2);
    await rig.exit(0, 'example-at-pod-2');
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
  });

  it('gives a Pod its label back, and sees its end', async (t) => {
    const rig = await operating(t);
    await rig.createAt();
    await rig.inPhase('RUNNING');
    const label = 'cnat.programming-kubernetes.info/controller-uid';
    const key = { namespace: rig.namespace, name: 'example-at-pod' };
    await rig.client.patch(pods, key, { type: 'merge', body: { metadata: { labels: { [label]: null } } } });
    await eventually(async () => (await rig.pod()).metadata.labels?.[label] !== undefined, {
      message: 'the label is back',
    });
    await rig.exit(0);
    await rig.inPhase('DONE');
  });
});

describe('At, operators that come and go', () => {
  it('is finished by the next operator', async (t) => {
    const rig = await operating(t);
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.stopOperators();
    await rig.exit(0);
    await rig.createAt({}, 'meanwhile');
    await rig.startOperator();
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Succeeded');
    await rig.inPhase('RUNNING', 'meanwhile');
  });
});

describe('At, what ends a run', { concurrency: true }, () => {
  it('ends a command that keeps failing (B2)', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ backoffLimit: 1 });
    await rig.inPhase('RUNNING');
    await rig.start();
    const { status } = await rig.pod();
    const [container] = status?.containerStatuses ?? [];
    assert.ok(container);
    const time = seconds(Date.now());
    const lastState = { terminated: { exitCode: 7, reason: 'Error', startedAt: time, finishedAt: time } };
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    await rig.setPod({ containerStatuses: [{ ...container, restartCount: 1, state, lastState }] });
    const stopped = await rig.stopped();
    const annotation = stopped.metadata.annotations?.['cnat.programming-kubernetes.info/stop-reason'];
    assert.equal(annotation, 'BackoffLimitExceeded');
    await rig.setPod({ phase: 'Failed', reason: 'DeadlineExceeded' });
    const at = await rig.inPhase('DONE');
    assert.equal(at.status?.reason, 'BackoffLimitExceeded');
    assert.equal(at.status?.exitCode, 7);
    assert.equal(at.status?.restarts, 1);
  });

  it('says what a Pod waits for while it waits (B7)', async (t) => {
    const rig = await operating(t);
    await rig.createAt();
    const isHint = ({ status }: At) => status?.reason === 'Unschedulable';
    const waiting = await rig.atWhen('known to wait for a node', isHint, undefined, 25_000);
    assert.equal(waiting.status?.phase, 'RUNNING');
    assert.match(waiting.status?.message ?? '', /node/);
    assert.equal(is(waiting, 'Ready'), 'True Launched');
    await rig.start();
    await rig.atWhen('no longer waiting', ({ status }) => status?.reason === undefined);
  });

  it('ends a Pod that finds no node, and says so (B7)', async (t) => {
    const rig = await operating(t);
    // Long enough for the scheduler to have said that there is none.
    await rig.createAt({ pendingTimeoutSeconds: 15 });
    const { status } = await rig.inPhase('DONE');
    assert.equal(status?.outcome, 'Failed');
    assert.equal(status?.reason, 'Unschedulable');
    await eventually(() => rig.isPodGone());
  });

  it('is canceled before its launch', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' });
    await rig.atWhen('accepted', (at) => is(at, 'Accepted') === 'True Armed');
    await rig.editAt({ cancel: true });
    const at = await rig.inPhase('DONE');
    assert.equal(at.status?.outcome, 'Canceled');
    assert.equal(is(at, 'Ready'), 'True Canceled');
  });

  it('is canceled while it runs; Pod and log stay', async (t) => {
    const rig = await operating(t);
    await rig.createAt();
    await rig.inPhase('RUNNING');
    await rig.start();
    await rig.editAt({ cancel: true });
    await rig.stopped();
    await rig.exit(143);
    assert.equal((await rig.inPhase('DONE')).status?.outcome, 'Canceled');
    assert.equal(await rig.isPodGone(), false);
  });
});

describe('At, a Pod that the API server rejects', { concurrency: true }, () => {
  /** From now on the API server accepts no Pod in the namespace. */
  const forbidPods = (rig: AtRig) => imposeQuota(rig, { pods: '0' });

  async function allowPods({ client, namespace }: AtRig): Promise<void> {
    const body = { spec: { hard: { pods: '5' } } };
    await client.patch(resourceQuotas, { namespace, name: 'quota' }, { type: 'merge', body });
  }

  it('is told, and run when there is room', async (t) => {
    const rig = await operating(t);
    await forbidPods(rig);
    await rig.createAt();
    const at = await rig.atWhen('held', ({ status }) => status?.reason === 'PodRejected');
    assert.match(at.status?.message ?? '', /quota/);
    // Its Pod is tried once only: now, when the quota is known to be in force.
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'far');
    const warned = async (name: string) => (await rig.events(name)).includes('PodRejected (W)');
    await eventually(() => warned('example-at'), { message: 'the Event of the due At' });
    await eventually(() => warned('far'), { message: 'the Event of the dry run' });
    assert.equal(is(await rig.at('far'), 'Ready'), 'True Armed');
    const far = await rig.atWhen('rejected', ({ status }) => status?.reason === 'PodRejected', 'far');
    assert.equal(is(far, 'PodAdmitted'), 'False PodRejected');
    await allowPods(rig);
    await rig.inPhase('RUNNING', undefined, slowRetry);
  });

  it('is told of another attempt, too', async (t) => {
    const rig = await operating(t);
    await rig.createAt({ disruptionPolicy: 'Retry' });
    await rig.inPhase('RUNNING');
    await forbidPods(rig);
    await rig.setPod({ phase: 'Failed', reason: 'Evicted' });
    const { status } = await rig.atWhen('held', (at) => at.status?.reason === 'PodRejected');
    assert.equal(status?.phase, 'RUNNING');
    assert.match(status?.message ?? '', /quota/);
    await eventually(async () => (await rig.events()).includes('PodRejected (W)'));
    await allowPods(rig);
    const again = await rig.atWhen(
      'in its second attempt',
      (at) => at.status?.attempts === 2,
      undefined,
      slowRetry,
    );
    assert.equal(again.status?.reason, undefined);
  });

  it('is told when Pod Security forbids it, and run when that does no more', async (t) => {
    const rig = await operating(t);
    const enforce = (level: string | null) => {
      const labels = { 'pod-security.kubernetes.io/enforce': level };
      const body = { metadata: { labels } };
      return rig.client.patch(namespaces, { name: rig.namespace }, { type: 'merge', body });
    };
    await enforce('restricted');
    const template = { spec: { hostNetwork: true, containers: [{}] } };
    await rig.createAt({ command: 'true', template });
    const at = await rig.atWhen('held', ({ status }) => status?.reason === 'PodRejected');
    assert.match(at.status?.message ?? '', /violates PodSecurity "restricted/);
    await enforce(null);
    await rig.inPhase('RUNNING', undefined, slowRetry);
  });

  it('is told when the template is not valid, for good, and waits for an edit', async (t) => {
    const rig = await operating(t);
    const template = { spec: { dnsPolicy: 'Nowhere', containers: [{}] } };
    const names = { due: {}, far: { schedule: '2100-01-01T00:00:00Z' } };
    for (const [name, spec] of Object.entries(names)) await rig.createAt({ ...spec, template }, name);
    for (const name of Object.keys(names)) {
      const at = await rig.atWhen('refused', (one) => is(one, 'Accepted') === 'False InvalidTemplate', name);
      assert.deepEqual(
        ['Ready', 'Stalled', 'PodAdmitted'].map((type) => is(at, type)),
        ['False InvalidTemplate', 'True InvalidTemplate', 'False InvalidTemplate'],
      );
      assert.match(
        at.status?.message ?? '',
        /^Pod ".*-pod" is invalid: spec\.dnsPolicy: Unsupported value: supported values: "ClusterFirst/,
      );
    }
    // Another process does not try what status refuses.
    await rig.stopOperators();
    const before = await rig.at('due');
    await rig.startOperator();
    await rig.createAt({}, 'next');
    await rig.inPhase('RUNNING', 'next');
    assert.equal((await rig.at('due')).metadata.resourceVersion, before.metadata.resourceVersion);
    await rig.editAt({ template: { spec: { dnsPolicy: 'Default', containers: [{}] } } }, 'due');
    const mended = await rig.inPhase('RUNNING', 'due');
    assert.equal(is(mended, 'Accepted'), 'True Armed');
  });

  it('is held, and not refused for good, where a policy or a quota says no', async (t) => {
    const rig = await operating(t);
    await forbidPods(rig);
    await rig.createAt({ schedule: '2100-01-01T00:00:00Z' }, 'far');
    const far = await rig.atWhen('told', (at) => is(at, 'PodAdmitted') === 'False PodRejected', 'far');
    assert.equal(is(far, 'Accepted'), 'True Armed');
  });

  it('is told long before when a field of the template has a wrong type or does not exist', async (t) => {
    const rig = await operating(t);
    const far = { schedule: '2100-01-01T00:00:00Z' };
    const spec = { hostNetwork: 'yes', containers: [{}] };
    await rig.createAt({ ...far, template: { spec } }, 'type');
    await rig.createAt({ ...far, command: 'true', template: { metadata: { labels: { a: 5 } } } }, 'label');
    await forbidPods(rig);
    await rig.createAt({ ...far, template: { spec: { containers: [{ resouces: {} }] } } }, 'field');
    for (const [name, says] of [
      ['type', 'hostNetwork'],
      ['label', 'labels'],
      ['field', 'unknown field "spec.containers[0].resouces"'],
      ['field', 'exceeded quota'],
    ] as const) {
      const warned = async () => (await rig.notes(name)).some((note) => note.includes(says));
      await eventually(warned, { message: `the Event of ${name} about ${says}` });
      assert.equal(is(await rig.at(name), 'Ready'), 'True Armed');
    }
  });
});
