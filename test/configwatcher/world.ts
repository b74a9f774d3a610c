/**
 * World: a small cluster in memory for ConfigWatchers, with the parts of Kubernetes a restart meets.
 *
 * The API server answers one call at a time, stamps whole seconds, refuses stale versions and wrong uids and
 * honours disruption budgets. Workloads re-create Pods, which take the contents of the moment, get Ready a
 * little later and take a while to end.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher, ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { transformPod, transformSource } from '../../src/configwatcher/facts/watched-objects.ts';
import type {
  ConfigMap,
  ContainerStatus,
  KubernetesObject,
  OwnerReference,
  Pod,
  Resource,
} from '../../src/kubernetes/objects.ts';
import { formatTime } from '../../src/kubernetes/time.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type { Client, DeleteOptions, ListOptions, ObjectKey } from '../../src/runtime/client/client.ts';
import type { Patch } from '../../src/runtime/client/patch.ts';
import {
  act,
  controllerOf,
  type Data,
  objectOf,
  type Workload,
  type WorkloadKind,
  type WorldPod,
} from './workloads.ts';

/** One accepted restarting write. */
export interface RestartRecord {
  readonly pod: WorldPod;
  readonly at: number;
  readonly operator: string;
  /** The change that the operator acted on. */
  readonly target: string | undefined;
  /** It was Ready, and now so many Pods of its owner are missing or not Ready. */
  readonly unavailable: number | undefined;
}

/** A template that was really changed: written twice it is changed once. */
export interface RolloutRecord {
  readonly workload: string;
  readonly at: number;
  readonly operator: string;
  readonly target: string | undefined;
  /** What the template says now. */
  readonly annotations: Data;
}

interface EditOptions {
  readonly tool?: 'apply' | 'edit';
  readonly name?: string;
}

interface PodOptions {
  readonly controller?: OwnerReference;
  readonly readyAt?: number;
  readonly template?: Data;
  readonly name?: string;
  readonly labels?: Data;
}

interface Workloadish {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly spec: { readonly template: { readonly metadata: { readonly annotations: Data } } };
}

const namespace = 'shop';

/** What a content does to the Pods that start with it. */
export type Trouble = 'NeverReady' | 'Crashes' | 'Flaps';

/** In milliseconds. */
const troublePeriod = 5000;
/** The watcher that every world has. */
export const first = 'web';
const firstConfig = 'web-config';

export class World {
  now = Date.UTC(2024, 0, 1, 12, 0, 0, 300);
  readonly pods = new Map<string, WorldPod>();
  readonly workloads: Workload[] = [];
  readonly restarts: RestartRecord[] = [];
  readonly rollouts: RolloutRecord[] = [];
  /** The change ({@link targetOf}) that each operator knows: the one it saw or wrote last. */
  readonly targets = new Map<string, string | undefined>();
  /** When the last edit of each of them was recorded. */
  readonly recordedAt = new Map<string, number>();
  /** Every restart that a status has ever told of, after the name of its watcher. */
  readonly restartIds = new Set<string>();
  /** Every request, `verb resource`, in order. */
  readonly requests: string[] = [];
  readonly watchers = new Map<string, ConfigWatcher>();
  readonly configMaps = new Map<string, ConfigMap>();
  /** Evictions that would leave fewer Ready Pods are refused. */
  minAvailable = 0;
  startup = 1500;
  /** What a content does to the Pods that start with it; `Crashes`: they are Ready for a second of
   * every five; `Flaps`: for three. */
  trouble: (content: string) => Trouble | undefined = () => undefined;
  /** The book's CRD is applied over ours: no status, whatever anybody writes. */
  withoutStatus = false;
  /** This request (`verb resource`) ends with a 500, with a 403; evictions of this Pod end with a 500. */
  failing: string | undefined;
  forbidden: string | undefined;
  poison: string | undefined;
  grace = 700;
  #version = 10;
  #serial = 0;

  constructor(spec: Partial<ConfigWatcherSpec> = {}) {
    this.addWatcher(first, spec);
    this.edit({ message: 'first' });
  }

