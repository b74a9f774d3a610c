import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podFactsOf, transformListedPod } from '../../../src/configwatcher/facts/pod-facts.ts';
import type {
  ContainerStatus,
  ManagedFieldsEntry,
  Pod,
  PodSpec,
  PodStatus,
} from '../../../src/kubernetes/objects.ts';

const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'rs' };

function running(overrides: Partial<Pod['metadata']> = {}, spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-1-x',
      namespace: 'shop',
      uid: 'uid-1',
      creationTimestamp: '2024-06-01T12:00:00Z',
      ownerReferences: [{ ...owner, controller: true }],
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'everything' },
      ...overrides,
    },
    spec: { containers: [{ name: 'app', image: 'web' }], ...spec },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    },
  };
}

const env = (name: string) => ({ name: 'X', valueFrom: { configMapKeyRef: { name, key: 'k' } } });

describe('podFactsOf', () => {
  it('keeps what a restart has to know', () => {
    assert.deepEqual(podFactsOf(running()), {
      uid: 'uid-1',
      name: 'web-1-x',
      controller: { ...owner, controller: true },
      created: Date.UTC(2024, 5, 1, 12),
      terminating: false,
      finished: false,
      ready: true,
      stableSince: Date.UTC(2024, 5, 1, 12),
      starts: [],
      restarts: 0,
      hasNode: true,
      ...{ unschedulable: false, nodeLost: false, held: false },
      runsToEnd: false,
      references: [],
    });
  });

  it('is stable since it got Ready, or since a container was started again', () => {
    const at = (second: number) => `2024-06-01T12:00:0${second}Z`;
    const pod = running();
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: at(3) }];
    const started = (second: number) => [
      { name: 'app', restartCount: 1, state: { running: { startedAt: at(second) } } },
    ];
    const stable = (second: number) =>
      podFactsOf({ ...pod, status: { conditions, containerStatuses: started(second) } }).stableSince;
    assert.deepEqual([stable(2), stable(5)], [Date.parse(at(3)), Date.parse(at(5))]);
    const facts = podFactsOf({ ...pod, status: { conditions: [{ type: 'Ready', status: 'False' }] } });
    assert.deepEqual([facts.ready, facts.stableSince], [false, undefined]);
  });

  it('tells when a container started last that waits to be started again', () => {
    const at = (second: number) => `2024-06-01T12:00:0${second}Z`;
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    const lastState = { terminated: { exitCode: 1, startedAt: at(3) } };
    const containerStatuses = [{ name: 'app', restartCount: 4, state, lastState }];
    const pod = { ...running(), status: { containerStatuses } };
    for (const one of [pod, transformListedPod(pod)]) {
      assert.deepEqual(podFactsOf(one).starts, [Date.parse(at(3))]);
    }
  });

  it('tells when each container started, also in a list', () => {
    const at = (second: number) => `2024-06-01T12:00:0${second}Z`;
    const initContainerStatuses = [
      { name: 'init', restartCount: 0, state: { terminated: { exitCode: 0, startedAt: at(1) } } },
    ];
    const containerStatuses = [
      { name: 'app', restartCount: 1, state: { running: { startedAt: at(5) } } },
      { name: 'later', restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } },
    ];
    const pod = { ...running(), status: { initContainerStatuses, containerStatuses } };
    for (const one of [pod, transformListedPod(pod)]) {
      assert.deepEqual(podFactsOf(one).starts, [Date.parse(at(1)), Date.parse(at(5))]);
    }
  });

  it('tells how a container failed, by exit code and last line, without control characters', () => {
    const terminated = { exitCode: 3, reason: 'Error', message: 'first\n\u001b[31mno such port\n' };
    const pod = running();
    const status = { containerStatuses: [{ name: 'app', restartCount: 2, lastState: { terminated } }] };
    const { failure, restarts } = podFactsOf({ ...pod, status });
    assert.equal(restarts, 2);
    const line = ' [31mno such port';
    assert.deepEqual(failure, { container: 'app', reason: 'Error', exitCode: 3, lastLine: line });
    const waiting = { reason: 'CreateContainerConfigError', message: 'secret words' };
    const unconfigured = { containerStatuses: [{ name: 'app', restartCount: 0, state: { waiting } }] };
    const found = podFactsOf({ ...pod, status: unconfigured }).failure;
    assert.deepEqual(found, { container: 'app', reason: 'CreateContainerConfigError' });
  });

  it('tells of several containers that failed the one that cannot be configured, or failed most', () => {
    const pod = running();
    const failed = (name: string, restartCount: number) => {
      const state = { running: { startedAt: '2024-06-01T12:00:00Z' } };
      return { name, restartCount, state, lastState: { terminated: { exitCode: restartCount } } };
    };
    const failureBeside = (app: ContainerStatus) =>
      podFactsOf({ ...pod, status: { containerStatuses: [failed('sidecar', 1), app] } }).failure;
    const state = { waiting: { reason: 'CreateContainerConfigError' } };
    const unconfigured = { name: 'app', restartCount: 0, state };
    assert.deepEqual(failureBeside(unconfigured), { container: 'app', reason: 'CreateContainerConfigError' });
    assert.deepEqual(failureBeside(failed('app', 4)), { container: 'app', reason: 'Error', exitCode: 4 });
  });

  it('takes an end with 0 for a failure where the container is started again', () => {
    const pod = running();
    const completed = { terminated: { exitCode: 0, reason: 'Completed', message: 'bad mode' } };
    const waiting = { reason: 'CrashLoopBackOff' };
    const app = { name: 'app', restartCount: 3, state: { waiting }, lastState: completed };
    const failureOf = (status: PodStatus) => podFactsOf({ ...pod, status }).failure;
    const failure = { container: 'app', reason: 'Completed', exitCode: 0, lastLine: 'bad mode' };
    assert.deepEqual(failureOf({ containerStatuses: [app] }), failure);
    const failed = { ...app, name: 'other', lastState: { terminated: { exitCode: 1 } } };
    assert.equal(failureOf({ containerStatuses: [app, failed] })?.container, 'other');
    // It failed first, and its work is done.
    const setup = { ...failed, state: completed };
    assert.equal(failureOf({ initContainerStatuses: [setup] }), undefined);
    assert.equal(failureOf({ initContainerStatuses: [{ ...setup, restartCount: 0 }] }), undefined);
  });

  it('tells a Pod that starts after the sources were written: one without a node, or with nothing written to it', () => {
    const created = { manager: 'kube-controller-manager', operation: 'Update' };
    const isLater = (pod: Pod) =>
      [pod, transformListedPod(pod)].map(
        (one) => podFactsOf(one, (version) => Number(version) > 7).startsLater,
      );
    const made = (resourceVersion: string, managedFields: ManagedFieldsEntry[] = [created]) =>
      running({ resourceVersion, managedFields }, { nodeName: 'node-1' });
    assert.deepEqual(isLater(made('8')), [true, true]);
    assert.deepEqual(isLater(made('7')), [undefined, undefined]);
    const touched = made('8', [created, { manager: 'kubelet', operation: 'Update' }]);
    assert.deepEqual(isLater(touched), [undefined, undefined]);
    const emptied = made('8', [{ manager: 'kubelet', operation: 'Update', subresource: 'status' }]);
    assert.deepEqual(isLater(emptied), [undefined, undefined], 'its kubelet is the only one that is named');
    assert.deepEqual(isLater(running()), [undefined, undefined]);
    assert.deepEqual(isLater({ ...running(), status: { phase: 'Pending' } }), [true, true]);
  });

  it('has lost its node where only that took it for not Ready, as in a list', () => {
    const isLost = (ready: string, containersReady: string, reason?: string) => {
      const conditions = [
        { type: 'Ready', status: ready, ...(reason !== undefined && { reason }) },
        { type: 'ContainersReady', status: containersReady },
      ];
      const pod = { ...running(), status: { phase: 'Running', conditions } } as Pod;
      const both = [pod, transformListedPod(pod)].map((one) => podFactsOf(one).nodeLost);
      assert.equal(both[0], both[1]);
      return both[0];
    };
    assert.deepEqual(
      [isLost('False', 'True'), isLost('False', 'False'), isLost('True', 'True')],
      [true, false, false],
    );
    assert.equal(isLost('False', 'True', 'ReadinessGatesNotReady'), false);
    const held = transformListedPod(running({ finalizers: ['example.com/kept'] }));
    assert.deepEqual([podFactsOf(held).held, podFactsOf(transformListedPod(running())).held], [true, false]);
  });

  it('has a node where its spec names one, or it runs', () => {
    const { nodeName: _, ...spec } = running().spec;
    const of = (nodeName: object, phase: 'Pending' | 'Running') =>
      podFactsOf(transformListedPod({ ...running(), spec: { ...spec, ...nodeName }, status: { phase } }))
        .hasNode;
    assert.equal(of({ nodeName: 'node' }, 'Pending'), true);
    assert.equal(of({}, 'Running'), true);
    assert.equal(of({}, 'Pending'), undefined);
  });

  it('is unschedulable while it has no node, and not once it has run', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False' }];
    const isUnschedulable = (phase: 'Pending' | 'Running') =>
      podFactsOf(transformListedPod({ ...running(), status: { phase, conditions } })).unschedulable;
    assert.deepEqual([isUnschedulable('Pending'), isUnschedulable('Running')], [true, false]);
  });

  it('knows Pods that run to an end, and those of a kubelet', () => {
    assert.equal(podFactsOf(running({}, { restartPolicy: 'OnFailure' })).runsToEnd, true);
    const mirror = running({ annotations: { 'kubernetes.io/config.mirror': 'x' } });
    for (const { controller, isMirror } of [podFactsOf(mirror), podFactsOf(transformListedPod(mirror))]) {
      assert.deepEqual([controller, isMirror], [undefined, true]);
    }
    assert.equal(podFactsOf(running()).isMirror, undefined);
  });

  it('has no controller when no owner is one', () => {
    assert.equal(podFactsOf(running({ ownerReferences: [owner] })).controller, undefined);
  });

  const references: [string, Partial<PodSpec>, string[]][] = [
    ['env', { containers: [{ name: 'a', env: [env('c')] }] }, ['ConfigMap/c']],
    ['an init container', { initContainers: [{ name: 'i', env: [env('c')] }] }, ['ConfigMap/c']],
    [
      'envFrom',
      {
        containers: [{ name: 'a', envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name: 's' } }] }],
      },
      ['ConfigMap/c', 'Secret/s'],
    ],
    ['a volume', { volumes: [{ name: 'v', configMap: { name: 'c' } }] }, ['ConfigMap/c']],
    ['a Secret volume', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, ['Secret/s']],
    [
      'a projected volume',
      {
        volumes: [
          { name: 'v', projected: { sources: [{ secret: { name: 's' } }, { configMap: { name: 'c' } }] } },
        ],
      },
      ['Secret/s', 'ConfigMap/c'],
    ],
    ['nothing by an empty name', { volumes: [{ name: 'v', configMap: { name: '' } }] }, []],
  ];
  for (const [what, spec, expected] of references) {
    it(`sees a reference in ${what}`, () => {
      const { references: found } = podFactsOf(running({}, spec));
      assert.deepEqual(new Set(found), new Set(expected));
    });
  }
});

describe('transformListedPod', () => {
  it('loses no fact, and everything else', () => {
    const pod = running(
      { deletionTimestamp: '2024-06-01T12:01:00Z' },
      { containers: [{ name: 'a', env: [env('c')], envFrom: [{ secretRef: { name: 's' } }] }] },
    );
    const small = transformListedPod(pod);
    assert.deepEqual(podFactsOf(small), podFactsOf(pod));
    assert.ok(!JSON.stringify(small).includes('everything'));
  });
});
