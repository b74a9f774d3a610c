/** What clients notice of a restart on a real node: 100 requests a second, each with a connection of its own. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import { helm, skip as helmAbsent } from '../../chart/helm.ts';
import { eventually, installCrds, kubectl, type Namespace, withNamespace } from '../kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from '../operator.ts';
import { Prober } from '../prober.ts';
import {
  baselined,
  draining,
  editConfig,
  editWatcher,
  graceSeconds,
  podNames,
  replaced,
  restarted,
  serving,
  setMessage,
  start,
  statusOf,
  welcome,
} from '../webapp.ts';

/** Never now: it opens on the first of January. */
const closed = [{ schedule: '0 0 1 1 *', duration: '1m' }];
const seconds = 1000;

const httpd = 'mkdir /www && echo "$MESSAGE" > /www/index.html && exec httpd -f -p 8080 -h /www';

const sleeping = {
  ...{ ...serving, image: 'busybox', command: ['sh', '-c'] },
  args: [`[ "$MESSAGE" != bad ] || exec sleep 3600; ${httpd}`],
};

/** A container that ends soon after each start where the content is bad. */
function crashing(otherwise: string) {
  return {
    ...serving,
    image: 'busybox',
    command: ['sh', '-c'],
    args: [`[ "$MESSAGE" != bad ] || { sleep 1; echo no such port >&2; exit 3; }; ${otherwise}`],
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

/** Without a readinessProbe it is Ready until it ends. */
const readyAtOnce = { ...crashing('exec sleep 3600'), readinessProbe: null, lifecycle: null };

interface Breakage {
  readonly container: object;
  readonly data: Parameters<typeof editConfig>[1];
  readonly told: RegExp;
  readonly strategy?: { readonly progressDeadlineSeconds?: number };
}

/** The ways in which a content breaks its Pods. */
const breakages: Readonly<Record<'cannot be configured' | 'crash' | 'never get Ready', Breakage>> = {
  /** Without the key that their environment names, new containers cannot be configured. */
  'cannot be configured': {
    container: serving,
    data: { message: null },
    told: /^Deployment \S+: .*; Pod \S+, container app: CreateContainerConfigError/,
  },
  crash: {
    container: crashing(httpd),
    data: { message: 'bad' },
    told: /container app: \S+ with exit code 3 after 2 restarts: no such port$/,
  },
  /** It runs, and does not serve. */
  'never get Ready': {
    container: sleeping,
    data: { message: 'bad' },
    told: /Pod \S+ is not Ready, or does not stay so$/,
    strategy: { progressDeadlineSeconds: 10 },
  },
};

const ways = [
  { type: 'Auto', how: 'cannot be configured' },
  { type: 'Auto', how: 'crash' },
  { type: 'Evict', how: 'never get Ready' },
] as const;

/** A Deployment of one Pod and a Service of its own. */
function oneOfMany(name: string, container: object): object[] {
  const labels = { app: 'webapp', deployment: name };
  const spec = { terminationGracePeriodSeconds: graceSeconds, containers: [container] };
  return [
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
      spec: { type: 'NodePort', selector: labels, ports: [{ port: 8080 }] },
    },
  ];
}

const watcher = {
  ...{ apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher', metadata: { name: 'webapp-config-watcher' } },
  spec: { configMap: 'webapp-config', podSelector: { app: 'webapp' } },
};
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'webapp-config' } };

/** Resolves with the names of its Pods when there are no others. */
async function fourReplicas(namespace: Namespace, container: object): Promise<readonly string[]> {
  const spec = { terminationGracePeriodSeconds: graceSeconds, containers: [container] };
  const patch = { spec: { replicas: 4, template: { spec } } };
  await namespace.kubectl('patch', 'deployment/webapp', `--patch=${JSON.stringify(patch)}`);
  await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
  await eventually('the old Pods are gone', async () => (await podNames(namespace)).length === 4);
  return await podNames(namespace);
}

