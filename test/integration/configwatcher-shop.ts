/**
 * Shop: a namespace of a real cluster with a web app, an operator that can be stopped and started, and a
 * stand-in for the kubelet (Pods get Ready half a second after they appear).
 */
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { Registry } from '@prometheus-io/client';
import { parseAllDocuments } from 'yaml';
import type { ConfigWatcher, ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { addConfigWatcherController } from '../../src/configwatcher/controller.ts';
import { daemonSets, deployments, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import {
  type ConfigMap,
  configMaps,
  type KubernetesObject,
  type Pod,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';
import { applyCrds, connectToTestCluster, eventually, testKubeConfig, withNamespace } from './support.ts';
import { testManager } from './test-manager.ts';

export const podDisruptionBudgets: Resource<
  KubernetesObject & {
    readonly spec?: object;
    readonly status?: { readonly disruptionsAllowed?: number; readonly observedGeneration?: number };
  }
> = {
  ...{ group: 'policy', version: 'v1', plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget' },
  namespaced: true,
};

export const events: Resource<
  KubernetesObject & {
    readonly reason?: string;
    readonly type?: string;
    readonly note?: string;
    readonly regarding?: { readonly kind?: string; readonly name?: string };
    readonly series?: { readonly count?: number };
  }
> = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };

/** Manifests of the book by API group, where they are at hand. */
export const books = '../shared/books/k8spatterns';

export type Kind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

const kinds: Readonly<Record<Kind, Resource>> = {
  Deployment: deployments,
  StatefulSet: statefulSets,
  DaemonSet: daemonSets,
};

const nodes: Resource<KubernetesObject & { spec?: object; status?: object }> = {
  ...{ group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false },
};

const labels = { app: 'webapp' };
const startup = 500;
/** Ms between two reports of a kubelet. */
const heartbeat = 10_000;

/** A rollout awaits that it is ready. No node runs the probe: the kubelets of the shop say when it is. */
export const probedContainer = {
  ...{ name: 'app', image: 'mini-http-server' },
  readinessProbe: { exec: { command: ['true'] } },
};

function podTemplate(configMap: string, deployment: string) {
  const from = { configMapKeyRef: { name: configMap, key: 'message' } };
  return {
    metadata: { labels: { ...labels, deployment } },
    spec: {
      containers: [{ ...probedContainer, env: [{ name: 'MESSAGE', valueFrom: from }] }],
    },
  };
}

/** Where the Pods of a workload run. */
export interface Placement {
  /** How many nodes of their own they get: without any, no scheduler finds one for them. For a DaemonSet one each. */
  readonly nodes?: number;
  /** On a node, how long a Pod may take to end. By default it ends at once. */
  readonly graceSeconds?: number;
  /** On a node: that its Pods stay wanted there whatever becomes of it, as agents of nodes are. */
  readonly toleratesAll?: boolean;
}

export function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
}

/** Resolves when an edit has a later second than the creation of each of the Pods: the API server tells whole seconds. */
export async function untilOlderThanEdits(existing: readonly Pod[]): Promise<void> {
  const created = existing.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
  await eventually(() => Date.now() >= Math.max(...created) + 1000, { interval: 20 });
}

export class Shop {
  readonly namespace: string;
  readonly client: Client;
  /** uid of every selected Pod ever seen, in order of appearance. */
  readonly seen: string[] = [];
  /** Pods that appear while this is true never get Ready. */
  breaksPods = false;
  /** The program in Pods that appear while this is true ends soon after each start. */
  crashesPods = false;
  /** No Pod starts while this is true. */
  isKubeletSlow = false;
  /** No node takes Pods that appear while this is true. */
  isFull = false;
  /** Nodes without a kubelet: the node controller notices it by itself, within a minute. */
  readonly deadNodes = new Set<string>();
  readonly #waiting = new Set<string>();
  readonly #stuck = new Set<string>();
  readonly #crashing = new Set<string>();
  readonly #broken = new Set<string>();
  readonly #nodes: string[] = [];
  readonly #stopping = new AbortController();
  readonly #operators: { readonly stop: AbortController; readonly ended: Promise<void> }[] = [];
  #kubelet: Promise<void>;

  static async open(t: TestContext): Promise<Shop> {
    await applyCrds();
    const shop = new Shop(await withNamespace(t), connectToTestCluster().client);
    t.after(() => shop.close());
    return shop;
  }

  /** One with a web app, an operator, and a watcher that has seen both and acts at once. */
  static async watched(
    t: TestContext,
    replicas: number,
    {
      kind,
      operator = {},
      ...spec
    }: Partial<ConfigWatcher['spec']> & {
      kind?: 'StatefulSet';
      operator?: Parameters<Shop['startOperator']>[0];
    } = {},
  ): Promise<Shop> {
    const shop = await Shop.open(t);
    await shop.createConfigMap({ message: 'first' });
    await shop.deploy(replicas, kind);
    await shop.startOperator(operator);
    await shop.watch({ debounce: { quiet: '0s' }, cooldown: { base: '0s' }, ...spec });
    await shop.baselined();
    return shop;
  }

  private constructor(namespace: string, client: Client) {
    this.namespace = namespace;
    this.client = client;
    this.#kubelet = this.#runKubelet();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.stopOperator();
    await this.#kubelet;
    for (const name of this.#nodes) await this.client.delete(nodes, { name }).catch(() => {});
  }

  async #runKubelet(): Promise<void> {
    const { signal } = this.#stopping;
    const since = new Map<string, number>();
    let beatAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      if (performance.now() - beatAt > heartbeat) {
        beatAt = performance.now();
        await this.#beat().catch(() => {});
      }
      for (const pod of await this.pods().catch(() => [])) {
        const { uid = '' } = pod.metadata;
        this.#meet(uid);
        const appeared = since.get(uid) ?? performance.now();
        since.set(uid, appeared);
        await this.#tend(pod, performance.now() - appeared).catch(() => {});
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #tend(pod: Pod, age: number): Promise<void> {
    if (this.deadNodes.has(pod.spec.nodeName ?? '')) return;
    if (pod.metadata.deletionTimestamp) await this.#end(pod);
    if (!this.isKubeletSlow && !isReady(pod) && age >= startup) await this.#start(pod);
  }

  /** Where it is missing for a minute, the node controller takes the node for lost, and its Pods for not Ready. */
  async #beat(): Promise<void> {
    const lastHeartbeatTime = new Date().toISOString();
    const body = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime }] } };
    for (const name of this.#nodes.filter((one) => !this.deadNodes.has(one))) {
      await this.client.patchStatus(nodes, { name }, { type: 'merge', body });
    }
  }

  /** Remembers what becomes of a Pod that appears now. */
  #meet(uid: string): void {
    if (this.seen.includes(uid)) return;
    this.seen.push(uid);
    if (this.breaksPods) this.#broken.add(uid);
    if (this.crashesPods) this.#crashing.add(uid);
    if (this.isFull) this.#waiting.add(uid);
  }

  async #start(pod: Pod): Promise<void> {
    const { uid = '', name } = pod.metadata;
    const isStuck = this.#broken.has(uid) || this.#crashing.has(uid);
    if (this.#waiting.has(uid) || this.#stuck.has(uid)) return;
    if (!isStuck) return await this.getsReady(name);
    await this.#getsStuck(pod, this.#crashing.has(uid));
    this.#stuck.add(uid);
  }

  /** Of a Pod without a node, as of most here, the API server knows that no kubelet has to end it. */
  async #end({ metadata: { name, uid = '' }, spec }: Pod): Promise<void> {
    if (spec.nodeName === undefined) return;
    await this.client.delete(pods, { namespace: this.namespace, name }, { gracePeriodSeconds: 0, uid });
  }

  /**
   * A Pod with a node, of which there is none here: for the scheduler it stays without. The version keeps an old list
   * from undoing what a test has done to the Pod since.
   */
  async #getsStuck({ metadata }: Pod, crashes: boolean): Promise<void> {
    const { name, resourceVersion } = metadata;
    const terminated = { exitCode: 3, reason: 'Error', message: 'no such port' };
    const app = { name: 'app', image: 'mini-http-server', imageID: '', ready: false, restartCount: 2 };
    const waiting = { reason: 'CrashLoopBackOff' };
    const containerStatuses = [{ ...app, state: { waiting }, lastState: { terminated } }];
    const conditions = [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: 'False' },
    ];
    const status = { phase: 'Running' as const, conditions, ...(crashes && { containerStatuses }) };
    const body = { metadata: { resourceVersion }, status };
    await this.client.patchStatus(pods, { namespace: this.namespace, name }, { type: 'merge', body });
  }

  /** Makes a Pod Ready, one that is not to start by itself, too. */
  async getsReady(name: string): Promise<void> {
    const conditions = ['ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' as const }));
    const body = { status: { phase: 'Running' as const, conditions } };
    await this.client.patchStatus(pods, { namespace: this.namespace, name }, { type: 'merge', body });
  }

  /** Resolves when the operator has looked at everything there is. Another one that runs already goes on beside it. */
  async startOperator({
    secretAccess = false,
    annotationController = false,
    isPatchJailed = (): boolean => true,
    kubeConfig = testKubeConfig(),
    clock = systemClock as Clock,
    namespaces = [this.namespace],
    log = silentLogger as Logger,
    /** Name of the Pod that the operator takes for its own. */
    ownPod = undefined as string | undefined,
    /** May put something in the way of its calls. */
    onConnect = (_: Client): void => {},
    /** Where its metrics go. */
    registry = new Registry(),
  } = {}): Promise<void> {
    const manager = testManager({ namespaces, kubeConfig, clock, log, registry, onConnect });
    addConfigWatcherController(manager, {
      ...{ annotationController, isPatchJailed },
      ...(secretAccess && { secretKeyNamespace: this.namespace }),
      ...(ownPod !== undefined && { ownPod: { namespace: this.namespace, name: ownPod } }),
    });
    const ready = Promise.withResolvers<void>();
    manager.add({
      name: 'ready',
      needsLeaderElection: false,
      async start() {
        ready.resolve();
      },
    });
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    this.#operators.push({ stop, ended });
    ended.catch(ready.reject);
    await ready.promise;
  }

  /** Of several, all. */
  async stopOperator(): Promise<void> {
    const operators = this.#operators.splice(0);
    for (const { stop } of operators) stop.abort();
    for (const { ended } of operators) await ended;
  }

  async label(pod: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const body = { metadata: { labels } };
    await this.client.patch(pods, { namespace: this.namespace, name: pod }, { type: 'merge', body });
  }

  async pods(): Promise<Pod[]> {
    const { items } = await this.client.list(pods, {
      namespace: this.namespace,
      labelSelector: 'app=webapp',
    });
    return items;
  }

  /** Creates what a manifest of the book says, as it stands there. */
  async applyBook(file: string, group: 'io' | 'com' = 'io'): Promise<void> {
    const resources: Resource[] = [configMaps, deployments, configWatchers];
    for (const document of parseAllDocuments(await readFile(`${books}/${group}/${file}`, 'utf8'))) {
      const object: KubernetesObject = document.toJS();
      const resource = resources.find(({ kind }) => kind === object?.kind);
      const metadata = { ...object?.metadata, namespace: this.namespace };
      if (resource) await this.client.create(resource, { ...object, metadata });
    }
  }

  createConfigMap(data: Record<string, string>, name = 'webapp-config'): Promise<ConfigMap> {
    return this.client.create(configMaps, { metadata: { namespace: this.namespace, name }, data });
  }

  patchConfigMap(body: object, name = 'webapp-config'): Promise<ConfigMap> {
    return this.client.patch(configMaps, { namespace: this.namespace, name }, { type: 'merge', body });
  }

  /** The state of the ConfigMap as a watcher of itself, as text. */
  async ownState(): Promise<string> {
    const key = { namespace: this.namespace, name: 'webapp-config' };
    const { metadata } = await this.client.get(configMaps, key);
    return metadata.annotations?.['k8spatterns.io/observed'] ?? '';
  }

  watch(spec: Partial<ConfigWatcher['spec']> = {}, name = 'webapp-config-watcher'): Promise<ConfigWatcher> {
    return this.client.create(configWatchers, {
      metadata: { namespace: this.namespace, name },
      spec: {
        ...{ configMap: 'webapp-config', podSelector: labels, ...spec },
        // What most tests count is evictions.
        strategy: { type: 'Evict', ...spec.strategy },
      },
    });
  }

  /** Merges this into the spec of the watcher. */
  edit(spec: Partial<ConfigWatcher['spec']>, name = 'webapp-config-watcher'): Promise<ConfigWatcher> {
    const key = { namespace: this.namespace, name };
    return this.client.patch(configWatchers, key, { type: 'merge', body: { spec } });
  }

  /** Its Pods have the label `deployment` besides; resolves when they are Ready. */
  async deploy(
    replicas: number,
    kind: Kind = 'Deployment',
    name = 'webapp',
    placement: Placement = {},
  ): Promise<void> {
    const others = (await this.pods()).length;
    await this.createWorkload(replicas, kind, name, placement);
    await this.allReady(others + replicas);
  }

  /** The same without waiting for its Pods. */
  async createWorkload(replicas: number, kind: Kind, name: string, placement: Placement = {}): Promise<void> {
    const plain = podTemplate('webapp-config', name);
    const { nodes: count = kind === 'DaemonSet' ? replicas : 0 } = placement;
    const template = count > 0 ? await this.#withNodes(plain, count, placement) : plain;
    const spec = {
      selector: { matchLabels: plain.metadata.labels },
      ...(kind !== 'DaemonSet' && { replicas }),
      template,
    };
    const object = { metadata: { namespace: this.namespace, name }, spec };
    await this.client.create<KubernetesObject>(kinds[kind], object);
  }

  /** Changes its template as an upgrade does. */
  async upgrade(kind: Kind, name = 'webapp'): Promise<void> {
    const body = { spec: { template: { metadata: { annotations: { release: '2' } } } } };
    await this.client.patch(kinds[kind], { namespace: this.namespace, name }, { type: 'merge', body });
  }

  /** How many specs the workload has had. */
  async generation(kind: Kind, name = 'webapp'): Promise<number | undefined> {
    return (await this.client.get(kinds[kind], { namespace: this.namespace, name })).metadata.generation;
  }

  /** Makes nodes for these Pods alone. */
  async #withNodes(
    { metadata, spec }: ReturnType<typeof podTemplate>,
    count: number,
    { graceSeconds = 0, toleratesAll = false }: Placement,
  ): Promise<object> {
    const taint = { key: 'shop', value: this.namespace };
    const resources = { pods: '500', cpu: '100', memory: '100Gi' };
    for (let index = 0; index < count; index++) {
      const name = `${this.namespace}-${index}`;
      await this.client.create(nodes, {
        metadata: { name, labels: { shop: this.namespace } },
        spec: { taints: [{ ...taint, effect: 'NoSchedule' }] },
      });
      this.#nodes.push(name);
      const body = { status: { allocatable: resources, capacity: resources } };
      await this.client.patchStatus(nodes, { name }, { type: 'merge', body });
    }
    await this.#beat();
    const toleration = toleratesAll ? { operator: 'Exists' } : { ...taint, operator: 'Equal' };
    const placed = { nodeSelector: { shop: this.namespace }, tolerations: [toleration] };
    return { metadata, spec: { ...spec, ...placed, terminationGracePeriodSeconds: graceSeconds } };
  }

  deleteNode(name: string): Promise<unknown> {
    return this.client.delete(nodes, { name });
  }

  /** Resolves when there are exactly so many Pods, all Ready. */
  allReady(replicas: number): Promise<Pod[]> {
    return eventually(
      async () => {
        const found = await this.pods();
        const ready = found.filter((pod) => pod.metadata.deletionTimestamp === undefined && isReady(pod));
        return found.length === replicas && ready.length === replicas && found;
      },
      { timeout: 30_000, message: `${replicas} Pods are Ready` },
    );
  }

  /** Resolves when an edit has a later second than the creation of each Pod. */
  async olderThanEdits(): Promise<void> {
    await untilOlderThanEdits(await this.pods());
  }

  watcher(name = 'webapp-config-watcher'): Promise<ConfigWatcher> {
    return this.client.get(configWatchers, { namespace: this.namespace, name });
  }

  async status(name?: string): Promise<ConfigWatcherStatus> {
    return (await this.watcher(name)).status ?? {};
  }

  /** Resolves with the status once it is as asked for. */
  until(
    message: string,
    holds: (status: ConfigWatcherStatus) => boolean,
    { name, timeout = 90_000 }: { readonly name?: string; readonly timeout?: number } = {},
  ): Promise<ConfigWatcherStatus> {
    return eventually(
      async () => {
        const status = await this.status(name);
        return holds(status) && status;
      },
      { timeout, message },
    );
  }

  /** Resolves when the watcher has seen its sources, and an edit has a later second than the creation of each Pod. */
  async baselined(name?: string): Promise<ConfigWatcherStatus> {
    const isWritten = ({ appliedHash }: ConfigWatcherStatus) => appliedHash !== undefined;
    const status = await this.until('the baseline is written', isWritten, { ...(name && { name }) });
    // Else a Pod that a restart makes at once may count as one of those before it, and is restarted as well.
    await this.olderThanEdits();
    return status;
  }

  restarted(count: number): Promise<ConfigWatcherStatus> {
    return this.until(
      `${count} restarts are done`,
      ({ restartCount, pending }) => restartCount === count && pending === undefined,
    );
  }

  /** Resolves with the Event of that reason. */
  untilEvent(reason: string): Promise<KubernetesObject & { readonly note?: string }> {
    return eventually(
      async () => {
        const { items } = await this.client.list(events, { namespace: this.namespace });
        return items.find((event) => event.reason === reason);
      },
      { timeout: 90_000, message: `the Event ${reason}` },
    );
  }

  /** So long that an operator that wanted to restart something would have. */
  quiet(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, 4000));
  }
}
