/**
 * Informers: all the informers of a process, shared. The same resource, selector and form
 * give the same informer, hence one watch and one copy; it starts and ends with the others.
 */
import type { Registry } from '@prometheus-io/client';
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Client } from '../client/client.ts';
import type { PartialObjectMetadata } from '../client/partial-object.ts';
import type { Written } from '../client/written.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { aborted, abortWith } from '../time-limit.ts';
import type { Informer, InformerOptions, MetadataInformerOptions } from './informer.ts';
import { InformerMetrics, uncounted } from './informer-metrics.ts';
import { LoadSlots } from './load-slots.ts';
import { type ReflectorProblem, resourceName } from './reflector-problem.ts';
import { SharedInformer } from './shared-informer.ts';

export interface InformersOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespaces to watch; empty: all. Without meaning for cluster-scoped resources. */
  readonly namespaces: readonly string[];
  readonly registry?: Registry;
  /** Connections that there are for watches. Default: any number. */
  readonly maxWatches?: number;
  /** Uniform in [0, 1), for jitter. Default Math.random. */
  readonly random?: () => number;
}

interface Entry {
  readonly informer: SharedInformer<KubernetesObject>;
  /** Aborted when this one is removed, or all are stopped. */
  readonly stop: AbortController;
  readonly options: { readonly namespaces?: readonly string[]; readonly transform?: unknown };
}

/** The shared informers of a Manager, which starts and stops them. */
export class Informers {
  readonly #options: InformersOptions;
  readonly #metrics: InformerMetrics | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #loads: LoadSlots;
  #signal: AbortSignal | undefined;

  constructor(options: InformersOptions) {
    this.#options = options;
    this.#loads = new LoadSlots(options.clock);
    this.#metrics = options.registry && new InformerMetrics(options.registry);
  }

  /** True when every informer has synced. */
  get hasSynced(): boolean {
    return this.#all().every(({ hasSynced }) => hasSynced);
  }

  /** Grows as long as the first loads of the informers get further. */
  get loaded(): number {
    return this.#all().reduce((sum, { loaded }) => sum + loaded, 0);
  }

  /** Why informers are not following their resources right now; empty when all do. */
  get problems(): ReflectorProblem[] {
    return this.#all().flatMap(({ problems }) => problems);
  }

