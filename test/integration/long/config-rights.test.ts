/**
 * The rights of config/ against what the operator uses, in both directions: nothing is denied to it, and
 * nothing is granted that it does not use.
 *
 * No controllers and no node run here: their part is played by hand. The API server does not stream lists
 * either, as some in use do not, because then the operator needs all its rights, not all but some.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type OperatorProcess, startOperator } from '../../../hack/operator-process.ts';
import { type ControlPlane, startControlPlane } from '../../../local-cluster/control-plane.ts';
import { rolloutCrd } from '../../fixtures/argo-rollouts.ts';
import { documentedRights } from '../documented-rights.ts';
import { httpsStatus } from '../https-status.ts';
import { noMutatingPolicies } from '../mutating-policies.ts';
import { applyOverlay } from '../overlay.ts';
import { grantedRights, serviceAccount, usedRights, writeServiceAccountKubeconfig } from '../rights-audit.ts';
import { eventually } from '../support.ts';

const namespace = 'default';
let controlPlane: ControlPlane;
let directory: string;
/** Of all operators, one after the other. */
const logFile = () => join(directory, 'operator.log');
let operator: OperatorProcess | undefined;

const kubectl = async (...args: string[]) =>
  (await controlPlane.kubectl([`--namespace=${namespace}`, ...args])).trim();
const create = (...items: object[]) =>
  controlPlane.kubectl(
    ['create', `--namespace=${namespace}`, '--filename=-', '--output=name'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
const patch = (what: string, body: object, ...more: string[]) =>
  kubectl('patch', what, '--type=merge', `--patch=${JSON.stringify(body)}`, ...more);
const get = async (what: string, path: string) =>
  await kubectl('get', what, `--output=jsonpath={${path}}`, '--ignore-not-found');
const until = (what: string, check: () => Promise<boolean>) =>
  eventually(check, { timeout: 90_000, interval: 200, message: what });

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atwatch-rights-'));
  controlPlane = await startControlPlane({
    ...{ controllerManager: false, scheduler: false, auditLog: true },
    apiServerArgs: ['--feature-gates=WatchList=false'],
  });
});
after(async () => {
  await operator?.stop();
  await controlPlane?.stop();
  await rm(directory, { recursive: true, force: true });
});

/**
 * Starts the operator once the `right` (verb and resource) is in force: one that comes late would be a
 * denied request.
 *
 * @returns epoch ms before its first request.
 */
async function run(right: readonly [string, string], ...flags: string[]): Promise<number> {
  await operator?.stop();
  const user = `--as=system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`;
  // kubectl ends with an error where the answer is no.
  const inForce = () =>
    kubectl('auth', 'can-i', ...right, user).then(
      () => true,
      () => false,
    );
  await until(`the right to ${right.join(' ')} is in force`, inForce);
  const kubeconfig = join(directory, 'kubeconfig');
  await writeServiceAccountKubeconfig(controlPlane, kubeconfig);
  process.env.POD_NAMESPACE = serviceAccount.namespace;
  const since = Date.now();
  operator = await startOperator(kubeconfig, logFile(), {
    flags: ['--leader-elect', ...flags],
  });
  return since;
}

const at = (name: string, spec: object = {}) => ({
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name },
  spec: { schedule: '2019-04-12T10:12:00Z', command: 'echo YAY', ...spec },
});
const container = { name: 'a', image: 'busybox' };
const pod = (name: string, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...more } },
  spec: { containers: [container] },
});

