/**
 * Cluster for the ConfigWatcher benchmark: etcd and an API server, with an audit log, and the operator as a child
 * process. Deployments, ReplicaSets and Pods are written by the benchmark, and no controller replaces a Pod; for rollouts
 * it writes the Deployments alone, and the real controllers do the rest.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';
import type { ConfigWatcherSpec, ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments, replicaSets } from '../../src/configwatcher/facts/workload.ts';
import { configMaps, type KubernetesObject, type Pod, pods } from '../../src/kubernetes/objects.ts';
import { isAlreadyExists } from '../../src/runtime/client/api-error.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { inParallel } from '../fixtures/in-parallel.ts';
import { type AuditedRequest, requestsOf } from './at-audit.ts';
import { BenchApiServer } from './bench-api-server.ts';
import { asInTheImage } from './image.ts';
import { cpuOf, memoryOf } from './process-usage.ts';
import { ReturningPods } from './returning-pods.ts';

/** Requests of the benchmark at a time. */
export const concurrency = 32;
/** Instants of receipt by name, epoch milliseconds with a fraction. */
type Receipts = ReadonlyMap<string, number>;

/** How long a new process is let alone before its memory is looked at, ms. */
const settled = 5000;
/**
 * As a scheduler would have placed it: one without a node has yet to read its configuration, and nothing is restarted.
 * No kubelet ends it, so that its end must not wait for one.
 */
const podSpec = {
  containers: [{ name: 'app', image: 'webapp' }],
  nodeName: 'node',
  terminationGracePeriodSeconds: 0,
};

/** How long anything may take before the benchmark gives up, ms. */
const patience = 300_000;
/** How long the first Pod of a new content has to stay Ready, ms. */
const seasoning = 10_000;
/** Restarts at once, and all Pods of an owner together. */
const atOnce = {
  debounce: { quiet: '0s' },
  cooldown: { base: '0s' },
  strategy: { type: 'Evict', maxUnavailable: '100%' },
} as const;

/** Who sent a request, by its user agent. */
export const sentBy = { operator: /^atwatch/, bench: /^bench/ } as const;

/** What a namespace holds: so many times a ConfigMap with its watcher and the Pods of so many owners. */
export interface Shops {
  readonly count: number;
  readonly owners?: number;
  readonly podsEach?: number;
  /** Of the watchers; they restart at once unless it says otherwise. */
  readonly spec?: Partial<ConfigWatcherSpec>;
}

/** What a null loader restarts, one owner first and then so many at a time. */
interface NullRestarts {
  readonly owners: number;
  readonly podsEach: number;
  readonly atATime: number;
}

/** Milliseconds until the last write of restarts that go on after the first one has stood for a while. */
async function lastOf(
  owners: number,
  atATime: number,
  restart: (owner: number, wrote: () => void) => Promise<void>,
): Promise<number> {
  const begin = performance.now();
  let last = begin;
  const wrote = () => {
    last = performance.now();
  };
  await restart(0, wrote);
  await sleep(seasoning);
  await inParallel(owners - 1, atATime, (index) => restart(index + 1, wrote));
  return last - begin;
}

/** Its name, as the Deployment's controller would make it. */
function replicaSetOf(deployment: string): string {
  return `${deployment}-6c5f9b7d4d`;
}

export class WatcherCluster {
  readonly #server: BenchApiServer;
  readonly #client: Client;
  readonly #controllerManager: boolean;
  #operator: OperatorProcess | undefined;

  private constructor(server: BenchApiServer, controllerManager: boolean) {
    this.#server = server;
    this.#client = server.client;
    this.#controllerManager = controllerManager;
  }

  /** @param controllerManager whether the real controllers run. */
  static async start({ controllerManager = false } = {}): Promise<WatcherCluster> {
    const server = await BenchApiServer.start({ maxRequests: concurrency, controllerManager });
    const cluster = new WatcherCluster(server, controllerManager);
    await cluster.startOperator();
    return cluster;
  }

  async stop(): Promise<void> {
    await this.stopOperator();
    await this.#server.stop();
  }

  /** What a new process has after its start: megabytes when quiet, milliseconds until ready. */
  async restartOperator(): Promise<{ readonly rss: number; readonly ready: number }> {
    await this.stopOperator();
    const begin = performance.now();
    await this.startOperator();
    const ready = performance.now() - begin;
    await sleep(settled);
    return { ready, rss: await this.rss() };
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
  }

