/**
 * Who may have Pods made and restarted through our kinds, and what the operator's own ServiceAccount may not
 * do: the two admission policies, on an API server with a garbage collector.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { operator, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;
const namespace = 'default';
const dryRun = ['--dry-run=server', `--namespace=${namespace}`];
const create = ['create', ...dryRun, '--filename=-'];
const apply = ['apply', '--server-side', ...dryRun, '--filename=-'];

const at = (name: string, more: object = {}) => ({
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name, namespace, ...more },
  spec: { schedule: '2099-01-01T00:00:00Z', command: 'echo YAY' },
});
const watcher = (name: string, type = 'Evict') => ({
  apiVersion: 'k8spatterns.io/v1',
  kind: 'ConfigWatcher',
  metadata: { name, namespace },
  spec: { configMap: 'config', podSelector: { app: 'web' }, strategy: { type } },
});
const configMap = (name: string, annotations: object) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } },
  metadata: { name, namespace, annotations },
});
const selector = 'k8spatterns.io/podDeleteSelector';

/** What users are granted beside the rights on our kinds, status included, and on ConfigMaps. */
const grants = {
  'at-only': [],
  'pod-creator': [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
  'pod-deleter': [{ apiGroups: [''], resources: ['pods'], verbs: ['delete'] }],
  deployer: [
    { apiGroups: [''], resources: ['pods'], verbs: ['delete'] },
    { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets'], verbs: ['patch'] },
  ],
};
/** It may patch everything, but not create Pods. */
const garbageCollector = 'system:serviceaccount:kube-system:generic-garbage-collector';
type User = keyof typeof grants | 'nobody' | typeof garbageCollector;

async function grant([user, rules]: [string, object[]]): Promise<void> {
  const groups = ['cnat.programming-kubernetes.info', 'k8spatterns.io'];
  const ours = [
    { apiGroups: groups, resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
  ];
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: user, namespace } };
  await world.kubectl(['create', '--filename=-'], { ...role, kind: 'Role', rules: [...ours, ...rules] });
  await world.kubectl(['create', '--filename=-'], {
    ...{ ...role, kind: 'RoleBinding' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [{ kind: 'User', name: user }],
  });
}

before(async () => {
  world = await startPolicyWorld();
  await world.kubectl(['create', '--filename=-'], at('stored', { finalizers: ['example.com/kept'] }));
  await world.kubectl(['create', '--filename=-'], watcher('stored'));
  await world.kubectl(['create', '--filename=-'], configMap('plain', {}));
  await world.kubectl(['create', '--filename=-'], configMap('annotated', { [selector]: 'app=web' }));
  await Promise.all(Object.entries(grants).map(grant));
});
after(() => world?.stop());

const patch = (what: string, body: object, ...more: string[]) => [
  ...['patch', what, ...dryRun, '--type=merge', `--patch=${JSON.stringify(body)}`],
  ...more,
];
const requests = {
  'creates an At': [create, at('new')],
  'applies a new At': [apply, at('new')],
  'edits the spec of an At': [patch('at/stored', { spec: { suspend: true } })],
  'labels an At': [patch('at/stored', { metadata: { labels: { team: 'web' } } })],
  'writes the status of an At': [patch('at/stored', { status: { message: 'x' } }, '--subresource=status')],
  'removes the finalizers of an At': [patch('at/stored', { metadata: { finalizers: null } })],
  'deletes an At': [['delete', 'at/stored', ...dryRun]],
  'creates a ConfigWatcher': [create, watcher('new')],
  'creates a ConfigWatcher that rolls out': [create, watcher('new', 'RolloutRestart')],
  'edits the spec of a ConfigWatcher': [patch('cw/stored', { spec: { configMap: 'another' } })],
  'annotates a ConfigWatcher': [patch('cw/stored', { metadata: { annotations: { team: 'web' } } })],
  'creates a ConfigMap that names Pods': [create, configMap('new', { [selector]: 'app=web' })],
  'has a ConfigMap name Pods, in the other group': [
    patch('configmap/plain', { metadata: { annotations: { 'k8spatterns.com/podDeleteSelector': 'a=b' } } }),
  ],
  'has a ConfigMap name other Pods': [
    patch('configmap/annotated', { metadata: { annotations: { [selector]: 'app=db' } } }),
  ],
  'has a ConfigMap name Pods no longer': [
    patch('configmap/annotated', { metadata: { annotations: { [selector]: null } } }),
  ],
  'edits a ConfigMap that names Pods': [patch('configmap/annotated', { data: { a: '2' } })],
  'creates a ConfigMap': [create, configMap('new', { team: 'web' })],
} satisfies Record<string, [readonly string[], object?]>;
type RequestName = keyof typeof requests;

const atWrites: RequestName[] = ['creates an At', 'applies a new At', 'edits the spec of an At'];
const watcherWrites: RequestName[] = ['creates a ConfigWatcher', 'edits the spec of a ConfigWatcher'];
const namingWrites: RequestName[] = [
  'creates a ConfigMap that names Pods',
  'has a ConfigMap name Pods, in the other group',
  'has a ConfigMap name other Pods',
];
const rollout: RequestName = 'creates a ConfigWatcher that rolls out';

const refused: readonly { user: User; requests: readonly RequestName[]; says: RegExp }[] = [
  {
    user: 'nobody',
    requests: Object.keys(requests) as RequestName[],
    says: /cannot (create|patch|get|delete) /,
  },
  { user: 'at-only', requests: atWrites, says: /needs the right to create Pods; "at-only" may not/ },
  { user: 'at-only', requests: watcherWrites, says: /needs the right to delete Pods; "at-only" may not/ },
  { user: 'pod-creator', requests: watcherWrites, says: /needs the right to delete Pods/ },
  { user: 'pod-creator', requests: namingWrites, says: /ConfigMap .* needs the right to delete Pods/ },
  { user: 'pod-deleter', requests: atWrites, says: /needs the right to create Pods/ },
  { user: 'pod-deleter', requests: [rollout], says: /needs the right to patch Deployments/ },
];
const allowed: readonly { user: User; requests: readonly RequestName[] }[] = [
  { user: 'at-only', requests: ['labels an At', 'writes the status of an At', 'deletes an At'] },
  { user: 'at-only', requests: ['annotates a ConfigWatcher'] },
  {
    user: 'at-only',
    requests: [
      ...(['creates a ConfigMap', 'edits a ConfigMap that names Pods'] as const),
      'has a ConfigMap name Pods no longer',
    ],
  },
  // As it ends a foreground deletion; were that refused, the deletion of a namespace would hang, too.
  { user: garbageCollector, requests: ['removes the finalizers of an At', 'deletes an At'] },
  { user: 'pod-creator', requests: atWrites },
  { user: 'pod-deleter', requests: [...watcherWrites, ...namingWrites] },
  { user: 'deployer', requests: [rollout] },
];

it('the expressions of both policies pass the type check of the API server', async () => {
  interface Policy {
    readonly status?: { readonly observedGeneration?: number; readonly typeChecking?: object };
  }
  const policies = await eventually(
    async () => {
      const output = await world.kubectl(['get', 'validatingadmissionpolicies', '--output=json']);
      const { items }: { items: Policy[] } = JSON.parse(output);
      return items.every(({ status }) => status?.observedGeneration !== undefined) && items;
    },
    { timeout: 30_000, message: 'the type check has been done' },
  );
  assert.deepEqual(
    policies.map(({ status }) => status?.typeChecking),
    [{}, {}],
  );
});

describe('the policy on who asks', { concurrency: 4 }, () => {
  for (const { user, requests: names, says } of refused) {
    for (const name of names) {
      it(`refuses when ${user} ${name}`, async () => {
        assert.match(await world.refusal(user, ...(requests[name] as [string[], object?])), says);
      });
    }
  }
  for (const { user, requests: names } of allowed) {
    for (const name of names) {
      it(`does not mind when ${user} ${name}`, async () => {
        assert.equal(await world.refusal(user, ...(requests[name] as [string[], object?])), '');
      });
    }
  }

  it('lets a namespace with an At go', async () => {
    await world.kubectl(['create', 'namespace', 'gone']);
    await world.kubectl(['create', '--filename=-'], at('last', { namespace: 'gone' }));
    await world.kubectl(['delete', 'namespace', 'gone', '--timeout=120s']);
  });
});

describe("the policy on the operator's own writes", { concurrency: 4 }, () => {
  const owner = {
    apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
    ...{ kind: 'At', name: 'stored', uid: '00000000-0000-4000-8000-000000000000', controller: true },
  };
  const container = { name: 'busybox', image: 'busybox' };
  const pod = (spec: object = {}, ownerReferences: object[] = [owner]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stored-pod', namespace, ownerReferences },
    spec: { containers: [container], ...spec },
  });
  const secured = (securityContext: object) => ({ containers: [{ ...container, securityContext }] });
  const podRows: Record<string, readonly [object, RegExp | undefined]> = {
    'a Pod that an At controls': [pod(), undefined],
    'a Pod with ordinary volumes and capabilities': [
      pod({
        volumes: [{ name: 'a', emptyDir: {} }],
        ...secured({ capabilities: { add: ['CHOWN'], drop: ['ALL'] } }),
      }),
      undefined,
    ],
    'a Pod without an owner': [pod({}, []), /only Pods that an At controls/],
    'a Pod that an At owns but does not control': [
      pod({}, [{ ...owner, controller: false }]),
      /only Pods that an At/,
    ],
    'a Pod of another owner': [
      pod({}, [{ ...owner, apiVersion: 'apps/v1', kind: 'ReplicaSet' }]),
      /only Pods/,
    ],
    'a Pod of an At of another group': [pod({}, [{ ...owner, apiVersion: 'evil.example/v1' }]), /only Pods/],
    'a Pod in the network of its node': [pod({ hostNetwork: true }), /hostNetwork/],
    'a Pod among the processes of its node': [pod({ hostPID: true }), /hostPID/],
    'a Pod in the IPC namespace of its node': [pod({ hostIPC: true }), /hostIPC/],
    'a Pod with a folder of its node': [
      pod({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }),
      /hostPath/,
    ],
    'a privileged Pod': [pod(secured({ privileged: true })), /privileged/],
    'a Pod with a privileged init container': [
      pod({ initContainers: [{ ...container, name: 'init', securityContext: { privileged: true } }] }),
      /privileged/,
    ],
    'a Pod with a capability of the node': [
      pod(secured({ capabilities: { add: ['SYS_ADMIN'] } })),
      /capabilities/,
    ],
  };
  for (const [name, [object, says]] of Object.entries(podRows)) {
    it(`${says ? 'refuses' : 'lets pass'} ${name}`, async () => {
      const refusal = await world.refusal(operator, create, object);
      if (says) assert.match(refusal, says);
      else assert.equal(refusal, '');
    });
  }

  it('concerns nobody else', async () => {
    const admin = await world.kubectl(['create', ...dryRun, '--filename=-'], pod({ hostPID: true }, []));
    assert.match(admin, /created/);
    const neighbor = 'system:serviceaccount:other:team-atwatch-controller-manager2';
    assert.match(await world.refusal(neighbor, create, pod()), /cannot create resource "pods"/);
  });

  describe('when it changes what exists', { concurrency: 4 }, () => {
    before(async () => {
      const template = {
        metadata: { labels: { app: 'web' }, annotations: { team: 'web' } },
        spec: { containers: [container] },
      };
      const deployment = {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace } },
        spec: { replicas: 0, selector: { matchLabels: { app: 'web' } }, template },
      };
      const daemonSet = {
        ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'web', namespace } },
        spec: { selector: { matchLabels: { app: 'web' } }, template },
      };
      await world.kubectl(['create', '--filename=-'], deployment);
      await world.kubectl(['create', '--filename=-'], daemonSet);
      await world.kubectl(['create', '--filename=-'], {
        ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } },
        metadata: { name: 'web', namespace, annotations: { team: 'web', 'k8spatterns.io/observed': '{}' } },
      });
      const uid = await world.kubectl([
        'get',
        'at/stored',
        `--namespace=${namespace}`,
        '--output=jsonpath={.metadata.uid}',
      ]);
      await world.kubectl(['create', '--filename=-'], pod({}, [{ ...owner, uid }]));
      const stranger = pod({}, []);
      await world.kubectl(['create', '--filename=-'], {
        ...stranger,
        metadata: { name: 'stranger', namespace },
      });
    });

    const annotate = (annotations: object) => ({ spec: { template: { metadata: { annotations } } } });
    const restart = annotate({ 'k8spatterns.io/restarted-for.web': 'abc' });
    const keepState = (value: string | null) => ({
      metadata: { annotations: { 'k8spatterns.io/observed': value } },
    });
    const rows: readonly [string, string, object, RegExp | undefined][] = [
      ['ends the Pod of an At', 'pod/stored-pod', { spec: { activeDeadlineSeconds: 1 } }, undefined],
      [
        'changes the image of the Pod of an At',
        'pod/stored-pod',
        { spec: { containers: [{ ...container, image: 'evil' }] } },
        /nor an image/,
      ],
      [
        'takes the owner from a Pod',
        'pod/stored-pod',
        { metadata: { ownerReferences: null } },
        /only Pods that an At/,
      ],
      [
        'ends the Pod of a stranger',
        'pod/stranger',
        { spec: { activeDeadlineSeconds: 1 } },
        /only Pods that an At/,
      ],
      ['restarts a Deployment', 'deployment/web', restart, undefined],
      ['restarts a DaemonSet', 'daemonset/web', restart, undefined],
      [
        'annotates a template otherwise',
        'deployment/web',
        annotate({ note: 'x' }),
        /no annotation .* but restarted-for/,
      ],
      [
        'removes an annotation',
        'deployment/web',
        annotate({ team: null }),
        /no annotation .* but restarted-for/,
      ],
      ['scales a Deployment', 'deployment/web', { spec: { replicas: 1 } }, /nothing of a workload but/],
      ['pauses a Deployment', 'deployment/web', { spec: { paused: true } }, /nothing of a workload but/],
      [
        'changes the image of a Deployment',
        'deployment/web',
        { spec: { template: { spec: { containers: [{ ...container, image: 'evil' }] } } } },
        /nothing of a workload but/,
      ],
      [
        'has a finalizer put on Pods',
        'deployment/web',
        { spec: { template: { metadata: { finalizers: ['example.com/never'] } } } },
        /nothing of a workload but/,
      ],
      [
        'labels the Pods of a Deployment',
        'deployment/web',
        { spec: { template: { metadata: { labels: { a: 'b' } } } } },
        /nothing of a workload but/,
      ],
      [
        'labels a Deployment',
        'deployment/web',
        { metadata: { labels: { a: 'b' } } },
        /nothing of a workload but/,
      ],
      ['keeps a state on a ConfigMap', 'configmap/web', keepState('{"restartCount":1}'), undefined],
      ['drops a state from a ConfigMap', 'configmap/web', keepState(null), undefined],
      ['keeps a state on a watcher', 'cw/stored', keepState('{}'), undefined],
      ['edits a ConfigMap', 'configmap/web', { data: { a: '2' } }, /nothing of a ConfigMap/],
      ['adds to a ConfigMap', 'configmap/web', { binaryData: { b: 'Mg==' } }, /nothing of a ConfigMap/],
      ['empties a ConfigMap', 'configmap/web', { data: null }, /nothing of a ConfigMap/],
      ['freezes a ConfigMap', 'configmap/web', { immutable: true }, /nothing of a ConfigMap/],
      [
        'drops an annotation of a ConfigMap',
        'configmap/web',
        { metadata: { annotations: { team: null } } },
        /nothing of a ConfigMap/,
      ],
      [
        'annotates a ConfigMap otherwise',
        'configmap/web',
        { metadata: { annotations: { note: 'x' } } },
        /nothing of a ConfigMap/,
      ],
      ['edits a watcher', 'cw/stored', { spec: { podSelector: { app: 'db' } } }, /nothing of a ConfigMap/],
    ];
    for (const [name, what, body, says] of rows) {
      it(`${says ? 'refuses when' : 'does not mind when'} it ${name}`, async () => {
        // Lists are merged by name, which the API server cannot do for kinds it has from a CRD.
        const type = what.startsWith('cw/') ? 'merge' : 'strategic';
        const refusal = await eventually(async () => {
          const answer = await world.refusal(operator, patch(what, body, `--type=${type}`));
          // The controllers write their status now and then.
          return !answer.includes('the object has been modified') && { answer };
        });
        if (says) assert.match(refusal.answer, says);
        else assert.equal(refusal.answer, '');
      });
    }
  });
});
