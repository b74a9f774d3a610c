/**
 * Shared informer: an {@link Informer} made of one reflector per namespace, the store they fill, and the
 * handlers they tell. Made by {@link Informers}, which sees to it that there is one for each purpose.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import { matcherOf } from '../../kubernetes/selector.ts';
import type { Client } from '../client/client.ts';
import { isEnded, type Written } from '../client/written.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { isStorable } from './cached-object.ts';
import type { Informer, InformerHandler, InformerOptions } from './informer.ts';
import { InformerCallbacks } from './informer-callbacks.ts';
import { InformerHandlers } from './informer-handlers.ts';
import type { InformerCounters } from './informer-metrics.ts';
import type { IndexFunction, Lister } from './lister.ts';
import { LoadProgress } from './load-progress.ts';
import type { LoadSlots } from './load-slots.ts';
import { Partition } from './partition.ts';
import { Reflector } from './reflector.ts';
import { type ReflectorProblem, resourceName } from './reflector-problem.ts';
import type { ReflectorTarget } from './reflector-target.ts';
import { Store } from './store.ts';

export interface SharedInformerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
  /** Namespaces to watch; empty: all of them, or a cluster-scoped resource. */
  readonly namespaces: readonly string[];
  readonly counters: InformerCounters;
  readonly loads: LoadSlots;
}

type DeletedObject = Extract<Written, { readonly deleted: true }>;

