/**
 * Restarts on a real node of each kind of workload, for each kind of source and by each way to ask for them, while
 * clients ask 100 times a second.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import type { ConfigMap, KubernetesObject, Pod } from '../../src/kubernetes/objects.ts';
import { eventually, installCrds, kubectl, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';
import { Prober } from './prober.ts';
import {
  baselined,
  draining,
  graceSeconds,
  restarted,
  served,
  serving,
  setMessage,
  statusOf,
  welcome,
} from './webapp.ts';

/** More than all that a test waits for on a slow machine. */
const timeout = 600_000;

const books = '../shared/books/k8spatterns';
const booksAbsent = existsSync(books) ? false : `the books' manifests are not at ${books}`;

const labels = { app: 'webapp' };
const config = configMap({ message: welcome });

function configMap(data: Readonly<Record<string, string>>, more: object = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'webapp-config' }, data, ...more };
}

function watcher(spec: Partial<ConfigWatcher['spec']>) {
  return {
    ...{
      apiVersion: 'k8spatterns.io/v1',
      kind: 'ConfigWatcher',
      metadata: { name: 'webapp-config-watcher' },
    },
    spec: { podSelector: labels, ...spec },
  };
}

interface Shape {
  readonly kind?: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly container?: object;
  /** Of the Pods. */
  readonly podSpec?: object;
  /** Of the workload. */
  readonly spec?: object;
}

/** A workload that drains its Pods, and a Service of its own. */
function workload({ kind = 'Deployment', name = 'webapp', annotations = {}, ...shape }: Shape): object[] {
  const selected = { ...labels, workload: name };
  const containers = [shape.container ?? serving];
  const podSpec = { terminationGracePeriodSeconds: graceSeconds, containers, ...shape.podSpec };
  const template = { metadata: { labels: selected }, spec: podSpec };
  const replicas = kind === 'DaemonSet' ? {} : { replicas: 2 };
  return [
    {
      ...{ apiVersion: 'apps/v1', kind, metadata: { name, annotations } },
      spec: { ...replicas, selector: { matchLabels: selected }, template, ...shape.spec },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
      spec: { type: 'NodePort', selector: selected, ports: [{ name: 'http', port: 8080 }] },
    },
  ];
}

/** Applies them, and resolves with the Pods of the workloads once all of them are Ready. */
async function deploy(namespace: Namespace, items: readonly object[]): Promise<readonly Pod[]> {
  await namespace.apply({ apiVersion: 'v1', kind: 'List', items });
  for (const item of items as KubernetesObject[]) {
    if (!['Deployment', 'StatefulSet', 'DaemonSet'].includes(item.kind ?? '')) continue;
    await namespace.kubectl('rollout', 'status', `${item.kind}/${item.metadata.name}`, '--timeout=110s');
  }
  return await podsOf(namespace);
}

const podsOf = async (namespace: Namespace): Promise<readonly Pod[]> =>
  (await namespace.getJson<{ items: Pod[] }>('pods')).items;

const isReady = ({ status, metadata }: Pod) =>
  !metadata.deletionTimestamp &&
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

const isScheduled = ({ spec }: Pod) => Boolean(spec.nodeName);

const uidsOf = (pods: readonly Pod[]) => new Set(pods.map(({ metadata }) => metadata.uid));

/** Resolves when as many Pods as before are left, and none of them. */
async function replaced(namespace: Namespace, before: readonly Pod[]): Promise<void> {
  const old = uidsOf(before);
  const areLeft = async () => {
    const now = await podsOf(namespace);
    return now.length === before.length && now.every((pod) => !old.has(pod.metadata.uid) && isReady(pod));
  };
  await eventually('only new Pods are left', areLeft, 120_000);
}

