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
import { type ControlPlane, startControlPlane } from '../../hack/cluster/control-plane.ts';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';
import { applyOverlay } from './overlay.ts';
import { grantedRights, serviceAccount, usedRights, writeServiceAccountKubeconfig } from './rights-audit.ts';
import { eventually } from './support.ts';

const namespace = 'default';
let controlPlane: ControlPlane;
let directory: string;
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
  eventually(check, { timeout: 30_000, interval: 200, message: what });

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

/** With the rights that are in force then: one that comes late would be a denied request. */
async function run(...flags: string[]): Promise<void> {
  const user = `--as=system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`;
  await until('the rights are in force', async () => {
    return (await kubectl('auth', 'can-i', 'watch', 'pods', user)) === 'yes';
  });
  const kubeconfig = join(directory, 'kubeconfig');
  await writeServiceAccountKubeconfig(controlPlane, kubeconfig);
  process.env.POD_NAMESPACE = serviceAccount.namespace;
  operator = await startOperator(kubeconfig, join(directory, 'operator.log'), ['--leader-elect', ...flags]);
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
  await until(
    'the Pods are there',
    async () => (await get('pods', '.items[*].metadata.name')).split(' ').length === 3,
  );
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

/** A workload with one Pod, a ConfigMap and a watcher, all with the same name and label. */
async function createWorkload(kind: (typeof kinds)[number], name: string, type: string): Promise<void> {
  const labels = { app: name };
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [container] } },
  };
  const workload = { apiVersion: 'apps/v1', kind, metadata: { name }, spec };
  const reference = async (ownerKind: string) => ({
    apiVersion: 'apps/v1',
    ...{
      kind: ownerKind,
      name,
      controller: true,
      uid: await get(`${ownerKind.toLowerCase()}/${name}`, '.metadata.uid'),
    },
  });
  await create(workload, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'first' } });
  let owner = await reference(kind);
  if (kind === 'Deployment') {
    await create({ ...workload, kind: 'ReplicaSet', metadata: { name, ownerReferences: [owner] } });
    owner = await reference('ReplicaSet');
  }
  await create(pod(name, { labels, ownerReferences: [owner] }), {
    apiVersion: 'k8spatterns.io/v1',
    kind: 'ConfigWatcher',
    metadata: { name },
    spec: { configMap: name, podSelector: labels, strategy: { type } },
  });
  await until(
    `${name} has its baseline`,
    async () => (await get(`cw/${name}`, '.status.appliedHash')) !== '',
  );
  await patch(`configmap/${name}`, { data: { a: 'second' } });
}

/** Each kind of owner, and both ways to have Pods replaced one by one. */
async function useConfigWatchers(): Promise<void> {
  await Promise.all(
    kinds.map(async (kind, index) => {
      const name = `evict-${kind.toLowerCase()}`;
      await createWorkload(kind, name, index === 0 ? 'Delete' : 'Evict');
      await until(`the Pod ${name} is gone`, async () => (await get(`pod/${name}`, '.metadata.name')) === '');
    }),
  );
}

async function useRollouts(): Promise<void> {
  await Promise.all(
    kinds.map(async (kind) => {
      const name = `roll-${kind.toLowerCase()}`;
      await createWorkload(kind, name, 'RolloutRestart');
      const path = '.spec.template.metadata.annotations';
      await until(`${name} is patched`, async () =>
        (await get(`${kind}/${name}`, path)).includes('restarted-for'),
      );
    }),
  );
}

/** The rights that docs/security.md names in its tables, each as `verb group/resource`, sorted. */
async function documentedRights(): Promise<string[]> {
  const words = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
  const rows = (await readFile('docs/security.md', 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const rights = rows.flatMap((row) => {
    const [, groups, resources, verbs] = row.split('|');
    const group = words(groups)[0] ?? '';
    return words(resources).flatMap((resource) => words(verbs).map((verb) => `${verb} ${group}/${resource}`));
  });
  return [...new Set(rights)].sort();
}

async function assertExact(): Promise<void> {
  const granted = await grantedRights(controlPlane);
  // The audit log is written a moment after the answer.
  await eventually(
    async () => {
      const { used, denied } = await usedRights(controlPlane, granted);
      assert.deepEqual(denied, []);
      assert.deepEqual(used, granted);
      return true;
    },
    { timeout: 5000, interval: 500, message: 'used and granted rights are the same' },
  ).catch((error: Error) => {
    throw error.cause;
  });
}

describe('the rights of the operator', () => {
  it('are exactly those that it uses', async () => {
    await applyOverlay(controlPlane, { resources: ['default'] });
    await run();
    await Promise.all([useAts(), useConfigWatchers()]);
    await assertExact();
  });

  it('are one more with config/rollout-restart', async () => {
    await applyOverlay(controlPlane, { resources: ['default'], components: ['rollout-restart'] });
    await useRollouts();
    await assertExact();
    const everywhere = (await grantedRights(controlPlane)).filter((right) => !right.includes(' in '));
    assert.deepEqual(await documentedRights(), everywhere);
  });

  it('end at the watched namespaces with config/namespaced', async () => {
    await operator?.stop();
    await kubectl(
      'delete',
      'clusterrolebinding/atwatch-manager-rolebinding',
      'clusterrole/atwatch-manager-role',
    );
    await applyOverlay(controlPlane, { resources: ['namespaced'] });
    const granted = await grantedRights(controlPlane);
    assert.deepEqual(
      granted.filter((right) => !/ in (default|atwatch-system atwatch|atwatch-system)$/.test(right)),
      [],
    );
    await run('--namespaces=default');
    await create(at('namespaced'));
    await until('its Pod is there', async () => (await get('pod/namespaced-pod', '.metadata.name')) !== '');
    assert.deepEqual((await usedRights(controlPlane, granted)).denied, []);
  });
});
