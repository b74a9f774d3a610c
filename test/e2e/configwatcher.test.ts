import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually, installCrds, kubectl, type Namespace, withNamespace } from './kubectl.ts';
import { type OperatorUnderTest, operatorUnderTest } from './operator.ts';

const books = '../shared/books/k8spatterns/io';
const booksAbsent = existsSync(books) ? false : `the books' manifests are not at ${books}`;

interface Watcher {
  readonly status?: {
    readonly restartCount?: number;
    readonly appliedHash?: string;
    readonly pending?: object;
  };
}

/** What the web app answers, through the API server's proxy. */
const served = (namespace: Namespace) =>
  kubectl(['get', '--raw', `/api/v1/namespaces/${namespace.name}/services/webapp:http/proxy/`]);

const setMessage = (namespace: Namespace, message: string) =>
  namespace.kubectl(
    'patch',
    'configmap',
    'webapp-config',
    `--patch=${JSON.stringify({ data: { message } })}`,
  );

const podNames = async (namespace: Namespace) =>
  (await namespace.kubectl('get', 'pods', '--selector=app=webapp', '--output=name')).split('\n');

/** A restart is over when the replacements are Ready; the old Pods may still take their time to end. */
const replaced = (namespace: Namespace, before: readonly string[]) =>
  eventually('only new Pods are left', async () => {
    const names = await podNames(namespace);
    return names.length === before.length && !names.some((name) => before.includes(name));
  });

const getWatcher = (namespace: Namespace) => namespace.getJson<Watcher>('cw/webapp-config-watcher');

/** Applies web app and watcher and resolves once the app serves and the baseline is written. */
async function start(namespace: Namespace, files: readonly string[]): Promise<void> {
  for (const file of files) await namespace.kubectl('apply', `--filename=${file}`);
  await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
  await eventually('the baseline', async () => (await getWatcher(namespace)).status?.appliedHash);
  await eventually('the web app', async () =>
    (await served(namespace)).includes('Welcome to Kubernetes Patterns'),
  );
}

const restarted = (namespace: Namespace, count: number) =>
  eventually(
    `${count} finished restarts`,
    async () => {
      const { status } = await getWatcher(namespace);
      return status?.restartCount === count && !status.pending;
    },
    120_000,
  );

/** A Deployment of four that drain, behind a client that asks all the time; resolves with what it was told. */
async function askedAllTheTime(namespace: Namespace): Promise<() => Promise<string[]>> {
  await namespace.kubectl('patch', 'deployment/webapp', `--patch=${JSON.stringify(fourThatDrain)}`);
  await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
  await eventually('the old Pods are gone', async () => (await podNames(namespace)).length === 4);
  await namespace.apply(client);
  await namespace.kubectl('wait', '--for=condition=Ready', 'pod/client', '--timeout=110s');
  const answers = async () => (await namespace.kubectl('logs', 'client')).split('\n');
  await eventually('the client is served', async () => (await answers()).length > 10);
  return answers;
}

/**
 * A Pod that goes away is told so and taken out of the Service at the same moment, so it serves on for a
 * little while: what every application needs that is to be restarted without a failed request.
 */
const fourThatDrain = {
  spec: {
    replicas: 4,
    template: {
      spec: {
        terminationGracePeriodSeconds: 10,
        containers: [
          {
            name: 'app',
            readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
            lifecycle: { preStop: { sleep: { seconds: 3 } } },
          },
        ],
      },
    },
  },
};

/** Asks the Service, with a connection for each request, and writes down what it is told. */
const client = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'client' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'client',
        image: 'busybox',
        command: ['sh', '-c'],
        args: [
          'while true; do answer=$(printf "GET / HTTP/1.0\\r\\n\\r\\n" | ' +
            'nc -w 2 $WEBAPP_SERVICE_HOST $WEBAPP_SERVICE_PORT | tail -n 1); ' +
            'echo "$answer" | grep . || echo FAILED; sleep 0.1; done',
        ],
      },
    ],
  },
};

const samples = ['config/samples/webapp.yaml', 'config/samples/k8spatterns_v1_configwatcher.yaml'];