/** Resolves when the Events tell of so many Pods; rejects where they tell of more. */
async function madeOnly(namespace: Namespace, count: number): Promise<void> {
  const made = await eventually(`${count} Pods were made`, async () => {
    const selected = ['events', '--field-selector=reason=SuccessfulCreate', '--output=json'];
    const { items } = JSON.parse(await namespace.kubectl('get', ...selected)) as {
      items: { count?: number }[];
    };
    // Those of a StatefulSet have the same name again, and so the same Event.
    const sum = items.reduce((total, event) => total + (event.count ?? 1), 0);
    return sum >= count && sum;
  });
  assert.equal(made, count, 'each Pod was replaced once');
}

/** How often the workload was edited, its creation included. */
const generationOf = async (namespace: Namespace, name: string) =>
  (await namespace.getJson<KubernetesObject>(name)).metadata.generation;

/** The reason of the condition Progressing. */
const stateOf = async (namespace: Namespace) =>
  (await statusOf(namespace)).conditions?.find(({ type }) => type === 'Progressing')?.reason;

/** Resolves when the Pods serve the text and only they are left; rejects if a request failed or a Pod was made twice. */
async function servedThroughout(
  namespace: Namespace,
  prober: Prober,
  before: readonly Pod[],
  { text, except }: { text: string; except?: ReadonlySet<string> },
): Promise<void> {
  await prober.servesOnly(text);
  await replaced(namespace, before);
  await prober.hasNoFailures(except);
  assert.deepEqual(prober.texts, new Set([welcome, text]));
  await madeOnly(namespace, 2 * before.length);
}

/** The nodes where the Pods of the restarts that are cut in the middle may run. */
const room = 'example.com/room-for-new-pods';
const makeRoom = () => kubectl(['label', 'nodes', '--all', `${room}=yes`, '--overwrite']);
const takeRoom = () => kubectl(['label', 'nodes', '--all', `${room}-`]);

/** A web app of four Pods under a watcher. New Pods need room. */
async function fourReplicas(t: TestContext, type: 'Auto' | 'Evict') {
  const namespace = await withNamespace(t);
  const before = await deploy(namespace, [
    config,
    ...workload({ spec: { replicas: 4 }, podSpec: { nodeSelector: { [room]: 'yes' } } }),
    watcher({ configMap: 'webapp-config', strategy: { type } }),
  ]);
  await baselined(namespace);
  return { type, namespace, before, prober: await Prober.start(t, namespace) };
}

/** Resolves when a restart has begun and its first new Pods wait for room: it goes no further. */
async function halfWay(namespace: Namespace, before: readonly Pod[]): Promise<void> {
  const old = uidsOf(before);
  await eventually('a new Pod waits', async () => {
    const pods = await podsOf(namespace);
    const kept = pods.filter((pod) => old.has(pod.metadata.uid) && isReady(pod));
    return pods.some((pod) => !isScheduled(pod)) && kept.length < 4 && kept.length > 1;
  });
  assert.ok((await statusOf(namespace)).pending?.started, 'the restart is under way');
}

