/** What ends a run on a real node: failures, deadlines, images that cannot be pulled, people. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AtStatus } from '../../src/api/at.generated.ts';
import type { Pod } from '../../src/kubernetes/objects.ts';
import { eventually, installCrds, kubectl, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

/** As many Pods as a kubelet with two processors starts in the time that these tests leave it. */
const concurrency = 6;

async function run(namespace: Namespace, name: string, spec: object): Promise<void> {
  await namespace.apply({
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    kind: 'At',
    metadata: { name },
    spec: { schedule: new Date().toISOString(), ...spec },
  });
}

/** Resolves when the Pod is there. One that is not there yet cannot be waited for, the At can. */
async function launched(namespace: Namespace, name: string): Promise<void> {
  await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=RUNNING', '--timeout=110s', `at/${name}`);
}

/** Resolves when the container runs. */
async function started(namespace: Namespace, name: string): Promise<void> {
  await launched(namespace, name);
  await namespace.kubectl(
    'wait',
    '--for=jsonpath={.status.phase}=Running',
    '--timeout=110s',
    `pod/${name}-pod`,
  );
}

/** Resolves when the first init container of the Pod runs. */
async function initStarted(namespace: Namespace, name: string): Promise<void> {
  await launched(namespace, name);
  await namespace.kubectl(
    'wait',
    '--for=jsonpath={.status.initContainerStatuses[0].state.running}',
    '--timeout=110s',
    `pod/${name}-pod`,
  );
}

async function done(namespace: Namespace, name: string): Promise<AtStatus> {
  await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=DONE', '--timeout=110s', `at/${name}`);
  const { status } = await namespace.getJson<{ status: AtStatus }>(`at/${name}`);
  return status;
}

/** Resolves with its Warnings once this one is among them: Events are sent behind the status. */
function warned(namespace: Namespace, name: string, warning: RegExp): Promise<string> {
  return eventually(`the Warning of ${name}`, async () => {
    const told = await namespace.kubectl('events', `--for=at/${name}`, '--types=Warning');
    if (!warning.test(told)) throw new Error(told);
    return told;
  });
}

let operator: OperatorUnderTest;
before(async () => {
  await installCrds();
  operator = await operatorUnderTest();
});
after(() => operator?.remove());

