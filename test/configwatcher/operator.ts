/**
 * Operator: one operator process in a {@link World}, the real reconciler over copies that are brought up to
 * date only when the driver says so. Each of its calls waits until the driver lets it through, so calls of
 * several operators interleave in any order, and a crash can come between any two.
 */

import { Registry } from '@prometheus-io/client';
import type { ConfigWatcher, ConfigWatcherSpec } from '../../src/api/configwatcher.generated.ts';
import { configWatchers } from '../../src/api/resources.ts';
import { ConfigWatcherMetrics } from '../../src/configwatcher/act/configwatcher-metrics.ts';
import { PodControl } from '../../src/configwatcher/act/pod-control.ts';
import { StateStore } from '../../src/configwatcher/act/state-store.ts';
import { mayRestartNow } from '../../src/configwatcher/decide/pending.ts';
import { Observer } from '../../src/configwatcher/facts/observer.ts';
import { ConfigWatcherReconciler } from '../../src/configwatcher/reconciler.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Lister } from '../../src/runtime/cache/lister.ts';
import type { Result } from '../../src/runtime/controller/reconciler.ts';
import type { EventRecord } from '../../src/runtime/events/event-recorder.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { ServerClock } from '../../src/runtime/server-clock.ts';
import { settle } from '../fake/clock.ts';
import { first, targetOf, World } from './world.ts';

class View<T extends KubernetesObject> implements Lister<T> {
  objects: readonly T[] = [];

  get(_namespace: string, name: string): T | undefined {
    return this.objects.find(({ metadata }) => metadata.name === name);
  }

  list(): T[] {
    return [...this.objects];
  }

  byIndex(): T[] {
    return [];
  }

  get size(): number {
    return this.objects.length;
  }
}

/** One operator process: the real reconciler over copies that may be old. */
export class Operator {
  readonly events: EventRecord[] = [];
  /** Outputs as text, for what must never appear in them. */
  readonly lines: string[] = [];
  readonly #world: World;
  readonly #name: string;
  readonly #watcher: string;
  readonly #watchers = new View<ConfigWatcher>();
  /** When the watch of the watchers has caught up last. */
  #shownAt = 0;
  readonly #configMaps = new View<KubernetesObject>();
  readonly #pods = new View<KubernetesObject>();
  readonly #abort = new AbortController();
  readonly #reconciler: ConfigWatcherReconciler;
  readonly store: StateStore;
  readonly #waiting: (() => void)[] = [];
  readonly #registry = new Registry();
  /** Lets every call through at once. */
  free: boolean;
  running = false;
  lastResult: Result | undefined;
  lastError: unknown;

  /** @param options.watcher name of the one that it looks after. */
  constructor(world: World, name: string, { free = true, watcher = first } = {}) {
    this.#world = world;
    this.#name = name;
    this.#watcher = watcher;
    this.free = free;
    const clock = {
      now: () => world.now,
      monotonic: () => world.now - 1000,
      setTimer: () => ({ cancel() {} }),
      turn: settle,
    };
    const serverClock = new ServerClock(clock);
    const client = world.client(
      name,
      () => this.#turn(),
      () => {
        const sentAt = clock.monotonic();
        const date = Math.floor(world.now / 1000) * 1000;
        serverClock.observe({ date, sentAt, receivedAt: sentAt });
      },
    );
    this.store = new StateStore(configWatchers, client, clock);
    this.#reconciler = new ConfigWatcherReconciler({
      resource: configWatchers,
      store: this.store,
      watchers: this.#watchers,
      watch: { staleness: () => world.now - this.#shownAt },
      observer: new Observer({
        mayRestartNow,
        group: configWatchers.group,
        kind: configWatchers.kind,
        client,
        clock: serverClock,
        configMaps: this.#configMaps,
        pods: this.#pods,
      }),
      podControl: new PodControl(client),
      recorder: { record: (_resource, _regarding, event) => this.events.push(event) },
      metrics: new ConfigWatcherMetrics(this.#registry),
      clock,
      random: () => 0.5,
    });
    this.sync();
  }

  /** The watches catch up. */
  sync(what: 'all' | 'watcher' | 'configMap' = 'all'): void {
    if (what !== 'configMap') {
      this.#watchers.objects = this.#mine();
      this.#shownAt = this.#world.now;
    }
    if (what !== 'watcher') this.#configMaps.objects = this.#world.metadataOf('ConfigMap');
    this.#pods.objects = this.#world.metadataOf('Pod');
  }

  #mine(): ConfigWatcher[] {
    return [...this.#world.watchers.values()].filter(({ metadata }) => metadata.name === this.#watcher);
  }