  async startOperator(): Promise<void> {
    const { kubeconfig, directory } = this.#server.plane;
    this.#operator = await startOperator(kubeconfig, join(directory, 'operator.log'), asInTheImage);
  }

  /** Megabytes. */
  async rss(): Promise<number> {
    return (await memoryOf(this.#operator?.process.pid)).now;
  }

  /** CPU time of the operator so far, milliseconds. */
  cpu(): Promise<number> {
    return cpuOf(this.#operator?.process.pid);
  }

  namespace(name: string): Promise<string> {
    return this.#server.namespace(name);
  }

  /** ConfigMaps `shop-0`, `shop-1` …; the Deployments are `shop-0-0` …, their Pods `shop-0-0-0` …. */
  async createShops(namespace: string, { count, owners = 1, podsEach = 1, spec = {} }: Shops): Promise<void> {
    await inParallel(count * owners, concurrency, async (index) => {
      const name = `shop-${Math.floor(index / owners)}`;
      if (index % owners === 0) await this.#createWatcher(namespace, name, spec);
      await this.#createDeployment(namespace, `${name}-${index % owners}`, name, podsEach);
    });
    await this.#untilAll(namespace, ({ conditions = [] }) => conditions.length > 0);
  }

  async #createWatcher(namespace: string, name: string, spec: Partial<ConfigWatcherSpec>): Promise<void> {
    const metadata = { namespace, name };
    await this.#client.create(configMaps, { metadata, data: { message: 'first' } });
    await this.#client.create(configWatchers, {
      metadata,
      spec: { configMap: name, podSelector: { app: name }, ...atOnce, ...spec },
    });
  }

