/**
 * The chart on a real node, through the life of a release: installed into a namespace that enforces Pod Security
 * "restricted", upgraded, rolled back, uninstalled, and once more for one namespace only.
 */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { parseDocument } from 'yaml';
import type { At } from '../../src/api/at.generated.ts';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import type { KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { chart, helm, skip } from '../chart/helm.ts';
import { pullableImage } from './deployment.ts';
import { eventually, kubectl, type Namespace, withNamespace } from './kubectl.ts';
import { podNames } from './webapp.ts';

const image = skip === false ? await pullableImage() : { why: skip };

/** Of the release and of its namespace. */
const release = { name: 'atwatch', namespace: 'atwatch-chart' };
const inNamespace = `--namespace=${release.namespace}`;
const operator = `system:serviceaccount:${release.namespace}:atwatch-controller-manager`;
const crds = ['ats.cnat.programming-kubernetes.info', 'configwatchers.k8spatterns.io'];

/** helm, which waits for what it does. */
const run = (...args: string[]) =>
  helm([...args, inNamespace, '--wait', '--timeout=110s'], {
    ...{ kubeconfig: process.env.KUBECONFIG, timeout: 120_000 },
  });

const install = (path: string, values: object, ...more: string[]) =>
  run('install', release.name, path, `--set-json=${json({ image: today(), ...values })}`, ...more);

const uninstall = () => run('uninstall', release.name, '--ignore-not-found');

/** `a={...},b=1`, as --set-json takes it. */
const json = (values: object) =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',');

/** The image of a name, as values have it. */
function imageValues(name: string) {
  const [repository, tag] = name.split(':');
  return { repository, tag };
}

const today = () => imageValues('name' in image ? image.name : '');
const previous = 'name' in image ? await image.loadPrevious() : '';

/** A chart from before the columns of `kubectl get ats`. */
async function olderChart(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-chart-'));
  t.after(() => rm(directory, { recursive: true }));
  await cp(chart, directory, { recursive: true });
  const edit = async (file: string, change: (text: string) => string) =>
    writeFile(join(directory, file), change(await readFile(join(directory, file), 'utf8')));
  await edit('Chart.yaml', (text) => text.replace(/^version: .*/m, 'version: 0.0.1'));
  await edit('files/crds/ats.yaml', (text) => {
    const crd = parseDocument(text);
    assert.ok(crd.deleteIn(['spec', 'versions', 0, 'additionalPrinterColumns']));
    return crd.toString();
  });
  return directory;
}

const columns = /SCHEDULE +TIMEZONE +PHASE/;

const may = (...request: string[]) =>
  kubectl(['auth', 'can-i', ...request, `--as=${operator}`]).then(
    () => true,
    () => false,
  );

const at = (name: string, schedule: number, command: string, spec: object = {}) => ({
  apiVersion: 'cnat.programming-kubernetes.info/v1alpha1',
  kind: 'At',
  metadata: { name },
  spec: { schedule: new Date(schedule).toISOString(), command, ...spec },
});

/** Kind and name of everything with the release's label. */
async function left(): Promise<string[]> {
  const kinds = [
    ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings', 'customresourcedefinitions'],
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings', 'serviceaccounts'],
    ...[
      'deployments',
      'replicasets',
      'pods',
      'services',
      'networkpolicies',
      'poddisruptionbudgets',
      'secrets',
    ],
  ];
  const selector = `--selector=app.kubernetes.io/instance=${release.name}`;
  const output = await kubectl(['get', kinds.join(), '--all-namespaces', '--output=json', selector]);
  const items: KubernetesObject[] = JSON.parse(output).items;
  return items.map(({ kind, metadata: { name } }) => `${kind} ${name}`).sort();
}

/** Its Pods end a moment after the release, and this waits for them. */
const leaves = (expected: readonly string[]) =>
  eventually(
    'the end of what was installed',
    async () => {
      assert.deepEqual(await left(), expected);
      return true;
    },
    180_000,
  );

async function uids(namespace: Namespace): Promise<Record<string, string | undefined>> {
  const { items } = await namespace.getJson<{ items: Pod[] }>('pods');
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.uid]));
}

const done = (namespace: Namespace, ...ats: string[]) =>
  namespace.kubectl('wait', '--for=jsonpath={.status.phase}=DONE', '--timeout=110s', ...ats);

/** The sample At has run, the sample ConfigWatcher has restarted its Pod once. */
async function walk(namespace: Namespace): Promise<void> {
  await namespace.kubectl('apply', '--kustomize=config/samples');
  await done(namespace, 'at/example-at');
  assert.equal(await namespace.kubectl('logs', 'example-at-pod'), 'YAY');
  await namespace.kubectl('wait', '--for=condition=Ready', '--timeout=110s', 'cw/webapp-config-watcher');
  await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
  const patch = JSON.stringify({ data: { message: 'Hello from the chart' } });
  await namespace.kubectl('patch', 'configmap', 'webapp-config', `--patch=${patch}`);
  await eventually('the end of the restart', async () => {
    const { status } = await namespace.getJson<ConfigWatcher>('cw/webapp-config-watcher');
    return status?.restartCount === 1 && !status.pending;
  });
  await eventually('the end of the old Pod', async () => (await podNames(namespace)).length === 1);
}

