/**
 * TestCluster: what a test of an operator needs of a simulated cluster: its CRDs, the operator on simulated time and
 * network, objects that a user writes, and waits that end. No socket is opened and no time is spent waiting.
 */
import { parseAllDocuments } from 'yaml';
import { apiVersionOf, type KubernetesObject, type Resource } from '../kubernetes/objects.ts';
import type { ObjectKey } from '../runtime/client/client.ts';
import { creationPath, objectPath } from '../runtime/client/resource-path.ts';
import type { CreateManagerOptions } from '../runtime/manager/create-manager.ts';
import type { Manager } from '../runtime/manager/manager.ts';
import { clusterResources } from './api-server/cluster-resources.ts';
import { type Definition, resourcesOf } from './api-server/custom/definitions.ts';
import type { WriteMethod } from './cluster-ports.ts';
import { startControllers } from './controllers/controller-manager.ts';
import { LogLines } from './log-lines.ts';
import type { NetworkFaultKind } from './network/network-fault.ts';
import { shellProgram } from './node/shell-program.ts';
import { startNodes } from './node/start-nodes.ts';
import { namespaces } from './objects.ts';
import { type ReplicaOptions, SimulatedCluster } from './simulated-cluster.ts';
import type { SimulatedReplica } from './simulated-replica.ts';

/** Options of a {@link TestCluster}; everything has a default. */
export interface TestClusterOptions {
  /** Decides every delay, order and fault; the same seed gives the same run. Default `1`. */
  readonly seed?: string | number;
  /** CustomResourceDefinitions, each the text of a YAML file; what else is in it is left out. */
  readonly crds?: readonly string[];
  /** Namespaces there are from the start. Default: `default` alone. */
  readonly namespaces?: readonly string[];
  /** Whether garbage collection, Deployments, ReplicaSets, StatefulSets and DaemonSets work. Default true. */
  readonly controllers?: boolean;
  /** Nodes that run Pods. Default 0: Pods stay Pending. */
  readonly nodes?: number;
  /** Instances of the API server. Default 1. */
  readonly instances?: number;
  /** True wall-clock time at the start, epoch ms. Default 2024-01-01T00:00:00Z. */
  readonly startsAt?: number;
}

/** What ties a Manager to the simulated cluster; to be spread into the options of `createManager`. */
export type SimulatedManagerOptions = Pick<CreateManagerOptions, 'kubeConfig' | 'log'> &
  Required<Pick<CreateManagerOptions, 'clock' | 'randomness' | 'openConnection' | 'processMetrics'>>;

/** Makes the operator of one process, as its main program does. */
export type BuildOperator = (options: SimulatedManagerOptions) => Manager;

/** How a replica of {@link TestCluster.run} behaves. */
export interface RunOptions extends ReplicaOptions {
  /** Unlike any other's. Default `operator`. */
  readonly name?: string;
}

/** Simulated ms that a wait may last when it does not say so itself. */
const patience = 120_000;
const admin = 'kubernetes-admin';
/** How likely each kind of fault is for each request, unless a test says otherwise. */
const usualFaults: Readonly<Record<NetworkFaultKind, number>> = {
  ...{ requestLost: 0.03, answerLost: 0.03, cut: 0.02, drip: 0.01, delay: 0.03, page: 0.02 },
};

/** A simulated cluster with the verbs that a test needs; {@link TestCluster.cluster} has everything else. */
export class TestCluster {
  readonly cluster: SimulatedCluster;
  /** What the operators have logged. */
  readonly log: LogLines;

  constructor(options: TestClusterOptions = {}) {
    const { seed = 1, crds = [], controllers = true, nodes = 0, instances = 1, startsAt } = options;
    const custom = crds.flatMap(definitionsIn).flatMap(resourcesOf);
    const cluster = new SimulatedCluster({
      ...{ seed: String(seed), instances, resources: [...clusterResources, ...custom] },
      ...(startsAt !== undefined && { startsAt }),
    });
    this.cluster = cluster;
    this.log = new LogLines(() => cluster.simulation.now);
    for (const name of options.namespaces ?? ['default']) this.create(namespaces, { metadata: { name } });
    const { access, simulation } = cluster;
    if (controllers) startControllers({ cluster: access, random: simulation.random.fork('controllers') });
    if (nodes > 0) {
      const random = simulation.random.fork('nodes');
      startNodes({ cluster: access, random, count: nodes, program: shellProgram });
    }
  }

  /** The wall clock, epoch ms. */
  get now(): number {
    return this.cluster.simulation.now;
  }

