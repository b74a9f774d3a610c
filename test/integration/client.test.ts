/**
 * The client on a real API server: what the conformance suite cannot ask of a fake one.
 */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { before, describe, test } from 'node:test';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Pod,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import {
  ApiError,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isTooManyRequests,
  TransportError,
} from '../../src/runtime/client/api-error.ts';
import { type Connection, connect } from '../../src/runtime/client/connect.ts';
import { findServed } from '../../src/runtime/client/discovery.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { widgets, widgetsDefinition } from '../conformance/subject.ts';
import { kubectl } from '../e2e/kubectl.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import {
  applyCrd,
  connectToTestCluster,
  eventually,
  newConnection,
  testKubeConfig,
  withNamespace,
} from './support.ts';
import { startWebhook } from './webhook.ts';

interface DisruptionBudget extends KubernetesObject {
  readonly spec: { readonly minAvailable: number; readonly selector: object };
  readonly status?: { readonly observedGeneration?: number };
}

const disruptionBudgets: Resource<DisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
};

const { client } = connectToTestCluster();
before(() => applyCrd(client, widgetsDefinition));

/** A Pod that counts as running although no kubelet runs it. */
async function runningPod(
  namespace: string,
  name: string,
  labels: Record<string, string> = {},
): Promise<Pod> {
  const pod: Pod = {
    metadata: { namespace, name, labels },
    spec: { containers: [{ name: 'main', image: 'busybox' }] },
  };
  // The ServiceAccount that Pods run under may not be there yet.
  await eventually(async () => (await client.create(pods, pod)) && true, {
    message: `the Pod ${name} is created`,
  });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } as const;
  return client.patchStatus(pods, { namespace, name }, { type: 'merge', body: { status } });
}

test('a wrong type is Invalid, and the error does not quote the object', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  await client.create(configMaps, { metadata: key, data: { password: 's3cret' } });
  await client.create(widgets, { metadata: key, spec: { size: 1, text: 's3cret' } });
  const attempts = [
    () => client.patch(configMaps, key, { type: 'merge', body: { data: { n: 7 as never } } }),
    () => client.patch(widgets, key, { type: 'merge', body: { spec: { size: 's3cret' as never } } }),
    () =>
      client.patchStatus(widgets, key, {
        type: 'merge',
        body: { status: { phase: { s3cret: 1 } as never } },
      }),
  ];
  for (const attempt of attempts) {
    await assert.rejects(attempt, (error) => {
      assert.ok(isInvalid(error) && error instanceof ApiError, String(error));
      assert.ok(error.status.details?.causes?.some(({ field }) => field !== ''));
      assert.ok(!`${error.message}${JSON.stringify(error.status)}`.includes('s3cret'), error.message);
      return true;
    });
  }
});