/** The life of an At: run, name taken, stopped, canceled, suspended twice, removed. */
async function useAts(): Promise<void> {
  await create(pod('taken-pod'));
  await create(
    at('taken'),
    at('stopped', { activeDeadlineSeconds: 1 }),
    at('canceled', { ttlSecondsAfterFinished: 1 }),
    at('waiting', { schedule: '2099-01-01T00:00:00Z' }),
  );
  await until('the Pods are there', async () => {
    const pods = (await get('pods', '.items[*].metadata.name')).split(' ');
    return ['stopped-pod', 'canceled-pod'].every((name) => pods.includes(name));
  });
  const startTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const containerStatuses = [
    {
      name: 'busybox',
      image: 'busybox',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { running: { startedAt: startTime } },
    },
  ];
  await patch(
    'pod/stopped-pod',
    { status: { phase: 'Running', startTime, containerStatuses } },
    '--subresource=status',
  );
  await patch('at/canceled', { spec: { cancel: true } });
  for (const suspend of [true, false, true]) {
    await patch('at/waiting', { spec: { suspend } });
    const path = '.status.conditions[?(@.type=="Suspended")].status';
    await until(
      'the suspension is seen',
      async () => ((await get('at/waiting', path)) === 'True') === suspend,
    );
  }
  await until(
    'the Pod is stopped',
    async () => (await get('pod/stopped-pod', '.spec.activeDeadlineSeconds')) === '1',
  );
  await until('the time to live is over', async () => (await get('at/canceled', '.metadata.name')) === '');
}

const kinds = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;

interface Watched {
  readonly kind?: (typeof kinds)[number];
  readonly name: string;
  readonly group?: string;
  /** Of the watcher, beside `podSelector`; without one there is only an annotated ConfigMap. */
  readonly spec?: object;
}

/** A workload with one Pod, a ConfigMap, a Secret and a watcher, all with the same name and label. */
async function createWorkload({ kind = 'StatefulSet', name, group = 'k8spatterns.io', spec }: Watched) {
  const labels = { app: name };
  const workload = {
    ...{ apiVersion: 'apps/v1', kind, metadata: { name } },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
      ...(kind === 'StatefulSet' && { serviceName: name }),
    },
  };
  const reference = async (ownerKind: string) => ({
    apiVersion: 'apps/v1',
    ...{
      kind: ownerKind,
      name,
      controller: true,
      uid: await get(`${ownerKind.toLowerCase()}/${name}`, '.metadata.uid'),
    },
  });
  const annotations = spec ? {} : { 'k8spatterns.io/podDeleteSelector': `app=${name}` };
  await create(
    workload,
    { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { a: 'first' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, annotations }, data: { a: 'first' } },
  );
  let owner = await reference(kind);
  if (kind === 'DaemonSet') {
    // How many Pods it wants is in its status only.
    const status = {
      ...{ observedGeneration: 1, currentNumberScheduled: 1, desiredNumberScheduled: 1 },
      ...{ numberReady: 1, numberMisscheduled: 0 },
    };
    await patch(`daemonset/${name}`, { status }, '--subresource=status');
  }
  if (kind === 'Deployment') {
    await create({ ...workload, kind: 'ReplicaSet', metadata: { name, ownerReferences: [owner] } });
    owner = await reference('ReplicaSet');
  }
  await create(pod(name, { labels, ownerReferences: [owner] }));
  // A Pod that has not started reads the new content anyway, and is left alone.
  const startedAt = `${new Date().toISOString().slice(0, 19)}Z`;
  const running = { name: 'a', image: 'busybox', imageID: '', ready: true, restartCount: 0 };
  const status = {
    ...{ phase: 'Running', startTime: startedAt, conditions: [{ type: 'Ready', status: 'True' }] },
    containerStatuses: [{ ...running, state: { running: { startedAt } } }],
  };
  await patch(`pod/${name}`, { status }, '--subresource=status');
  if (!spec) return;
  await create({
    apiVersion: `${group}/v1`,
    kind: 'ConfigWatcher',
    metadata: { name },
    spec: { ...spec, podSelector: labels },
  });
  await until(
    `${name} has its baseline`,
    async () => (await get(`configwatchers.${group}/${name}`, '.status.appliedHash')) !== '',
  );
}

const isGone = (name: string) =>
  until(`the Pod ${name} is gone`, async () => (await get(`pod/${name}`, '.metadata.name')) === '');