describe('At on a real node, what ends a run', { concurrency }, () => {
  it('a command that keeps failing', async (t) => {
    const namespace = await withNamespace(t);
    // The kubelet waits ten seconds before the third start, and twenty before the fourth: time to see it go on.
    await run(namespace, 'crash', { shell: '/bin/sh', command: 'echo broken >&2; exit 7', backoffLimit: 3 });
    await namespace.kubectl(
      'wait',
      '--for=jsonpath={.status.conditions[?(@.type=="Launched")].reason}=CommandFailing',
      '--timeout=110s',
      'at/crash',
    );
    const row = await namespace.kubectl('get', 'at', 'crash', '--no-headers');
    assert.match(row, /RUNNING +CommandFailing +7 /);
    const status = await done(namespace, 'crash');
    assert.equal(status.reason, 'BackoffLimitExceeded');
    assert.equal(status.exitCode, 7);
    // The kubelet may have begun one start more by the time it is told.
    assert.ok(status.restarts === 3 || status.restarts === 4, `${status.restarts} restarts`);
    assert.match(status.message ?? '', /broken/);
    assert.match(await namespace.kubectl('logs', 'crash-pod'), /broken/);
  });

  it('an image that cannot be pulled', async (t) => {
    const namespace = await withNamespace(t);
    // Long enough for a busy kubelet to have tried it.
    await run(namespace, 'image', { command: 'true', image: 'no-such-image', pendingTimeoutSeconds: 50 });
    const status = await done(namespace, 'image');
    assert.equal(status.reason, 'ImagePullBackOff');
    assert.equal(status.outcome, 'Failed');
  });

  it('nothing but a cancel, without a time limit for the image, which is named meanwhile', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'patient', { command: 'true', image: 'no-such-image', pendingTimeoutSeconds: 0 });
    await namespace.kubectl(
      'wait',
      '--for=jsonpath={.status.reason}=ImagePullBackOff',
      '--timeout=110s',
      'at/patient',
    );
    const row = await namespace.kubectl('get', 'at', 'patient', '--output=wide', '--no-headers');
    assert.match(row, /RUNNING.*no-such-image/);
    await namespace.kubectl('patch', 'at', 'patient', '--type=merge', '--patch={"spec":{"cancel":true}}');
    const status = await done(namespace, 'patient');
    assert.equal(status.outcome, 'Canceled');
    assert.equal(status.message, 'canceled after its Pod was created');
  });

  it('an image whose name is none, at once', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'misnamed', { command: 'true', image: 'Not/An:Image' });
    const status = await done(namespace, 'misnamed');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'CannotStart']);
    assert.match(status.message ?? '', /InvalidImageName/);
  });

  it('an init container that keeps failing, which is named', async (t) => {
    const namespace = await withNamespace(t);
    const initContainers = [{ name: 'fetch', image: 'busybox', command: ['false'] }];
    const template = { spec: { initContainers, containers: [{}] } };
    await run(namespace, 'unready', { command: 'true', backoffLimit: 1, template });
    const status = await done(namespace, 'unready');
    assert.equal(status.reason, 'BackoffLimitExceeded');
    assert.match(status.message ?? '', /^container fetch failed/);
  });

  it('no init container that works for longer than the command may wait or run', async (t) => {
    const namespace = await withNamespace(t);
    const initContainers = [{ name: 'fetch', image: 'busybox', command: ['sleep', '60'] }];
    const template = { spec: { initContainers, containers: [{}] } };
    await run(namespace, 'prepared', {
      ...{ command: 'echo YAY', template },
      // Long enough for a busy kubelet to have started it.
      ...{ pendingTimeoutSeconds: 45, activeDeadlineSeconds: 10 },
    });
    await initStarted(namespace, 'prepared');
    const { outcome, startTime = '' } = await done(namespace, 'prepared');
    assert.equal(outcome, 'Succeeded');
    const { metadata } = await namespace.getJson<Pod>('pod/prepared-pod');
    const waited = Date.parse(startTime) - Date.parse(metadata.creationTimestamp ?? '');
    assert.ok(waited > 59_000, `the command started after ${waited} ms`);
  });

  it('a native sidecar whose image cannot be pulled', async (t) => {
    const namespace = await withNamespace(t);
    const sidecar = { name: 'proxy', image: 'no-such-image', restartPolicy: 'Always' };
    const template = { spec: { initContainers: [sidecar], containers: [{}] } };
    await run(namespace, 'unpulled', { command: 'true', pendingTimeoutSeconds: 50, template });
    const status = await done(namespace, 'unpulled');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'ImagePullBackOff']);
    assert.match(status.message ?? '', /no-such-image/);
    assert.equal(status.startTime, undefined);
  });

  it('a native sidecar that runs, and does not let the command start', async (t) => {
    const namespace = await withNamespace(t);
    const sidecar = { name: 'proxy', image: 'busybox', command: ['sleep', '600'], restartPolicy: 'Always' };
    const startupProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1000 };
    const initContainers = [{ ...sidecar, startupProbe }];
    const template = { spec: { terminationGracePeriodSeconds: 1, initContainers, containers: [{}] } };
    await run(namespace, 'unstarted', { command: 'true', pendingTimeoutSeconds: 50, template });
    await initStarted(namespace, 'unstarted');
    const status = await done(namespace, 'unstarted');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'PendingTimeout']);
    assert.equal(status.startTime, undefined);
    const { metadata } = await namespace.getJson<Pod>('pod/unstarted-pod');
    const waited = Date.parse(status.completionTime ?? '') - Date.parse(metadata.creationTimestamp ?? '');
    assert.ok(waited >= 50_000, `it ended after ${waited} ms`);
  });

  it('a deadline, which keeps Pod and log', async (t) => {
    const namespace = await withNamespace(t);
    // The operator deletes a Pod 10 s after its grace period. A long one leaves a busy kubelet time to stop the Pod.
    await run(namespace, 'slow', {
      shell: '/bin/sh',
      command: "trap 'exit 1' TERM; echo begun; while true; do sleep 0.2; done",
      activeDeadlineSeconds: 10,
      template: { spec: { terminationGracePeriodSeconds: 60, containers: [{ name: 'busybox' }] } },
    });
    const status = await done(namespace, 'slow');
    assert.equal(status.reason, 'DeadlineExceeded');
    assert.equal(await namespace.kubectl('logs', 'slow-pod'), 'begun');
  });

  it('a deadline, for all containers of the Pod, each of which keeps its log', async (t) => {
    const namespace = await withNamespace(t);
    const command = ['sh', '-c', 'echo begun; sleep 600'];
    const helper = (name: string) => ({ name, image: 'busybox', command });
    const initContainers = [{ ...helper('native'), restartPolicy: 'Always' }];
    const containers = [{ name: 'main' }, helper('side')];
    // Time for a busy kubelet to start the one beside the command, too.
    await run(namespace, 'several', {
      ...{ argv: command, activeDeadlineSeconds: 20 },
      template: { spec: { terminationGracePeriodSeconds: 1, initContainers, containers } },
    });
    const status = await done(namespace, 'several');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'DeadlineExceeded']);
    for (const name of ['native', 'main', 'side']) {
      assert.equal(await namespace.kubectl('logs', 'several-pod', `--container=${name}`), 'begun', name);
    }
  });

  it('an eviction, after which it is tried again and told, with Retry alone', async (t) => {
    const namespace = await withNamespace(t);
    const template = { spec: { terminationGracePeriodSeconds: 1, containers: [{}] } };
    const spec = { shell: '/bin/sh', command: 'until [ -e /tmp/end ]; do sleep 0.2; done', template };
    await run(namespace, 'again', { ...spec, disruptionPolicy: 'Retry' });
    await run(namespace, 'once', spec);
    for (const name of ['again', 'once']) {
      await started(namespace, name);
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: `${name}-pod` } };
      const path = `/api/v1/namespaces/${namespace.name}/pods/${name}-pod/eviction`;
      await kubectl(['create', '--raw', path, '--filename=-'], JSON.stringify(eviction));
    }
    assert.equal((await done(namespace, 'once')).reason, 'Evicted');
    await namespace.kubectl('wait', '--for=jsonpath={.status.attempts}=2', '--timeout=110s', 'at/again');
    await namespace.kubectl(
      'wait',
      '--for=jsonpath={.status.phase}=Running',
      '--timeout=110s',
      'pod/again-pod-2',
    );
    await namespace.kubectl('exec', 'again-pod-2', '--', 'touch', '/tmp/end');
    const { outcome, attempts, history = [] } = await done(namespace, 'again');
    assert.deepEqual([outcome, attempts], ['Succeeded', 2]);
    assert.deepEqual(
      history.map(({ podName, reason }) => [podName, reason]),
      [
        ['again-pod', 'Evicted'],
        ['again-pod-2', 'Succeeded'],
      ],
    );
    await warned(namespace, 'again', /Disrupted +At\/again +attempt 1, Pod again-pod, was lost: Evicted/);
  });

  it('a cancel', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'long', {
      shell: '/bin/sh',
      command: 'echo begun; sleep 600',
      template: { spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'busybox' }] } },
    });
    await started(namespace, 'long');
    await eventually('its first line', async () => (await namespace.kubectl('logs', 'long-pod')) === 'begun');
    await namespace.kubectl('patch', 'at', 'long', '--type=merge', '--patch={"spec":{"cancel":true}}');
    const status = await done(namespace, 'long');
    assert.equal(status.outcome, 'Canceled');
    assert.equal(await namespace.kubectl('logs', 'long-pod'), 'begun');
  });

  it('a user who deletes the running Pod', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'lost', { command: 'sleep 600' });
    await started(namespace, 'lost');
    await namespace.kubectl('delete', 'pod', 'lost-pod', '--grace-period=1', '--wait=false');
    const status = await done(namespace, 'lost');
    assert.equal(status.reason, 'PodLost');
  });

  it('a program that is not there', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'absent', { command: 'no-such-program' });
    const status = await done(namespace, 'absent');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'CannotStart']);
    assert.match(status.message ?? '', /no-such-program/);
    const told = await warned(
      namespace,
      'absent',
      /the container cannot start: its program is missing or not executable/,
    );
    assert.doesNotMatch(told, /the command failed|no-such-program/);
  });

  it('a program that may not be executed', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'forbidden', { argv: ['/etc/passwd'] });
    const status = await done(namespace, 'forbidden');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'CannotStart']);
    assert.match(status.message ?? '', /passwd.*permission denied/);
  });

  it('a Secret that is missing', async (t) => {
    const namespace = await withNamespace(t);
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'absent', key: 'key' } } }];
    await run(namespace, 'secret', { command: 'true', template: { spec: { containers: [{ env }] } } });
    const status = await done(namespace, 'secret');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'CannotStart']);
    assert.match(status.message ?? '', /secret "absent" not found/);
  });

  it('its main container, whatever else runs in the Pod', async (t) => {
    const namespace = await withNamespace(t);
    const proxy = { name: 'proxy', image: 'busybox', command: ['sleep', '3600'] };
    await run(namespace, 'proxied', {
      command: 'echo YAY',
      template: { spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main' }, proxy] } },
    });
    const status = await done(namespace, 'proxied');
    assert.deepEqual([status.outcome, status.exitCode], ['Succeeded', 0]);
    assert.equal(await namespace.kubectl('logs', 'proxied-pod', '--container=main'), 'YAY');
  });

  it('nothing before a resume', async (t) => {
    const namespace = await withNamespace(t);
    await run(namespace, 'paused', { command: 'echo YAY', suspend: true });
    await namespace.kubectl('wait', '--for=condition=Suspended', '--timeout=110s', 'at/paused');
    assert.equal(await namespace.kubectl('get', 'pods', '--output=name'), '');
    await namespace.kubectl('patch', 'at', 'paused', '--type=merge', '--patch={"spec":{"suspend":false}}');
    await namespace.kubectl('wait', '--for=condition=Complete', '--timeout=110s', 'at/paused');
    assert.equal(await namespace.kubectl('logs', 'paused-pod'), 'YAY');
  });

  it('a full quota only for as long as it is full', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.kubectl('create', 'quota', 'full', '--hard=pods=0');
    await namespace.kubectl('wait', '--for=jsonpath={.status.hard.pods}=0', '--timeout=30s', 'quota/full');
    await run(namespace, 'held', { command: 'true' });
    await namespace.kubectl(
      'wait',
      '--for=jsonpath={.status.reason}=PodRejected',
      '--timeout=110s',
      'at/held',
    );
    await namespace.kubectl(
      'patch',
      'quota',
      'full',
      '--type=merge',
      '--patch={"spec":{"hard":{"pods":"1"}}}',
    );
    await namespace.kubectl('wait', '--for=condition=Complete', '--timeout=110s', 'at/held');
  });

  it('nothing, in a namespace that enforces Pod Security "restricted"', async (t) => {
    const namespace = await withNamespace(t);
    await kubectl(['label', 'namespace', namespace.name, 'pod-security.kubernetes.io/enforce=restricted']);
    await run(namespace, 'restricted', { command: 'id' });
    const status = await done(namespace, 'restricted');
    assert.equal(status.outcome, 'Succeeded');
    assert.match(await namespace.kubectl('logs', 'restricted-pod'), /uid=65532/);
  });

  it('exact arguments', async (t) => {
    const namespace = await withNamespace(t);
    const argv = ['echo', '$(HOME)', '$$', '$HOME', '  a  ', "it's"];
    await run(namespace, 'exact', { argv });
    await done(namespace, 'exact');
    assert.equal(await namespace.kubectl('logs', 'exact-pod'), "$(HOME) $$ $HOME   a   it's");
    const env = [{ name: 'WORD', value: 'value' }];
    const template = { spec: { containers: [{ env }] } };
    await run(namespace, 'shell', { shell: '/bin/sh', command: "echo '$(WORD)' $(echo $WORD)", template });
    await done(namespace, 'shell');
    assert.equal(await namespace.kubectl('logs', 'shell-pod'), '$(WORD) value');
    await run(namespace, 'words', { command: 'echo $(WORD) "a  b"', template });
    await done(namespace, 'words');
    assert.equal(await namespace.kubectl('logs', 'words-pod'), 'value a  b');
  });
});

