/**
 * Kubelet: runs the Pods that are bound to its node and reports on them. It has a clock of its own, can lose its
 * power, its process or its connection, and comes back from each as a real one does.
 */

import { equalJson } from '../api-server/json-value.ts';
import { type ClusterChange, isSameResource } from '../cluster-ports.ts';
import { isDone, patchStatus, perform, remove } from '../controllers/write.ts';
import { type Pod, pods } from '../objects.ts';
import { isTerminal } from '../pod-facts.ts';
import { type Outcome, WorkList } from '../work-list.ts';
import { BackOff } from './back-off.ts';
import { ImageStore } from './image-store.ts';
import { defaultDelays, type KubeletOptions, type KubeletState, retryDelays } from './kubelet-options.ts';
import type { KubeletServices } from './kubelet-services.ts';
import { NodeRegistration } from './node-registration.ts';
import { type PodEnd, statusPatch } from './pod-status.ts';
import { PodWorker } from './pod-worker.ts';
import { PodWorkers } from './pod-workers.ts';
import { SourceCache } from './source-cache.ts';

export class Kubelet {
  readonly name: string;
  /** By how much its wall clock is ahead, in ms. */
  skew = 0;
  readonly #options: KubeletOptions;
  readonly #workers = new PodWorkers();
  readonly #notices: WorkList;
  readonly #reports: WorkList;
  readonly #services: KubeletServices;
  readonly #sources: SourceCache;
  readonly #registration: NodeRegistration;
  readonly #stateListeners: ((state: KubeletState) => void)[] = [];
  #state: KubeletState = 'running';
  #addresses = 0;

  constructor(options: KubeletOptions) {
    const { cluster, random, name } = options;
    this.name = name;
    this.#options = options;
    this.#sources = new SourceCache(cluster.view);
    this.#services = this.#makeServices();
    const { delays } = this.#services;
    const work = { time: cluster.time, random, backOff: retryDelays };
    this.#notices = new WorkList({ ...work, delay: delays.notice, sync: (key) => this.#sync(key) });
    this.#reports = new WorkList({ ...work, delay: delays.report, sync: (key) => this.#report(key) });
    this.#registration = new NodeRegistration(options, () => this.#services.clock());
    cluster.changes.onChange((change) => this.#see(change));
  }

  get state(): KubeletState {
    return this.#state;
  }

  /** User name of its requests. */
  get user(): string {
    return `system:node:${this.name}`;
  }

  /** Whether the cluster hears its heartbeat. */
  get isHeard(): boolean {
    return this.#state === 'running';
  }

  /** Registers its node and takes on what is bound to it. */
  start(): void {
    this.#registration.register();
    this.#listPods();
  }

  onState(listener: (state: KubeletState) => void): void {
    this.#stateListeners.push(listener);
  }

  /** Comes into another state; back in `running` it finds out what it has missed. */
  become(state: KubeletState): void {
    const before = this.#state;
    if (state === before) return;
    this.#state = state;
    if (state === 'running') this.#sources.thaw();
    else if (before === 'running') this.#sources.freeze();
    for (const worker of this.#workers.active) tellWorker(worker, state);
    if (state === 'running') this.start();
    for (const listener of this.#stateListeners) listener(state);
  }

  /**
   * Ends a Pod on the kubelet's own account, as under pressure on the node or when it shuts down.
   *
   * @param grace seconds
   */
  endPod(pod: Pod, end: PodEnd, grace: number): void {
    for (const worker of this.#workers.of(keyOf(pod))) {
      if (worker.uid === pod.metadata.uid) worker.end(end, grace);
    }
  }

  /** Uids of the Pods whose containers it leads. */
  get running(): readonly string[] {
    return this.#workers.active.map(({ uid }) => uid);
  }

  get #isActing(): boolean {
    return this.#state === 'running' || this.#state === 'disconnected';
  }

  #makeServices(): KubeletServices {
    const { cluster, random, name, program, listeners = [], delays, network = 0 } = this.#options;
    const { hasImage: exists = () => true, runsAsRoot } = this.#options;
    const kubelet = this;
    return {
      node: name,
      cluster,
      random,
      delays: { ...defaultDelays, ...delays },
      images: new ImageStore({ random, exists, ...(runsAsRoot && { runsAsRoot }) }),
      backOff: new BackOff(),
      program,
      listeners,
      clock: () => cluster.time.now + this.skew,
      get isActing() {
        return kubelet.#isActing;
      },
      sourcesOf: (namespace) => this.#sources.reader(namespace),
      report: (key) => this.#reports.add(key),
      nextAddress: () => `10.${network}.${this.#addresses >> 8}.${this.#addresses++ & 255}`,
      address: `192.168.0.${network + 1}`,
    };
  }

  #see({ resource, object, previous }: ClusterChange): void {
    if (isSameResource(resource, pods)) {
      const isMine = [object, previous].some((pod) => (pod as Pod | undefined)?.spec.nodeName === this.name);
      if (isMine) this.#notices.add(keyOf(object));
      return;
    }
    if (resource.group !== '' || (resource.kind !== 'ConfigMap' && resource.kind !== 'Secret')) return;
    if (!this.isHeard) return;
    const { namespace = '', name } = object.metadata;
    const reference = `${resource.kind}/${name}`;
    for (const worker of this.#workers.active) {
      if (worker.pod.metadata.namespace === namespace && worker.references.has(reference))
        worker.sourceChanged();
    }
  }