describe('on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest([
      '--secret-access',
      '--annotation-controller',
      '--annotated-workloads',
    ]);
  });
  after(() => operator?.remove());

  describe('a change', { concurrency: 2 }, () => {
    for (const type of ['Auto', 'RolloutRestart', 'Evict'] as const) {
      it(`restarts a StatefulSet and a DaemonSet by ${type}`, { timeout }, async (t) => {
        const namespace = await withNamespace(t);
        const surge = { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
        const before = await deploy(namespace, [
          config,
          ...workload({ kind: 'StatefulSet', name: 'store' }),
          ...workload({ kind: 'DaemonSet', name: 'agent', spec: surge }),
          watcher({ configMap: 'webapp-config', strategy: { type } }),
        ]);
        await baselined(namespace);
        const prober = await Prober.start(t, namespace, ['store', 'agent']);
        await setMessage(namespace, 'Served throughout');
        const { lastRestart, history } = await restarted(namespace, 1);
        // An eviction takes the only Pod of a node before there is another; a rollout with a surge does not.
        const except = new Set(type === 'Evict' ? ['agent'] : []);
        await servedThroughout(namespace, prober, before, { text: 'Served throughout', except });
        assert.deepEqual([lastRestart?.restarted, history?.length], [before.length, 1]);
        const generation = type === 'Evict' ? 1 : 2;
        for (const name of ['statefulset/store', 'daemonset/agent'])
          assert.equal(await generationOf(namespace, name), generation, name);
      });
    }

    it('of a Secret restarts its Pods, and its content stands nowhere', { timeout }, async (t) => {
      const namespace = await withNamespace(t);
      const secretKeyRef = { name: 'webapp-secret', key: 'message' };
      const secret = (message: string) => ({
        ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'webapp-secret' } },
        stringData: { message },
      });
      const before = await deploy(namespace, [
        secret(welcome),
        ...workload({ container: { ...serving, env: [{ name: 'MESSAGE', valueFrom: { secretKeyRef } }] } }),
        watcher({ sources: [{ kind: 'Secret', name: 'webapp-secret' }] }),
      ]);
      const baseline = await baselined(namespace);
      assert.match(baseline, /^v1-hmac-/);
      const prober = await Prober.start(t, namespace);
      await namespace.apply(secret('Known to few'));
      const { appliedHash, lastRestart } = await restarted(namespace, 1);
      await servedThroughout(namespace, prober, before, { text: 'Known to few' });
      assert.notEqual(appliedHash, baseline);
      assert.deepEqual(lastRestart?.trigger?.changedKeys, ['message']);
      const told = await namespace.kubectl('get', 'cw,events,deployments,pods', '--output=yaml');
      for (const text of ['Known to few', Buffer.from('Known to few').toString('base64')])
        assert.ok(!told.includes(text), `${text} stands in what everybody may read`);
    });

    it('arrives in the files of the new Pods', { timeout }, async (t) => {
      const namespace = await withNamespace(t);
      const container = {
        ...draining,
        ...{ image: 'busybox', command: ['httpd', '-f', '-p', '8080', '-h', '/www'] },
        volumeMounts: [
          // A file that is mounted by itself stays as it was when the container started.
          { name: 'config', mountPath: '/www/index.html', subPath: 'message' },
          { name: 'config', mountPath: '/etc/webapp' },
        ],
      };
      const volumes = [{ name: 'config', configMap: { name: 'webapp-config' } }];
      const before = await deploy(namespace, [
        config,
        ...workload({ container, podSpec: { volumes } }),
        watcher({ configMap: 'webapp-config', onlyReferencing: true }),
      ]);
      await baselined(namespace);
      const prober = await Prober.start(t, namespace);
      await setMessage(namespace, 'From a file');
      await restarted(namespace, 1);
      await servedThroughout(namespace, prober, before, { text: 'From a file' });
      for (const { metadata } of await podsOf(namespace)) {
        const content = await namespace.kubectl('exec', metadata.name, '--', 'cat', '/etc/webapp/message');
        assert.equal(content, 'From a file');
      }
    });

    it('restarts a workload that asks for it itself', { timeout }, async (t) => {
      const namespace = await withNamespace(t);
      const annotations = { 'k8spatterns.io/restart-on-change': 'referenced' };
      const before = await deploy(namespace, [config, ...workload({ annotations })]);
      const name = 'deployment-webapp';
      await baselined(namespace, name);
      const { spec } = await namespace.getJson<ConfigWatcher>(`cw/${name}`);
      const [source] = spec.sources ?? [];
      assert.deepEqual([spec.sources?.length, source?.name, source?.keys], [1, 'webapp-config', ['message']]);
      const prober = await Prober.start(t, namespace);
      await setMessage(namespace, 'As asked for');
      await restarted(namespace, 1, name);
      await servedThroughout(namespace, prober, before, { text: 'As asked for' });
      await namespace.kubectl('annotate', 'deployment/webapp', 'k8spatterns.io/restart-on-change-');
      await namespace.kubectl('wait', '--for=delete', `cw/${name}`, '--timeout=60s');
    });

    for (const group of ['io', 'com']) {
      it(`restarts the web app of the book's Controller chapter, k8spatterns.${group}`, {
        skip: booksAbsent,
        timeout,
      }, async (t) => {
        const namespace = await withNamespace(t);
        await namespace.kubectl('apply', `--filename=${books}/${group}/controller-web-app.yml`);
        await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
        const observed = 'k8spatterns.io/observed';
        await eventually('the baseline', async () => {
          const { metadata } = await namespace.getJson<ConfigMap>('configmap/webapp-config');
          return metadata.annotations?.[observed];
        });
        await eventually('the web app', async () => (await served(namespace)).trimEnd() === welcome);
        const before = await podsOf(namespace);
        await setMessage(namespace, 'Greets from your smooth controller!');
        await replaced(namespace, before);
        await eventually('the new text', async () => (await served(namespace)).includes('smooth controller'));
        await madeOnly(namespace, 2);
      });
    }

    it('of an immutable ConfigMap that is replaced is told to be uncertain', { timeout }, async (t) => {
      const namespace = await withNamespace(t);
      const unmanaged = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'unmanaged', labels } };
      const before = await deploy(namespace, [
        { ...config, immutable: true },
        ...workload({ spec: { replicas: 1 } }),
        { ...unmanaged, spec: { terminationGracePeriodSeconds: graceSeconds, containers: [serving] } },
        watcher({ configMap: 'webapp-config' }),
      ]);
      await namespace.kubectl('wait', '--for=condition=Ready', 'pod/unmanaged', '--timeout=60s');
      await baselined(namespace);
      assert.equal(before.length, 2);
      // The API server tells whole seconds, and a Pod of the second of the replacement may be newer.
      const made = Math.max(...before.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '')));
      await eventually('the Pods are older than the replacement', async () => Date.now() >= made + 1000);
      await namespace.kubectl('delete', 'configmap/webapp-config');
      await namespace.apply(configMap({ message: 'Replaced' }, { immutable: true }));

      const { lastRestart } = await restarted(namespace, 1);
      assert.deepEqual([lastRestart?.restarted, lastRestart?.skippedUnmanaged], [1, 1]);
      await eventually('the Warning', async () => {
        const selected = '--field-selector=reason=ImmutableSource,type=Warning';
        return await namespace.kubectl('get', 'events', selected, '--output=name');
      });
      assert.equal(await stateOf(namespace), 'ContentUncertain');
      await namespace.kubectl('delete', 'pod/unmanaged');
      await eventually('it is certain', async () => (await stateOf(namespace)) === 'UpToDate');

      // As docs/operations.md says: the kubelet forgets the old content with the last Pod that refers to the ConfigMap.
      for (const replicas of [0, 1]) {
        await namespace.kubectl('scale', 'deployment/webapp', `--replicas=${replicas}`);
        await eventually('the Pods are there or gone', async () => {
          const pods = await podsOf(namespace);
          return pods.length === replicas && pods.every(isReady);
        });
      }
      await eventually('the new text', async () => (await served(namespace)).includes('Replaced'));
    });
  });

  it('a kill -9 of the operator in the middle of restarts lets no request fail and repeats nothing', {
    timeout,
  }, async (t) => {
    await makeRoom();
    t.after(takeRoom);
    const restarts = await Promise.all((['Auto', 'Evict'] as const).map((type) => fourReplicas(t, type)));
    await takeRoom();
    for (const { namespace } of restarts) await setMessage(namespace, 'Served throughout');
    for (const { namespace, before } of restarts) await halfWay(namespace, before);
    await operator.kill();
    await makeRoom();
    for (const { namespace } of restarts)
      await eventually('no Pod waits', async () => (await podsOf(namespace)).every(isScheduled));
    await operator.start();
    for (const { namespace, before, prober, type } of restarts) {
      const { lastRestart, history } = await restarted(namespace, 1);
      await servedThroughout(namespace, prober, before, { text: 'Served throughout' });
      assert.deepEqual([lastRestart?.restarted, history?.length], [4, 1]);
      assert.equal(await generationOf(namespace, 'deployment/webapp'), type === 'Auto' ? 2 : 1);
    }
  });
});
