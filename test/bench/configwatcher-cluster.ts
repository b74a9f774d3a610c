/**
 * Cluster for the ConfigWatcher benchmark: etcd and an API server alone, with an audit log, and the operator
 * as a child process. Deployments, ReplicaSets and Pods are written by the benchmark: nobody replaces a Pod.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { type ControlPlane, startControlPlane } from '../../hack/cluster/control-plane.ts';
import { type OperatorProcess, startOperator } from '../../hack/operator-process.ts';
import { configMaps, type KubernetesObject, pods, type Resource } from '../../src/api/kubernetes.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { deployments, replicaSets } from '../../src/configwatcher/observe/owner-reader.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { type Connection, connect } from '../../src/runtime/client/connect.ts';
import { loadKubeConfig } from '../../src/runtime/client/load-kubeconfig.ts';
import { openGate } from '../../src/runtime/client/write-gate.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/logger.ts';

const concurrency = 32;
/** How long a new process is let alone before its memory is looked at, ms. */
const settled = 5000;
const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const container = { name: 'app', image: 'webapp' };

interface AuditLine {
  readonly stage: string;
  readonly verb: string;
  readonly objectRef?: { resource?: string; subresource?: string; namespace?: string; name?: string };
  readonly responseStatus?: { code?: number };
  readonly requestReceivedTimestamp: string;
}

/** Instants of receipt by name, epoch milliseconds with a fraction. */
type Receipts = ReadonlyMap<string, number>;