/** Each kind of owner, and both ways to have Pods replaced one by one. */
async function useConfigWatchers(): Promise<void> {
  await Promise.all(
    kinds.map(async (kind, index) => {
      const name = `evict-${kind.toLowerCase()}`;
      const strategy = { type: index === 0 ? 'Delete' : 'Evict' };
      await createWorkload({ kind, name, spec: { configMap: name, strategy } });
      await patch(`configmap/${name}`, { data: { a: 'second' } });
      await isGone(name);
    }),
  );
}

/** A CRD of the group that has no status, as the book's own, comes in the place of ours for a while. */
async function useWithoutStatus(
  group: string,
  crds: string,
  name = `no-status-${group.replaceAll('.', '-')}`,
): Promise<void> {
  await createWorkload({ name, group, spec: { configMap: name } });
  const paths = ['subresources', 'schema/openAPIV3Schema/properties/status'];
  const remove = paths.map((path) => ({ op: 'remove', path: `/spec/versions/0/${path}` }));
  const watcher = `configwatchers.${group}/${name}`;
  try {
    await kubectl('patch', `crd/configwatchers.${group}`, '--type=json', `--patch=${JSON.stringify(remove)}`);
    await until('the status is gone', async () => (await get(watcher, '.status')) === '');
    await patch(`configmap/${name}`, { data: { a: 'second' } });
    await isGone(name);
    assert.match(await get(watcher, '.metadata.annotations'), /k8spatterns\.io\/observed/);
  } finally {
    await kubectl('apply', '--server-side', '--force-conflicts', `--kustomize=${crds}`);
  }
}

async function useSecret(): Promise<void> {
  const name = 'secret';
  await createWorkload({ name, spec: { sources: [{ kind: 'Secret', name }] } });
  await patch('secret/secret', { stringData: { a: 'second' } });
  await isGone(name);
}

async function useAnnotation(): Promise<void> {
  const name = 'annotated';
  await createWorkload({ name });
  const annotations = () => get(`configmap/${name}`, '.metadata.annotations');
  await until('it has its baseline', async () => (await annotations()).includes('appliedHash'));
  await patch(`configmap/${name}`, { data: { a: 'second' } });
  await isGone(name);
}

async function useRollouts(): Promise<void> {
  await Promise.all(
    kinds.map(async (kind) => {
      const name = `roll-${kind.toLowerCase()}`;
      await createWorkload({ kind, name, spec: { configMap: name, strategy: { type: 'RolloutRestart' } } });
      await patch(`configmap/${name}`, { data: { a: 'second' } });
      const path = '.spec.template.metadata.annotations';
      await until(`${name} is patched`, async () =>
        (await get(`${kind}/${name}`, path)).includes('restarted-for'),
      );
    }),
  );
}

/** Whether the operator has made, changed and deleted the ConfigWatcher of a workload. */
async function useAnnotatedWorkload(name: string, group: string): Promise<void> {
  await createWorkload({ name });
  const key = 'k8spatterns.io/restart-on-change';
  const ask = (value: string | null) =>
    patch(`statefulset/${name}`, { metadata: { annotations: { [key]: value } } });
  const watched = () => get(`configwatchers.${group}/statefulset-${name}`, '.spec.sources[*].name');
  await ask('configmap/a');
  await until('it has a ConfigWatcher', async () => (await watched()) === 'a');
  await ask('configmap/b');
  await until('it has another spec', async () => (await watched()) === 'b');
  await ask(null);
  await until('it has none', async () => (await watched()) === '');
}

async function serveRollouts(): Promise<void> {
  await create(rolloutCrd);
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/rollouts.argoproj.io');
}

const annotatedFlags = ['--annotated-workloads'];

/** First where both groups are served, then where the second is alone. */
async function useBothGroups(): Promise<void> {
  await useAnnotatedWorkload('asks-both', 'k8spatterns.io');
  await useWithoutStatus('k8spatterns.com', 'crds/com', 'no-status-both');
  try {
    await kubectl('delete', 'crd/configwatchers.k8spatterns.io');
    await run(['delete', 'configwatchers.k8spatterns.com'], ...annotatedFlags);
    await useAnnotatedWorkload('asks-com', 'k8spatterns.com');
  } finally {
    await kubectl('apply', '--server-side', '--force-conflicts', '--kustomize=crds');
  }
}

