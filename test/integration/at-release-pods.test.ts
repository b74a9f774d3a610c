/** `atwatch release-pods` as the operator's own file, on Pods that no operator cares for any more. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it, type TestContext } from 'node:test';
import { startControlPlane } from '../../local-cluster/control-plane.ts';
import { ats } from '../../src/api/resources.ts';
import { type Pod, pods } from '../../src/kubernetes/objects.ts';
import { isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { leases } from '../../src/runtime/leader/lease.ts';
import { microTime } from '../../src/runtime/micro-time.ts';
import { connectToTestCluster, isGone, newConnection, withNamespace } from './support.ts';

const finalizer = 'cnat.programming-kubernetes.info/tracked';
const gate = 'cnat.programming-kubernetes.info/recorded';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function releasePods(...args: string[]): Promise<Ended> {
  return releasePodsOf(process.env.KUBECONFIG ?? '', ...args);
}

function releasePodsOf(kubeconfig: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['src/main.ts', 'release-pods', ...args],
      { timeout: 60_000, env: { ...process.env, KUBECONFIG: kubeconfig } },
      (error, stdout, stderr) =>
        resolve({
          code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1,
          stdout,
          stderr,
        }),
    );
  });
}

function hold(client: Client, namespace: string, name: string, isGated: boolean): Promise<Pod> {
  return client.create(pods, {
    metadata: {
      ...{ namespace, name, finalizers: [finalizer, 'example.com/other'] },
      labels: { 'cnat.programming-kubernetes.info/controller-uid': 'of-an-at-that-is-gone' },
    },
    spec: {
      containers: [{ name: 'busybox', image: 'busybox' }],
      ...(isGated && { schedulingGates: [{ name: gate }] }),
    },
  });
}

async function withHeldPods(t: TestContext) {
  const { client } = connectToTestCluster();
  const namespace = await withNamespace(t);
  const held = [await hold(client, namespace, 'gated', true), await hold(client, namespace, 'ran', false)];
  t.after(async () => {
    for (const { metadata } of held) {
      const body = { metadata: { finalizers: null } };
      await client.patch(pods, { namespace, name: metadata.name }, { type: 'merge', body }).catch(() => {});
    }
  });
  return { client, namespace };
}

it('frees what is held: what never ran is deleted, the rest loses its finalizer', async (t) => {
  const { client, namespace } = await withHeldPods(t);
  const of = (name: string) => client.get(pods, { namespace, name });
  const planned = await releasePods(`--namespaces=${namespace}`, '--dry-run', '--force');
  assert.deepEqual([planned.code, planned.stderr], [0, '']);
  assert.match(
    planned.stdout,
    /\/gated: would be deleted: .*\n.*\/ran: would be freed of the finalizer\n2 Pods would/,
  );
  // The scheduler writes to their status meanwhile.
  for (const name of ['gated', 'ran']) {
    const { finalizers, deletionTimestamp } = (await of(name)).metadata;
    assert.deepEqual([finalizers, deletionTimestamp], [[finalizer, 'example.com/other'], undefined]);
  }

  const done = await releasePods(`--namespaces=${namespace}`, '--force');
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.match(done.stdout, /\/gated: deleted: .*\n.*\/ran: freed of the finalizer\n2 Pods freed\n$/);
  // The finalizers of others stay.
  const [gated, ran] = [await of('gated'), await of('ran')];
  for (const { metadata } of [gated, ran]) assert.deepEqual(metadata.finalizers, ['example.com/other']);
  assert.deepEqual(
    [gated.metadata.deletionTimestamp !== undefined, ran.metadata.deletionTimestamp],
    [true, undefined],
  );
  await client.patch(
    pods,
    { namespace, name: 'gated' },
    { type: 'merge', body: { metadata: { finalizers: null } } },
  );
  assert.equal(await isGone(client, pods, namespace, 'gated'), true);
  assert.equal((await releasePods(`--namespaces=${namespace}`, '--force')).stdout, 'no Pod is held\n');
});

it('refuses to work while an operator holds its Lease', async (t) => {
  const { client, namespace } = await withHeldPods(t);
  const renewTime = microTime(Date.now());
  await client.create(leases, {
    metadata: { namespace, name: 'atwatch' },
    spec: { holderIdentity: 'someone', leaseDurationSeconds: 600, acquireTime: renewTime, renewTime },
  });
  const { code, stderr } = await releasePods(`--namespaces=${namespace}`);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^an operator still runs and holds the Lease atwatch in the namespace .*: uninstall it first, or add --force\n$/,
  );
  assert.equal((await client.get(pods, { namespace, name: 'ran' })).metadata.finalizers?.length, 2);
});

it('frees what is held after the CRDs are gone, in all namespaces', async (t) => {
  const cluster = await startControlPlane({ controllerManager: false, scheduler: false });
  t.after(() => cluster.stop());
  const kubeConfig = loadKubeConfig({ env: { KUBECONFIG: cluster.kubeconfig } });
  const { client, close } = newConnection({ kubeConfig });
  t.after(close);
  const namespace = 'default';
  await assert.rejects(client.list(ats, { namespace }), isNotFound);
  await hold(client, namespace, 'gated', true);
  await hold(client, namespace, 'ran', false);
  const { code, stdout } = await releasePodsOf(cluster.kubeconfig);
  assert.deepEqual([code, stdout.split('\n').at(-2)], [0, '2 Pods freed']);
  const { items } = await client.list(pods, { namespace });
  assert.deepEqual(
    items.map(({ metadata }) => [
      metadata.name,
      metadata.deletionTimestamp !== undefined,
      metadata.finalizers,
    ]),
    [
      ['gated', true, ['example.com/other']],
      ['ran', false, ['example.com/other']],
    ],
  );
});