export class SharedInformer<T extends KubernetesObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  readonly #context: SharedInformerContext;
  readonly #options: InformerOptions<T>;
  readonly #callbacks: InformerCallbacks<T>;
  readonly #store = new Store<T>();
  readonly #indexes = new Map<string, IndexFunction<T>>();
  readonly #handlers: InformerHandlers<T>;
  /** The API server decides for what it sends; what this process writes is decided here. */
  readonly #isSelected: (object: T) => boolean;
  /** By namespace; the key of "all of them" is the empty string. */
  readonly #partitions = new Map<string, Partition<T>>();
  readonly #reflectors: Reflector<T>[] = [];
  readonly #unloaded = new Set<Partition<T>>();
  readonly #progress: LoadProgress[] = [];
  readonly #synced = Promise.withResolvers<void>();
  #startedAt: number | undefined;

  /** @throws {SyntaxError} when a selector is not one. */
  constructor(context: SharedInformerContext, resource: Resource<T>, options: InformerOptions<T> = {}) {
    this.resource = resource;
    this.lister = this.#store;
    this.#context = context;
    this.#options = options;
    const { clock } = context;
    const log = context.log.child({ resource: resourceName(resource) });
    const { metadataOnly = false, transform } = options;
    this.#callbacks = new InformerCallbacks(resource, { metadataOnly, transform }, { clock, log });
    this.#handlers = new InformerHandlers(clock, log);
    this.#isSelected = matcherOf(options.labelSelector, options.fieldSelector);
    this.addIndexes(options.indexes ?? {});
    for (const namespace of context.namespaces.length === 0 ? [undefined] : context.namespaces) {
      this.#addPartition(namespace);
    }
  }

  get hasSynced(): boolean {
    return this.#unloaded.size === 0;
  }

  /** Grows as long as the first loads get further: objects that have come in, and loads that are complete. */
  get loaded(): number {
    return this.#progress.reduce((sum, { most }) => sum + most, this.#partitions.size - this.#unloaded.size);
  }

  /** Objects in the store. */
  get size(): number {
    return this.#store.size;
  }

  /** True while all its watches are open. */
  get watching(): boolean {
    return this.#reflectors.every(({ watching }) => watching);
  }

  /** Why it is not following its resource right now, one entry for each namespace that has a problem. */
  get problems(): ReflectorProblem[] {
    return this.#reflectors.map(({ problem }) => problem).filter((problem) => problem !== undefined);
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    if (this.hasSynced) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      void this.#synced.promise.then(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }

  addHandler(handler: InformerHandler<T>): () => void {
    const known = [...this.#partitions.values()].flatMap((partition) => [...partition.watched()]);
    return this.#handlers.add(handler, known);
  }

  sinceLastContact(): number {
    return Math.max(...this.#reflectors.map(({ sinceLastContact }) => sinceLastContact));
  }

  staleness(): number {
    return Math.max(...this.#reflectors.map(({ staleness }) => staleness));
  }

  /** Like {@link sinceLastContact}, but a reflector that has had no contact yet counts from its start. */
  silence(): number {
    if (this.#startedAt === undefined) return 0;
    return Math.min(this.sinceLastContact(), this.#context.clock.monotonic() - this.#startedAt);
  }

  /**
   * Adds indexes, also while it runs.
   *
   * @throws {RangeError} when one of the names already stands for another function.
   */
  addIndexes(indexes: Readonly<Record<string, IndexFunction<T>>>): void {
    for (const [name, valuesOf] of Object.entries(indexes)) {
      const known = this.#indexes.get(name);
      if (known === valuesOf) continue;
      if (known !== undefined) {
        throw new RangeError(`${resourceName(this.resource)} has another index named "${name}" already`);
      }
      this.#indexes.set(name, valuesOf);
      this.#store.addIndex(name, (object) => this.#callbacks.indexValues(name, valuesOf, object));
    }
  }

  /** Lists and watches until the signal aborts; call once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#startedAt = this.#context.clock.monotonic();
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  /** Lets the lister show what this process has written or deleted, before the watch does. */
  observeWrite(written: Written): void {
    if (isStorable(written)) {
      // The lister has this resource only, so what was written is a T.
      this.#observeObject(written as T);
    } else if (isDeleted(written)) {
      this.#observeDelete(written);
    }
  }

  #observeObject(written: T): void {
    const partition = this.#partitionOf(written.metadata.namespace);
    if (partition === undefined) return;
    // Judged by the whole answer: the transform may have left out what holds the object.
    if (isEnded(written)) {
      partition.observeEnd(written.metadata);
      return;
    }
    const isSelected = this.#isSelected(written);
    const object = this.#callbacks.prepare(written, { copied: true });
    if (object === undefined) return;
    if (isSelected) partition.observeWrite(object);
    else partition.observeExit(object);
  }

  /** Without a uid it is not known which object is gone; then the watch is waited for. */
  #observeDelete({ namespace, name, uid }: DeletedObject): void {
    if (uid !== undefined) this.#partitionOf(namespace)?.observeEnd({ namespace, name, uid });
  }

  #addPartition(namespace: string | undefined): void {
    const partition = new Partition(this.#store, namespace);
    this.#partitions.set(namespace ?? '', partition);
    this.#unloaded.add(partition);
    const { resource } = this;
    const { labelSelector, fieldSelector, metadataOnly = false } = this.#options;
    const { counters } = this.#context;
    const progress = new LoadProgress();
    this.#progress.push(progress);
    const listed = () => {
      progress.begin();
      counters.listed();
    };
    this.#reflectors.push(
      new Reflector({
        ...this.#context,
        counters: { ...counters, listed },
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        resource,
        namespace,
        metadataOnly,
        target: this.#targetOf(partition, progress),
      }),
    );
  }

  #targetOf(partition: Partition<T>, progress: LoadProgress): ReflectorTarget<T> {
    return {
      get position() {
        return partition.position;
      },
      get resumeFrom() {
        return partition.resumeFrom;
      },
      prepare: (object) => {
        progress.took();
        return this.#callbacks.prepare(object);
      },
      replace: (objects, resourceVersion) => {
        this.#handlers.tell(partition.replace(objects, resourceVersion), this.#unloaded.has(partition));
        this.#unloaded.delete(partition);
        if (this.hasSynced) this.#synced.resolve();
      },
      apply: (type, object) => {
        const changes = partition.apply(type, object);
        this.#handlers.tell(changes, false);
        return changes.length > 0;
      },
      advance: (resourceVersion) => this.#handlers.tell(partition.advance(resourceVersion), false),
    };
  }

  #partitionOf(namespace = ''): Partition<T> | undefined {
    return this.#partitions.get('') ?? this.#partitions.get(namespace);
  }
}

function isDeleted(written: unknown): written is DeletedObject {
  return typeof written === 'object' && written !== null && 'deleted' in written;
}