/** The operator asks about its own token, which is of a user who may not read the metrics. */
async function useSecureMetrics(): Promise<void> {
  const { namespace: own, name } = serviceAccount;
  const token = await kubectl('create', 'token', name, `--namespace=${own}`);
  const serving = /"address":"([^"]+)".*"msg":"serving metrics"/g;
  const [, address] = [...(await readFile(logFile(), 'utf8')).matchAll(serving)].at(-1) ?? [];
  assert.equal(await httpsStatus(`https://${address}/metrics`, token), 403);
}

/** The author of an At is asked about, once it is younger than the policy that records authors. */
async function useAuthorCheck(): Promise<void> {
  const launched = () => get('at/authored', '.status.conditions[?(@.type=="Launched")].status');
  const options = { timeout: 60_000, interval: 1000, message: 'an At is younger than the policy, and runs' };
  await eventually(async () => {
    await kubectl('delete', 'at/authored', '--ignore-not-found');
    await create(at('authored'));
    await until('its launch is tried', async () => (await launched()) !== '');
    return (await launched()) === 'True';
  }, options);
}

/** The audit log is written a moment after the answer, and Events a moment after what they tell of. */
async function eventuallyEqual(check: () => Promise<void>): Promise<void> {
  const options = { timeout: 30_000, interval: 500, message: 'used and granted rights are the same' };
  await eventually(() => check().then(() => true), options).catch((error: Error) => {
    throw error.cause;
  });
}

/** What each component of config/ adds, with the run that uses it. */
const components: readonly {
  readonly component: string;
  /** Without which it makes no sense. */
  readonly others?: readonly string[];
  /** It grants rights that belong to no namespace. */
  readonly ofCluster?: boolean;
  /** Why this API server cannot do with it. */
  readonly skip?: string | false;
  readonly right: readonly [string, string];
  readonly flags: readonly string[];
  readonly prepare?: () => Promise<void>;
  readonly use: () => Promise<void>;
}[] = [
  // Before those with the second group, whose CRD stays.
  {
    component: 'secure-metrics',
    ofCluster: true,
    right: ['create', 'subjectaccessreviews.authorization.k8s.io'],
    flags: ['--secure-metrics', '--metrics-bind-address=127.0.0.1:0'],
    use: useSecureMetrics,
  },
  {
    component: 'author-check',
    ofCluster: true,
    skip: noMutatingPolicies,
    right: ['create', 'localsubjectaccessreviews.authorization.k8s.io'],
    flags: ['--author-check'],
    use: useAuthorCheck,
  },
  {
    component: 'secret-access',
    right: ['watch', 'secrets'],
    flags: ['--secret-access'],
    use: useSecret,
  },
  {
    component: 'annotation-controller',
    right: ['patch', 'configmaps'],
    flags: ['--annotation-controller'],
    use: useAnnotation,
  },
  {
    component: 'annotated-workloads',
    right: ['delete', 'configwatchers.k8spatterns.io'],
    flags: annotatedFlags,
    use: () => useAnnotatedWorkload('asks', 'k8spatterns.io'),
  },
  {
    component: 'reloader-annotations',
    right: ['watch', 'rollouts.argoproj.io'],
    flags: ['--reloader-annotations'],
    prepare: serveRollouts,
    use: () => useAnnotatedWorkload('asks-reloader', 'k8spatterns.io'),
  },
  {
    component: 'k8spatterns-com',
    right: ['watch', 'configwatchers.k8spatterns.com'],
    flags: [],
    use: () => useWithoutStatus('k8spatterns.com', 'crds/com'),
  },
  {
    component: 'annotated-workloads/second-group',
    others: ['annotated-workloads', 'k8spatterns-com'],
    right: ['delete', 'configwatchers.k8spatterns.com'],
    flags: annotatedFlags,
    use: useBothGroups,
  },
];

