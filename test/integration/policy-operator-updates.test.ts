/** The policies on what the operator's own ServiceAccount changes, on an API server with a garbage collector. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  at,
  configMapOwner,
  container,
  largeData,
  largePodSpec,
  manyAnnotations,
  namespace,
  owner,
  pod,
  prefix,
} from './policy-objects.ts';
import { grant, operator, ownedWatcher, type PolicyWorld, startPolicyWorld } from './policy-world.ts';
import { eventually } from './support.ts';

let world: PolicyWorld;
const create = ['create', '--dry-run=server', '--filename=-'];
const store = (object: object) => world.kubectl(['create', '--filename=-'], object);

const gates = [{ name: `${prefix}recorded` }, { name: 'example.com/gate' }];
const finalizers = [`${prefix}tracked`, 'example.com/kept'];
let uid: string;
const patch = (what: string, body: object, type: string) => [
  ...['patch', what, '--dry-run=server', `--namespace=${namespace}`],
  ...[`--type=${type}`, `--patch=${JSON.stringify(body)}`],
];
const own = (key: string, value: string | null) => ({
  metadata: { annotations: { [`${prefix}${key}`]: value } },
});
const annotate = (annotations: object, more: object = {}) => ({
  spec: { template: { metadata: { annotations }, ...more } },
});
const restarted = { 'k8spatterns.io/restarted-for.web': 'abc' };
const restart = annotate(restarted);
const keepState = (value: string | null) => ({
  metadata: { annotations: { 'k8spatterns.io/observed': value } },
});
const stop = {
  metadata: { annotations: { [`${prefix}stop-reason`]: 'Canceled', [`${prefix}exit-code`]: '1' } },
  spec: { activeDeadlineSeconds: 1 },
};
const image = { op: 'replace', path: '/spec/containers/0/image', value: 'evil' };
const withoutOurs = { metadata: { finalizers: ['example.com/kept'] } };

type Row = readonly [name: string, what: string, body: object, says?: RegExp];
const podRows: readonly Row[] = [
  ['stops the Pod of an At', 'pod/gated-pod', stop],
  ['stops a Pod that others have changed', 'pod/bound-pod', stop],
  ['stops a large Pod', 'pod/large-pod', stop],
  ['says when it stopped a Pod', 'pod/bound-pod', own('stop-time', '2030-01-01T00:00:00.000Z')],
  ['releases a Pod', 'pod/gated-pod', { spec: { schedulingGates: [gates[1]] } }],
  ['lets a Pod go', 'pod/gated-pod', withoutOurs],
  ['lets a Pod go that others have changed', 'pod/bound-pod', withoutOurs],
  ['lets a Pod go whose owner was removed', 'pod/stranger', withoutOurs],
  [
    'changes an image',
    'pod/gated-pod',
    [image],
    /of the spec of a Pod only activeDeadlineSeconds and its own scheduling gate, not containers/,
  ],
  [
    'changes an image while it stops a Pod',
    'pod/bound-pod',
    [image, { op: 'replace', path: '/spec/activeDeadlineSeconds', value: 1 }],
    /not containers/,
  ],
  [
    'adds a toleration',
    'pod/bound-pod',
    [{ op: 'add', path: '/spec/tolerations/-', value: { operator: 'Exists' } }],
    /not tolerations/,
  ],
  [
    'selects a node',
    'pod/gated-pod',
    { spec: { nodeSelector: { node: 'control-plane' } } },
    /not nodeSelector/,
  ],
  [
    'removes a gate of another',
    'pod/gated-pod',
    { spec: { schedulingGates: [] } },
    /no scheduling gate .* but/,
  ],
  [
    'removes a finalizer of another',
    'pod/bound-pod',
    { metadata: { finalizers: null } },
    /no finalizer .* but/,
  ],
  [
    'adds a finalizer',
    'pod/bound-pod',
    { metadata: { finalizers: [...finalizers, 'example.com/never'] } },
    /and adds none/,
  ],
  [
    'removes the owner of a Pod',
    'pod/bound-pod',
    { metadata: { ownerReferences: null } },
    /does not change metadata\.ownerReferences/,
  ],
  [
    'annotates a Pod',
    'pod/bound-pod',
    { metadata: { annotations: { note: 'x' } } },
    /only those that say why .*, not note/,
  ],
  [
    'forges the run of a Pod',
    'pod/bound-pod',
    own('run', '{}'),
    /not cnat\.programming-kubernetes\.info\/run/,
  ],
  [
    'removes an annotation of a Pod',
    'pod/bound-pod',
    { metadata: { annotations: { team: null } } },
    /, not team/,
  ],
  ['labels a Pod', 'pod/bound-pod', { metadata: { labels: { app: 'web' } } }, /, not app/],
  [
    'labels a Pod with the uid of another At',
    'pod/bound-pod',
    { metadata: { labels: { [`${prefix}controller-uid`]: owner.uid } } },
    /of the labels of a Pod only the one with the uid of its At/,
  ],
  ['stops a Pod of another', 'pod/stranger', stop, /changes only Pods that an At controls/],
  [
    'adopts a Pod of another',
    'pod/stranger',
    { metadata: { ownerReferences: [owner] } },
    /changes only Pods that an At controls/,
  ],
  [
    'annotates a Pod of another',
    'pod/stranger',
    { metadata: { annotations: { note: 'x' } } },
    /changes only Pods that an At controls/,
  ],
  [
    'changes a Pod of another while it lets it go',
    'pod/stranger',
    { metadata: { ...withoutOurs.metadata, labels: { app: 'web' } } },
    /changes only Pods that an At controls/,
  ],
  [
    'removes all finalizers of a Pod of another',
    'pod/stranger',
    { metadata: { finalizers: null } },
    /no finalizer .* but/,
  ],
];
const rows: readonly Row[] = [
  ['restarts a Deployment', 'deployment/web', restart],
  ['restarts a StatefulSet', 'statefulset/web', restart],
  ['restarts a large Deployment', 'deployment/large', restart],
  ['keeps a state on a large ConfigMap', 'configmap/large', keepState('{}')],
  ['restarts a DaemonSet', 'daemonset/web', restart],
  [
    'takes the annotation of a restart away',
    'daemonset/web',
    annotate({ 'k8spatterns.io/restarted-for.old': null }),
  ],
  [
    'restarts for a watcher of the other group',
    'deployment/web',
    annotate({ 'k8spatterns.com/restarted-for.web': 'a' }),
  ],
  [
    'annotates a template otherwise',
    'deployment/web',
    annotate({ ...restarted, note: 'x' }),
    /no annotation .* but restarted-for\.\*.*: note|note/,
  ],
  ['removes an annotation', 'deployment/web', annotate({ team: null }), /no annotation .* but restarted-for/],
  [
    'replaces the annotations of a template',
    'daemonset/web',
    annotate({ team: 'db' }),
    /no annotation .* but restarted-for/,
  ],
  [
    'scales a Deployment',
    'deployment/web',
    { spec: { replicas: 1 } },
    /nothing of a workload but .*, not spec\.replicas/,
  ],
  [
    'scales a Deployment while it restarts it',
    'deployment/web',
    { spec: { ...restart.spec, replicas: 1 } },
    /nothing of a workload but .*, not spec\.replicas/,
  ],
  ['pauses a Deployment', 'deployment/web', { spec: { paused: true } }, /not spec\.paused/],
  [
    'changes an image while it restarts a StatefulSet',
    'statefulset/web',
    annotate(restarted, { spec: { containers: [{ ...container, image: 'evil' }] } }),
    /nothing of a workload but .*, not spec\.template\.spec/,
  ],
  [
    'changes how a DaemonSet is updated',
    'daemonset/web',
    { spec: { ...restart.spec, updateStrategy: { type: 'OnDelete' } } },
    /not spec\.updateStrategy/,
  ],
  [
    'has a finalizer put on Pods',
    'deployment/web',
    { spec: { template: { metadata: { finalizers: ['example.com/never'] } } } },
    /not spec\.template\.metadata\.finalizers/,
  ],
  [
    'labels the Pods of a Deployment',
    'deployment/web',
    { spec: { template: { metadata: { labels: { a: 'b' } } } } },
    /not spec\.template\.metadata\.labels/,
  ],
  ['labels a Deployment', 'deployment/web', { metadata: { labels: { a: 'b' } } }, /not metadata\.labels/],
  [
    'annotates a Deployment',
    'deployment/web',
    { metadata: { annotations: { 'deprecated.daemonset.template.generation': '7' } } },
    /not metadata\.annotations\.deprecated/,
  ],
  [
    'puts a finalizer on a DaemonSet',
    'daemonset/web',
    { metadata: { finalizers: ['example.com/never'] } },
    /not metadata\.finalizers/,
  ],
  ['keeps a state on a ConfigMap', 'configmap/web', keepState('{"restartCount":1}')],
  ['drops a state from a ConfigMap', 'configmap/web', keepState(null)],
  ['keeps a state on a watcher', 'cw/stored', keepState('{}')],
  ['edits a ConfigMap', 'configmap/web', { data: { a: '2' } }, /nothing of a ConfigMap.*, not data/],
  [
    'edits a ConfigMap while it keeps a state',
    'configmap/web',
    { ...keepState('{}'), data: { a: '2' } },
    /nothing of a ConfigMap.*, not data/,
  ],
  ['adds to a ConfigMap', 'configmap/web', { binaryData: { b: 'Mg==' } }, /not binaryData/],
  ['empties a ConfigMap', 'configmap/web', { data: null }, /not data/],
  ['freezes a ConfigMap', 'configmap/web', { immutable: true }, /not immutable/],
  [
    'drops an annotation of a ConfigMap',
    'configmap/web',
    { metadata: { annotations: { team: null } } },
    /not metadata\.annotations\.team/,
  ],
  [
    'annotates a ConfigMap otherwise',
    'configmap/web',
    { metadata: { annotations: { note: 'x' } } },
    /not metadata\.annotations\.note/,
  ],
  [
    'edits a watcher',
    'cw/stored',
    { spec: { podSelector: { app: 'db' } } },
    /nothing of a ConfigMap.* not spec/,
  ],
];

async function storeObjects(): Promise<void> {
  const template = {
    metadata: {
      labels: { app: 'web' },
      annotations: { team: 'web', 'k8spatterns.io/restarted-for.old': 'abc' },
    },
    spec: { containers: [container] },
  };
  const selector = { matchLabels: { app: 'web' } };
  const workload = { apiVersion: 'apps/v1', metadata: { name: 'web', namespace } };
  const annotations = { team: 'web', 'k8spatterns.io/observed': '{}' };
  await store({ ...workload, kind: 'Deployment', spec: { replicas: 0, selector, template } });
  await store({ ...workload, kind: 'StatefulSet', spec: { replicas: 0, selector, template } });
  await store({ ...workload, kind: 'DaemonSet', spec: { selector, template } });
  await store({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } },
    metadata: { name: 'web', namespace, annotations },
  });
  await store(at);
  await store({
    apiVersion: 'k8spatterns.io/v1',
    kind: 'ConfigWatcher',
    metadata: { name: 'stored', namespace },
    spec: { configMap: 'config', podSelector: { app: 'web' } },
  });
  uid = await world.kubectl([
    ...['get', 'at/stored', `--namespace=${namespace}`],
    '--output=jsonpath={.metadata.uid}',
  ]);
  const ownerReferences = [{ ...owner, uid }];
  await store(pod({ schedulingGates: gates }, { name: 'gated-pod', ownerReferences, finalizers }));
  // As the scheduler, a webhook and a user leave it: with a node, a finalizer and an owner of theirs.
  const configMapUid = await world.kubectl([
    ...['get', 'configmap/web', `--namespace=${namespace}`],
    '--output=jsonpath={.metadata.uid}',
  ]);
  const second = { ...configMapOwner, name: 'web', uid: configMapUid };
  await store(
    pod(
      { nodeName: 'node-1', activeDeadlineSeconds: 100 },
      { name: 'bound-pod', ownerReferences: [...ownerReferences, second], finalizers, annotations },
    ),
  );
  const metadata = { name: 'large', namespace, annotations: manyAnnotations };
  await store(pod(largePodSpec, { ...metadata, name: 'large-pod', ownerReferences }));
  await store({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: largeData });
  await store({
    ...{ ...workload, kind: 'Deployment', metadata },
    spec: {
      replicas: 0,
      selector,
      template: { metadata: { ...template.metadata, annotations: manyAnnotations }, spec: largePodSpec },
    },
  });
  await store(pod({}, { name: 'stranger', ownerReferences: [], finalizers }));
}

before(async () => {
  world = await startPolicyWorld();
  await storeObjects();
});
after(() => world?.stop());

describe('the policies on what the operator changes', { concurrency: 4 }, () => {
  for (const [name, what, body, says] of [...podRows, ...rows]) {
    it(`${says ? 'refuse' : 'admit'} when it ${name}`, async () => {
      // A list of finalizers or gates is meant as a whole, and kinds of a CRD have no other merge.
      const type = Array.isArray(body) ? 'json' : /^(pod|cw)\//.test(what) ? 'merge' : 'strategic';
      const refusal = await eventually(
        async () => {
          const answer = await world.refusal(operator, patch(what, body, type));
          // The controllers write their status now and then.
          return !answer.includes('the object has been modified') && { answer };
        },
        { timeout: 30_000, message: 'the patch meets the object as it is' },
      );
      if (says) assert.match(refusal.answer, says);
      else assert.equal(refusal.answer, '');
    });
  }

  it('admit when it labels a Pod with the uid of its At', async () => {
    const body = { metadata: { labels: { [`${prefix}controller-uid`]: uid } } };
    assert.equal(await world.refusal(operator, patch('pod/bound-pod', body, 'merge')), '');
  });
});

describe('the ConfigWatchers that the operator would make without config/annotated-workloads', () => {
  before(async () => {
    const rules = [
      { apiGroups: ['k8spatterns.io'], resources: ['configwatchers'], verbs: ['create', 'delete'] },
    ];
    await grant(world, operator, 'watchers', namespace, rules);
  });

  it('are refused, and those of others are not deleted', async () => {
    const watcher = ownedWatcher({ kind: 'Deployment', name: 'web', uid });
    assert.match(await world.refusal(operator, create, watcher), /creates nothing but Pods and the Secret/);
    const remove = ['delete', 'cw/stored', '--dry-run=server', `--namespace=${namespace}`];
    assert.match(await world.refusal(operator, remove), /deletes no ConfigWatcher but one that it has made/);
  });
});

describe('the Secrets that the operator creates in its own namespace', () => {
  const secret = (name: string, type: string, annotations: object = {}) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', type, data: { key: 'YQ==' } },
    metadata: { name, namespace: 'other', annotations },
  });
  const refused = /creates nothing but Pods and the Secret atwatch-hash-key/;
  const token = { 'kubernetes.io/service-account.name': 'default' };
  const rows: readonly [string, object, RegExp | undefined][] = [
    ['admit its key', secret('atwatch-hash-key', 'Opaque'), undefined],
    ['refuse another Secret', secret('another', 'Opaque'), refused],
    [
      'refuse the token of another ServiceAccount',
      secret('atwatch-hash-key', 'kubernetes.io/service-account-token', token),
      refused,
    ],
  ];
  before(async () => {
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }];
    await grant(world, operator, 'key', 'other', rules);
  });
  for (const [name, object, says] of rows) {
    it(`${name}`, async () => {
      const refusal = await world.refusal(operator, create, object);
      if (says) assert.match(refusal, says);
      else assert.equal(refusal, '');
    });
  }
});
