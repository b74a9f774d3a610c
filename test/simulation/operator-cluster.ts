/**
 * A simulated cluster with replicas of the shipped operator, and a little of what users and nodes do.
 */
import type { At } from '../../src/api/at.generated.ts';
import type { ConfigWatcher } from '../../src/api/configwatcher.generated.ts';
import { ats, configWatchers } from '../../src/api/resources.ts';
import type { Config } from '../../src/config.ts';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Pod,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import { secrets } from '../../src/kubernetes/types/core.generated.ts';
import { createOperator } from '../../src/operator.ts';
import type { HttpConnection } from '../../src/runtime/client/http-connection.ts';
import { events } from '../../src/runtime/events/event.ts';
import { type Lease, leases } from '../../src/runtime/leader/lease.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import type { ApiAnswer, ApiRequest } from '../../src/testing/api-server/api-message.ts';
import type { ServedResource } from '../../src/testing/api-server/served-resource.ts';
import { replicaSetController } from '../../src/testing/controllers/replica-set-controller.ts';
import { SimulatedCluster, type SimulatedClusterOptions } from '../../src/testing/simulated-cluster.ts';
import type { SimulatedReplica } from '../../src/testing/simulated-replica.ts';
import { type ReplicaSet, replicaSets } from '../../src/testing/workloads.ts';

const plain = { status: false, generation: false, conditionalUpdate: false } as const;

export const servedResources: readonly ServedResource[] = [
  { ...configMaps, ...plain },
  { ...secrets, ...plain },
  { ...events, ...plain },
  { ...leases, ...plain },
  { ...replicaSets, conditionalUpdate: false },
  {
    ...pods,
    conditionalUpdate: false,
    returnsDeleted: true,
    selectableFields: ['spec.nodeName', 'status.phase'],
    subresources: ['eviction'],
  },
  ats,
  configWatchers,
];

export const defaultConfig: Config = {
  metricsBindAddress: '0',
  secureMetrics: false,
  metricsCertPath: '',
  healthProbeBindAddress: '0',
  profilingBindAddress: '0',
  leaderElect: true,
  namespaces: [],
  logLevel: 'info',
  secretAccess: false,
  annotationController: false,
  annotatedWorkloads: false,
  reloaderAnnotations: false,
  autoReloadAll: false,
  authorCheck: false,
  atDefaults: { outputInStatus: true },
  failoverLaunchDelay: 1000,
  policySelfTest: false,
  podNamespace: 'atwatch-system',
};

export interface OperatorClusterOptions extends Partial<SimulatedClusterOptions> {
  readonly replicas?: number;
  readonly config?: Partial<Config>;
  /** The log of one process. */
  readonly logOf?: (process: string) => Logger;
}

/** One request with the answer that the server gave. */
export interface SeenRequest {
  /** True ms since the start. */
  readonly at: number;
  readonly process: string | undefined;
  readonly request: ApiRequest;
  readonly answer: ApiAnswer;
}

const user = 'kubernetes-admin';
/** Says which process a request is from: replicas have one user. */
const processHeader = 'x-process';
const namespace = 'shop';

export class OperatorCluster extends SimulatedCluster {
  /** Requests of the operator that are no GET, in the order of their answers. */
  readonly writes: SeenRequest[] = [];