export class WatcherCluster {
  readonly #plane: ControlPlane;
  readonly #connection: Connection;
  readonly #client: Client;
  #operator: OperatorProcess | undefined;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    this.#connection = connect({
      kubeConfig: loadKubeConfig({ env: { KUBECONFIG: plane.kubeconfig } }),
      ...{ gate: openGate, clock: systemClock, log: silentLogger, maxRequests: concurrency },
      ...{ userAgent: 'bench', fieldManager: 'bench' },
    });
    this.#client = this.#connection.client;
  }

  static async start(): Promise<WatcherCluster> {
    const plane = await startControlPlane({ auditLog: true, controllerManager: false, scheduler: false });
    const cluster = new WatcherCluster(plane);
    for (const file of ['ats', 'configwatchers']) {
      await cluster.#client.create(crds, parse(await readFile(`crds/${file}.yaml`, 'utf8')));
    }
    await cluster.#startOperator();
    return cluster;
  }

  async stop(): Promise<void> {
    await this.#operator?.stop();
    this.#connection.close();
    await this.#plane.stop();
  }

  /** What a new process has after its start: megabytes when quiet, milliseconds until ready. */
  async restartOperator(): Promise<{ readonly rss: number; readonly ready: number }> {
    await this.#operator?.stop();
    const begin = performance.now();
    await this.#startOperator();
    const ready = performance.now() - begin;
    await sleep(settled);
    return { ready, rss: await this.#rss() };
  }

  async #startOperator(): Promise<void> {
    const { kubeconfig, directory } = this.#plane;
    this.#operator = await startOperator(kubeconfig, join(directory, 'operator.log'));
  }

  /** Megabytes. */
  async #rss(): Promise<number> {
    const status = await readFile(`/proc/${this.#operator?.process.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  async namespace(name: string): Promise<string> {
    await this.#client.create(namespaces, { metadata: { name } });
    return name;
  }

  /** `count` times a ConfigMap `shop-0`, `shop-1` … with its watcher, and so many Deployments of it. */
  async createShops(namespace: string, count: number, owners: number, podsEach: number): Promise<void> {
    await inParallel(count * owners, async (index) => {
      const name = `shop-${Math.floor(index / owners)}`;
      if (index % owners === 0) await this.#createWatcher(namespace, name);
      await this.#createDeployment(namespace, `${name}-${index % owners}`, name, podsEach);
    });
  }

  async #createWatcher(namespace: string, name: string): Promise<void> {
    const metadata = { namespace, name };
    await this.#client.create(configMaps, { metadata, data: { message: 'first' } });
    await this.#client.create(configWatchers, {
      metadata,
      spec: {
        configMap: name,
        podSelector: { app: name },
        debounce: { quiet: '0s' },
        cooldown: { base: '0s' },
        strategy: { maxUnavailable: '100%' },
      },
    });
  }

  async #createDeployment(namespace: string, name: string, app: string, podsEach: number): Promise<void> {
    const labels = { app };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    const spec = { replicas: podsEach, selector: { matchLabels: labels }, template };
    const deployment = await this.#client.create<KubernetesObject>(deployments, {
      ...{ metadata: { namespace, name, labels }, spec },
    });
    const replicaSet = await this.#client.create<KubernetesObject>(replicaSets, {
      ...{ metadata: { namespace, name, labels, ...ownedBy('Deployment', deployment) }, spec },
    });
    const owner = ownedBy('ReplicaSet', replicaSet);
    await this.createPods(namespace, podsEach, { labels, ...owner }, name);
  }

  async createPods(namespace: string, count: number, metadata: object, prefix: string): Promise<void> {
    await inParallel(count, async (index) => {
      const name = `${prefix}-${index}`;
      await this.#client.create(pods, {
        metadata: { ...metadata, namespace, name },
        spec: { containers: [container] },
      });
    });
  }

  async createBigConfigMaps(namespace: string, count: number, bytes: number): Promise<void> {
    const data = { value: 'x'.repeat(bytes) };
    await inParallel(count, async (index) => {
      await this.#client.create(configMaps, { metadata: { namespace, name: `big-${index}` }, data });
    });
  }

  async edit(namespace: string, index: number): Promise<void> {
    const body = { data: { message: 'second' } };
    await this.#client.patch(configMaps, { namespace, name: `shop-${index}` }, { type: 'merge', body });
  }

  /** Milliseconds that the API server takes for so many evictions, of Pods that nobody watches. */
  async nullEvictions(name: string, count: number): Promise<number> {
    const namespace = await this.namespace(name);
    await this.createPods(namespace, count, {}, 'pod');
    const { items } = await this.#client.list(pods, { namespace });
    const begin = performance.now();
    await inParallel(items.length, async (index) => {
      const { name = '', uid = '' } = items[index]?.metadata ?? {};
      await this.#client.evict({ namespace, name }, { uid });
    });
    return performance.now() - begin;
  }

  untilBaselined(namespace: string): Promise<void> {
    return this.#untilAll(namespace, ({ appliedHash }) => appliedHash !== undefined);
  }

  untilRestarted(namespace: string): Promise<void> {
    return this.#untilAll(namespace, ({ restartCount, pending }) => restartCount === 1 && !pending);
  }

  /** Asks seldom. */
  async #untilAll(
    namespace: string,
    holds: (status: { appliedHash?: string; restartCount?: number; pending?: object }) => boolean,
  ): Promise<void> {
    for (;;) {
      const { items } = await this.#client.list(configWatchers, { namespace });
      if (items.every(({ status }) => holds(status ?? {}))) return;
      await sleep(500);
    }
  }

  /** When the API server received the edits, by ConfigMap, and the evictions it granted, by Pod. */
  async requests(namespace: string): Promise<{ edits: Receipts; evictions: Receipts }> {
    const edits = new Map<string, number>();
    const evictions = new Map<string, number>();
    for await (const line of createInterface({ input: createReadStream(this.#plane.auditLog ?? '') })) {
      const { stage, verb, objectRef, responseStatus, requestReceivedTimestamp } = JSON.parse(
        line,
      ) as AuditLine;
      if (stage !== 'ResponseComplete' || objectRef?.namespace !== namespace) continue;
      if ((responseStatus?.code ?? 0) >= 300) continue;
      const at = epochOf(requestReceivedTimestamp);
      if (verb === 'patch' && objectRef.resource === 'configmaps') edits.set(objectRef.name ?? '', at);
      if (objectRef.subresource === 'eviction') evictions.set(objectRef.name ?? '', at);
    }
    return { edits, evictions };
  }

  /** Milliseconds from the receipt of each edit to that of the eviction of its Pod. */
  async delays(namespace: string): Promise<number[]> {
    const { edits, evictions } = await this.requests(namespace);
    return [...edits].flatMap(([name, at]) => {
      const evicted = evictions.get(`${name}-0-0`);
      return evicted === undefined ? [] : evicted - at;
    });
  }
}

function ownedBy(kind: string, { metadata: { name, uid = '' } }: KubernetesObject) {
  return { ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }] };
}

/** `2030-01-31T09:00:00.123456Z`, whose microseconds Date drops. */
function epochOf(microTime: string): number {
  return Date.parse(`${microTime.slice(0, 19)}Z`) + Number(`0${microTime.slice(19, -1)}`) * 1000;
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(count, concurrency) }, worker));
}