describe('the rights of the operator', () => {
  /** Granted by config/default. */
  let base: string[] = [];
  /** Granted by any of it in the whole cluster. */
  const everywhere = new Set<string>();
  const granted = async () => {
    const rights = await grantedRights(controlPlane);
    for (const right of rights) if (!right.includes(' in ')) everywhere.add(right);
    return rights;
  };

  it('are exactly those that it uses', async () => {
    await applyOverlay(controlPlane, { resources: ['default'] });
    await run(['watch', 'pods']);
    base = await granted();
    await Promise.all([useAts(), useConfigWatchers(), useRollouts()]);
    await useWithoutStatus('k8spatterns.io', 'crds');
    await eventuallyEqual(async () => {
      const { used, denied } = await usedRights(controlPlane, base);
      assert.deepEqual(denied, []);
      assert.deepEqual(used, base);
    });
  });

  it('end at Pod Security baseline: an At whose template asks for more is told so, and has no Pod', async () => {
    const template = { spec: { hostNetwork: true, containers: [{}] } };
    await create(at('beyond', { template }));
    await until('it is refused', async () => (await get('at/beyond', '.status.reason')) === 'PodRejected');
    assert.match(
      await get('at/beyond', '.status.message'),
      /operator creates no Pod in a namespace of its node/,
    );
    assert.equal(await get('pod/beyond-pod', '.metadata.name'), '');
    await kubectl('delete', 'at/beyond');
  });

  for (const { component, others = [], skip = false, right, flags, prepare, use } of components) {
    it(`are with config/${component} those of its run, and no more`, { skip }, async () => {
      await applyOverlay(controlPlane, { resources: ['default'], components: [...others, component] });
      await prepare?.();
      const since = await run(right, ...flags);
      const rights = await granted();
      await use();
      const isAdded = (one: string) => !base.includes(one);
      await eventuallyEqual(async () => {
        const { used, denied } = await usedRights(controlPlane, rights, since);
        assert.deepEqual(denied, []);
        assert.deepEqual(used.filter(isAdded), rights.filter(isAdded));
      });
    });
  }

  it('are those of docs/security.md', async () => {
    const without = components.filter(({ skip }) => skip).map(({ component }) => component);
    assert.deepEqual(await documentedRights({ without }), [...everywhere].sort());
  });

  it('end at the watched namespaces with config/namespaced', async () => {
    await operator?.stop();
    await kubectl(
      'delete',
      ...['manager', 'workload-restarter'].map((name) => `clusterrolebinding/atwatch-${name}-rolebinding`),
      'clusterrole/atwatch-manager-role',
    );
    const used = components.filter(({ ofCluster = false }) => !ofCluster);
    // The one for Reloader's annotations brings the one for ours.
    const every = used.map(({ component }) => component).filter((one) => one !== 'annotated-workloads');
    const all = { resources: ['namespaced'], components: every };
    await applyOverlay(controlPlane, all);
    const rights = await grantedRights(controlPlane);
    assert.deepEqual(
      rights.filter((right) => !/ in (default|atwatch-system( atwatch(-hash-key)?)?)$/.test(right)),
      [],
    );
    const flags = used.flatMap((component) => component.flags);
    const since = await run(['watch', 'configwatchers.k8spatterns.com'], '--namespaces=default', ...flags);
    await create(at('namespaced'));
    await until('its Pod is there', async () => (await get('pod/namespaced-pod', '.metadata.name')) !== '');
    const name = 'namespaced-secret';
    await createWorkload({ name, group: 'k8spatterns.com', spec: { sources: [{ kind: 'Secret', name }] } });
    await patch(`secret/${name}`, { stringData: { a: 'second' } });
    await isGone(name);
    assert.deepEqual((await usedRights(controlPlane, rights, since)).denied, []);
  });
});
