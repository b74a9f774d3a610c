/**
 * Pod worker: leads the containers of one Pod, from its admission to its end, as the pod worker of a kubelet.
 */
import { parseTime } from '../../kubernetes/time.ts';
import { delayWithin } from '../cluster-ports.ts';
import type { Pod, PodStatus } from '../objects.ts';
import { isTerminal } from '../pod-facts.ts';
import { ConfigError, type Files, filesOf, referencedBy } from './container-sources.ts';
import type { KubeletServices } from './kubelet-services.ts';
import { containersOf, type PodContainers } from './pod-containers.ts';
import { nextPhase } from './pod-phase.ts';
import { type PodEnd, type PodReport, statusOf } from './pod-status.ts';

const defaultGrace = 30;

export class PodWorker {
  readonly references: ReadonlySet<string>;
  readonly #services: KubeletServices;
  readonly #containers: PodContainers;
  #pod: Pod;
  #startTime: number | undefined;
  #files: Files | undefined;
  #address: string | undefined;
  #initialized = false;
  /** The statuses of the containers when the kubelet began to stop them. */
  #shown: Pick<PodReport, 'inits' | 'mains'> | undefined;
  /** Why it ends; undefined while it is to run. */
  #ending: { readonly end: PodEnd | undefined; grace: number } | undefined;
  #ended = false;
  #deadline: { cancel(): void } | undefined;
  #refresh: { cancel(): void } | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(services: KubeletServices, pod: Pod) {
    this.#services = services;
    this.#pod = pod;
    this.references = referencedBy(pod.spec);
    this.#containers = containersOf(services, {
      pod: () => this.#pod,
      files: () => this.#files,
      changed: () => this.#step(),
      whenSourcesChange: (run) => this.#waiting.push(run),
    });
  }

  get pod(): Pod {
    return this.#pod;
  }

  get uid(): string {
    return this.#pod.metadata.uid ?? '';
  }

  /** Nothing of it runs, and nothing will. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** Takes the Pod on. One that has ended before, under another kubelet process, is only remembered. */
  admit(): void {
    this.#ended = isTerminal(this.#pod);
    if (this.#ended) {
      this.update(this.#pod);
      return;
    }
    this.#startTime = Math.floor(this.#services.clock() / 1000) * 1000;
    this.#setUp();
    this.update(this.#pod);
    this.#step();
  }

  /** Refuses the Pod: it fails without a start. */
  reject(end: PodEnd): void {
    this.#startTime = this.#services.clock();
    this.end(end, 0);
  }

  /** The object has changed. */
  update(pod: Pod): void {
    this.#pod = pod;
    this.#setDeadline();
    const { deletionTimestamp, deletionGracePeriodSeconds = defaultGrace } = pod.metadata;
    if (deletionTimestamp === undefined) return;
    if (this.#ended) this.#services.report(keyOf(pod));
    else this.end(undefined, deletionGracePeriodSeconds);
  }

  /** Stops everything. @param grace seconds; a later call can only shorten it */
  end(end: PodEnd | undefined, grace: number): void {
    if (this.#ended) return;
    if (this.#ending === undefined) {
      this.#shown = this.#statuses;
      this.#ending = { end, grace };
    } else this.#ending.grace = Math.min(grace, this.#ending.grace);
    this.#step();
  }

  get #statuses(): Pick<PodReport, 'inits' | 'mains'> {
    const { inits, mains } = this.#containers;
    return { inits: inits.map(({ status }) => status), mains: mains.map(({ status }) => status) };
  }

  /** What the containers do while they are stopped is told once all of them have ended. */
  get #told(): Pick<PodReport, 'inits' | 'mains'> {
    return (this.#ended ? undefined : this.#shown) ?? this.#statuses;
  }

  /** The node has lost its power: what ran is found dead later. */
  die(): void {
    for (const container of this.#containers.all) container.die(255, 'Unknown');
  }

  /** The kubelet's process has ended: what it has begun and not finished is forgotten. */
  pause(): void {
    for (const container of this.#containers.all) container.abandon();
    this.#refresh?.cancel();
    this.#refresh = undefined;
  }

  /** The kubelet acts again. */
  resume(): void {
    if (this.#ended) return;
    if (this.#ending !== undefined) this.#shown = this.#statuses;
    this.#setDeadline();
    this.sourceChanged();
    this.#step();
  }

  /** A ConfigMap or Secret of its own has changed. */
  sourceChanged(): void {
    if (this.#ended || this.#ending !== undefined) return;
    const { cluster, random, delays } = this.#services;
    const waiting = this.#waiting.splice(0);
    if (waiting.length > 0) {
      const wait = delayWithin(random, delays.source);
      cluster.time.schedule(wait, () => {
        if (this.#ending !== undefined) return;
        if (!this.#services.isActing) this.#waiting.push(...waiting);
        else for (const run of waiting) run();
      });
    }
    if (this.#files === undefined || this.#files.sources.length === 0) return;
    this.#refresh ??= cluster.time.schedule(delayWithin(random, delays.refresh), () => this.#refreshFiles());
  }

  /** What is to be reported now. */
  status(pod: Pod): PodStatus {
    const statuses = this.#told;
    const { address } = this.#services;
    return statusOf({
      pod,
      phase: nextPhase(pod, statuses, { isEnded: this.#ended, isStopped: this.#ending?.end !== undefined }),
      ...statuses,
      startTime: this.#startTime,
      now: this.#services.clock(),
      hasSandbox: this.#files !== undefined,
      initialized: this.#initialized,
      end: this.#ending?.end,
      hostIP: address,
      podIP: this.#address,
    });
  }

  /** Level-triggered: does what the present state asks for. */
  #step(): void {
    if (this.#ended) return;
    if (this.#services.isActing) {
      if (this.#ending !== undefined) this.#stop(this.#ending.grace * 1000);
      else if (this.#files !== undefined) this.#lead();
    }
    this.#services.report(keyOf(this.#pod));
  }

  #lead(): void {
    const progress = this.#containers.progress(this.#pod.spec.restartPolicy ?? 'Always', this.#initialized);
    this.#initialized ||= progress.initialized;
    for (const container of progress.begin) container.begin();
    if (progress.finished) this.end(undefined, this.#pod.spec.terminationGracePeriodSeconds ?? defaultGrace);
  }

  /** Main containers first, sidecars when these have ended. */
  #stop(grace: number): void {
    const { regular, sidecars } = this.#containers;
    for (const container of regular) container.stop(grace);
    if (regular.some((container) => container.isRunning)) return;
    for (const container of sidecars) container.stop(grace);
    if (sidecars.some((container) => container.isRunning)) return;
    this.#ended = true;
    this.#deadline?.cancel();
    this.#refresh?.cancel();
    if (this.#initialized) for (const container of this.#containers.mains) container.markLost();
  }

  #setUp(): void {
    const { namespace = '' } = this.#pod.metadata;
    try {
      this.#files = filesOf(this.#pod.spec, namespace, this.#services.sourcesOf(namespace));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#waiting.push(() => {
        this.#setUp();
        this.#step();
      });
      return;
    }
    this.#address ??= this.#services.nextAddress();
  }

  #refreshFiles(): void {
    this.#refresh = undefined;
    const { cluster, node, listeners } = this.#services;
    const { namespace = '' } = this.#pod.metadata;
    if (this.#ended) return;
    try {
      this.#files = filesOf(this.#pod.spec, namespace, this.#services.sourcesOf(namespace));
    } catch (error) {
      // The files stay as they were.
      if (error instanceof ConfigError) return;
      throw error;
    }
    const { sources } = this.#files;
    for (const listener of listeners)
      listener.onRefresh?.({ pod: this.#pod, node, at: cluster.time.now, sources });
  }

  /** Counts from the start of the Pod, by the kubelet's clock. */
  #setDeadline(): void {
    this.#deadline?.cancel();
    const { activeDeadlineSeconds } = this.#pod.spec;
    if (activeDeadlineSeconds === undefined || this.#startTime === undefined || this.#ended) return;
    const startTime = parseTime(this.#pod.status?.startTime ?? '');
    const due = (Number.isNaN(startTime) ? this.#startTime : startTime) + activeDeadlineSeconds * 1000;
    const { cluster, clock } = this.#services;
    this.#deadline = cluster.time.schedule(Math.max(0, due - clock()), () => {
      if (!this.#services.isActing) return;
      const message = 'Pod was active on the node longer than the specified deadline';
      this.end(
        { reason: 'DeadlineExceeded', message },
        this.#pod.spec.terminationGracePeriodSeconds ?? defaultGrace,
      );
    });
  }
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