/** How many of these Pods are still there. */
async function keptOf(namespace: Namespace, before: readonly string[]): Promise<number> {
  return (await podNames(namespace)).filter((name) => before.includes(name)).length;
}

const keepThree = (namespace: Namespace) =>
  namespace.apply({
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'webapp' } },
    spec: { minAvailable: 3, selector: { matchLabels: { app: 'webapp' } } },
  });

/** Of the Pods that are not on their way out. */
async function uidsOf(namespace: Namespace): Promise<readonly string[]> {
  const { items } = await namespace.getJson<{ items: Pod[] }>('pods');
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.uid ?? '');
}

/** Of the Pods, their Deployments by uid. */
async function deploymentsByPod(namespace: Namespace): Promise<ReadonlyMap<string, string>> {
  const { items } = await namespace.getJson<{ items: Pod[] }>('pods');
  return new Map(items.map(({ metadata }) => [metadata.uid ?? '', metadata.labels?.deployment ?? '']));
}

/** Breaks new Pods, and resolves with what the watcher tells of it in time, in its status and by a Warning. */
async function breakPods(namespace: Namespace, data: Parameters<typeof editConfig>[1]): Promise<string> {
  const begun = performance.now();
  await editConfig(namespace, data);
  const message = await eventually('it is told', async () => {
    const { conditions = [] } = await statusOf(namespace);
    return conditions.find(({ type, reason }) => type === 'Stalled' && reason === 'NewPodsNotAvailable')
      ?.message;
  });
  await eventually('the Warning', async () => {
    const selected = '--field-selector=reason=RestartStalled,type=Warning';
    const each = '--output=jsonpath={range .items[*]}{.message}{"\\n"}{end}';
    const warnings = (await namespace.kubectl('get', 'events', selected, each)).split('\n');
    if (!warnings.includes(message)) throw new Error(`${warnings.join('; ')} instead of ${message}`);
    return true;
  });
  const took = performance.now() - begun;
  assert.ok(took <= 30 * seconds, `it was told after ${took} ms`);
  return message;
}

/** Neither cooldown nor window keeps the content back that takes the place of a broken one. */
async function mend(namespace: Namespace): Promise<void> {
  await editWatcher(namespace, { windows: closed });
  const edited = Date.now();
  await setMessage(namespace, 'Mended');
  const begun = await eventually('the restart begins', async () => {
    const begin = Date.parse((await statusOf(namespace)).lastRestart?.startTime ?? '');
    return begin > edited && begin;
  });
  // The debounce is two seconds; what is waited for otherwise would be minutes.
  assert.ok(begun - edited <= 10 * seconds, `it began after ${begun - edited} ms`);
  await eventually('it is done', async () => !(await statusOf(namespace)).pending, 120 * seconds);
}