  constructor({ replicas = 1, config, logOf = () => silentLogger, ...options }: OperatorClusterOptions = {}) {
    super({ seed: 'seed', resources: servedResources, ...options });
    for (const instance of this.instances) {
      instance.onRequest((request, answer) => {
        if (request.method === 'GET' || request.user === user) return;
        const { elapsed: at } = this.simulation;
        this.writes.push({ at, process: request.headers[processHeader], request, answer });
      });
    }
    replicaSetController({ cluster: this.access, random: this.simulation.random.fork('replica sets') });
    this.access.changes.onChange(({ type, resource, object }) => {
      if (type !== 'ADDED' || resource.plural !== pods.plural) return;
      this.simulation.schedule(1000, () => this.#run(object));
    });
    for (let index = 0; index < replicas; index++) {
      const name = `replica-${index}`;
      this.addReplica(
        name,
        (ports, process) =>
          createOperator({
            ...ports,
            openConnection: (endpoint) => signed(ports.openConnection(endpoint), process.name),
            config: { ...defaultConfig, ...config },
            version: '1.0.0',
            kubeConfig: this.kubeConfig,
            log: logOf(process.name),
            hostName: name,
            processMetrics: false,
          }),
        { restartAfter: 2000 },
      );
    }
  }

  startReplicas(): void {
    for (const replica of this.replicas.values()) replica.start();
  }

  get lease(): Lease | undefined {
    return this.access.view.get(leases, 'atwatch-system', 'atwatch');
  }

  /** The replica that holds the lease. */
  get leader(): SimulatedReplica | undefined {
    const holder = this.lease?.spec?.holderIdentity?.split('_')[0];
    return holder === undefined ? undefined : this.replicas.get(holder);
  }

  replica(index: number): SimulatedReplica {
    return this.replicas.get(`replica-${index}`) as SimulatedReplica;
  }

  get<T extends KubernetesObject>(resource: Resource<T>, name: string): T | undefined {
    return this.access.view.get(resource, namespace, name);
  }

  create<T extends KubernetesObject>(resource: Resource<T>, object: T): void {
    this.#ask('POST', pathOf(resource), { ...object, metadata: { ...object.metadata, namespace } });
  }

  patch(resource: Resource, name: string, patch: object, subresource = ''): void {
    this.#ask('PATCH', `${pathOf(resource)}/${name}${subresource}`, patch);
  }

  /** An At that is due after so many ms. */
  createAt(name: string, after: number): void {
    const schedule = new Date(this.simulation.now + after).toISOString().replace(/\.\d+Z$/, 'Z');
    const at = { metadata: { name }, spec: { schedule, command: 'echo hello' } };
    this.create(ats as Resource<KubernetesObject>, at);
  }

  at(name: string): At | undefined {
    return this.get(ats, name);
  }

  /** A ConfigMap, a ReplicaSet with a Pod, and a ConfigWatcher for both. */
  createWatched(name: string): void {
    const labels = { app: name };
    const configMap: ConfigMap = { metadata: { name }, data: { key: 'one' } };
    const replicaSet: ReplicaSet = {
      metadata: { name },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app' }] } },
      },
    };
    const watcher = { metadata: { name }, spec: { configMap: name, podSelector: labels } };
    this.create(configMaps, configMap);
    this.create(replicaSets, replicaSet);
    this.create(configWatchers as Resource<KubernetesObject>, watcher);
  }

  /** Deletes an At, and its Pods as the garbage collector does. */
  delete(name: string): void {
    this.#ask('DELETE', `${pathOf(ats)}/${name}`, {});
    for (const { metadata } of this.pods()) {
      const isOwn = metadata.ownerReferences?.[0]?.name === name;
      if (isOwn) this.#ask('DELETE', `${pathOf(pods)}/${metadata.name}`, {});
    }
  }

  editConfigMap(name: string, value: string): void {
    this.patch(configMaps, name, { data: { key: value } });
  }

  watcher(name: string): ConfigWatcher | undefined {
    return this.get(configWatchers, name);
  }

  pods(): readonly Pod[] {
    return this.access.view.list(pods, namespace);
  }

  /** What a node does for a Pod, in the simplest way: a command ends with 0, anything else goes on. */
  #run({ metadata: { name, ownerReferences } }: KubernetesObject): void {
    const at = new Date(this.simulation.now).toISOString();
    const condition = { type: 'Ready', status: 'True', lastTransitionTime: at };
    this.#setPodStatus(name, { phase: 'Running', conditions: [condition] });
    if (ownerReferences?.[0]?.kind !== ats.kind) return;
    const terminated = { exitCode: 0, reason: 'Completed', startedAt: at, finishedAt: at };
    const containerStatuses = [{ name: 'main', restartCount: 0, state: { terminated } }];
    this.simulation.schedule(2000, () => this.#setPodStatus(name, { phase: 'Succeeded', containerStatuses }));
  }

  #setPodStatus(name: string, status: object): void {
    if (this.get(pods, name) !== undefined) this.patch(pods, name, { status }, '/status');
  }

  #ask(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: object): void {
    const answer = this.api.request(user, method, path, body);
    if (answer.code > 299) throw new Error(`${method} ${path}: ${answer.code} ${answer.body}`);
  }
}

function signed(connection: HttpConnection, process: string): HttpConnection {
  return {
    endpoint: connection.endpoint,
    dispatch(options, handler) {
      const headers = [...(options.headers as string[]), processHeader, process];
      connection.dispatch({ ...options, headers }, handler);
    },
    break: () => connection.break(),
    close: () => connection.close(),
  };
}

function pathOf({ group, version, plural }: Resource): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}/namespaces/${namespace}/${plural}`;
}
