/**
 * At on an API server that turns most of what the operator asks for away: priority and fairness, by a priority
 * level with next to no seats for this one user. The kubelet's part is the test's.
 */
import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import { Registry } from '@prometheus-io/client';
import { ats } from '../../src/api/resources.ts';
import type { Condition, KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { AtRig } from './at-rig.ts';
import { bind, kubeConfigOf } from './rights.ts';
import { applyCrds, eventually } from './support.ts';

interface FlowSchema extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const flowControl = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', namespaced: false } as const;
const flowSchemas: Resource<FlowSchema> = { ...flowControl, plural: 'flowschemas', kind: 'FlowSchema' };
const priorityLevels: Resource<KubernetesObject & { readonly spec: object }> = {
  ...flowControl,
  plural: 'prioritylevelconfigurations',
  kind: 'PriorityLevelConfiguration',
};

before(() => applyCrds());

/** A user who may do anything, but hardly ever gets to it. */
async function throttledUser(t: TestContext, client: Client, name: string): Promise<KubeConfig> {
  const metadata = { name };
  const all: Resource[] = [flowSchemas, priorityLevels];
  for (const resource of all) t.after(() => client.delete(resource, metadata));
  await bind(t, client, name, 'cluster-admin');
  const limited = { nominalConcurrencyShares: 1, lendablePercent: 0, borrowingLimitPercent: 0 };
  await client.create(priorityLevels, {
    metadata,
    spec: { type: 'Limited', limited: { ...limited, limitResponse: { type: 'Reject' } } },
  });
  const everything = {
    verbs: ['*'],
    apiGroups: ['*'],
    resources: ['*'],
    namespaces: ['*'],
    clusterScope: true,
  };
  await client.create(flowSchemas, {
    metadata,
    spec: {
      matchingPrecedence: 100,
      priorityLevelConfiguration: { name },
      rules: [{ subjects: [{ kind: 'User', user: { name } }], resourceRules: [everything] }],
    },
  });
  await eventually(
    async () => {
      const { status } = await client.get(flowSchemas, metadata);
      return status?.conditions?.some((one) => one.type === 'Dangling' && one.status === 'False') === true;
    },
    { message: 'the flow schema is in force' },
  );
  return kubeConfigOf(name);
}

test('an operator whose requests are turned away asks for less at a time, and launches every At once', async (t) => {
  const rig = await AtRig.create(t);
  const registry = new Registry();
  const kubeConfig = await throttledUser(t, rig.client, rig.namespace);
  const names = Array.from({ length: 80 }, (_, index) => `at-${index}`);
  await Promise.all(names.map((name) => rig.createAt({}, name)));
  const created = await rig.watchPods(t);
  let lowest = 32;
  // As often as the loop of this process turns, whatever the API server's answers take.
  const sampling = setInterval(async () => {
    const limit = await sample(
      registry,
      /^rest_client_concurrency_limit\{.*verb="POST",resource="pods"\} (\d+)$/m,
    );
    if (limit < lowest) lowest = limit;
  }, 20);
  t.after(() => clearInterval(sampling));
  await rig.startOperator({ kubeConfig, registry });
  await eventually(
    async () => {
      const options = { namespace: rig.namespace, fieldSelector: 'status.phase!=RUNNING' };
      return (await rig.client.list(ats, { ...options, metadataOnly: true })).items.length === 0;
    },
    { timeout: 90_000, interval: 100, message: 'all Ats run' },
  );
  await eventually(() => created.size >= names.length, { message: 'all Pods have been seen' });
  assert.equal(created.size, names.length);
  // Half of what it began with, at least: how much lower it goes depends on how many are under way at once.
  assert.ok(lowest <= 16, `the limit fell to ${lowest} only`);
  assert.ok(
    (await sample(registry, /^rest_client_requests_total\{code="429",method="POST".*\} (\d+)$/m)) > 0,
  );
});

/** The value of one series; NaN as long as there is none. */
async function sample(registry: Registry, series: RegExp): Promise<number> {
  return Number(series.exec(await registry.metrics())?.[1] ?? Number.NaN);
}