describe('ConfigWatcher on a real node', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    await installCrds();
    operator = await operatorUnderTest();
  });
  after(() => operator?.remove());

  it('has the restarted Pod serve the new text, and restarts nothing for a label', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, samples);
    const before = await podNames(namespace);
    await namespace.kubectl('label', 'configmap', 'webapp-config', 'team=web');
    await setMessage(namespace, 'Hello again');
    await eventually('the new text', async () => (await served(namespace)).includes('Hello again'));
    await restarted(namespace, 1);
    await replaced(namespace, before);
    const [header, row] = (await namespace.kubectl('get', 'cw')).split('\n');
    assert.match(
      header ?? '',
      /^NAME +CONFIGMAP +PODSELECTOR +READY +STATE +PODS +STALE +LAST-RESTART +AGE$/,
    );
    assert.match(
      row ?? '',
      /^webapp-config-watcher +webapp-config +\{"app":"webapp"\} +True +UpToDate +1 +0 /,
    );
  });

  it("works with the book's own manifests unchanged", { skip: booksAbsent }, async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, [`${books}/operator-web-app.yml`, `${books}/operator-config-watcher-sample.yml`]);
    await setMessage(namespace, 'Greets from your smooth operator!');
    await eventually('the new text', async () => (await served(namespace)).includes('smooth operator'));
  });

  it('finds what changed while the operator was dead, and restarts once', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, samples);
    const noCooldown = '{"spec":{"cooldown":{"base":"0s"}}}';
    await namespace.kubectl('patch', 'cw/webapp-config-watcher', '--type=merge', `--patch=${noCooldown}`);
    await operator.kill();
    await setMessage(namespace, 'While you were away');
    await operator.start();
    await eventually('the new text', async () => (await served(namespace)).includes('While you were away'));
    await restarted(namespace, 1);
    // A restart of the operator is no reason: the next count is that of the next edit.
    await operator.kill();
    await operator.start();
    await setMessage(namespace, 'And once more');
    await restarted(namespace, 2);
  });

  it('lets no request of a client fail while it restarts four replicas', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, samples);
    await namespace.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'webapp' },
      spec: { minAvailable: 3, selector: { matchLabels: { app: 'webapp' } } },
    });
    const answers = await askedAllTheTime(namespace);
    const before = await podNames(namespace);

    await setMessage(namespace, 'Served throughout');
    await restarted(namespace, 1);
    const served = (await answers()).length;
    // How many requests fit into the restart depends on the machine; fewer than a hundred tell too little.
    const enough = Math.max(100, served + 10);
    await eventually('some more answers', async () => (await answers()).length > enough);
    await eventually('only the new text is served', async () =>
      (await answers()).slice(-20).every((answer) => answer === 'Served throughout'),
    );
    const all = await answers();
    const texts = ['Welcome to Kubernetes Patterns !', 'Served throughout'];
    assert.deepEqual(new Set(all), new Set(texts), `of ${all.length} requests`);
    await replaced(namespace, before);
  });

  it('stops at the first Pod that a content breaks, tells it, and is mended by the next edit', async (t) => {
    const namespace = await withNamespace(t);
    await start(namespace, samples);
    const answers = await askedAllTheTime(namespace);
    const before = await podNames(namespace);
    const patch = (data: object) =>
      namespace.kubectl('patch', 'configmap', 'webapp-config', `--patch=${JSON.stringify({ data })}`);
    // Without the key that their environment names, new containers cannot be configured.
    await patch({ message: null });
    const state = () => namespace.kubectl('get', 'cw', '--no-headers');
    await eventually('it is told', async () => (await state()).includes('NewPodsNotAvailable'));
    // The Pod that was evicted may still be going away.
    const kept = async () => (await podNames(namespace)).filter((name) => before.includes(name));
    await eventually('one Pod was restarted', async () => (await kept()).length < before.length);
    assert.equal((await kept()).length, before.length - 1);

    await patch({ message: 'Mended' });
    await eventually('it is mended', async () => (await state()).includes('UpToDate'), 120_000);
    await eventually('only the new text is served', async () =>
      (await answers()).slice(-20).every((answer) => answer === 'Mended'),
    );
    const texts = ['Welcome to Kubernetes Patterns !', 'Mended'];
    assert.deepEqual(new Set(await answers()), new Set(texts));
  });
});