describe('a restart on a real node', { concurrency: 2 }, () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  for (const type of ['Auto', 'Evict'] as const) {
    it(`by ${type} of four replicas under a budget lets no request fail`, async (t) => {
      const namespace = await withNamespace(t);
      await start(namespace);
      await editWatcher(namespace, { strategy: { type } });
      await keepThree(namespace);
      const before = await fourReplicas(namespace, draining);
      const prober = await Prober.start(t, namespace);
      await setMessage(namespace, 'Served throughout');
      await restarted(namespace, 1);
      await prober.servesOnly('Served throughout');
      await replaced(namespace, before);
      await prober.hasNoFailures();
      assert.deepEqual(prober.texts, new Set([welcome, 'Served throughout']));
      assert.ok(prober.rate > 90, `${prober.rate} requests a second`);
    });
  }

  for (const { type, how } of ways) {
    it(`by ${type} of four replicas stops at the first Pods that ${how}, and is mended by the next edit`, async (t) => {
      const { container, data, told, strategy = {} } = breakages[how];
      const namespace = await withNamespace(t);
      await start(namespace);
      await editWatcher(namespace, { strategy: { type, ...strategy }, cooldown: { base: '10m' } });
      const before = await fourReplicas(namespace, container);
      const prober = await Prober.start(t, namespace);
      assert.match(await breakPods(namespace, data), told);
      // The Pod that was taken may still be going away.
      await eventually('one Pod has gone', async () => (await keptOf(namespace, before)) < 4);
      await prober.asks(300);
      assert.equal(await keptOf(namespace, before), 3);

      await mend(namespace);
      await prober.servesOnly('Mended');
      await prober.hasNoFailures();
      assert.deepEqual(prober.texts, new Set([welcome, 'Mended']));
      assert.ok(prober.rate > 90, `${prober.rate} requests a second`);
    });
  }

  for (const type of ['Auto', 'Evict'] as const) {
    it(`by ${type} stops at the first of four Pods that crash and are Ready for a moment each time`, async (t) => {
      const namespace = await withNamespace(t);
      for (const object of [{ ...configMap, data: { message: welcome } }, watcher])
        await namespace.apply(object);
      await namespace.kubectl('apply', '--filename=config/samples/webapp.yaml');
      await editWatcher(namespace, { strategy: { type }, cooldown: { base: '10m' } });
      await baselined(namespace);
      await keepThree(namespace);
      const before = await fourReplicas(namespace, readyAtOnce);
      const { data, told } = breakages.crash;
      assert.match(await breakPods(namespace, data), told);
      // The Pod that was taken may still be going away.
      await eventually('one Pod has gone', async () => (await keptOf(namespace, before)) < 4);
      assert.equal(await keptOf(namespace, before), 3);
      await mend(namespace);
      await replaced(namespace, before);
    });
  }

  for (const { type, how } of ways) {
    it(`by ${type} of twelve Deployments touches one whose new Pods ${how}`, async (t) => {
      const { container, data, told, strategy = {} } = breakages[how];
      const namespace = await withNamespace(t);
      const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
      const workloads = names.flatMap((name) => oneOfMany(name, container));
      const items = [{ ...configMap, data: { message: welcome } }, ...workloads, watcher];
      await namespace.apply({ apiVersion: 'v1', kind: 'List', items });
      await namespace.kubectl('wait', '--for=condition=Available', '--timeout=110s', 'deployments', '--all');
      await editWatcher(namespace, { strategy: { type, ...strategy }, cooldown: { base: '10m' } });
      await baselined(namespace);
      const before = await deploymentsByPod(namespace);
      const prober = await Prober.start(t, namespace, names);

      assert.match(await breakPods(namespace, data), told);
      await prober.asks(500);
      const now = await deploymentsByPod(namespace);
      const changed = [...before, ...now].filter(([uid]) => !before.has(uid) || !now.has(uid));
      const touched = new Set(changed.map(([, deployment]) => deployment));
      assert.equal(touched.size, 1, [...touched].join());
      // An eviction takes the only Pod before there is another; a rollout does not.
      await prober.hasNoFailures(type === 'Evict' ? touched : undefined);

      await mend(namespace);
      await prober.servesOnly('Mended');
      if (type === 'Auto') await prober.hasNoFailures();
      assert.deepEqual(prober.texts, new Set([welcome, 'Mended']));
      assert.ok(prober.rate > 90, `${prober.rate} requests a second`);
    });
  }

  for (const [kind, replicas] of Object.entries({ StatefulSet: 3, DaemonSet: 1 })) {
    it(`by Auto of a ${kind} stops at the first Pod that cannot be configured, and is mended by the next edit`, async (t) => {
      const namespace = await withNamespace(t);
      const template = { metadata: { labels: { app: 'webapp' } }, spec: { containers: [serving] } };
      const size = kind === 'StatefulSet' ? { replicas, serviceName: 'webapp' } : {};
      await namespace.apply({
        ...{ apiVersion: 'apps/v1', kind, metadata: { name: 'webapp' } },
        spec: { selector: { matchLabels: template.metadata.labels }, template, ...size },
      });
      for (const object of [{ ...configMap, data: { message: welcome } }, watcher])
        await namespace.apply(object);
      const workload = `${kind.toLowerCase()}/webapp`;
      await namespace.kubectl('rollout', 'status', workload, '--timeout=110s');
      await baselined(namespace);
      const before = await uidsOf(namespace);
      const told = new RegExp(`^${kind} webapp: .*; Pod \\S+, container app: CreateContainerConfigError`);
      assert.match(await breakPods(namespace, { message: null }), told);
      const kept = (await uidsOf(namespace)).filter((uid) => before.includes(uid));
      assert.equal(kept.length, replicas - 1);
      await mend(namespace);
      await namespace.kubectl('rollout', 'status', workload, '--timeout=110s');
      const after = await uidsOf(namespace);
      assert.deepEqual([after.length, after.filter((uid) => before.includes(uid))], [replicas, []]);
    });
  }

  it('waits for the one rollout of a chart upgrade that changes content and template', {
    skip: helmAbsent,
  }, async (t) => {
    const namespace = await withNamespace(t);
    const chart = await writeChart(t);
    const deploy = (message: string, nodeSelector: object) =>
      helm(['upgrade', '--install', 'webapp', chart, `--namespace=${namespace.name}`, '--values=-'], {
        kubeconfig: process.env.KUBECONFIG,
        input: JSON.stringify({ message, nodeSelector }),
      });
    await deploy(welcome, {});
    await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
    await baselined(namespace);
    const before = await podNames(namespace);
    const prober = await Prober.start(t, namespace);

    // A Pod that starts before the operator has listed the Pods may have read the old content, and is restarted. On
    // a busy machine that would be chance, so that no new Pod has a node before the change is recorded.
    const label = `example.com/${namespace.name}`;
    await deploy('Upgraded', { [label]: 'yes' });
    await eventually('the change is recorded', async () => (await statusOf(namespace)).pending);
    t.after(() => kubectl(['label', 'nodes', '--all', `${label}-`]));
    await kubectl(['label', 'nodes', '--all', `${label}=yes`]);
    const { history } = await eventually('the watcher is done', async () => {
      const status = await statusOf(namespace);
      return status.lastRestart?.completionTime !== undefined && !status.pending && status;
    });
    await prober.servesOnly('Upgraded');
    await replaced(namespace, before);
    assert.equal(history?.length, 1);
    const made = ['--field-selector=reason=SuccessfulCreate', '--output=name'];
    const revision = '--output=jsonpath={.metadata.annotations.deployment\\.kubernetes\\.io/revision}';
    assert.equal((await namespace.kubectl('get', 'events', ...made)).split('\n').length, 8);
    assert.equal(await namespace.kubectl('get', 'deployment/webapp', revision), '2');
    await prober.hasNoFailures();
    assert.deepEqual(prober.texts, new Set([welcome, 'Upgraded']));
  });
});

/** A chart of the web app with four replicas and its watcher; resolves with its folder. */
async function writeChart(t: { after(end: () => Promise<unknown>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'atwatch-webapp-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const labels = { app: 'webapp' };
  const spec = {
    terminationGracePeriodSeconds: graceSeconds,
    containers: [serving],
    nodeSelector: 'NODE_SELECTOR',
  };
  const items = [
    { ...configMap, data: { message: '{{ .Values.message }}' } },
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'webapp' } },
      spec: { replicas: 4, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'webapp' } },
      spec: { type: 'NodePort', selector: labels, ports: [{ port: 8080 }] },
    },
    watcher,
  ];
  const documents = items.map((item) => JSON.stringify(item)).join('\n---\n');
  const template = documents.replace('"NODE_SELECTOR"', '{{ toJson .Values.nodeSelector }}');
  await mkdir(join(folder, 'templates'));
  await writeFile(join(folder, 'templates/webapp.yaml'), template);
  await writeFile(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: webapp\nversion: 1.0.0\n');
  return folder;
}
