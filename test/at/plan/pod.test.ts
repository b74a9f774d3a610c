import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AtSpec } from '../../../src/api/at.generated.ts';
import { mainContainerName, ownPrefix } from '../../../src/at/plan/run.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { created, dueTime, waiting } from '../../fixtures/at.ts';

function podFor(spec: Partial<AtSpec> = {}): Pod {
  return created(waiting(spec));
}

function mainOf(spec: Partial<AtSpec>) {
  return podFor(spec).spec.containers[0];
}

describe('buildPod', () => {
  it('builds the Pod of the book from schedule and command alone', () => {
    const { metadata, spec } = podFor();
    assert.equal(metadata.name, 'example-at-pod');
    assert.equal(metadata.namespace, 'default');
    assert.equal(metadata.labels?.app, 'example-at');
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
        kind: 'At',
        name: 'example-at',
        uid: 'at-uid',
        controller: true,
      },
    ]);
    assert.equal(spec.restartPolicy, 'OnFailure');
    assert.equal(spec.containers.length, 1);
    const [main] = spec.containers;
    assert.equal(main?.name, 'busybox');
    assert.equal(main?.image, 'busybox');
    assert.deepEqual(main?.command, ['echo', 'YAY']);
  });

  it('meets Pod Security "restricted" without a template', () => {
    const { spec } = podFor();
    assert.equal(spec.automountServiceAccountToken, false);
    assert.deepEqual(spec.securityContext, {
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(spec.containers[0]?.securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('says why a failing command failed', () => {
    assert.equal(mainOf({})?.terminationMessagePolicy, 'FallbackToLogsOnError');
  });

  it('names each attempt, which makes the name a lock', () => {
    assert.equal(created(waiting(), dueTime, 2).metadata.name, 'example-at-pod-2');
  });

  const commands: { name: string; spec: Partial<AtSpec>; command: string[] | undefined }[] = [
    {
      name: 'quoted words (B9)',
      spec: { command: `sh -c 'echo  "a b"'` },
      command: ['sh', '-c', 'echo  "a b"'],
    },
    { name: 'variables of Kubernetes', spec: { command: 'echo $(HOME)' }, command: ['echo', '$(HOME)'] },
    {
      name: 'an exact list',
      spec: { argv: ['echo', '$(HOME)', '$$'] },
      command: ['echo', '$$(HOME)', '$$$$'],
    },
    {
      name: 'a text for a shell',
      spec: { shell: '/bin/sh', command: 'echo $HOME | wc -c' },
      command: ['/bin/sh', '-c', 'echo $$HOME | wc -c'],
    },
  ];
  for (const { name, spec, command } of commands) {
    it(`runs ${name}`, () => assert.deepEqual(mainOf(spec)?.command, command));
  }

  it('forbids any restart when backoffLimit is 0', () => {
    assert.equal(podFor({ backoffLimit: 0 }).spec.restartPolicy, 'Never');
  });

  const deadlines: { name: string; spec: Partial<AtSpec>; deadline: number | undefined }[] = [
    { name: 'none', spec: {}, deadline: undefined },
    { name: 'both limits', spec: { activeDeadlineSeconds: 60, pendingTimeoutSeconds: 100 }, deadline: 160 },
    {
      name: 'no limit on waiting',
      spec: { activeDeadlineSeconds: 60, pendingTimeoutSeconds: 0 },
      deadline: undefined,
    },
    {
      name: 'a smaller one of the template',
      spec: { activeDeadlineSeconds: 60, template: { spec: { activeDeadlineSeconds: 5, containers: [{}] } } },
      deadline: 5,
    },
    {
      name: 'a larger one of the template',
      spec: {
        activeDeadlineSeconds: 60,
        template: { spec: { activeDeadlineSeconds: 5000, containers: [{}] } },
      },
      deadline: 960,
    },
    {
      name: 'an init container, which may run for long',
      spec: { activeDeadlineSeconds: 60, template: { spec: { initContainers: [{}], containers: [{}] } } },
      deadline: undefined,
    },
    {
      name: 'a native sidecar',
      spec: {
        activeDeadlineSeconds: 60,
        template: { spec: { initContainers: [{ restartPolicy: 'Always' }], containers: [{}] } },
      },
      deadline: 960,
    },
  ];
  for (const { name, spec, deadline } of deadlines) {
    it(`puts a backstop on the Pod: ${name}`, () => {
      assert.equal(podFor(spec).spec.activeDeadlineSeconds, deadline);
    });
  }

  it('remembers on the Pod the terms of its run', () => {
    const annotation = podFor({ activeDeadlineSeconds: 7 }).metadata.annotations?.[
      'cnat.programming-kubernetes.info/run'
    ];
    const { launchedSpec, ...terms } = JSON.parse(annotation ?? '');
    assert.match(launchedSpec, /^[0-9a-f]{16}$/);
    assert.deepEqual(terms, {
      scheduledTime: '2030-01-31T09:00:00.000Z',
      backoffLimit: 6,
      pendingTimeoutSeconds: 900,
      activeDeadlineSeconds: 7,
      container: 'busybox',
    });
  });

  it('remembers on the Pod which container is the main one', () => {
    const containers = [{ name: 'migrate', image: 'm' }, { name: 'proxy' }];
    const pod = podFor({ template: { spec: { containers } } });
    const before = { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.toReversed() } };
    assert.equal(mainContainerName(before), 'migrate');
  });
});

describe('buildPod with a template', () => {
  const template = {
    metadata: {
      name: 'other',
      namespace: 'kube-system',
      labels: { team: 'blue', app: 'other' },
      annotations: { note: 'hi' },
      finalizers: ['example.com/never'],
      ownerReferences: [{ uid: 'other' }],
    },
    spec: {
      nodeName: 'node-1',
      restartPolicy: 'OnFailure',
      serviceAccountName: 'runner',
      initContainers: [{ name: 'first', image: 'init' }],
      containers: [
        { name: 'main', image: 'tool:1', command: ['old'], args: ['args'], env: [{ name: 'A', value: 'b' }] },
        { name: 'side', image: 'side:1' },
      ],
    },
  };

  it('keeps what is its own, whatever the template says', () => {
    const { metadata, spec } = podFor({ template, command: 'new command' });
    assert.equal(metadata.name, 'example-at-pod');
    assert.equal(metadata.namespace, 'default');
    assert.equal(metadata.labels?.app, 'example-at');
    assert.equal(metadata.ownerReferences?.[0]?.uid, 'at-uid');
    assert.equal(metadata.finalizers, undefined);
    assert.equal(spec.nodeName, undefined);
    assert.equal(spec.restartPolicy, 'OnFailure');
  });

  it('takes no end of a run from a template that was copied from a Pod', () => {
    const annotations = { [`${ownPrefix}stop-reason`]: 'Canceled', [`${ownPrefix}run`]: '{}', note: 'hi' };
    const { metadata } = podFor({ template: { ...template, metadata: { annotations } } });
    assert.deepEqual(Object.keys(metadata.annotations ?? {}).toSorted(), [`${ownPrefix}run`, 'note']);
    assert.notEqual(metadata.annotations?.[`${ownPrefix}run`], '{}');
  });

  it('takes everything else from it', () => {
    const { metadata, spec } = podFor({ template, command: 'new command' });
    assert.equal(metadata.labels?.team, 'blue');
    assert.equal(metadata.annotations?.note, 'hi');
    assert.equal((spec as { serviceAccountName?: string }).serviceAccountName, 'runner');
    assert.deepEqual(
      spec.containers.map(({ name }) => name),
      ['main', 'side'],
    );
    assert.deepEqual(spec.containers[0]?.env, [{ name: 'A', value: 'b' }]);
  });

  it('puts command and image over those of the first container', () => {
    const [main] = podFor({ template, command: 'new command', image: 'tool:2' }).spec.containers;
    assert.deepEqual(main?.command, ['new', 'command']);
    assert.equal(main?.args, undefined);
    assert.equal(main?.image, 'tool:2');
  });

  it('leaves the command to the template when the spec has none', () => {
    const [main] = podFor({ template }).spec.containers;
    assert.deepEqual(main?.command, ['old']);
    assert.deepEqual(main?.args, ['args']);
    assert.equal(main?.image, 'tool:1');
  });

  it('secures every container that says nothing itself', () => {
    const { spec } = podFor({ template });
    for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  const chosen = [
    {
      name: 'a user',
      pod: { runAsUser: 1000 },
      becomes: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    },
    {
      name: 'root',
      pod: { runAsUser: 0 },
      becomes: { runAsUser: 0, seccompProfile: { type: 'RuntimeDefault' } },
    },
    {
      name: 'the user of the image',
      pod: { runAsNonRoot: false },
      becomes: { runAsNonRoot: false, seccompProfile: { type: 'RuntimeDefault' } },
    },
  ];
  for (const { name, pod, becomes } of chosen) {
    it(`lets the template choose ${name}`, () => {
      const { spec } = podFor({ template: { spec: { securityContext: pod, containers: [{}] } } });
      assert.deepEqual(spec.securityContext, becomes);
    });
  }

  const containers = [
    { name: 'privileged', given: { privileged: true }, becomes: { privileged: true } },
    {
      name: 'root',
      given: { runAsUser: 0 },
      becomes: {
        runAsUser: 0,
        runAsNonRoot: false,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
    },
    {
      name: 'a powerful capability',
      given: { capabilities: { add: ['CAP_SYS_ADMIN'] } },
      becomes: { capabilities: { add: ['CAP_SYS_ADMIN'] } },
    },
  ];
  for (const { name, given, becomes } of containers) {
    it(`lets a container ask for ${name} in a way the API server accepts`, () => {
      const main = mainOf({ template: { spec: { containers: [{ securityContext: given }] } } });
      assert.deepEqual(main?.securityContext, becomes);
    });
  }

  it('takes no gate of ours from a template that was copied from a Pod: nothing would remove it', () => {
    const own = 'cnat.programming-kubernetes.info/recorded';
    const schedulingGates = [{ name: own }, { name: 'example.com/gate' }];
    const gatesOf = (spec: Partial<AtSpec>) =>
      podFor({
        ...spec,
        template: { spec: { schedulingGates, containers: [{}] } },
      }).spec.schedulingGates?.map(({ name }) => name);
    assert.deepEqual(gatesOf({}), ['example.com/gate']);
    assert.deepEqual(gatesOf({ launchGuarantee: 'ExactlyOnce' }), ['example.com/gate', own]);
  });

  it('puts no settings of Linux on a Pod for Windows', () => {
    const { spec } = podFor({ template: { spec: { os: { name: 'windows' }, containers: [{}] } } });
    assert.equal(spec.securityContext, undefined);
    assert.equal(spec.containers[0]?.securityContext, undefined);
  });
});