  #listPods(): void {
    const { view } = this.#options.cluster;
    for (const pod of view.list(pods)) if (pod.spec.nodeName === this.name) this.#notices.add(keyOf(pod));
    for (const key of this.#workers.keys) {
      this.#notices.add(key);
      this.#reports.add(key);
    }
  }

  #sync(key: string): Outcome {
    if (!this.isHeard) return {};
    const pod = this.#podOf(key);
    for (const worker of this.#workers.of(key)) {
      if (worker.uid === pod?.metadata.uid) continue;
      if (worker.isEnded) this.#drop(key, worker);
      // A Pod without an object has no grace left.
      else worker.end(undefined, 0);
    }
    if (pod === undefined) return {};
    const worker = this.#workers.of(key).find(({ uid }) => uid === pod.metadata.uid);
    if (worker === undefined) this.#takeOn(key, pod);
    else worker.update(pod);
    return {};
  }

  #takeOn(key: string, pod: Pod): void {
    const { maxPods = 110 } = this.#options;
    const used = this.#workers.activeCount;
    const worker = new PodWorker(this.#services, pod);
    this.#workers.add(key, worker);
    this.#sources.register(worker.uid, pod.metadata.namespace ?? '', worker.references);
    if (used < maxPods || isTerminal(pod)) worker.admit();
    else
      worker.reject({
        reason: 'OutOfpods',
        message: `Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: ${used}, capacity: ${maxPods}`,
      });
    if (worker.isEnded) this.#workers.noteEnd(worker);
  }

  #drop(key: string, worker: PodWorker): void {
    this.#workers.drop(key, worker);
    this.#sources.unregister(worker.uid);
  }

  /** Writes what has changed in a status, and takes the last hold off a Pod that has ended. */
  #report(key: string): Outcome {
    if (!this.isHeard) return {};
    let retry = false;
    for (const worker of this.#workers.of(key)) {
      const pod = this.#podOf(key);
      if (worker.isEnded) this.#workers.noteEnd(worker);
      if (pod?.metadata.uid !== worker.uid) {
        if (worker.isEnded) this.#drop(key, worker);
        continue;
      }
      retry ||= !this.#writeStatus(worker, pod) || !this.#finish(worker);
    }
    return { retry };
  }

  #writeStatus(worker: PodWorker, pod: Pod): boolean {
    const patch = statusPatch(pod.status, worker.status(pod), equalJson);
    if (patch === undefined) return true;
    const answer = perform(this.#options.cluster.writes, this.user, patchStatus(pods, pod, patch));
    return isDone(answer) || answer.code === 404 || answer.code === 409;
  }

  #finish(worker: PodWorker): boolean {
    const pod = this.#podOf(keyOf(worker.pod));
    if (!worker.isEnded || pod?.metadata.uid !== worker.uid) return true;
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return true;
    const write = remove(pods, pod, { gracePeriodSeconds: 0 });
    const answer = perform(this.#options.cluster.writes, this.user, write);
    return isDone(answer) || answer.code === 404 || answer.code === 409;
  }

  #podOf(key: string): Pod | undefined {
    const slash = key.indexOf('/');
    const pod = this.#options.cluster.view.get(pods, key.slice(0, slash), key.slice(slash + 1));
    return pod?.spec.nodeName === this.name ? pod : undefined;
  }
}

function tellWorker(worker: PodWorker, state: KubeletState): void {
  switch (state) {
    case 'off':
      worker.die();
      worker.pause();
      break;
    case 'stopped':
      worker.pause();
      break;
    case 'running':
    case 'disconnected':
      worker.resume();
      break;
  }
}

function keyOf({ metadata }: { readonly metadata: Pod['metadata'] }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
