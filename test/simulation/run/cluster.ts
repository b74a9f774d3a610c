/** The cluster of a run: API servers, nodes and controllers, and what helps to act on them. */
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Method } from '../../../src/testing/api-server/api-message.ts';
import type { Kubelet } from '../../../src/testing/node/kubelet.ts';
import { SimulatedCluster } from '../../../src/testing/simulated-cluster.ts';
import type { History } from '../history.ts';
import { namespace, startsAt } from '../plan/draw-ats.ts';
import type { Plan } from '../plan/plan.ts';
import { startNodes } from './nodes.ts';
import { servedResources } from './served.ts';

export const operatorNamespace = 'atwatch-system';

const byPlural = new Map(
  servedResources.map((resource) => [`${resource.plural}.${resource.group}`, resource]),
);
const plurals = new Map(
  servedResources
    .filter(({ group, plural }) => group !== '' || plural !== 'events')
    .map((one) => [one.plural, one]),
);

export class Cluster extends SimulatedCluster {
  /** Ms by which the watch cache of each instance is late. */
  readonly lags: number[];
  #kubelets: readonly Kubelet[] = [];

  constructor({ seed, servers }: Plan) {
    super({ seed, startsAt, resources: servedResources, instances: servers });
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
    for (const name of [namespace, operatorNamespace]) {
      this.request('admin', 'POST', '/api/v1/namespaces', { metadata: { name } });
    }
    this.#kubelets = startNodes(this, history);
  }

  request(user: string, method: Method, path: string, body?: object) {
    return this.api.request(user, method, path, body);
  }

  resource(plural: string) {
    const resource = plurals.get(plural) ?? byPlural.get(plural);
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