  /** Begins a reconcile, unless one runs. */
  begin(): void {
    if (this.running) return;
    this.running = true;
    this.#world.targets.set(this.#name, targetOf(this.#watchers.objects[0]));
    const write = (...line: unknown[]) => this.lines.push(JSON.stringify(line));
    const log = { ...silentLogger, info: write, warn: write };
    const context = { signal: this.#abort.signal, log, reconcileID: this.#name };
    this.#reconciler.reconcile({ namespace: 'shop', name: this.#watcher }, context).then(
      (result) => {
        this.running = false;
        this.lastResult = result;
      },
      (error) => {
        this.running = false;
        this.lastError = error;
        this.lastResult = { requeueAfter: 500 };
      },
    );
  }

  /** One whole reconcile. */
  async reconcile(): Promise<Result> {
    this.free = true;
    this.begin();
    await this.end();
    return this.lastResult ?? {};
  }

  /** Lets the reconcile that is under way end. */
  async end(): Promise<void> {
    while (this.running) {
      this.letThrough();
      await settle();
    }
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The value of a series of the ConfigWatcher controller. */
  async metric(series: string): Promise<number | undefined> {
    const start = `atwatch_configwatcher_${series} `;
    const line = (await this.metrics()).split('\n').find((text) => text.startsWith(start));
    return line === undefined ? undefined : Number(line.slice(start.length));
  }

  /** The oldest waiting call reaches the API server; false if there is none. */
  letThrough(): boolean {
    const call = this.#waiting.shift();
    call?.();
    return call !== undefined;
  }

  /** The process is gone: none of its waiting calls ever arrives. */
  kill(): void {
    this.#waiting.length = 0;
  }

  #turn(): Promise<void> {
    if (this.free) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** The operator looks again and again, `interval` ms apart, until `isDone`, at most a hundred times. */
export async function lookUntil(
  world: World,
  operator: Operator,
  isDone: (looks: number) => boolean,
  interval: number,
): Promise<void> {
  for (let looks = 0; !isDone(looks); looks++) {
    if (looks > 100) throw new Error(`no end: ${JSON.stringify(world.watcher.status)}`);
    operator.sync();
    await operator.reconcile();
    world.step(interval);
  }
}

/** Everybody works undisturbed until nothing is pending and no replica wants to look again, at most `limit` ms. */
export async function converge(
  world: World,
  operators: readonly Operator[],
  limit = 3_600_000,
): Promise<void> {
  const end = world.now + limit;
  for (let quiet = 0; quiet < 2; ) {
    if (world.now > end)
      throw new Error(`no rest: ${JSON.stringify([...world.watchers.values()].map(({ status }) => status))}`);
    const versions = () =>
      [...world.watchers.values()].map(({ metadata }) => metadata.resourceVersion).join();
    const before = versions();
    let wait = 1000;
    let waits = false;
    for (const operator of operators) {
      operator.sync();
      const { requeueAfter } = await operator.reconcile();
      waits ||= requeueAfter !== undefined;
      wait = Math.min(wait, requeueAfter ?? 1000);
    }
    quiet = !waits && before === versions() ? quiet + 1 : 0;
    world.step(Math.max(wait, 50));
  }
}

/** A world at rest: one operator has seen it, `replicas` Pods are Ready. */
export async function settled(
  spec: Partial<ConfigWatcherSpec> = {},
  { replicas = 4 } = {},
): Promise<{ world: World; operator: Operator }> {
  const world = new World({ cooldown: { base: '0s' }, ...spec });
  if (replicas > 0) world.addWorkload('web', replicas);
  world.step(10_000);
  const operator = new Operator(world, 'operator');
  await converge(world, [operator]);
  return { world, operator };
}

/** The same, where the content was edited and then a Pod replaced while no operator ran. */
export async function replacedWhileDown(): Promise<World> {
  const { world } = await settled();
  world.step(600_000);
  world.edit({ message: 'second' });
  world.step(5000);
  const [replaced] = world.livePods();
  replaced!.goneAt = world.now;
  world.step(60_000);
  return world;
}

/** A restart of sixty Pods in one batch, of which five are restarted and the others follow. */
export async function bigBatch(): Promise<{ world: World; operator: Operator }> {
  const strategy = { type: 'Delete', maxUnavailable: '100%' } as const;
  const { world, operator } = await settled({ debounce: { quiet: '0s' }, strategy }, { replicas: 60 });
  world.edit({ message: 'second' });
  operator.free = false;
  operator.sync();
  operator.begin();
  while (world.restarts.length < 5) {
    operator.letThrough();
    await settle();
  }
  return { world, operator };
}
