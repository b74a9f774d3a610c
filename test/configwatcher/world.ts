/**
 * World: a small cluster in memory for one ConfigWatcher, with the parts of Kubernetes a restart meets.
 *
 * The API server answers one call at a time, stamps whole seconds, refuses stale versions and wrong uids and
 * honours disruption budgets. Deployments re-create Pods, which take the content of the moment, get Ready a
 * little later and take a while to end.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher, ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import type { ConfigMap, KubernetesObject, OwnerReference, Pod, Resource } from '../../src/api/kubernetes.ts';
import { formatTime } from '../../src/api/time.ts';
import { slimPod, slimSource } from '../../src/configwatcher/observe/watched-objects.ts';
import { ApiError } from '../../src/runtime/client/api-error.ts';
import type {
  Client,
  DeleteOptions,
  ListOptions,
  ObjectKey,
  Patch,
} from '../../src/runtime/client/client.ts';

export type Data = Readonly<Record<string, string>>;

export interface WorldPod {
  readonly uid: string;
  readonly name: string;
  readonly labels: Data;
  readonly controller: OwnerReference | undefined;
  /** Exact, unlike the Pod's creationTimestamp. */
  readonly bornAt: number;
  /** What it serves: the content when it started. */
  readonly content: string;
  /** Template it was made from. */
  readonly template: Data;
  readyAt: number;
  goneAt: number | undefined;
}

export interface Workload {
  readonly name: string;
  replicas: number;
  readonly kind: 'Deployment' | 'ReplicaSet' | 'Custom';
  paused: boolean;
  /** Of the Pod template; Pods made with others are replaced one at a time. */
  annotations: Data;
}

/** One accepted restarting write. */
export interface RestartRecord {
  readonly pod: WorldPod;
  readonly at: number;
  readonly operator: string;
  /** The `pending.hash` that the operator acted on. */
  readonly target: string | undefined;
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

interface Workloadish {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly spec: { readonly template: { readonly metadata: { readonly annotations: Data } } };
}

const namespace = 'shop';
export const watcherKey = { namespace, name: 'web' };

export class World {
  now = Date.UTC(2024, 0, 1, 12, 0, 0, 300);
  readonly pods = new Map<string, WorldPod>();
  readonly workloads: Workload[] = [];
  readonly restarts: RestartRecord[] = [];
  readonly rollouts: RolloutRecord[] = [];
  /** The `pending.hash` that each operator knows: the one it saw or wrote last. */
  readonly targets = new Map<string, string | undefined>();
  /** When each `pending.hash` was first written. */
  readonly recordedAt = new Map<string, number>();
  /** Every request, `verb resource`, in order. */
  readonly requests: string[] = [];
  watcher: ConfigWatcher;
  configMap: ConfigMap | undefined;
  /** Evictions that would leave fewer Ready Pods are refused. */
  minAvailable = 0;
  startup = 1500;
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
    this.watcher = {
      apiVersion: 'k8spatterns.io/v1',
      kind: 'ConfigWatcher',
      metadata: { ...watcherKey, uid: 'watcher-uid', generation: 1, resourceVersion: this.#next() },
      spec: { configMap: 'web-config', podSelector: { app: 'web' }, ...spec },
    };
    this.edit({ message: 'first' });
  }

  #next(): string {
    return String(++this.#version);
  }

  get configMapVersion(): string | undefined {
    return this.configMap?.metadata.resourceVersion;
  }

  /** Content as a Pod that starts now gets it. */
  get content(): string {
    return JSON.stringify(this.configMap?.data ?? null);
  }

  /**
   * Replaces the data. managedFields name the second of it, except where a tool other than `apply` does
   * nothing but remove a key.
   */
  edit(data: Data, { tool = 'apply' }: { readonly tool?: 'apply' | 'edit' } = {}): void {
    const before = this.configMap?.data ?? {};
    const keys = Object.keys(data);
    const set = tool === 'apply' || !this.configMap || keys.some((key) => before[key] !== data[key]);
    const time = set ? formatTime(this.now) : (this.configMap?.metadata.managedFields?.[0]?.time ?? '');
    this.configMap = {
      metadata: {
        namespace,
        name: 'web-config',
        uid: this.configMap?.metadata.uid ?? `config-${++this.#serial}`,
        resourceVersion: this.#next(),
        managedFields: [{ manager: 'edit', operation: 'Update', time, fieldsV1: { 'f:data': {} } }],
      },
      data,
    };
  }