describe('the chart', { skip: 'why' in image && image.why }, () => {
  before(async () => {
    await kubectl(['create', 'namespace', release.namespace]);
    const level = 'pod-security.kubernetes.io/enforce=restricted';
    await kubectl(['label', 'namespace', release.namespace, level]);
  });
  after(async () => {
    await uninstall();
    await kubectl(['delete', 'namespace', release.namespace, '--ignore-not-found', '--wait=false']);
  });

  it('is installed, and an upgrade and a rollback repeat nothing', { timeout: 600_000 }, async (t) => {
    // Other tests may have left CRDs here, as a user may who comes from kubectl apply.
    const adopt = ['--take-ownership', '--force-conflicts'];
    const notes = await install(await olderChart(t), { image: imageValues(previous) }, ...adopt);
    assert.match(notes, /is installed as atwatch and serves the whole cluster/);
    const namespace = await withNamespace(t);
    await walk(namespace);
    assert.deepEqual(await Promise.all([may('watch', 'pods'), may('get', 'secrets')]), [true, false]);

    await namespace.apply(at('running', Date.now(), 'sleep 20'));
    await namespace.apply(at('waiting', Date.now() + 15_000, 'echo YAY'));
    await namespace.kubectl('wait', '--for=jsonpath={.status.phase}=RUNNING', '--timeout=110s', 'at/running');
    const { 'waiting-pod': _early, ...pods } = await uids(namespace);
    const values = json({ image: today(), logLevel: 'debug' });
    await run('upgrade', release.name, chart, '--reset-then-reuse-values', `--set-json=${values}`);
    assert.deepEqual(await container(), { image: 'name' in image && image.name, debug: true });
    assert.match(await namespace.kubectl('get', 'ats'), columns);
    await run('rollback', release.name);
    assert.deepEqual(await container(), { image: previous, debug: false });
    assert.doesNotMatch(await namespace.kubectl('get', 'ats'), columns);

    await done(namespace, 'at/running', 'at/waiting');
    const { 'waiting-pod': _, ...still } = await uids(namespace);
    assert.deepEqual(still, pods);
    const ats: At[] = (await namespace.getJson<{ items: At[] }>('ats')).items;
    assert.deepEqual(
      ats.map(({ status }) => status?.outcome),
      ['Succeeded', 'Succeeded', 'Succeeded'],
    );
    const { status } = await namespace.getJson<ConfigWatcher>('cw/webapp-config-watcher');
    assert.equal(status?.restartCount, 1);
  });

  it('leaves the CRDs, and what was made of them, when it is uninstalled', async (t) => {
    const namespace = await withNamespace(t);
    await namespace.apply(at('kept', Date.now() + 3_600_000, 'echo YAY'));
    await uninstall();
    await leaves(crds.map((name) => `CustomResourceDefinition ${name}`));
    assert.equal(await namespace.kubectl('get', 'ats', '--output=name'), `at.${crds[0]?.slice(4)}/kept`);
  });

  it('with all its parts keeps to its namespaces, and without crds.keep takes everything along', async (t) => {
    const [watched, other] = [await withNamespace(t), await withNamespace(t)];
    await install(chart, {
      ...{ namespaces: [watched.name], replicas: 2, metrics: { enabled: true }, crds: { keep: false } },
      ...{ rolloutRestart: true, secretAccess: true, annotationController: true, secondGroup: true },
      at: { defaultTtlSecondsAfterFinished: 3600 },
    });
    await Promise.all([watched, other].map((one) => one.apply(at('now', Date.now(), 'echo YAY'))));
    await done(watched, 'at/now');
    const { operatorDefaults } = (await watched.getJson<At>('at/now')).status ?? {};
    assert.deepEqual(operatorDefaults, { ttlSecondsAfterFinished: 3600 });
    assert.equal(await other.kubectl('get', 'pods', '--output=name'), '');
    // Without a ClusterRole a Pod gets no finalizer, and what is lost is told as lost.
    const once = { launchGuarantee: 'ExactlyOnce' };
    await watched.apply(at('once', Date.now(), 'sleep 600', once));
    await watched.kubectl('wait', '--for=create', '--timeout=110s', 'pod/once-pod');
    await watched.kubectl('wait', '--for=condition=Ready', '--timeout=110s', 'pod/once-pod');
    const { metadata } = await watched.getJson<Pod>('pod/once-pod');
    assert.equal(metadata.finalizers, undefined);
    await watched.kubectl('delete', 'pod/once-pod', '--force', '--grace-period=0');
    await done(watched, 'at/once');
    const { outcome, reason } = (await watched.getJson<At>('at/once')).status ?? {};
    assert.deepEqual([outcome, reason], ['Failed', 'PodLost']);
    const rights = [watched, other].map(({ name }) => may('get', 'secrets', `--namespace=${name}`));
    assert.deepEqual(await Promise.all(rights), [true, false]);

    const service = `/api/v1/namespaces/${release.namespace}/services/atwatch-metrics:metrics/proxy/metrics`;
    const isServed = async () =>
      /^leader_election_master_status/m.test(await kubectl(['get', '--raw', service]));
    await eventually('the Service leads to the metrics', isServed);

    await uninstall();
    const names = [...crds, 'configwatchers.k8spatterns.com'].map(
      (name) => `customresourcedefinition/${name}`,
    );
    await kubectl(['wait', '--for=delete', '--timeout=110s', ...names]);
    await leaves([]);
  });
});

/** Of the Deployment. */
async function container(): Promise<{ image: string; debug: boolean }> {
  const path = '--output=jsonpath={.spec.template.spec.containers[0]}';
  const text = await kubectl(['get', 'deployment/atwatch-controller-manager', inNamespace, path]);
  const { image: name, args } = JSON.parse(text);
  return { image: name, debug: args.includes('--log-level=debug') };
}
