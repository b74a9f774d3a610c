/**
 * SimulatedCluster: everything together: virtual time, etcd, API servers, the network, and the replicas of an
 * operator. Controllers and nodes are added where a story needs them, on {@link SimulatedCluster.access}.
 */
import { KubeConfig } from '@kubernetes/client-node';
import type { KubernetesObject, Resource } from '../kubernetes/objects.ts';
import { Etcd } from './api-server/etcd.ts';
import type { ServedResource } from './api-server/served-resource.ts';
import { SimulatedApiServer } from './api-server/simulated-api-server.ts';
import type { ClusterAccess } from './cluster-ports.ts';
import { SimulatedNetwork } from './network/simulated-network.ts';
import { SimulatedReplica, type SimulatedReplicaOptions } from './simulated-replica.ts';
import { Simulation, type SimulationOptions } from './simulation.ts';

/** What the cluster is made of, and the seed of everything. */
export interface SimulatedClusterOptions extends SimulationOptions {
  /** What the API servers serve. */
  readonly resources: readonly ServedResource[];
  /** How many instances of the API server there are, named `api-0`, `api-1`, … Default 1. */
  readonly instances?: number;
}

/** How a replica differs from the usual one. */
export type ReplicaOptions = Partial<Pick<SimulatedReplicaOptions, 'user' | 'clocks' | 'restartAfter'>>;

/** Who an operator's requests are from. */
const operatorUser = 'system:serviceaccount:atwatch-system:atwatch';

/** API servers on one etcd, a network, and the replicas of an operator, all on the time of one simulation. */
export class SimulatedCluster {
  readonly simulation: Simulation;
  readonly etcd = new Etcd();
  readonly network: SimulatedNetwork;
  readonly instances: readonly SimulatedApiServer[];
  readonly replicas = new Map<string, SimulatedReplica>();
  /** What an operator finds the API servers with. */
  readonly kubeConfig: KubeConfig;
  /** What controllers, nodes and people need of the cluster. */
  readonly access: ClusterAccess;

  constructor({ resources, instances = 1, ...options }: SimulatedClusterOptions) {
    const { etcd } = this;
    const simulation = new Simulation(options);
    this.simulation = simulation;
    this.network = new SimulatedNetwork(simulation);
    this.instances = Array.from({ length: instances }, (_, index) => {
      const name = `api-${index}`;
      const random = simulation.random.fork(name);
      return new SimulatedApiServer({ etcd, time: simulation, random, name, resources });
    });
    for (const instance of this.instances) this.network.addServer(instance.name, instance);
    this.kubeConfig = kubeConfigOf('https://kubernetes.default.svc');
    this.access = accessOf(etcd, this.api, simulation);
  }

  /** The first instance, for those that do not care which. */
  get api(): SimulatedApiServer {
    return this.instances[0] as SimulatedApiServer;
  }

  /** A replica, not started yet. */
  addReplica(
    name: string,
    build: SimulatedReplicaOptions['build'],
    options: ReplicaOptions = {},
  ): SimulatedReplica {
    const replica = new SimulatedReplica({
      user: operatorUser,
      ...options,
      ...{ network: this.network, name, build },
    });
    this.replicas.set(name, replica);
    return replica;
  }

  /** Lets so many ms pass. */
  async pass(ms: number): Promise<void> {
    await this.simulation.run({ until: this.simulation.elapsed + ms });
  }

  /**
   * Lets time pass until the condition holds, and returns how many ms that took.
   *
   * @throws {Error} when it does not within `limit` ms.
   */
  async until(condition: () => boolean, limit: number): Promise<number> {
    const begun = this.simulation.elapsed;
    await this.simulation.run({ until: begun + limit, when: condition });
    if (!condition()) throw new Error(`not within ${limit} simulated ms: ${condition}`);
    return this.simulation.elapsed - begun;
  }
}

function kubeConfigOf(server: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'simulated', server, skipTLSVerify: false }, { name: 'simulated' });
  return config;
}

function accessOf(etcd: Etcd, api: SimulatedApiServer, simulation: Simulation): ClusterAccess {
  return {
    view: {
      get: <T extends KubernetesObject>(resource: Resource<T>, namespace: string, name: string) =>
        etcd.get(resource, namespace, name) as T | undefined,
      list: <T extends KubernetesObject>(resource: Resource<T>, namespace?: string) =>
        etcd.list(resource, namespace) as T[],
      resources: () => api.resources,
    },
    changes: { onChange: (listener) => etcd.onChange(listener) },
    writes: {
      request: (user, method, target, body, contentType) =>
        api.request(user, method, target, body, contentType),
    },
    time: simulation,
  };
}