test('the field manager is recorded, for updates and for apply', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  await client.create(configMaps, { metadata: key, data: { a: '1' } }, { fieldManager: 'creator' });
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { b: '2' } };
  const { metadata } = await client.patch(configMaps, key, { type: 'apply', body, fieldManager: 'applier' });
  const managers = metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`);
  assert.deepEqual(managers?.sort(), ['applier Apply', 'creator Update']);
});

test('1200 objects are listed in pages, each once', async (t) => {
  const namespace = await withNamespace(t);
  const names = Array.from({ length: 1200 }, (_, index) => `c-${String(index).padStart(4, '0')}`);
  const labels = { test: 'pages' };
  await inParallel(names.length, 20, (index) =>
    client.create(configMaps, { metadata: { namespace, name: names[index] ?? '', labels } }),
  );
  const { items } = await client.list(configMaps, { namespace, labelSelector: 'test=pages' });
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    names,
  );
  const small = await client.list(configMaps, { namespace, labelSelector: 'test=pages', metadataOnly: true });
  assert.equal(small.items.length, 1200);
});

test('2000 calls, 20 at a time, use no more connections than the pool has', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  await client.create(configMaps, { metadata: key });
  const connection = newConnection({ maxRequests: 12 });
  let sockets = 0;
  const count = () => {
    sockets++;
  };
  subscribe('net.client.socket', count);
  const cpu = process.cpuUsage();
  await inParallel(2000, 20, () => connection.client.get(configMaps, key));
  const { user, system } = process.cpuUsage(cpu);
  unsubscribe('net.client.socket', count);
  connection.close();
  t.diagnostic(`${((user + system) / 2000 / 1000).toFixed(3)} ms of CPU per call`);
  assert.ok(sockets >= 1 && sockets <= 12, `${sockets} connections`);
});

test('the version of a quiet watch moves on by bookmarks', async (t) => {
  const namespace = await withNamespace(t);
  const noisy = await withNamespace(t);
  const { resourceVersion } = await client.list(configMaps, { namespace });
  const options = { namespace, resourceVersion, labelSelector: 'quiet=true', timeoutSeconds: 6 };
  const { signal } = new AbortController();
  const stream = await client.watch(configMaps, { ...options, signal });
  const { metadata } = await client.create(configMaps, { metadata: { namespace: noisy, name: 'noise' } });
  const versions: string[] = [];
  for await (const event of stream) {
    assert.equal(event.type, 'BOOKMARK');
    if (event.type === 'BOOKMARK') versions.push(event.object.metadata.resourceVersion ?? '');
  }
  assert.ok(
    Number(versions.at(-1)) >= Number(metadata.resourceVersion),
    `${versions} after ${metadata.resourceVersion}`,
  );
});

test('a write that takes 6 s succeeds where no other client may lead, and fails where another may', async (t) => {
  const namespace = await withNamespace(t);
  const late = async () => {
    await new Promise((resolve) => setTimeout(resolve, 6000));
    return {};
  };
  const webhook = await startWebhook(t, client, namespace, late);
  const elected = newConnection({ gate: { assertMayWrite() {} } });
  const usual = newConnection({ requestTimeouts: { write: 15_000 } });
  t.after(() => {
    elected.close();
    usual.close();
  });
  // A webhook comes into force a moment after it was stored.
  const probe = { namespace, name: 'probe' };
  await eventually(
    () => {
      client.create(configMaps, { metadata: probe }, { dryRun: true }).catch(() => {});
      return webhook.asked > 0;
    },
    { message: 'the webhook is in force', interval: 200 },
  );
  const create = (by: Connection, name: string, timeout?: number) =>
    by.client.create(configMaps, { metadata: { namespace, name } }, timeout === undefined ? {} : { timeout });
  const [asked, configured, ungated, gated] = await Promise.allSettled([
    create(usual, 'asked', 15_000),
    create(usual, 'configured'),
    elected.ungatedClient.create(
      configMaps,
      { metadata: { namespace, name: 'ungated' } },
      { timeout: 15_000 },
    ),
    create(elected, 'gated', 15_000),
  ]);
  assert.deepEqual(
    [asked.status, configured.status, ungated.status, gated.status],
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  );
  await assert.rejects(client.get(configMaps, { namespace, name: 'gated' }), isNotFound);
});

test('warnings of the API server are logged once each, from itself and from webhooks', async (t) => {
  const namespace = await withNamespace(t);
  const warned: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: unknown) => void warned.push(fields) };
  const connection = newConnection({ log });
  t.after(() => connection.close());
  await startWebhook(t, client, namespace, async () => ({ warnings: ['mind the gap'] }));
  const create = (name: string) =>
    connection.client.create(configMaps, { metadata: { namespace, name, annotations: { [name]: '' } } });
  let count = 0;
  await eventually(async () => (await create(`c-${count++}`)) && warned.length > 0, {
    message: 'the webhook has warned',
  });
  await create('again');
  const body = { spec: { size: 1, unheard: 's3cret' } };
  await connection.client.create(widgets, { metadata: { namespace, name: 'w' }, ...body });
  await connection.client.patch(widgets, { namespace, name: 'w' }, { type: 'merge', body });
  assert.deepEqual(warned, [
    { request: 'POST configmaps', warning: 'mind the gap' },
    { request: 'POST widgets.conformance.example.com', warning: 'unknown field "spec.unheard"' },
  ]);
});

test('an integer beyond 2^53 survives: an update that would round it is refused, a patch leaves it alone', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'a' };
  await client.create(widgets, { metadata: key, spec: { size: 1 } });
  // As a client with 64 bits writes it.
  const operations = '[{"op":"replace","path":"/spec/size","value":9007199254740993}]';
  const path = `/apis/conformance.example.com/v1/namespaces/${namespace}/widgets/a`;
  const stored = async () => {
    return /"size":(\d+)/.exec(String(await client.getRaw(path, { text: true })))?.[1];
  };
  await kubectl([
    'patch',
    'widgets.conformance.example.com',
    'a',
    '-n',
    namespace,
    '--type=json',
    '-p',
    operations,
  ]);
  assert.equal(await stored(), '9007199254740993');
  const got = await client.get(widgets, key);
  await assert.rejects(
    client.update(widgets, { ...got, spec: { ...got.spec, text: 'x' } }),
    (error) =>
      error instanceof TransportError && !error.sent && /spec\.size is an integer beyond/.test(error.message),
  );
  await client.patch(widgets, key, { type: 'merge', body: { spec: { text: 'x' } } });
  await client.updateStatus(widgets, { ...(await client.get(widgets, key)), status: { count: 1 } });
  assert.equal(await stored(), '9007199254740993');
});

test('an update with what was read as metadata alone is refused, and the object stays whole', async (t) => {
  const namespace = await withNamespace(t);
  const key = { namespace, name: 'whole' };
  await client.create(configMaps, { metadata: key, data: { a: 'b' } });
  const metadata = await client.get(configMaps, key, { metadataOnly: true });
  await assert.rejects(
    client.update(configMaps, metadata as never),
    (error) =>
      error instanceof TransportError && !error.sent && /only the metadata was read/.test(error.message),
  );
  assert.deepEqual((await client.get(configMaps, key)).data, { a: 'b' });
});

test('with the gate closed nothing is sent', async (t) => {
  const namespace = await withNamespace(t);
  const gate = {
    assertMayWrite() {
      throw new TransportError('not leading', false);
    },
  };
  const connection = newConnection({ gate });
  const object: ConfigMap = { metadata: { namespace, name: 'a' } };
  await assert.rejects(connection.client.create(configMaps, object), (error) => {
    return error instanceof TransportError && !error.sent;
  });
  await assert.rejects(connection.client.get(configMaps, { namespace, name: 'a' }), isNotFound);
  connection.close();
});

describe('an eviction', () => {
  test('holds to the uid, and ends the Pod', async (t) => {
    const namespace = await withNamespace(t);
    const { metadata } = await runningPod(namespace, 'a');
    const key = { namespace, name: 'a' };
    await assert.rejects(client.evict(key, { uid: 'other' }), isConflict);
    await client.evict(key, { uid: metadata.uid ?? '', dryRun: true });
    await client.get(pods, key);
    await client.evict(key, { uid: metadata.uid ?? '' });
    await assert.rejects(client.get(pods, key), isNotFound);
  });

  test('that a disruption budget forbids is refused at once, and the Pod stays', async (t) => {
    const namespace = await withNamespace(t);
    const labels = { app: 'guarded' };
    const spec = { minAvailable: 1, selector: { matchLabels: labels } };
    const budget = { namespace, name: 'guard' };
    await client.create(disruptionBudgets, { metadata: budget, spec });
    // Of one that its controller has not seen yet the API server says to wait for ten seconds.
    const isSeen = async () => (await client.get(disruptionBudgets, budget)).status?.observedGeneration === 1;
    await eventually(isSeen, { message: 'the controller of budgets has seen it' });
    const { metadata } = await runningPod(namespace, 'a', labels);
    const startedAt = performance.now();
    await assert.rejects(
      client.evict({ namespace, name: 'a' }, { uid: metadata.uid ?? '' }),
      isTooManyRequests,
    );
    assert.ok(performance.now() - startedAt < 9000);
    await client.get(pods, { namespace, name: 'a' });
  });
});

test('an impersonated user has only its own rights', async () => {
  const kubeConfig = testKubeConfig();
  kubeConfig.users = kubeConfig.users.map((user) => ({ ...user, impersonateUser: 'nobody' }));
  const { client: nobody, close } = connect({
    kubeConfig,
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test',
    fieldManager: 'atwatch-test',
  });
  await assert.rejects(
    nobody.list(configMaps),
    (error) => isForbidden(error) && /User "nobody"/.test(String(error)),
  );
  close();
});

test('discovery tells what is served, and with a status', async () => {
  assert.equal((await findServed(client, widgets))?.status, true);
  assert.equal((await findServed(client, configMaps))?.status, false);
  assert.equal(await findServed(client, { ...widgets, plural: 'gadgets' }), undefined);
  assert.equal(await findServed(client, { ...widgets, group: 'none.example.com' }), undefined);
});
