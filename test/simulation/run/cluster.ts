/** The cluster of a run: API servers on one etcd, controllers, a node, and a network to reach them. */
import type { KubernetesObject, Resource } from '../../../src/api/kubernetes.ts';
import { configMaps, pods } from '../../../src/api/kubernetes.ts';
import { ats, configWatchers } from '../../../src/api/resources.ts';
import { validateAt, validateConfigWatcher } from '../../../src/api/validate.ts';
import { Etcd } from '../../../src/testing/api-server/etcd.ts';
import { invalidValue } from '../../../src/testing/api-server/failure.ts';
import type { ServedResource } from '../../../src/testing/api-server/served-resource.ts';
import { SimulatedApiServer } from '../../../src/testing/api-server/simulated-api-server.ts';
import type { AnyObject, Strategy } from '../../../src/testing/api-server/strategy.ts';
import { daemonSetController } from '../../../src/testing/controllers/daemon-set-controller.ts';
import { deploymentController } from '../../../src/testing/controllers/deployment-controller.ts';
import { replicaSetController } from '../../../src/testing/controllers/replica-set-controller.ts';
import { statefulSetController } from '../../../src/testing/controllers/stateful-set-controller.ts';
import { SimulatedNetwork } from '../../../src/testing/network/simulated-network.ts';
import { nodes, secrets } from '../../../src/testing/objects.ts';
import type { Simulation } from '../../../src/testing/simulation.ts';
import {
  controllerRevisions,
  daemonSets,
  deployments,
  podDisruptionBudgets,
  replicaSets,
  statefulSets,
} from '../../../src/testing/workloads.ts';

const phases = ['PENDING', 'RUNNING', 'DONE'];

const atStrategy: Strategy = {
  prepare(object, old) {
    const filled = validateAt(object).object as unknown as AnyObject;
    return old === undefined ? { ...filled, status: { phase: 'PENDING', observedGeneration: -1 } } : filled;
  },
  validate(object, old) {
    const [before, after] = [old?.status, object.status].map(
      (status) => (status as { phase?: string } | undefined)?.phase,
    );
    const isBack = before !== undefined && phases.indexOf(after ?? '') < phases.indexOf(before);
    const isFixed = before !== undefined && before !== 'PENDING' && fixed(object) !== fixed(old as AnyObject);
    return [
      ...(isBack ? [invalidValue('status.phase', after, 'never goes back')] : []),
      ...(isFixed ? [invalidValue('spec', '', 'is immutable once the At has been launched')] : []),
    ];
  },
};

function fixed({ spec }: AnyObject): string {
  const { cancel: _, suspend: __, ttlSecondsAfterFinished: ___, ...rest } = spec as Record<string, unknown>;
  return JSON.stringify(rest);
}

const watcherStrategy: Strategy = {
  prepare: (object) => validateConfigWatcher(object).object as unknown as AnyObject,
};

const podStrategy: Strategy = {
  prepare: (object, old) =>
    old === undefined
      ? {
          ...object,
          spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, ...(object.spec as object) },
          status: { phase: 'Pending' },
        }
      : object,
  gracePeriod: (object, requested) => {
    const { nodeName, terminationGracePeriodSeconds = 30 } = object.spec as {
      nodeName?: string;
      terminationGracePeriodSeconds?: number;
    };
    return nodeName === undefined ? 0 : (requested ?? terminationGracePeriodSeconds);
  },
};

const plain = { status: false, generation: false, conditionalUpdate: false } as const;
const served: readonly ServedResource[] = [
  { ...ats, strategy: atStrategy, typedItems: true },
  { ...configWatchers, strategy: watcherStrategy, typedItems: true },
  {
    ...pods,
    generation: false,
    conditionalUpdate: false,
    returnsDeleted: true,
    strategy: podStrategy,
    selectableFields: ['spec.nodeName', 'status.phase'],
    subresources: ['eviction'],
  },
  { ...configMaps, ...plain },
  { ...secrets, ...plain },
  { ...nodes, generation: false, conditionalUpdate: false },
  deployments,
  replicaSets,
  statefulSets,
  daemonSets,
  { ...controllerRevisions, ...plain },
  podDisruptionBudgets,
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespaced: true,
    ...plain,
    conditionalUpdate: true,
  },
  { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true, ...plain },
];

export class Cluster {
  readonly simulation: Simulation;
  readonly etcd = new Etcd();
  readonly network: SimulatedNetwork;
  readonly servers: readonly SimulatedApiServer[];
  /** Ms by which each server's watch cache is late. */
  readonly lags: number[];
  readonly byPlural = new Map(served.map((resource) => [resource.plural, resource]));

  constructor(simulation: Simulation, servers: number) {
    this.simulation = simulation;
    this.network = new SimulatedNetwork(simulation);
    this.lags = Array.from({ length: servers }, () => 0);
    this.servers = this.lags.map(
      (_, index) =>
        new SimulatedApiServer({
          ...{ etcd: this.etcd, time: simulation, name: `server-${index}`, resources: served },
          random: simulation.random.fork(`server ${index}`),
          lag: () => this.lags[index] ?? 0,
        }),
    );
  }

  /** Starts the controllers and the node. After whoever wants to see the changes has said so. */
  start(act: (user: string) => void): void {
    const writes = {
      request: (user: string, method: never, path: string, body?: object, type?: string) => {
        act(user);
        return this.server.request(user, method, path, body, type);
      },
    };
    const { etcd } = this;
    const view = {
      get: (resource: Resource, namespace: string, name: string) => etcd.get(resource, namespace, name),
      list: (resource: Resource, namespace?: string) => etcd.list(resource, namespace),
      resources: () => this.server.resources,
    };
    const cluster = { view, changes: etcd, writes, time: this.simulation } as never;
    const setting = (name: string) => ({ cluster, random: this.simulation.random.fork(name) });
    deploymentController(setting('deployments'));
    replicaSetController(setting('replicasets'));
    statefulSetController(setting('statefulsets'));
    daemonSetController(setting('daemonsets'));
  }

  get server(): SimulatedApiServer {
    return this.servers[0] as SimulatedApiServer;
  }

  /** `/apis/apps/v1/namespaces/shop/deployments/app-0` */
  pathOf(plural: string, namespace: string, name = '', subresource = ''): string {
    const resource = this.byPlural.get(plural);
    if (resource === undefined) throw new RangeError(`${plural} are not served`);
    const { group, version, namespaced } = resource;
    const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    return [
      prefix,
      namespaced ? `/namespaces/${namespace}` : '',
      `/${plural}`,
      name && `/${name}`,
      subresource && `/${subresource}`,
    ].join('');
  }

  list<T extends KubernetesObject>(plural: string, namespace?: string): T[] {
    const resource = this.byPlural.get(plural);
    return resource === undefined ? [] : (this.etcd.list(resource, namespace) as T[]);
  }
}