  addWatcher(name: string, spec: Partial<ConfigWatcherSpec>): void {
    this.watchers.set(name, {
      apiVersion: 'k8spatterns.io/v1',
      kind: 'ConfigWatcher',
      metadata: { namespace, name, uid: `${name}-uid`, generation: 1, resourceVersion: this.#next() },
      spec: {
        ...{ configMap: firstConfig, podSelector: { app: 'web' }, ...spec },
        strategy: { type: 'Evict', ...spec.strategy },
      },
    });
  }

  /** The first one. */
  get watcher(): ConfigWatcher {
    return this.#watcherOf(first);
  }

  set watcher(watcher: ConfigWatcher) {
    this.watchers.set(watcher.metadata.name, watcher);
  }

  #watcherOf(name: string): ConfigWatcher {
    return this.watchers.get(name) ?? refuse(404, 'NotFound');
  }

  /** The one of the first watcher. */
  get configMap(): ConfigMap | undefined {
    return this.configMaps.get(firstConfig);
  }

  #next(): string {
    return String(++this.#version);
  }

  /** The contents as a Pod that starts now gets them. */
  get content(): string {
    return JSON.stringify([...this.configMaps].map(([name, { data }]) => [name, data]));
  }

  /**
   * Replaces the data. managedFields name the second of it, except where a tool other than `apply` does
   * nothing but remove a key.
   */
  edit(data: Data, { tool = 'apply', name = firstConfig }: EditOptions = {}): void {
    const old = this.configMaps.get(name);
    const keys = Object.keys(data);
    const set = tool === 'apply' || !old || keys.some((key) => old.data?.[key] !== data[key]);
    const time = set ? formatTime(this.now) : (old.metadata.managedFields?.[0]?.time ?? '');
    this.configMaps.set(name, {
      metadata: {
        namespace,
        name,
        uid: old?.metadata.uid ?? `config-${++this.#serial}`,
        resourceVersion: this.#next(),
        managedFields: [{ manager: 'edit', operation: 'Update', time, fieldsV1: { 'f:data': {} } }],
      },
      data,
    });
  }

  /** A label or annotation edit: the version moves, the data does not. */
  touch(): void {
    const { configMap } = this;
    if (!configMap) return;
    const metadata = { ...configMap.metadata, resourceVersion: this.#next() };
    this.configMaps.set(firstConfig, { ...configMap, metadata });
  }

  deleteConfigMap(): void {
    this.configMaps.delete(firstConfig);
  }

  editSpec(spec: Partial<ConfigWatcherSpec>, name = first): void {
    const watcher = this.#watcherOf(name);
    const { generation = 0 } = watcher.metadata;
    this.watchers.set(name, {
      ...watcher,
      spec: { ...watcher.spec, ...spec },
      metadata: { ...watcher.metadata, generation: generation + 1, resourceVersion: this.#next() },
    });
  }

  addWorkload(name: string, replicas: number, kind: WorkloadKind = 'Deployment'): Workload {
    const shape = { name, replicas, kind };
    const workload: Workload = { ...shape, paused: false, onDelete: false, probed: true, annotations: {} };
    this.workloads.push(workload);
    this.step(0);
    for (const pod of this.pods.values()) pod.readyAt = Math.min(pod.readyAt, this.now);
    return workload;
  }

  addPod(options: PodOptions = {}): WorldPod {
    const uid = `pod-${++this.#serial}`;
    const pod: WorldPod = {
      uid,
      name: options.name ?? uid,
      labels: options.labels ?? { app: 'web' },
      controller: options.controller,
      bornAt: this.now,
      content: this.content,
      template: options.template ?? {},
      readyAt: options.readyAt ?? this.now + this.startup,
      goneAt: undefined,
    };
    this.pods.set(uid, pod);
    return pod;
  }

  /** Lets time pass and the controllers of the cluster act. */
  step(ms: number): void {
    this.now += ms;
    for (const pod of this.pods.values()) {
      if (pod.goneAt !== undefined && pod.goneAt <= this.now) this.pods.delete(pod.uid);
    }
    for (const workload of this.workloads) act(this, workload);
  }

  isReady(pod: WorldPod): boolean {
    if (pod.goneAt !== undefined || pod.readyAt > this.now) return false;
    const trouble = this.trouble(pod.content);
    const sinceReady = this.now - this.#readySince(pod);
    return trouble === undefined || sinceReady < { NeverReady: 0, Crashes: 1000, Flaps: 3000 }[trouble];
  }

  /** When it became Ready last. */
  #readySince({ content, readyAt }: WorldPod): number {
    const period = this.trouble(content) === undefined ? Number.POSITIVE_INFINITY : troublePeriod;
    return this.now - ((this.now - readyAt) % period);
  }

  /** Of a Pod that crashes, and of no other. */
  #containerStatuses(pod: WorldPod): ContainerStatus[] {
    if (this.trouble(pod.content) !== 'Crashes' || pod.readyAt > this.now) return [];
    const restartCount = Math.floor((this.now - pod.readyAt) / troublePeriod);
    const startedAt = formatTime(pod.readyAt + restartCount * troublePeriod);
    const terminated = { exitCode: 3, reason: 'Error', message: 'starting\nno such port' };
    return [
      {
        ...{ name: 'app', restartCount, state: { running: { startedAt } } },
        ...(restartCount > 0 && { lastState: { terminated } }),
      },
    ];
  }