  /** A label or annotation edit: the version moves, the data does not. */
  touch(): void {
    if (!this.configMap) return;
    const { metadata } = this.configMap;
    this.configMap = { ...this.configMap, metadata: { ...metadata, resourceVersion: this.#next() } };
  }

  deleteConfigMap(): void {
    this.configMap = undefined;
  }

  editSpec(spec: Partial<ConfigWatcherSpec>): void {
    const { metadata } = this.watcher;
    this.watcher = {
      ...this.watcher,
      spec: { ...this.watcher.spec, ...spec },
      metadata: {
        ...metadata,
        generation: (metadata.generation ?? 0) + 1,
        resourceVersion: this.#next(),
      },
    };
  }

  addWorkload(name: string, replicas: number, kind: Workload['kind'] = 'Deployment'): Workload {
    const workload: Workload = { name, replicas, kind, paused: false, annotations: {} };
    this.workloads.push(workload);
    this.step(0);
    for (const pod of this.pods.values()) pod.readyAt = Math.min(pod.readyAt, this.now);
    return workload;
  }

  addPod(options: { controller?: OwnerReference; readyAt?: number; template?: Data } = {}): WorldPod {
    const uid = `pod-${++this.#serial}`;
    const pod: WorldPod = {
      uid,
      name: uid,
      labels: { app: 'web' },
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
    for (const workload of this.workloads) {
      const controller = controllerOf(workload);
      const mine = [...this.pods.values()].filter((pod) => pod.controller?.uid === controller.uid);
      const live = mine.filter(({ goneAt }) => goneAt === undefined);
      for (let count = live.length; count < workload.replicas; count++) {
        this.addPod({ controller, template: workload.annotations });
      }
      for (const surplus of live.slice(workload.replicas)) surplus.goneAt = this.now + this.grace;
      if (workload.kind === 'Deployment' && !workload.paused && live.length === workload.replicas)
        this.#rollOut(workload, live);
    }
  }

  #rollOut({ annotations }: Workload, live: readonly WorldPod[]): void {
    const old = live.find(({ template }) => template !== annotations);
    if (old && live.every((pod) => this.isReady(pod))) old.goneAt = this.now + this.grace;
  }

  isReady(pod: WorldPod): boolean {
    return pod.goneAt === undefined && pod.readyAt <= this.now;
  }

  livePods(): WorldPod[] {
    return [...this.pods.values()].filter(({ goneAt }) => goneAt === undefined);
  }

  /** The API server, as `operator` calls it; `turn` is awaited before each call. */
  client(operator: string, turn: () => Promise<void>, answered: () => void): Client {
    const unused = () => Promise.reject(new Error('not in this world'));
    const call = async <T>(request: string, answer: () => T): Promise<T> => {
      await turn();
      this.requests.push(request);
      try {
        if (request === this.failing) refuse(500, 'InternalError', 'broken');
        if (request === this.forbidden) refuse(403, 'Forbidden');
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
          const sent = [...this.pods.values()].map((pod) => this.#podObject(pod));
          const items = sent.map((pod) => options.transform?.(pod) ?? pod) as never[];
          return { items, resourceVersion: this.#next() };
        }),
      updateStatus: (resource: Resource, object: KubernetesObject) =>
        call(`updateStatus ${resource.plural}`, () => {
          const written = this.#updateStatus(object as ConfigWatcher);
          this.targets.set(operator, written.status?.pending?.hash);
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
          return (isWatcher ? this.#patchWatcher(patch) : this.#patchWorkload(operator, key, patch)) as never;
        }),
      patchStatus: unused,
      getRaw: unused,
    };
  }

  #get(resource: Resource, { name }: ObjectKey): KubernetesObject {
    if (resource.kind === 'ConfigWatcher') return this.watcher;
    if (resource.kind === 'ConfigMap') {
      return name === 'web-config' && this.configMap ? this.configMap : refuse(404, 'NotFound');
    }
    const workload = this.workloads.find((candidate) => candidate.name === name.replace(/-rs$/, ''));
    if (!workload || workload.kind === 'Custom') return refuse(404, 'NotFound');
    const { replicas, paused, annotations } = workload;
    const spec = { replicas, paused, template: { metadata: { labels: { app: 'web' }, annotations } } };
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `${name}-uid` };
    if (workload.kind === 'ReplicaSet') {
      if (resource.kind !== 'ReplicaSet') return refuse(404, 'NotFound');
      return { metadata: { name, uid: `${name}-uid` }, spec } as KubernetesObject;
    }
    if (resource.kind === 'Deployment') {
      return {
        metadata: { ...deployment, resourceVersion: this.#versionOf(workload) },
        spec,
      } as KubernetesObject;
    }
    const parent = { ...deployment, name: workload.name, uid: `${workload.name}-uid`, controller: true };
    return { metadata: { name, uid: `${name}-uid`, ownerReferences: [parent] }, spec } as KubernetesObject;
  }

  /** Replaces the CRD: without the subresource the API server shows no status. */
  replaceCrd({ withoutStatus }: { readonly withoutStatus: boolean }): void {
    this.withoutStatus = withoutStatus;
    const { status, ...watcher } = this.watcher;
    this.watcher = { ...watcher, metadata: { ...watcher.metadata, resourceVersion: this.#next() } };
  }

  #patchWatcher(patch: Patch): ConfigWatcher {
    if (patch.type !== 'merge') return refuse(400, 'BadRequest');
    const { metadata } = patch.body as { metadata: { resourceVersion?: string; annotations: Data } };
    const before = this.watcher.metadata;
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== before.resourceVersion) {
      refuse(409, 'Conflict');
    }
    const merged = Object.entries({ ...before.annotations, ...metadata.annotations });
    const annotations = Object.fromEntries(merged.filter(([, value]) => value !== null));
    if (isDeepStrictEqual(annotations, before.annotations ?? {})) return this.watcher;
    this.watcher = { ...this.watcher, metadata: { ...before, annotations, resourceVersion: this.#next() } };
    return this.watcher;
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

  /** Moves with the spec, and with the numbers that stand in the status. */
  #versionOf(workload: Workload): string {
    const uid = controllerOf(workload).uid;
    const mine = this.livePods().filter(({ controller }) => controller?.uid === uid);
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
      spec: { containers: [] },
      status: {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: this.isReady(pod) ? 'True' : 'False' }],
      },
    };
  }

  #updateStatus(object: ConfigWatcher): ConfigWatcher {
    if (this.withoutStatus) refuse(404, 'NotFound');
    const { metadata } = this.watcher;
    if (object.metadata.resourceVersion !== metadata.resourceVersion) refuse(409, 'Conflict');
    const status = object.status ?? {};
    const hash = status.pending?.hash;
    if (hash !== undefined && hash !== this.watcher.status?.pending?.hash)
      this.recordedAt.set(hash, this.now);
    if (isDeepStrictEqual(status, this.watcher.status)) return this.watcher;
    this.watcher = { ...this.watcher, status, metadata: { ...metadata, resourceVersion: this.#next() } };
    return this.watcher;
  }

  #restart(operator: string, { name }: ObjectKey, uid: string | undefined, guarded: boolean): void {
    const pod = [...this.pods.values()].find((candidate) => candidate.name === name);
    if (!pod) refuse(404, 'NotFound');
    if (uid === undefined) throw new Error('a restart without the uid of its Pod');
    if (pod.uid !== uid) refuse(409, 'Conflict');
    if (name === this.poison) refuse(500, 'InternalError', 'broken');
    if (pod.goneAt !== undefined) return;
    const ready = this.livePods().filter((candidate) => this.isReady(candidate)).length;
    if (guarded && this.isReady(pod) && ready - 1 < this.minAvailable) {
      refuse(429, 'TooManyRequests', 'DisruptionBudget');
    }
    pod.goneAt = this.now + this.grace;
    this.restarts.push({ pod, at: this.now, operator, target: this.targets.get(operator) });
  }

  /** Metadata of the ConfigMap and Pods as a watch shows them. */
  metadataOf(kind: 'ConfigMap' | 'Pod'): KubernetesObject[] {
    if (kind === 'ConfigMap') return this.configMap ? [slimSource(this.configMap)] : [];
    return [...this.pods.values()].map((pod) => slimPod(this.#podObject(pod)));
  }
}

export function controllerOf({ kind, name }: Workload): OwnerReference {
  return kind !== 'Custom'
    ? {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: `${name}-rs`,
        uid: `${name}-rs-uid`,
        controller: true,
      }
    : { apiVersion: 'example.org/v1', kind: 'Game', name, uid: `${name}-uid`, controller: true };
}

function refuse(code: number, reason: string, cause?: string): never {
  const details = cause === undefined ? {} : { details: { causes: [{ reason: cause }] } };
  const message = `${reason} ${cause ?? ''}`;
  throw new ApiError(message, code, { code, reason, message, ...details });
}
