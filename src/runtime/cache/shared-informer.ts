/**
 * Shared informer: an {@link Informer} made of one reflector per namespace, the store they fill, and the
 * handlers they tell. Made by {@link Informers}, which sees to it that there is one for each purpose.
 */
import type { KubernetesObject, Resource } from '../../api/kubernetes.ts';
import type { Client } from '../client/client.ts';
import type { Written } from '../client/written.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { isStorable, toCachedObject } from './cached-object.ts';
import type { Informer, InformerHandler, InformerOptions } from './informer.ts';
import { InformerHandlers } from './informer-handlers.ts';
import type { InformerCounters } from './informer-metrics.ts';
import type { IndexFunction, Lister } from './lister.ts';
import { Partition } from './partition.ts';
import { Reflector } from './reflector.ts';
import { type ReflectorProblem, resourceName } from './reflector-problem.ts';
import type { ReflectorTarget } from './reflector-target.ts';
import { parseFieldSelector, parseLabelSelector } from './selector.ts';
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
}

type DeletedObject = Extract<Written, { readonly deleted: true }>;

export class SharedInformer<T extends KubernetesObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  readonly #context: SharedInformerContext;
  readonly #options: InformerOptions<T>;
  readonly #log: Logger;
  readonly #store = new Store<T>();
  readonly #indexes = new Map<string, IndexFunction<T>>();
  readonly #handlers: InformerHandlers<T>;
  readonly #isSelected: (object: T) => boolean;
  /** By namespace; the key of "all of them" is the empty string. */
  readonly #partitions = new Map<string, Partition<T>>();
  readonly #reflectors: Reflector<T>[] = [];
  readonly #unloaded = new Set<Partition<T>>();
  readonly #synced = Promise.withResolvers<void>();
  #startedAt: number | undefined;

  /** @throws {SyntaxError} when a selector is not one. */
  constructor(context: SharedInformerContext, resource: Resource<T>, options: InformerOptions<T> = {}) {
    this.resource = resource;
    this.lister = this.#store;
    this.#context = context;
    this.#options = options;
    this.#log = context.log.child({ resource: resourceName(resource) });
    this.#handlers = new InformerHandlers(this.#log);
    this.#isSelected = selectorOf(options);
    this.addIndexes(options.indexes ?? {});
    for (const namespace of context.namespaces.length === 0 ? [undefined] : context.namespaces) {
      this.#addPartition(namespace);
    }
  }

  get hasSynced(): boolean {
    return this.#unloaded.size === 0;
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
      this.#store.addIndex(name, (object) => this.#indexValues(name, valuesOf, object));
    }
  }

  /** Lists and watches until the signal aborts; call once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#startedAt = this.#context.clock.monotonic();
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  /** Lets the lister show what this process has written or deleted, before the watch does. */
  observeWrite(written: Written): void {
    // The lister has this resource only, so what was written is a T.
    if ('deleted' in written) this.#observeDelete(written);
    else this.#observeObject(written as T);
  }

  #observeObject(written: T): void {
    const partition = this.#partitionOf(written.metadata.namespace);
    if (partition === undefined) return;
    const object = this.#prepare(written, { copied: true });
    if (object === undefined) return;
    if (isEnded(object)) partition.observeEnd(object.metadata);
    else if (this.#isSelected(written)) partition.observeWrite(object);
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
    this.#reflectors.push(
      new Reflector({
        ...this.#context,
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        resource,
        namespace,
        metadataOnly,
        target: this.#targetOf(partition),
      }),
    );
  }

  #targetOf(partition: Partition<T>): ReflectorTarget<T> {
    return {
      get position() {
        return partition.position;
      },
      get resumeFrom() {
        return partition.resumeFrom;
      },
      prepare: (object) => this.#prepare(object),
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
      advance: (resourceVersion) => partition.advance(resourceVersion),
    };
  }

  #partitionOf(namespace = ''): Partition<T> | undefined {
    return this.#partitions.get('') ?? this.#partitions.get(namespace);
  }

  #prepare(object: T, { copied = false } = {}): T | undefined {
    if (!isStorable(object)) {
      this.#log.error('the API server sent an object without a name, which is left out');
      return undefined;
    }
    const { metadataOnly = false, transform } = this.#options;
    try {
      return toCachedObject(this.resource, { metadataOnly, transform, copied }, object);
    } catch (error) {
      // One object of unforeseen shape is kept whole: to leave it out would look like a deletion.
      const { namespace, name } = object.metadata;
      this.#log.error({ err: error, namespace, name }, 'the transform failed, the object is kept as it is');
      return toCachedObject(this.resource, { metadataOnly, transform: undefined, copied }, object);
    }
  }

  #indexValues(index: string, valuesOf: IndexFunction<T>, object: T): readonly string[] {
    try {
      // An array from wherever: an object of unforeseen shape may have made it something else.
      return Array.from(valuesOf(object));
    } catch (error) {
      const { namespace, name } = object.metadata;
      this.#log.error(
        { err: error, namespace, name, index },
        'the index function failed, the object is not in it',
      );
      return [];
    }
  }
}

function selectorOf<T extends KubernetesObject>({
  labelSelector = '',
  fieldSelector = '',
}: InformerOptions<T>): (object: T) => boolean {
  const hasLabels = parseLabelSelector(labelSelector);
  const hasFields = parseFieldSelector(fieldSelector);
  return (object) => hasLabels(object.metadata.labels) && hasFields(object);
}

/** True for the answer to a write that ended the object, such as the one that takes its last finalizer away. */
function isEnded({ metadata }: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}
