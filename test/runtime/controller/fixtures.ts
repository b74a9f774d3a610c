/**
 * What the controller's tests stand on: an informer that says what a test tells it to, a logger that keeps
 * its lines, and readings of a registry.
 */
import { Registry } from '@prometheus-io/client';
import type { KubernetesObject, Resource } from '../../../src/kubernetes/objects.ts';
import type { Informer, InformerHandler, InformerOptions } from '../../../src/runtime/cache/informer.ts';
import type { Lister } from '../../../src/runtime/cache/lister.ts';
import {
  type ControllerHost,
  controllerManagedBy,
  type WatchOptions,
} from '../../../src/runtime/controller/builder.ts';
import type { ControllerOptions } from '../../../src/runtime/controller/controller.ts';
import type { Reconciler } from '../../../src/runtime/controller/reconciler.ts';
import type { Runnable } from '../../../src/runtime/controller/runnable.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { systemRandomness } from '../../../src/runtime/randomness.ts';
import { FakeClock } from '../../fake/clock.ts';

export interface Widget extends KubernetesObject {
  readonly spec?: { readonly size?: number };
}

export interface Gadget extends KubernetesObject {
  readonly color?: string;
}

export const widgets: Resource<Widget> = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

export const gadgets: Resource<Gadget> = {
  group: '',
  version: 'v1',
  plural: 'gadgets',
  kind: 'Gadget',
  namespaced: true,
};

export function widget(name: string, metadata: Partial<KubernetesObject['metadata']> = {}): Widget {
  return { metadata: { namespace: 'default', name, uid: `uid-${name}`, resourceVersion: '1', ...metadata } };
}

/** An informer without an API server: `list`, `update` and `remove` are what the watch would bring. */
export class FakeInformer<T extends KubernetesObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly options: InformerOptions<T> | undefined;
  readonly handlers = new Set<InformerHandler<T>>();
  readonly #objects = new Map<string, T>();
  readonly #synced = Promise.withResolvers<void>();
  hasSynced = false;

  constructor(resource: Resource<T>, options?: InformerOptions<T>) {
    this.resource = resource;
    this.options = options;
  }

  readonly lister: Lister<T> = {
    get: (namespace, name) => this.#objects.get(`${namespace}/${name}`),
    list: () => [...this.#objects.values()],
    byIndex: () => [],
    size: 0,
  };

  /** The first list: its objects, then the sync. */
  sync(...objects: readonly T[]): void {
    for (const object of objects) this.#put(object, true);
    this.hasSynced = true;
    this.#synced.resolve();
  }

  add(object: T): void {
    this.#put(object, false);
  }

  update(previous: T, current: T): void {
    for (const handler of this.handlers) handler.onUpdate?.(previous, current);
  }

  remove(object: T): void {
    for (const handler of this.handlers) handler.onDelete?.(object);
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<void>();
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    return Promise.race([this.#synced.promise, promise]);
  }

  addHandler(handler: InformerHandler<T>): () => void {
    this.handlers.add(handler);
    if (this.hasSynced) for (const object of this.#objects.values()) handler.onAdd?.(object, true);
    return () => this.handlers.delete(handler);
  }

  sinceLastContact(): number {
    return 0;
  }

  staleness(): number {
    return 0;
  }

  #put(object: T, initial: boolean): void {
    this.#objects.set(`${object.metadata.namespace}/${object.metadata.name}`, object);
    for (const handler of this.handlers) handler.onAdd?.(object, initial);
  }
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps what it is told. */
export function recordingLogger(lines: LogLine[] = [], bindings: object = {}): Logger & { lines: LogLine[] } {
  const method = (level: LogLine['level']) => (first: object | string, message?: string) => {
    const fields = typeof first === 'string' ? bindings : { ...bindings, ...first };
    lines.push({
      level,
      fields: { ...fields },
      message: typeof first === 'string' ? first : (message ?? ''),
    });
  };
  return {
    lines,
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    child: (fields) => recordingLogger(lines, { ...bindings, ...fields }),
  };
}

/** The series of a registry whose name begins with `prefix`, as `name{labels}` → value, without buckets. */
export async function series(registry: Registry, prefix: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const line of (await registry.metrics()).split('\n')) {
    if (!line.startsWith(prefix) || line.includes('_bucket{')) continue;
    const space = line.lastIndexOf(' ');
    found[line.slice(0, space)] = Number(line.slice(space + 1));
  }
  return found;
}

/** A Manager's stand-in: fake informers, one per resource, and the controllers that were added. */
export function fakeHost() {
  const informers = new Map<string, FakeInformer<KubernetesObject>>();
  const added: Runnable[] = [];
  const clock = new FakeClock();
  const log = recordingLogger();
  const registry = new Registry();
  const informerFor = <T extends KubernetesObject>(resource: Resource<T>, options?: InformerOptions<T>) => {
    const known = informers.get(resource.plural) as unknown as FakeInformer<T> | undefined;
    const informer = known ?? new FakeInformer(resource, options);
    informers.set(resource.plural, informer as unknown as FakeInformer<KubernetesObject>);
    return informer;
  };
  const host: ControllerHost = {
    informers: { informerFor },
    clock,
    randomness: systemRandomness,
    log,
    registry,
    add: (runnable) => added.push(runnable),
  };
  return { host, informerFor, added, clock, log, registry };
}

/** A controller for widgets, started; `reconcile` is the reconciler. */
export function startController(
  reconcile: Reconciler['reconcile'],
  options: ControllerOptions & WatchOptions<Widget> = {},
) {
  const fake = fakeHost();
  const { predicates, priority, ...controllerOptions } = options;
  const controller = controllerManagedBy(fake.host)
    .for(widgets, { ...(predicates && { predicates }), ...(priority && { priority }) })
    .withOptions(controllerOptions)
    .complete({ reconcile });
  const stop = new AbortController();
  const abort = new AbortController();
  const state = { stopped: false };
  const running = controller.start(stop.signal, abort.signal).then(() => {
    state.stopped = true;
  });
  return { ...fake, controller, informer: fake.informerFor(widgets), stop, abort, running, state };
}