  /**
   * The informer for a resource; the same one for the same selectors, namespaces and `metadataOnly`. New indexes are
   * added to it. It runs from {@link start} on, or at once after that.
   *
   * @throws {RangeError} when it exists with another transform (also with one where none is asked for
   * now, or the other way round), or with another function under the name of an index.
   * @throws {SyntaxError} when a selector is not one.
   * @throws {RangeError} after {@link start}, when there is no connection left for its watches.
   */
  informerFor(resource: Resource, options: MetadataInformerOptions): Informer<PartialObjectMetadata>;
  informerFor<T extends KubernetesObject>(resource: Resource<T>, options?: InformerOptions<T>): Informer<T>;
  informerFor<T extends KubernetesObject>(
    resource: Resource<T>,
    options: InformerOptions<T> = {},
  ): Informer<T> {
    const key = keyOf(resource, options, this.#namespacesOf(resource, options));
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (known.options.transform !== options.transform) {
        throw new RangeError(`the informer for ${resourceName(resource)} exists with another transform`);
      }
      // The key holds the resource, which determines T.
      const informer = known.informer as unknown as SharedInformer<T>;
      informer.addIndexes(options.indexes ?? {});
      return informer;
    }
    if (this.#signal !== undefined) this.#assertWatches(this.watches + this.#watchesOf(resource, options));
    const informer = this.#create(resource, options);
    const shared = informer as unknown as SharedInformer<KubernetesObject>;
    const entry = { informer: shared, options, stop: new AbortController() };
    this.#entries.set(key, entry);
    if (this.#signal !== undefined) this.#run(entry, this.#signal);
    return informer;
  }

  /** Watches that the informers have open when all is well: one for each namespace, or for all namespaces together. */
  get watches(): number {
    const all = [...this.#entries.values()];
    return all.reduce((sum, { informer, options }) => sum + this.#watchesOf(informer.resource, options), 0);
  }

  /**
   * Runs all informers, and those asked for later, until the signal aborts. Call once.
   *
   * @throws {RangeError} when they need more connections than there are.
   */
  start(signal: AbortSignal): void {
    if (this.#signal !== undefined) throw new Error('the informers have been started already');
    this.#assertWatches(this.watches);
    this.#signal = signal;
    for (const entry of this.#entries.values()) this.#run(entry, signal);
  }

  /**
   * Ends the watches of an informer, whose lister stays as it is then. A later request for it gets a new one, so
   * stop first what reads it. Nothing happens when it was removed before.
   */
  remove<T extends KubernetesObject>(informer: Informer<T>): void {
    for (const [key, { informer: known, stop }] of this.#entries) {
      if ((known as unknown) !== informer) continue;
      this.#entries.delete(key);
      this.#metrics?.remove(resourceName(known.resource), known);
      stop.abort(new Error('the informer is removed'));
    }
  }

  /** The resources that there are informers for. */
  get resources(): Resource[] {
    return this.#all().map(({ resource }) => resource);
  }

  #run({ informer, stop }: Entry, signal: AbortSignal): void {
    abortWith(stop, signal);
    void informer.run(stop.signal);
  }

  /** Resolves when every informer, also one asked for meanwhile, has synced. Rejects when the signal aborts. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    while (!this.hasSynced) {
      signal.throwIfAborted();
      const entries = [...this.#entries.values()];
      await Promise.all(entries.map((entry) => syncOf(entry, signal)));
    }
  }

  /** A {@link WriteListener} for the client, so that what is read here is at least as new as own writes. */
  observeWrite(resource: Resource, written: Written): void {
    for (const { informer } of this.#entries.values()) {
      if (isSameResource(informer.resource, resource)) informer.observeWrite(written);
    }
  }

  /**
   * Milliseconds (monotonic) since an informer last came further, of the one for which that is
   * longest; counted from the start where it has not yet. 0 without informers.
   */
  sinceLastContact(): number {
    return Math.max(0, ...this.#all().map((informer) => informer.silence()));
  }

  #all(): SharedInformer<KubernetesObject>[] {
    return [...this.#entries.values()].map(({ informer }) => informer);
  }

  #assertWatches(needed: number): void {
    const { maxWatches = Number.POSITIVE_INFINITY } = this.#options;
    if (needed <= maxWatches) return;
    throw new RangeError(
      `the informers need ${needed} watches, and maxWatches allows ${maxWatches}; ` +
        'raise it, or watch fewer namespaces or all of them',
    );
  }

  #watchesOf(resource: Resource, options: Pick<InformerOptions<never>, 'namespaces'>): number {
    return Math.max(1, this.#namespacesOf(resource, options).length);
  }

  /** Empty: all namespaces with one watch, or a cluster-scoped resource. */
  #namespacesOf(
    { namespaced }: Resource,
    { namespaces = this.#options.namespaces }: Pick<InformerOptions<never>, 'namespaces'>,
  ): readonly string[] {
    return namespaced ? [...new Set(namespaces)] : [];
  }

  #create<T extends KubernetesObject>(resource: Resource<T>, options: InformerOptions<T>): SharedInformer<T> {
    const { client, clock, log, random = Math.random } = this.#options;
    const name = resourceName(resource);
    const informer = new SharedInformer(
      {
        client,
        clock,
        log,
        random,
        namespaces: this.#namespacesOf(resource, options),
        loads: this.#loads,
        counters: this.#metrics?.countersFor(name) ?? uncounted,
      },
      resource,
      options,
    );
    this.#metrics?.add(name, informer);
    return informer;
  }
}

/** Resolves when it has synced, or is removed. */
async function syncOf({ informer, stop }: Entry, signal: AbortSignal): Promise<void> {
  const gone = aborted(stop.signal).then(() => signal.throwIfAborted());
  await Promise.race([informer.waitForSync(signal), gone]);
}

function isSameResource(one: Resource, other: Resource): boolean {
  return one.plural === other.plural && one.group === other.group && one.version === other.version;
}

function keyOf<T extends KubernetesObject>(
  resource: Resource<T>,
  options: InformerOptions<T>,
  namespaces: readonly string[],
): string {
  const { group, version, plural } = resource;
  const { labelSelector = '', fieldSelector = '', metadataOnly = false } = options;
  return JSON.stringify([
    group,
    version,
    plural,
    labelSelector,
    fieldSelector,
    metadataOnly,
    [...namespaces].sort(),
  ]);
}
