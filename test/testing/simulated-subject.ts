/** The subject of the workload rows on a simulated cluster. */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../src/kubernetes/objects.ts';
import { isSameResource } from '../../src/testing/cluster-ports.ts';
import type { Change, WorkloadSubject } from '../conformance/workload-subject.ts';
import { namespace, type TestCluster } from './cluster.ts';

export function simulatedSubject(cluster: TestCluster): WorkloadSubject {
  const changes: (Change & { readonly resource: Resource })[] = [];
  cluster.etcd.onChange(({ type, resource, object }) => changes.push({ type, resource, object }));
  return {
    namespace,
    create: async (resource, object) =>
      cluster.create(resource, { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object }),
    patch: async (resource, name, body) => cluster.patch(resource, name, body),
    async delete(resource, name, fields = {}) {
      const { code, body } = cluster.delete(resource, name, fields);
      if (code >= 300) throw new Error(body);
    },
    async evict({ metadata }) {
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/eviction`;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: metadata.name, namespace },
      };
      return cluster.request('POST', path, body).code;
    },
    find: async (resource, name) => cluster.find(resource, name),
    list: async (resource) => cluster.list(resource),
    history: (resource) => changes.filter((change) => isSameResource(change.resource, resource)),
    async until(what, check) {
      for (let waited = 0; waited < 600_000; waited += 100) {
        const value = await check();
        if (value) return value;
        cluster.time.advance(100);
      }
      throw new Error(`waited in vain for ${what}: ${JSON.stringify(last(changes))}`);
    },
    pass: async (seconds) => cluster.time.advance(seconds * 1000),
  };
}

function last(changes: readonly { readonly object: KubernetesObject }[]): object {
  return changes.at(-1)?.object ?? {};
}
