/** The cluster of a run: API servers, nodes and controllers, and what helps to act on them. */
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Method } from '../../../src/testing/api-server/api-message.ts';
import type { Kubelet } from '../../../src/testing/node/kubelet.ts';
import { SimulatedCluster } from '../../../src/testing/simulated-cluster.ts';
import type { History } from '../history.ts';
import { namespace, startsAt } from '../plan/draw-ats.ts';
import type { Plan } from '../plan/plan.ts';
import { authorCheckResources, checksAuthors, installAuthorCheck } from './author-check.ts';
import { startNodes } from './nodes.ts';
import { servedResources } from './served.ts';

export const operatorNamespace = 'atwatch-system';
export const operatorUser = `system:serviceaccount:${operatorNamespace}:atwatch-controller-manager`;

/** By plural; where there are two of a name, the newer one. */
const plurals = new Map([...servedResources, ...authorCheckResources].map((one) => [one.plural, one]));

/** Who may do everything. */
const administrators = ['admin', 'alice', 'mallory', 'kubernetes-admin'];

export class Cluster extends SimulatedCluster {
  /** Ms by which the watch cache of each instance is late. */
  readonly lags: number[];
  readonly #checksAuthors: boolean;
  #kubelets: readonly Kubelet[] = [];

  constructor(plan: Plan) {
    const { seed, servers } = plan;
    const checks = checksAuthors(plan);
    const resources = [...servedResources, ...(checks ? authorCheckResources : [])];
    super({ seed, startsAt, resources, instances: servers });
    this.#checksAuthors = checks;
    this.lags = this.instances.map(() => 0);
    this.instances.forEach((instance, index) => {
      instance.cache.lag = () => this.lags[index] ?? 0;
    });
  }

  get kubelets(): readonly Kubelet[] {
    return this.#kubelets;
  }

  /** Every subscriber has subscribed by now. */
  start(history: History): void {
    if (this.#checksAuthors) {
      installAuthorCheck([...administrators, operatorUser], (plural, object) =>
        this.etcd.put(this.resource(plural), object),
      );
    }
    for (const name of [namespace, operatorNamespace]) {
      this.request('admin', 'POST', '/api/v1/namespaces', { metadata: { name } });
    }
    this.#kubelets = startNodes(this, history);
  }

  request(user: string, method: Method, path: string, body?: object) {
    return this.api.request(user, method, path, body);
  }

  resource(plural: string) {
    const resource = plurals.get(plural);
    if (resource === undefined) throw new RangeError(`${plural} are not served`);
    return resource;
  }

  /** `/apis/apps/v1/namespaces/shop/deployments/app-0` */
  pathOf(plural: string, name = '', subresource = ''): string {
    const { group, version, namespaced } = this.resource(plural);
    const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const where = namespaced ? `/namespaces/${namespace}` : '';
    return `${prefix}${where}/${plural}${name && `/${name}`}${subresource && `/${subresource}`}`;
  }

  list<T extends KubernetesObject>(plural: string): T[] {
    return this.etcd.list(this.resource(plural), namespace) as T[];
  }
}
