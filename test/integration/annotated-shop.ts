/**
 * Annotated shop: a namespace of a real cluster with workloads that ask for restarts themselves, the shipped operator as
 * a process, and a stand-in for the kubelet: Pods get Ready half a second after they appear. DaemonSets have a node of
 * their own, where no other Pod is admitted.
 */
import type { TestContext } from 'node:test';
import type { Workload } from '../../src/annotated-workloads/plan/workload.ts';
import type {
  ConfigWatcher,
  ConfigWatcherSpecPodSelectorExpression,
} from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { daemonSets, deployments, statefulSets } from '../../src/configwatcher/facts/workload.ts';
import {
  type Container,
  configMaps,
  type KubernetesObject,
  type Pod,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { OperatorProcess } from './configwatcher-process.ts';
import { events, probedContainer, untilOlderThanEdits } from './configwatcher-shop.ts';
import { applyCrds, connectToTestCluster, eventually, withNamespace } from './support.ts';

const nodes: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const batch = { group: 'batch', version: 'v1', namespaced: true };
const cronJobs: Resource = { ...batch, plural: 'cronjobs', kind: 'CronJob' };
const jobs: Resource = { ...batch, plural: 'jobs', kind: 'Job' };
const jobTemplate = { spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app' }] } };
const startup = 500;

const kinds: Readonly<Record<string, Resource<Workload>>> = {
  Deployment: deployments as Resource<Workload>,
  StatefulSet: statefulSets as Resource<Workload>,
  DaemonSet: daemonSets as Resource<Workload>,
};
export type Kind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

export interface WorkloadShape {
  /** Null: it has it no more. */
  readonly annotations?: Readonly<Record<string, string | null>>;
  /** Of the Pod template. */
  readonly template?: Readonly<Record<string, string>>;
  /** ConfigMaps that its container takes whole. */
  readonly from?: readonly string[];
  readonly secrets?: readonly string[];
  readonly container?: Partial<Container>;
  readonly podSpec?: object;
  /** Default: the label `app` alone. */
  readonly selector?: Readonly<Record<string, string>>;
  /** Of its selector, which then has no labels. */
  readonly expressions?: readonly ConfigWatcherSpecPodSelectorExpression[];
  /** Of its Pods, beside `app`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly replicas?: number;
  readonly image?: string;
  readonly paused?: boolean;
}

export interface WarningEvent extends KubernetesObject {
  readonly note?: string;
  readonly reason?: string;
  /** Absent where it was recorded once. */
  readonly series?: { readonly count?: number };
}

export class AnnotatedShop {
  readonly namespace: string;
  readonly client: Client;
  readonly #t: TestContext;
  readonly #stopping = new AbortController();
  readonly #kubelet: Promise<void>;
  /** uids of all Pods ever seen, by workload. */
  readonly #seen = new Map<string, Set<string>>();
  readonly #replicas = new Map<string, number>();
  #operator: OperatorProcess | undefined;
  /** No Pod starts while this is true. */
  isKubeletSlow = false;

  static async open(t: TestContext): Promise<AnnotatedShop> {
    await applyCrds();
    return new AnnotatedShop(t, await withNamespace(t), connectToTestCluster().client);
  }

  private constructor(t: TestContext, namespace: string, client: Client) {
    this.namespace = namespace;
    this.client = client;
    this.#t = t;
    this.#kubelet = this.#runKubelet();
    t.after(async () => {
      await this.#operator?.kill();
      // The namespace goes as well, so that any of it may be gone; the Pods of the node wait for their kubelet.
      const ignore = () => {};
      for (const resource of Object.values(kinds)) {
        const { items } = await client.list(resource, { namespace }).catch(() => ({ items: [] }));
        for (const { metadata } of items)
          await client.delete(resource, { namespace, name: metadata.name }).catch(ignore);
      }
      await eventually(async () => (await this.#pods()).length === 0, { message: 'the Pods are gone' }).catch(
        ignore,
      );
      this.#stopping.abort();
      await this.#kubelet;
      await client.delete(nodes, { name: namespace }).catch(ignore);
    });
  }

  async operator(args: readonly string[]): Promise<void> {
    this.#operator = new OperatorProcess(this.#t, this.namespace, args);
    await this.#operator.logged('"msg":"serving metrics"');
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.kill('SIGTERM');
    this.#operator = undefined;
  }

  async #runKubelet(): Promise<void> {
    const { signal } = this.#stopping;
    const since = new Map<string, number>();
    while (!signal.aborted) {
      for (const pod of await this.#pods().catch(() => [])) await this.#tend(pod, since).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #tend(pod: Pod, since: Map<string, number>): Promise<void> {
    const { namespace } = this;
    const { uid = '', name, labels = {}, deletionTimestamp } = pod.metadata;
    const seen = this.#seen.get(labels.app ?? '') ?? new Set();
    this.#seen.set(labels.app ?? '', seen.add(uid));
    const appeared = since.get(uid) ?? performance.now();
    since.set(uid, appeared);
    if (deletionTimestamp !== undefined) {
      await this.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, uid });
    } else if (!this.isKubeletSlow && !isReady(pod) && performance.now() - appeared >= startup) {
      const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } } as const;
      await this.client.patchStatus(pods, { namespace, name }, { type: 'merge', body });
    }
  }

  async #pods(): Promise<Pod[]> {
    return (await this.client.list(pods, { namespace: this.namespace })).items;
  }

  /** Resolves when all workloads have their Pods, all of them Ready. */
  allReady(): Promise<true> {
    const wanted = [...this.#replicas.values()].reduce((sum, replicas) => sum + replicas, 0);
    const isDone = async () => {
      const found = await this.#pods();
      return found.length === wanted && found.every((pod) => isReady(pod) && !pod.metadata.deletionTimestamp);
    };
    return eventually(isDone, { timeout: 60_000, message: `${wanted} Pods are Ready` });
  }

  /** Resolves when an edit has a later second than the creation of each Pod. */
  async olderThanEdits(): Promise<void> {
    await untilOlderThanEdits(await this.#pods());
  }

  async podNames(): Promise<readonly string[]> {
    return (await this.#pods()).map(({ metadata }) => metadata.uid ?? '').sort();
  }

  /** How many Pods the workload has had beyond those that it wants. */
  replaced(name: string): number {
    return (this.#seen.get(name)?.size ?? 0) - (this.#replicas.get(name) ?? 0);
  }

  /** Creates it, or changes it to be so. */
  async workload(kind: Kind, name: string, shape: WorkloadShape = {}): Promise<void> {
    const resource = kinds[kind] as Resource<Workload>;
    const { annotations = {}, replicas = 1, paused = false } = shape;
    if (kind === 'DaemonSet') await this.#addNode();
    const kept = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null));
    const body = {
      ...{ apiVersion: 'apps/v1', kind, metadata: { name, namespace: this.namespace, annotations: kept } },
      spec: {
        ...(kind !== 'DaemonSet' && { replicas }),
        ...(paused && { paused }),
        selector: shape.expressions
          ? { matchExpressions: shape.expressions }
          : { matchLabels: shape.selector ?? { app: name } },
        template: this.#template(kind, name, shape),
      },
    };
    const key = { namespace: this.namespace, name };
    await this.client.patch(resource, key, { type: 'apply', body, fieldManager: 'shop', force: true });
    this.#replicas.set(name, replicas);
  }

  #template(kind: Kind, name: string, shape: WorkloadShape): object {
    const {
      template = {},
      from = [],
      secrets: taken = [],
      container = {},
      podSpec = {},
      image = 'app:1',
    } = shape;
    const envFrom = [
      ...from.map((one) => ({ configMapRef: { name: one } })),
      ...taken.map((one) => ({ secretRef: { name: one } })),
    ];
    const daemon = {
      nodeSelector: { shop: this.namespace },
      tolerations: [{ key: 'shop', operator: 'Exists' }],
    };
    return {
      metadata: { labels: { app: name, ...shape.labels }, annotations: template },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ ...probedContainer, image, envFrom, ...container }],
        ...podSpec,
        ...(kind === 'DaemonSet' && daemon),
      },
    };
  }

  async #addNode(): Promise<void> {
    const name = this.namespace;
    const spec = { taints: [{ key: 'shop', value: name, effect: 'NoSchedule' }] };
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { shop: name } }, spec };
    await this.client.patch(nodes, { name }, { type: 'apply', body, fieldManager: 'shop', force: true });
    const status = {
      allocatable: { pods: '500', cpu: '100', memory: '100Gi' },
      capacity: { pods: '500', cpu: '100', memory: '100Gi' },
    };
    await this.client.patchStatus(nodes, { name }, { type: 'merge', body: { status } });
  }

  async remove(kind: Kind, name: string): Promise<void> {
    await this.client.delete(
      kinds[kind] as Resource,
      { namespace: this.namespace, name },
      { propagationPolicy: 'Background' },
    );
    this.#replicas.delete(name);
  }

  async cronJob(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
    const spec = { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: jobTemplate } } };
    const metadata = { namespace: this.namespace, name, annotations };
    await this.client.create<KubernetesObject>(cronJobs, { metadata, spec } as KubernetesObject);
  }

  /** One that never runs. */
  async job(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
    const spec = { suspend: true, template: jobTemplate };
    const metadata = { namespace: this.namespace, name, annotations };
    await this.client.create<KubernetesObject>(jobs, { metadata, spec } as KubernetesObject);
  }

  /** Writes an annotation of Reloader that asks for nothing, so that the operator looks at the object again. */
  async touch(kind: Kind | 'CronJob' | 'Job', name: string): Promise<void> {
    const others = kind === 'CronJob' ? cronJobs : jobs;
    const resource = kinds[kind] ?? others;
    const body = { metadata: { annotations: { 'reloader.stakater.com/search': 'false' } } };
    await this.client.patch(resource, { namespace: this.namespace, name }, { type: 'merge', body });
  }

  config(name: string, data: Readonly<Record<string, string>>): Promise<KubernetesObject> {
    return this.#applySource(configMaps, name, { data });
  }

  secret(name: string, stringData: Readonly<Record<string, string>>): Promise<KubernetesObject> {
    return this.#applySource(secrets, name, { stringData });
  }

  #applySource(resource: Resource, name: string, content: object): Promise<KubernetesObject> {
    const key = { namespace: this.namespace, name };
    const body = { apiVersion: 'v1', kind: resource.kind, metadata: key, ...content };
    return this.client.patch(resource, key, { type: 'apply', body, fieldManager: 'shop', force: true });
  }

  async annotateConfig(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
    const key = { namespace: this.namespace, name };
    await this.client.patch(configMaps, key, { type: 'merge', body: { metadata: { annotations } } });
  }

  async watchers(): Promise<readonly ConfigWatcher[]> {
    return (await this.client.list(configWatchers, { namespace: this.namespace })).items;
  }

  async untilWatcher(
    name: string,
    holds: (watcher: ConfigWatcher) => boolean,
    message = 'is as asked for',
  ): Promise<ConfigWatcher> {
    let last: ConfigWatcher | undefined;
    const look = async () => {
      last = await this.client.get(configWatchers, { namespace: this.namespace, name });
      return holds(last) && last;
    };
    try {
      return await eventually(look, { timeout: 90_000, interval: 200, message: `${name} ${message}` });
    } catch (error) {
      const said = this.#operator?.output.split('\n').filter((line) => line.includes(`"${name}"`)) ?? [];
      const status = JSON.stringify(last?.status);
      throw new Error(`${name} has status ${status}\n${said.slice(-10).join('\n')}`, { cause: error });
    }
  }

  baselined(name: string): Promise<ConfigWatcher> {
    return this.untilWatcher(name, ({ status }) => status?.appliedHash !== undefined, 'has a baseline');
  }

  restarted(name: string, count: number): Promise<ConfigWatcher> {
    return this.untilWatcher(
      name,
      ({ status }) => status?.restartCount === count && status.pending === undefined,
      `has made ${count} restarts`,
    );
  }

  async untilGone(name: string): Promise<void> {
    const isGone = async () => !(await this.watchers()).some(({ metadata }) => metadata.name === name);
    await eventually(isGone, { timeout: 60_000, message: `${name} is gone` });
  }

  /** Number of restarts by ConfigWatcher. */
  async restarts(): Promise<Readonly<Record<string, number>>> {
    const found = await this.watchers();
    return Object.fromEntries(
      found.map(({ metadata, status }) => [metadata.name, status?.restartCount ?? 0]),
    );
  }

  /** Resolves when nothing waits any more, and so much later that an operator that wanted to restart something would have. */
  async settled(): Promise<void> {
    const isQuiet = async () => (await this.watchers()).every(({ status }) => status?.pending === undefined);
    await eventually(isQuiet, { timeout: 90_000, interval: 200, message: 'no change waits' });
    await this.allReady();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await eventually(isQuiet, { timeout: 90_000, interval: 200, message: 'no change waits' });
  }

  /** The Warnings about an object. */
  async events(name: string): Promise<readonly WarningEvent[]> {
    const { items } = await this.client.list(events, { namespace: this.namespace });
    return items.filter(({ regarding, type }) => type === 'Warning' && regarding?.name === name);
  }

  /** The note of the Warning about a workload. */
  async warning(name: string, reason: string): Promise<string> {
    const find = async () => (await this.events(name)).find((event) => event.reason === reason);
    return (await eventually(find, { message: `the Warning ${reason} about ${name}` })).note ?? '';
  }

  /** Of a Deployment, as its controller counts. */
  async revision(name: string): Promise<number> {
    const { metadata } = await this.client.get(deployments, { namespace: this.namespace, name });
    return Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0);
  }
}

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
}