describe('At on a real node, a run that fails', { concurrency }, () => {
  it('keeps the end of the output, printable, unless it is to be left out', async (t) => {
    const namespace = await withNamespace(t);
    const command =
      "for line in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf 'é\\t%0100d\\033[31m\\007\\r\\n' $line; done; printf '\\033[1mno space left\\033[0m\\a\\n'; exit 3";
    const spec = { shell: '/bin/sh', command, backoffLimit: 0 };
    await run(namespace, 'told', spec);
    await run(namespace, 'untold', { ...spec, outputInStatus: false });
    const { exitCode, message = '' } = await done(namespace, 'told');
    assert.equal(exitCode, 3);
    assert.match(message, /no space left$/);
    assert.match(message, /0015/, 'the lines before the last one');
    const bytes = Buffer.byteLength(message);
    assert.ok(bytes > 900 && bytes <= 1024, `${bytes} bytes`);
    assert.doesNotMatch(message, /[^\P{Cc}\t\n]|\[31m|\ufffd/u);
    const untold = await done(namespace, 'untold');
    assert.equal(untold.exitCode, 3);
    assert.doesNotMatch(JSON.stringify(untold), /space|0015/);
    assert.match(await namespace.kubectl('logs', 'untold-pod'), /no space left/);
  });

  it('is ended by a helper container that keeps failing, which is named, although the command works', async (t) => {
    const namespace = await withNamespace(t);
    const helper = { name: 'helper', image: 'busybox', command: ['false'] };
    const containers = [{ name: 'main' }, helper];
    const template = { spec: { terminationGracePeriodSeconds: 1, containers } };
    await run(namespace, 'helped', { command: 'sleep 600', backoffLimit: 1, template });
    const status = await done(namespace, 'helped');
    assert.deepEqual([status.outcome, status.reason], ['Failed', 'BackoffLimitExceeded']);
    assert.match(status.message ?? '', /^container helper failed/);
  });

  it('is ended by an init container that waits too long for its next start', async (t) => {
    const namespace = await withNamespace(t);
    const command = ['sh', '-c', 'sleep 4; exit 1'];
    const template = {
      spec: { initContainers: [{ name: 'fetch', image: 'busybox', command }], containers: [{}] },
    };
    // The kubelet waits 10 s after the second failure, and twice as long after each one that follows.
    await run(namespace, 'stuck', {
      command: 'true',
      pendingTimeoutSeconds: 15,
      backoffLimit: 100,
      template,
    });
    const status = await done(namespace, 'stuck');
    // The kubelet calls it waiting some time after it has begun to wait.
    assert.match(`${status.outcome} ${status.reason}`, /^Failed (CrashLoopBackOff|PendingTimeout)$/);
    assert.equal(status.startTime, undefined);
    const { metadata, status: shown } = await namespace.getJson<Pod>('pod/stuck-pod');
    const [fetch] = shown?.initContainerStatuses ?? [];
    const worked = 4000 * (fetch?.restartCount ?? 0);
    const waited = Date.parse(status.completionTime ?? '') - Date.parse(metadata.creationTimestamp ?? '');
    assert.ok(waited >= 15_000 + worked, `it ended after ${waited} ms, of which it worked for ${worked}`);
  });
});