  /** Starts a replica of an operator. */
  run(build: BuildOperator, { name = 'operator', ...options }: RunOptions = {}): SimulatedReplica {
    const { kubeConfig } = this.cluster;
    const log = this.log.logger({ replica: name });
    const replica = this.cluster.addReplica(
      name,
      (ports) => build({ ...ports, kubeConfig, log, processMetrics: false }),
      options,
    );
    replica.start();
    return replica;
  }

  /** As a user's `kubectl create`. @throws {Error} with the API server's answer when it refuses. */
  create<T extends KubernetesObject>(
    resource: Resource<T>,
    object: Omit<T, 'apiVersion' | 'kind' | 'status'>,
  ): T {
    const { namespace } = object.metadata;
    const path = creationPath(resource, resource.namespaced ? (namespace ?? 'default') : undefined);
    const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
    return this.#request('POST', path, typed);
  }

  /** As a user's merge patch. */
  patch<T extends KubernetesObject>(resource: Resource<T>, key: ObjectKey, body: object): T {
    return this.#request('PATCH', pathOf(resource, key), body);
  }

  /** As another controller's merge patch of the status; `body` is the status. */
  patchStatus<T extends KubernetesObject>(resource: Resource<T>, key: ObjectKey, status: object): T {
    return this.#request('PATCH', pathOf(resource, key, 'status'), { status });
  }

  /** As a user's `kubectl delete`, which leaves what has finalizers. */
  delete(resource: Resource, key: ObjectKey): void {
    this.#request('DELETE', pathOf(resource, key), {});
  }

  /** Undefined when there is no such object. */
  find<T extends KubernetesObject>(resource: Resource<T>, key: ObjectKey): T | undefined {
    return this.cluster.access.view.get(resource, namespaceOf(resource, key) ?? '', key.name);
  }

  /** @throws {Error} when there is no such object. */
  get<T extends KubernetesObject>(resource: Resource<T>, key: ObjectKey): T {
    const object = this.find(resource, key);
    if (object === undefined) throw new Error(`there is no ${resource.kind} ${key.name}`);
    return object;
  }

  /** In the order of their names. @param namespace absent: all namespaces. */
  list<T extends KubernetesObject>(resource: Resource<T>, namespace?: string): readonly T[] {
    return this.cluster.access.view.list(resource, namespace);
  }

  /** Lets so many ms pass. */
  async pass(ms: number): Promise<void> {
    await this.cluster.pass(ms);
  }

  /**
   * Lets time pass until the condition holds, and returns how many ms that took.
   *
   * @param limit simulated ms. Default two minutes.
   * @throws {Error} when it does not within the limit; the message has what was logged last.
   */
  async until(condition: () => boolean, limit = patience): Promise<number> {
    try {
      return await this.cluster.until(condition, limit);
    } catch (cause) {
      const ends = [...this.cluster.replicas.values()].flatMap((replica) =>
        replica.ends.map(({ code, stderr }) => `${replica.name} ended with ${code}: ${stderr}`),
      );
      const story = [String(cause), ...ends, ...this.log.lines.slice(-20)].join('\n');
      throw new Error(story, { cause });
    }
  }

  /**
   * From now on requests of all replicas meet seeded faults: lost, cut, late, answered by a proxy. Returns what ends
   * that.
   *
   * @param rates how likely each kind is for a request, 0 to 1, together at most 1.
   */
  disturb(rates: Partial<Readonly<Record<NetworkFaultKind, number>>> = usualFaults): () => void {
    const links = [...this.cluster.replicas.values()].map(({ link }) => link);
    for (const link of links) link.faultRates = rates;
    return () => {
      for (const link of links) link.faultRates = undefined;
    };
  }

  #request<T>(method: WriteMethod, path: string, body: object): T {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = this.cluster.access.writes.request(admin, method, path, body, contentType);
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.body}`);
    return JSON.parse(answer.body);
  }
}

function definitionsIn(text: string): Definition[] {
  const objects = parseAllDocuments(text).map((document): Definition => document.toJS());
  return objects.filter((object) => object?.kind === 'CustomResourceDefinition');
}

function namespaceOf(resource: Resource, { namespace }: ObjectKey): string | undefined {
  return resource.namespaced ? (namespace ?? 'default') : undefined;
}

function pathOf(resource: Resource, key: ObjectKey, subresource?: string): string {
  const namespace = namespaceOf(resource, key);
  return objectPath(resource, { name: key.name, ...(namespace && { namespace }) }, subresource);
}