  livePods(): WorldPod[] {
    return [...this.pods.values()].filter(({ goneAt }) => goneAt === undefined);
  }

  /** The API server, as `operator` calls it; `turn` is awaited before each call. */
  client(operator: string, turn: () => Promise<void>, answered: () => void): Client {
    const notThere = () => {
      throw new Error('not in this world');
    };
    const unused = () => Promise.reject(new Error('not in this world'));
    const call = async <T>(request: string, answer: () => T): Promise<T> => {
      await turn();
      this.requests.push(request);
      try {
        if (request === this.failing) refuse(500, 'InternalError', 'broken');
        if (request === this.forbidden)
          refuse(
            403,
            'Forbidden',
            undefined,
            'pods "web" is forbidden: User "atwatch" cannot do resource "it"',
          );
        return answer();
      } finally {
        answered();
      }
    };
    const restart = (key: ObjectKey, { uid }: DeleteOptions, guarded: boolean) =>
      this.#restart(operator, key, uid, guarded);
    return {
      get: (resource: Resource, key: ObjectKey) =>
        call(`get ${resource.plural}`, () => this.#get(resource, key) as never),
      list: (resource: Resource, options: ListOptions = {}) =>
        call(`list ${resource.plural}`, () => {
          if (options.resourceVersion !== undefined) throw new Error('not a consistent list');
          const sent = this.#selected(options.labelSelector).map((pod) => this.#podObject(pod));
          const items = sent.map((pod) => options.transform?.(pod) ?? pod) as never[];
          return { items, resourceVersion: this.#next() };
        }),
      updateStatus: (resource: Resource, object: KubernetesObject) =>
        call(`updateStatus ${resource.plural}`, () => {
          const written = this.#updateStatus(object as ConfigWatcher);
          this.targets.set(operator, targetOf(written));
          return written as never;
        }),
      evict: (key, options) => call('evict pods', () => restart(key, options, true)),
      delete: (resource: Resource, key: ObjectKey, options: DeleteOptions = {}) =>
        call(`delete ${resource.plural}`, () => restart(key, options, false)),
      watch: unused,
      create: unused,
      update: unused,
      patch: (resource: Resource, key: ObjectKey, patch: Patch) =>
        call(`patch ${resource.plural}`, () => {
          const isWatcher = resource.kind === 'ConfigWatcher';
          return (
            isWatcher ? this.#patchWatcher(key, patch) : this.#patchWorkload(operator, key, patch)
          ) as never;
        }),
      patchStatus: unused,
      apply: unused,
      deleteCollection: unused,
      pages: notThere,
      subresource: notThere,
      getRaw: unused,
    };
  }

  /** Of the selectors only `key=value` is understood. */
  #selected(selector = ''): WorldPod[] {
    const [key = '', value] = selector.split('=');
    return [...this.pods.values()].filter(({ labels }) => labels[key] === value);
  }

  #get(resource: Resource, { name }: ObjectKey): KubernetesObject {
    if (resource.kind === 'ConfigWatcher') return this.#watcherOf(name);
    if (resource.kind === 'ConfigMap') return this.configMaps.get(name) ?? refuse(404, 'NotFound');
    const found = this.workloads.flatMap((one) => {
      return objectOf(one, resource, name, this.#versionOf(one), this.#livePodsOf(one).length) ?? [];
    });
    return found[0] ?? refuse(404, 'NotFound');
  }

  /** Replaces the CRD: without the subresource the API server shows no status. */
  replaceCrd({ withoutStatus }: { readonly withoutStatus: boolean }): void {
    this.withoutStatus = withoutStatus;
    for (const { status, ...watcher } of this.watchers.values()) {
      this.watcher = { ...watcher, metadata: { ...watcher.metadata, resourceVersion: this.#next() } };
    }
  }

  #patchWatcher({ name }: ObjectKey, patch: Patch): ConfigWatcher {
    const watcher = this.#watcherOf(name);
    if (patch.type !== 'merge') return refuse(400, 'BadRequest');
    const { metadata } = patch.body as { metadata: { resourceVersion?: string; annotations: Data } };
    const before = watcher.metadata;
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== before.resourceVersion) {
      refuse(409, 'Conflict');
    }
    const merged = Object.entries({ ...before.annotations, ...metadata.annotations });
    const annotations = Object.fromEntries(merged.filter(([, value]) => value !== null));
    if (isDeepStrictEqual(annotations, before.annotations ?? {})) return watcher;
    this.watcher = { ...watcher, metadata: { ...before, annotations, resourceVersion: this.#next() } };
    return this.#watcherOf(name);
  }

  #patchWorkload(operator: string, { name }: ObjectKey, patch: Patch): KubernetesObject {
    const workload = this.workloads.find((candidate) => candidate.name === name);
    if (!workload || patch.type !== 'merge') return refuse(404, 'NotFound');
    const { metadata, spec } = patch.body as Workloadish;
    if (metadata.uid !== `${name}-uid`) refuse(409, 'Conflict');
    if (metadata.resourceVersion !== this.#versionOf(workload)) refuse(409, 'Conflict');
    const annotations = { ...workload.annotations, ...spec.template.metadata.annotations };
    if (!isDeepStrictEqual(annotations, workload.annotations)) {
      workload.annotations = annotations;
      const target = this.targets.get(operator);
      this.rollouts.push({ workload: name, at: this.now, operator, target, annotations });
    }
    return { metadata: { name } };
  }

  #livePodsOf(workload: Workload): WorldPod[] {
    const { uid } = controllerOf(workload);
    return this.livePods().filter(({ controller }) => controller?.uid === uid);
  }

  /** Moves with the spec, and with the numbers that stand in the status. */
  #versionOf(workload: Workload): string {
    const mine = this.#livePodsOf(workload);
    return JSON.stringify([workload, mine.length, mine.filter((pod) => this.isReady(pod)).length]);
  }

  #podObject(pod: WorldPod): Pod {
    return {
      metadata: {
        namespace,
        name: pod.name,
        uid: pod.uid,
        labels: pod.labels,
        creationTimestamp: formatTime(pod.bornAt),
        ...(pod.controller && { ownerReferences: [pod.controller] }),
        ...(pod.goneAt !== undefined && { deletionTimestamp: formatTime(pod.goneAt) }),
      },
      spec: { containers: [], nodeName: 'node' },
      status: {
        phase: 'Running',
        containerStatuses: this.#containerStatuses(pod),
        conditions: [
          this.isReady(pod)
            ? { type: 'Ready', status: 'True', lastTransitionTime: formatTime(this.#readySince(pod)) }
            : { type: 'Ready', status: 'False' },
        ],
      },
    };
  }

  #updateStatus(object: ConfigWatcher): ConfigWatcher {
    if (this.withoutStatus) refuse(404, 'NotFound');
    const watcher = this.#watcherOf(object.metadata.name);
    const { metadata } = watcher;
    if (object.metadata.resourceVersion !== metadata.resourceVersion) refuse(409, 'Conflict');
    const { status = {} } = object;
    const target = targetOf(object);
    if (target !== undefined && recordsAnEdit(watcher, object)) this.recordedAt.set(target, this.now);
    const { id } = status.lastRestart ?? {};
    if (id !== undefined) this.restartIds.add(`${metadata.name} ${id}`);
    if (isDeepStrictEqual(status, watcher.status)) return watcher;
    this.watcher = { ...watcher, status, metadata: { ...metadata, resourceVersion: this.#next() } };
    return this.#watcherOf(metadata.name);
  }

  #restart(operator: string, { name }: ObjectKey, uid: string | undefined, guarded: boolean): void {
    const pod = [...this.pods.values()].find((candidate) => candidate.name === name);
    if (!pod) refuse(404, 'NotFound');
    if (uid === undefined) throw new Error('a restart without the uid of its Pod');
    if (pod.uid !== uid) refuse(409, 'Conflict', undefined, 'Precondition failed: UID in precondition');
    if (name === this.poison) refuse(500, 'InternalError', 'broken');
    if (pod.goneAt !== undefined) return;
    const ready = this.livePods().filter((candidate) => this.isReady(candidate)).length;
    if (guarded && this.isReady(pod) && ready - 1 < this.minAvailable) {
      const needed = `The disruption budget web needs ${this.minAvailable} healthy pods and has ${ready} currently`;
      refuse(429, 'TooManyRequests', 'DisruptionBudget', needed);
    }
    const served = this.isReady(pod);
    pod.goneAt = this.now + this.grace;
    const unavailable = served ? this.#unavailable(pod) : undefined;
    this.restarts.push({ pod, at: this.now, operator, target: this.targets.get(operator), unavailable });
  }

  /** How many Pods the owner of this one lacks. */
  #unavailable({ controller }: WorldPod): number {
    const owner = this.workloads.find((workload) => controllerOf(workload).uid === controller?.uid);
    const ready = this.livePods().filter(
      (pod) => pod.controller?.uid === controller?.uid && this.isReady(pod),
    );
    return (owner?.replicas ?? 0) - ready.length;
  }

  /** Metadata of the ConfigMap and Pods as a watch shows them. */
  metadataOf(kind: 'ConfigMap' | 'Pod'): KubernetesObject[] {
    if (kind === 'ConfigMap') return [...this.configMaps.values()].map(transformSource);
    return [...this.pods.values()].map((pod) => transformPod(this.#podObject(pod)));
  }
}

/** A change that a watcher is about to apply: edits that it waits with are one. */
export function targetOf(watcher: ConfigWatcher | undefined): string | undefined {
  const since = watcher?.status?.pending?.since;
  return since && `${watcher.metadata.name} ${since}`;
}

/** Sources that are added to the spec or taken out of it are no edit. */
function recordsAnEdit(before: ConfigWatcher, after: ConfigWatcher): boolean {
  if (targetOf(after) !== targetOf(before)) return true;
  const known = new Set(before.status?.sources?.map(({ name, pendingHash }) => `${name} ${pendingHash}`));
  const { sources = [] } = after.status ?? {};
  return sources.some(({ name, pendingHash }) => pendingHash && !known.has(`${name} ${pendingHash}`));
}

function refuse(code: number, reason: string, cause?: string, words = `${reason} ${cause ?? ''}`): never {
  const details = cause === undefined ? {} : { details: { causes: [{ reason: cause, message: words }] } };
  throw new ApiError(words, code, { code, reason, message: words, ...details });
}