  async #createDeployment(namespace: string, name: string, app: string, podsEach: number): Promise<void> {
    const labels = { app, deployment: name };
    const { nodeName, ...unplaced } = podSpec;
    // Without a node a Pod that a controller deletes is gone at once, and no controller misses the node.
    const template = { metadata: { labels }, spec: this.#controllerManager ? unplaced : podSpec };
    const spec = { replicas: podsEach, selector: { matchLabels: labels }, template };
    const deployment = await this.#client.create<KubernetesObject>(deployments, {
      ...{ metadata: { namespace, name, labels }, spec },
    });
    if (this.#controllerManager) return;
    const replicaSet = await this.#client.create<KubernetesObject>(replicaSets, {
      ...{
        metadata: { namespace, name: replicaSetOf(name), labels, ...ownedBy('Deployment', deployment) },
        spec,
      },
    });
    const owner = ownedBy('ReplicaSet', replicaSet);
    await this.createPods(namespace, podsEach, { labels, ...owner }, name);
  }

  async createPods(namespace: string, count: number, metadata: object, prefix: string): Promise<void> {
    await inParallel(count, concurrency, async (index) => {
      const name = `${prefix}-${index}`;
      await this.#client.create(pods, {
        metadata: { ...metadata, namespace, name },
        spec: podSpec,
      });
    });
  }

  async createBigConfigMaps(namespace: string, count: number, bytes: number): Promise<void> {
    const data = { value: 'x'.repeat(bytes) };
    await inParallel(count, concurrency, async (index) => {
      await this.#client.create(configMaps, { metadata: { namespace, name: `big-${index}` }, data });
    });
  }

  async createConfigMap(namespace: string, name: string): Promise<void> {
    await this.#client.create(configMaps, { metadata: { namespace, name }, data: { message: 'first' } });
  }

  /** Another content, or with a label only other metadata. */
  async edit(namespace: string, name: string, text: string, what: 'data' | 'label' = 'data'): Promise<void> {
    const body = what === 'data' ? { data: { message: text } } : { metadata: { labels: { edit: text } } };
    await this.#client.patch(configMaps, { namespace, name }, { type: 'merge', body });
  }

  /** Brings the one Pod of a Deployment back, as its controller would; nothing if it is there. */
  async replacePod(namespace: string, deployment: string, app: string): Promise<void> {
    const replicaSet = await this.#client.get(replicaSets, { namespace, name: replicaSetOf(deployment) });
    const metadata = { labels: { app }, ...ownedBy('ReplicaSet', replicaSet) };
    await this.createPods(namespace, 1, metadata, deployment).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  /** Milliseconds that the API server takes for so many evictions, of Pods that no watcher selects. */
  async nullEvictions(name: string, count: number): Promise<number> {
    const namespace = await this.namespace(name);
    await this.createPods(namespace, count, {}, 'pod');
    const { items } = await this.#client.list(pods, { namespace });
    const begin = performance.now();
    await inParallel(items.length, concurrency, async (index) => this.#evict(items[index]));
    return performance.now() - begin;
  }

  /**
   * Milliseconds until the last eviction of the Pods of so many owners, which no watcher selects, that wait for what a
   * watcher waits for: the Pods of one owner, until they have been back for a while, and then so many owners at a time,
   * each until its Pods are back.
   */
  async nullRestarts(name: string, { owners, podsEach, atATime }: NullRestarts): Promise<number> {
    const namespace = await this.namespace(name);
    await this.createPods(namespace, owners * podsEach, {}, 'pod');
    const { items } = await this.#client.list(pods, { namespace });
    return await this.withReturningPods(namespace, (returning) =>
      lastOf(owners, atATime, async (owner, wrote) => {
        await inParallel(podsEach, podsEach, async (index) => {
          const pod = items[owner * podsEach + index];
          await this.#evict(pod);
          wrote();
          await returning.back(pod?.metadata.name ?? '');
        });
      }),
    );
  }

  /** The same for changes of the templates of so many Deployments of one Pod. */
  async nullRollouts(name: string, { owners, atATime }: Omit<NullRestarts, 'podsEach'>): Promise<number> {
    const namespace = await this.namespace(name);
    await inParallel(owners, concurrency, (index) =>
      this.#createDeployment(namespace, `web-${index}`, 'web', 1),
    );
    const template = { metadata: { annotations: { 'example.com/restarted-for': 'second' } } };
    const patch = { type: 'merge', body: { spec: { template } } } as const;
    await this.untilThere(namespace, owners);
    return await this.withReturningPods(namespace, (returning) =>
      lastOf(owners, atATime, async (owner, wrote) => {
        await this.#client.patch(deployments, { namespace, name: `web-${owner}` }, patch);
        wrote();
        await returning.rolledOut(`web-${owner}`);
      }),
    );
  }

  /** The namespace has so many Pods. */
  async untilThere(namespace: string, count: number): Promise<void> {
    const end = performance.now() + patience;
    for (;;) {
      const { items } = await this.#client.list(pods, { namespace });
      if (items.length === count) return;
      if (performance.now() > end)
        throw new Error(`${namespace}: ${items.length} of ${count} Pods are there`);
      await sleep(500);
    }
  }

  /** Meanwhile the Pods of the namespace are Ready, and come back. */
  async withReturningPods<T>(namespace: string, work: (returning: ReturningPods) => Promise<T>): Promise<T> {
    const returning = await ReturningPods.start(this.#client, namespace, this.#controllerManager);
    try {
      return await work(returning);
    } finally {
      returning.stop();
    }
  }

  async #evict(pod: Pod | undefined): Promise<void> {
    const { namespace = '', name = '', uid = '' } = pod?.metadata ?? {};
    await this.#client.evict({ namespace, name }, { uid });
  }

  /**
   * The requests that a restart of one Pod takes, in their order, by a client that decides nothing: the
   * content, the Pods and their owners together, the status, the eviction.
   */
  async nullRestart(namespace: string, shop: string): Promise<void> {
    const client = this.#client;
    await client.get(configMaps, { namespace, name: shop });
    const [{ items }] = await Promise.all([
      client.list(pods, { namespace, labelSelector: `app=${shop}` }),
      client.get(replicaSets, { namespace, name: replicaSetOf(`${shop}-0`) }),
      client.get(deployments, { namespace, name: `${shop}-0` }),
    ]);
    const body = { status: { restartCount: 1 } };
    await client.patchStatus(configWatchers, { namespace, name: shop }, { type: 'merge', body });
    const { name = '', uid = '' } = items[0]?.metadata ?? {};
    await client.evict({ namespace, name }, { uid });
  }

  untilBaselined(namespace: string): Promise<void> {
    return this.#untilAll(namespace, ({ appliedHash }) => appliedHash !== undefined);
  }

  /** What the operator had to say of the namespace has been said, its Events included. */
  async untilSilent(namespace: string): Promise<void> {
    const end = performance.now() + patience;
    for (let before = -1, now = 0; now !== before; await sleep(1500)) {
      if (performance.now() > end) throw new Error(`${namespace}: the operator does not come to rest`);
      before = now;
      now = (await this.requests(namespace, sentBy.operator)).length;
    }
  }

  /** The restart of one watcher is over, and its status says so. */
  async untilDone(namespace: string, name: string, restarts: number): Promise<void> {
    const end = performance.now() + patience;
    for (;;) {
      const { status } = await this.#client.get(configWatchers, { namespace, name });
      if (status?.restartCount === restarts && !status.pending) return;
      if (performance.now() > end) throw new Error(`${name} is not done: ${JSON.stringify(status)}`);
      await sleep(50);
    }
  }

  /** Nothing is pending any more. */
  untilRestarted(namespace: string, atLeast = 1): Promise<void> {
    return this.#untilAll(
      namespace,
      ({ restartCount = 0, pending }) => restartCount >= atLeast && pending === undefined,
    );
  }

  /** Of each watcher of the namespace, by name. */
  async restartCounts(namespace: string): Promise<Map<string, number>> {
    const { items } = await this.#client.list(configWatchers, { namespace });
    return new Map(items.map(({ metadata, status }) => [metadata.name, status?.restartCount ?? 0]));
  }

  /** Asks seldom. */
  async #untilAll(namespace: string, holds: (status: ConfigWatcherStatus) => boolean): Promise<void> {
    const end = performance.now() + patience;
    for (;;) {
      const { items } = await this.#client.list(configWatchers, { namespace });
      const waiting = items.filter(({ status }) => !holds(status ?? {}));
      if (waiting.length === 0) return;
      if (performance.now() > end) {
        throw new Error(
          `${namespace}: ${waiting.length} watchers are not done: ${JSON.stringify(waiting[0])}`,
        );
      }
      await sleep(500);
    }
  }

  /** What a user requested of a namespace, successful or not. */
  async requests(namespace: string, by: RegExp): Promise<AuditedRequest[]> {
    return (await this.#allRequests(by)).filter((request) => request.namespace === namespace);
  }

  #allRequests(by = /./): Promise<AuditedRequest[]> {
    return requestsOf(this.#server.plane.auditLog ?? '', by);
  }

  /**
   * When the API server received the edits, by ConfigMap, the evictions it granted, by Pod, and the changes of templates,
   * by Deployment.
   */
  async restarts(namespace: string): Promise<Record<'edits' | 'evictions' | 'rollouts', Receipts>> {
    const [edits, evictions, rollouts] = [new Map(), new Map(), new Map()];
    for (const { what, name, code, received } of await this.requests(namespace, /./)) {
      if (code >= 300) continue;
      if (what === 'patch configmaps') edits.set(name, received);
      if (what === 'create pods/eviction') evictions.set(name, received);
      if (what === 'patch deployments') rollouts.set(name, received);
    }
    return { edits, evictions, rollouts };
  }

  /** Milliseconds from the receipt of each edit to that of the eviction of its Pod, by ConfigMap. */
  async delays(namespace: string): Promise<Map<string, number>> {
    const { edits, evictions } = await this.restarts(namespace);
    const delays = [...edits].flatMap(([name, at]) => {
      const evicted = evictions.get(`${name}-0-0`);
      return evicted === undefined ? [] : [[name, evicted - at] as const];
    });
    return new Map(delays);
  }

  /** What the API server was asked for a while from an edit on, in one line: when, what, and how long it took. */
  async timeline(namespace: string, name: string, milliseconds: number): Promise<string> {
    const edited = (await this.restarts(namespace)).edits.get(name) ?? Number.NaN;
    const asked = (await this.#allRequests()).filter(
      ({ received, answered }) => answered >= edited && received <= edited + milliseconds,
    );
    const words = asked
      .toSorted((one, other) => one.received - other.received)
      .map(({ what, received, answered }) => {
        return `${(received - edited).toFixed(1)} ${what} (${(answered - received).toFixed(1)})`;
      });
    return `${name}: ${words.join(', ')}`;
  }
}

function ownedBy(kind: string, { metadata: { name, uid = '' } }: KubernetesObject) {
  return { ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }] };
}
