/** The policy on who may have Pods created and deleted through our kinds, on an API server with a garbage collector. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;
const namespace = 'default';
const dryRun = ['--dry-run=server', `--namespace=${namespace}`];
const create = ['create', ...dryRun, '--filename=-'];
const apply = ['apply', '--server-side', ...dryRun, '--filename=-'];

const at = (name: string, more: object = {}, spec: object = {}) => ({
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name, namespace, ...more },
  spec: { schedule: '2099-01-01T00:00:00Z', command: 'echo YAY', ...spec },
});
const watcher = (name: string, type = 'Evict', more: object = {}) => ({
  apiVersion: 'k8spatterns.io/v1',
  kind: 'ConfigWatcher',
  metadata: { name, namespace },
  spec: { configMap: 'config', podSelector: { app: 'web' }, strategy: { type }, ...more },
});
/** With every limit that can be made stricter. */
const limited = {
  startingDeadlineSeconds: 100,
  activeDeadlineSeconds: 100,
  pendingTimeoutSeconds: 100,
  ttlSecondsAfterFinished: 100,
  backoffLimit: 3,
};
const configMap = (name: string, annotations: object) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } },
  metadata: { name, namespace, annotations },
});
const selector = 'k8spatterns.io/podDeleteSelector';

/** What users are granted beside the rights on our kinds, status included, and on ConfigMaps. */
const grants = {
  'at-only': [],
  'at-patcher': [],
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
  const ours =
    user === 'at-patcher'
      ? [{ apiGroups: groups, resources: ['ats'], verbs: ['get', 'patch'] }]
      : [
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
  await world.kubectl(['create', '--filename=-'], at('limited', {}, limited));
  await world.kubectl(
    ['create', '--filename=-'],
    at('held', {}, { suspend: true, pendingTimeoutSeconds: 0 }),
  );
  await world.kubectl(['create', '--filename=-'], watcher('stored'));
  await world.kubectl(['create', '--filename=-'], watcher('rolling', 'RolloutRestart'));
  await world.kubectl(
    ['create', '--filename=-'],
    watcher('held', 'RolloutRestart', { suspend: true, dryRun: true }),
  );
  await world.kubectl(['create', '--filename=-'], configMap('plain', {}));
  await world.kubectl(['create', '--filename=-'], configMap('annotated', { [selector]: 'app=web' }));
  await Promise.all(Object.entries(grants).map(grant));
});
after(() => world?.stop());

