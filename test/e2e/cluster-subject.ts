/** The subject of the workload rows on the cluster of KUBECONFIG, with a namespace of its own. */
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { apiVersionOf, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import { ApiError, isNotFound } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { isSameResource } from '../../src/testing/cluster-ports.ts';
import { namespaces, type Pod, pods } from '../../src/testing/objects.ts';
import { replicaSets } from '../../src/testing/workloads.ts';
import type { Change, WorkloadSubject } from '../conformance/workload-subject.ts';
import { eventually, kubectl } from './kubectl.ts';

type Recorded = Change & { readonly resource: Resource };

/** @throws when KUBECONFIG is not set: no test may pick a cluster by itself */
export function connectToCluster(): Client {
  if (!process.env.KUBECONFIG) throw new Error('KUBECONFIG is not set: run these tests with `make test-e2e`');
  return connect({
    kubeConfig: loadKubeConfig({ env: process.env }),
    gate: openGate,
    clock: systemClock,
    log: silentLogger,
    userAgent: 'atwatch-test',
    fieldManager: 'atwatch-test',
  }).client;
}

export async function clusterSubject(t: TestContext, client: Client): Promise<WorkloadSubject> {
  const namespace = `rows-${randomBytes(4).toString('hex')}`;
  await client.create(namespaces, { metadata: { name: namespace } });
  const watching = new AbortController();
  t.after(async () => {
    watching.abort();
    await kubectl(['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found']);
  });
  await kubectl([
    `--namespace=${namespace}`,
    'wait',
    '--for=create',
    'serviceaccount/default',
    '--timeout=30s',
  ]);
  const changes: Recorded[] = [];
  for (const resource of [pods, replicaSets])
    await record(client, resource, namespace, changes, watching.signal);
  const inNamespace = (resource: Resource, name: string) =>
    resource.namespaced ? { namespace, name } : { name };
  return {
    namespace,
    create<T extends KubernetesObject>(resource: Resource<T>, object: object): Promise<T> {
      const { metadata, ...rest } = object as KubernetesObject;
      const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind };
      return client.create(resource, {
        ...typed,
        ...rest,
        metadata: { ...metadata, namespace },
      } as unknown as T);
    },
    patch: (resource, name, body) =>
      client.patch(resource, { namespace, name }, { type: 'merge', body: body as never }),
    delete: (resource, name, fields = {}) =>
      client.delete(resource, inNamespace(resource, name), { propagationPolicy: 'Background', ...fields }),
    async evict({ metadata }) {
      try {
        await client.evict({ namespace, name: metadata.name }, {});
        return 201;
      } catch (error) {
        if (error instanceof ApiError) return error.code;
        throw error;
      }
    },
    async find(resource, name) {
      try {
        return await client.get(resource, inNamespace(resource, name));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    list: async (resource) => (await client.list(resource, { namespace })).items,
    history: (resource) => changes.filter((change) => isSameResource(change.resource, resource)),
    async until(what, check) {
      try {
        return await eventually(what, check, 150_000);
      } catch (error) {
        throw new Error(`${(error as Error).message}; ${tell(changes)}`, { cause: error });
      }
    },
    // What must not happen cannot be waited for.
    pass: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
  };
}

/** What the containers of the Pods went through, for the reader of a failed test. */
function tell(changes: readonly Recorded[]): string {
  const lines = changes.map(({ type, object }) => {
    const { phase, containerStatuses } = (object as Pod).status ?? {};
    return `${type} ${object.metadata.name} ${phase ?? ''} ${JSON.stringify(containerStatuses ?? [])}`;
  });
  return ['seen:', ...lines].join('\n  ');
}

async function record(
  client: Client,
  resource: Resource,
  namespace: string,
  changes: Recorded[],
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion } = await client.list(resource, { namespace });
  const events = await client.watch(resource, { namespace, resourceVersion, timeoutSeconds: 600, signal });
  const follow = async () => {
    for await (const event of events) {
      if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
      changes.push({ type: event.type, resource, object: event.object });
    }
  };
  follow().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