const patch = (what: string, body: object, ...more: string[]) => [
  ...['patch', what, ...dryRun, '--type=merge', `--patch=${JSON.stringify(body)}`],
  ...more,
];
const anOwner = {
  ...{ apiVersion: 'v1', kind: 'ConfigMap', name: 'plain' },
  uid: '00000000-0000-4000-8000-000000000000',
};
const requests = {
  'creates an At': [create, at('new')],
  'applies a new At': [apply, at('new')],
  'edits the spec of an At': [patch('at/stored', { spec: { command: 'echo MORE' } })],
  'labels an At': [patch('at/stored', { metadata: { labels: { team: 'web' } } })],
  'writes the status of an At': [patch('at/stored', { status: { message: 'x' } }, '--subresource=status')],
  'removes the finalizers of an At': [patch('at/stored', { metadata: { finalizers: null } })],
  'changes the owners of an At': [patch('at/stored', { metadata: { ownerReferences: [anOwner] } })],
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

/** Each an edit of a spec: what is edited, and the fields. */
const reductions: readonly (readonly [string, object])[] = [
  ['at/stored', { cancel: true }],
  ['at/stored', { suspend: true }],
  ['at/stored', { startingDeadlineSeconds: 1 }],
  ['at/stored', { activeDeadlineSeconds: 1 }],
  ['at/stored', { ttlSecondsAfterFinished: 0 }],
  ['at/stored', { pendingTimeoutSeconds: 899 }],
  ['at/stored', { backoffLimit: 5 }],
  ['at/held', { pendingTimeoutSeconds: 100_000 }],
  ['at/held', { cancel: true }],
  [
    'at/limited',
    {
      ...{ cancel: true, suspend: true, startingDeadlineSeconds: 99, activeDeadlineSeconds: 99 },
      ...{ pendingTimeoutSeconds: 99, ttlSecondsAfterFinished: 99, backoffLimit: 2 },
    },
  ],
];
const watcherReductions: readonly (readonly [string, object])[] = [
  ['cw/stored', { suspend: true }],
  ['cw/stored', { dryRun: true }],
  ['cw/rolling', { suspend: true, dryRun: true }],
];
const extensions: readonly (readonly [string, object])[] = [
  ['at/held', { suspend: false }],
  ['at/held', { suspend: null }],
  ['at/held', { suspend: false, cancel: true }],
  ['at/stored', { pendingTimeoutSeconds: 901 }],
  ['at/stored', { pendingTimeoutSeconds: 0 }],
  ['at/stored', { backoffLimit: 7 }],
  ['at/limited', { startingDeadlineSeconds: 101 }],
  ['at/limited', { activeDeadlineSeconds: 101 }],
  ['at/limited', { ttlSecondsAfterFinished: 101 }],
  ['at/limited', { startingDeadlineSeconds: null }],
  ['at/limited', { activeDeadlineSeconds: null }],
  ['at/limited', { ttlSecondsAfterFinished: null }],
  ['at/limited', { backoffLimit: null }],
  ['at/stored', { cancel: true, command: 'echo MORE' }],
  ['at/stored', { suspend: true, schedule: '2098-01-01T00:00:00Z' }],
  ['at/stored', { suspend: true, image: 'evil' }],
  ['at/stored', { suspend: true, template: { spec: { hostPID: true } } }],
  ['at/stored', { suspend: true, disruptionPolicy: 'Retry' }],
];
const watcherExtensions: readonly (readonly [string, object])[] = [
  ['cw/held', { suspend: false }],
  ['cw/held', { dryRun: false }],
  ['cw/stored', { suspend: true, podSelector: { app: 'db' } }],
];

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
  { user: garbageCollector, requests: ['removes the finalizers of an At', 'changes the owners of an At'] },
  { user: garbageCollector, requests: ['deletes an At'] },
  { user: 'pod-creator', requests: atWrites },
  { user: 'pod-deleter', requests: [...watcherWrites, ...namingWrites] },
  { user: 'deployer', requests: [rollout] },
];

it('the expressions of all policies pass the type check of the API server', async () => {
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
    policies.map(() => ({})),
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

  const edit = (user: User, [what, spec]: readonly [string, object]) =>
    world.refusal(user, patch(what, { spec }));
  const named = ([what, spec]: readonly [string, object]) => `${what} ${JSON.stringify(spec)}`;
  for (const one of reductions) {
    it(`asks for no right on Pods for the edit ${named(one)}`, async () => {
      assert.equal(await edit('at-patcher', one), '');
    });
  }
  for (const one of watcherReductions) {
    it(`asks for no right on Pods for the edit ${named(one)}`, async () => {
      assert.equal(await edit('at-only', one), '');
    });
  }
  for (const one of extensions) {
    it(`asks for the right to create Pods for the edit ${named(one)}`, async () => {
      assert.match(await edit('at-patcher', one), /needs the right to create Pods; "at-patcher" may not/);
      assert.equal(await edit('pod-creator', one), '');
    });
  }
  for (const one of watcherExtensions) {
    it(`asks for the right to delete Pods for the edit ${named(one)}`, async () => {
      assert.match(await edit('at-only', one), /needs the right to delete Pods; "at-only" may not/);
      assert.equal(await edit('deployer', one), '');
    });
  }

  it('lets a foreground deletion of an At end', async () => {
    await world.kubectl(['create', '--filename=-'], at('foreground'));
    const what = ['at/foreground', `--namespace=${namespace}`];
    await world.kubectl(['delete', ...what, '--cascade=foreground', '--timeout=120s']);
  });

  it('lets a namespace with an At go', async () => {
    await world.kubectl(['create', 'namespace', 'gone']);
    await world.kubectl(['create', '--filename=-'], at('last', { namespace: 'gone' }));
    await world.kubectl(['delete', 'namespace', 'gone', '--timeout=120s']);
  });
});
