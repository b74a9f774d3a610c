/**
 * Reflector: keeps a target equal to one collection of the API server, for as long as the process lives.
 *
 * It loads the collection, as the initial events of a watch where the server can do that and as a list
 * where not, and then follows it by watches from the last resource version. It never ends before its
 * signal and never throws: every failure leads to another try. The rules are client-go's reflector's.
 */
import type { KubernetesObject, Resource } from '../../api/kubernetes.ts';
import { ApiError } from '../client/api-error.ts';
import type { Client, SelectorOptions, WatchEvent } from '../client/client.ts';
import { type Clock, sleep } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { InformerCounters } from './informer-metrics.ts';
import { InitialEvents } from './initial-events.ts';
import { Recovery, type ReflectorStep, StaleListError } from './recovery.ts';
import {
  errorOfStatus,
  isAnswer,
  mustReload,
  type ReflectorProblem,
  resourceName,
} from './reflector-problem.ts';
import type { ReflectorTarget } from './reflector-target.ts';
import { compareResourceVersions } from './resource-version.ts';
import { WatchSession } from './watch-session.ts';

export interface ReflectorOptions<T extends KubernetesObject> extends SelectorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
  readonly resource: Resource<T>;
  /** Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined;
  readonly metadataOnly: boolean;
  readonly target: ReflectorTarget<T>;
  readonly counters: InformerCounters;
}

/** Milliseconds for a list with all its pages. */
const listTimeout = 120_000;
/** A watch that ends sooner (ms) without having brought anything is a failure. */
const shortWatch = 1000;
/** A watch that lasted longer (ms) without a line, not even a bookmark, may have followed nothing. */
const muteWatch = 240_000;
/** Lists in a row older than what is known, after which the storage is taken to have been restored. */
const staleListsAllowed = 2;

export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #target: ReflectorTarget<T>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #recovery: Recovery;
  #useInitialEvents = true;
  #mustLoad = true;
  #staleLists = 0;
  #lastContact: number | undefined;
  #watching = false;

  constructor(options: ReflectorOptions<T>) {
    const { resource, namespace, clock, random } = options;
    this.#options = options;
    this.#target = options.target;
    this.#clock = clock;
    this.#log = options.log.child({
      resource: resourceName(resource),
      ...(namespace === undefined ? {} : { namespace }),
    });
    this.#recovery = new Recovery(resource, clock, random, this.#log);
  }

  /** Why it is not following right now; undefined while it is, and before the first failure. */
  get problem(): ReflectorProblem | undefined {
    return this.#recovery.problem;
  }

  /** True while a watch is open. */
  get watching(): boolean {
    return this.#watching;
  }

  /**
   * Milliseconds (monotonic) since the API server last answered; `Infinity` before it did. A refusal (403,
   * 404) is an answer: to start again would not mend it, and would take the other informers down, too.
   */
  get sinceLastContact(): number {
    return this.#lastContact === undefined ? Infinity : this.#clock.monotonic() - this.#lastContact;
  }

  /** Works until the signal aborts; from then on it leaves the target alone. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#next(signal);
      } catch (error) {
        if (signal.aborted) return;
        const delay = this.#recover(error);
        if (delay > 0) await sleep(this.#clock, delay, signal).catch(() => undefined);
      }
    }
  }

  get #step(): ReflectorStep {
    if (this.#target.position !== undefined && !this.#mustLoad) return 'watch';
    return this.#useInitialEvents ? 'initial-events' : 'list';
  }

  async #next(signal: AbortSignal): Promise<void> {
    switch (this.#step) {
      case 'initial-events':
        return await this.#watch(signal, undefined);
      case 'list':
        return await this.#list(signal);
      case 'watch':
        return await this.#watch(signal, this.#target.resumeFrom);
    }
  }

  /** @returns milliseconds to wait. */
  #recover(error: unknown): number {
    if (isAnswer(error)) this.#touch();
    if (mustReload(error)) this.#options.counters.expired();
    const { delay, reload, avoidInitialEvents, gone } = this.#recovery.failed(error, this.#step);
    if (reload) this.#mustLoad = true;
    if (avoidInitialEvents) this.#useInitialEvents = false;
    if (gone && this.#target.position !== undefined) this.#target.replace([], undefined);
    return delay;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, counters } = this.#options;
    counters.listed();
    const list = await client.list(resource, { ...this.#collection(), signal, timeout: listTimeout });
    signal.throwIfAborted();
    this.#touch();
    const objects = list.items.map((item) => this.#target.prepare(item));
    this.#load(
      objects.filter((object) => object !== undefined),
      list.resourceVersion,
    );
  }

  /** @param position to go on from; undefined to begin with the whole collection. */
  async #watch(signal: AbortSignal, position: string | undefined): Promise<void> {
    const { client, resource, random, counters } = this.#options;
    if (position === undefined) counters.listed();
    counters.watched();
    const session = new WatchSession<T>(client, this.#clock, resource, {
      ...this.#collection(),
      ...(position === undefined ? { sendInitialEvents: true } : { resourceVersion: position }),
      timeoutSeconds: 300 + Math.floor(random() * 301),
    });
    const events = session.run(signal, () => this.#opened());
    try {
      if (position === undefined) await this.#takeInitialEvents(events);
      session.endInitialEvents();
      await this.#follow(events, session);
    } finally {
      this.#watching = false;
      session.close();
      await events.return();
    }
  }

  async #takeInitialEvents(events: AsyncGenerator<WatchEvent<T>, void>): Promise<void> {
    const initial = new InitialEvents<T>((object) => this.#target.prepare(object));
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      const event = next.value;
      this.#touch();
      if (event.type === 'ERROR') throw errorOfStatus(event.object);
      if (initial.take(event)) return this.#load(initial.objects, event.object.metadata.resourceVersion);
    }
    throw new Error('the watch ended before its initial events did');
  }

  /**
   * Hands on what the watch brings until it ends. That it ends, or breaks off, is no failure when it
   * lived for a while or brought a change: the next one goes on from where it was.
   */
  async #follow(events: AsyncGenerator<WatchEvent<T>, void>, session: WatchSession<T>): Promise<void> {
    let changes = 0;
    let broken: unknown;
    try {
      for await (const event of events) if (this.#take(event)) changes++;
    } catch (error) {
      if (error instanceof ApiError || session.age === undefined) throw error;
      broken = error;
    }
    const age = session.age ?? 0;
    if (age < shortWatch && changes === 0) {
      throw broken ?? new Error('the watch ended at once and brought nothing');
    }
    if (age > muteWatch && session.events === 0) this.#mustLoad = true;
    this.#log.debug({ err: broken }, 'the watch has ended and is taken up again');
  }

  /** @returns whether it was a change that had not been seen before. */
  #take(event: WatchEvent<T>): boolean {
    this.#touch();
    if (event.type === 'ERROR') throw errorOfStatus(event.object);
    const before = this.#target.position;
    let changed = false;
    if (event.type === 'BOOKMARK') {
      const { resourceVersion } = event.object.metadata;
      if (resourceVersion !== undefined) this.#target.advance(resourceVersion);
    } else {
      const object = this.#target.prepare(event.object);
      if (object !== undefined) changed = this.#target.apply(event.type, object);
    }
    this.#recovery.progressed();
    return changed || (event.type !== 'BOOKMARK' && this.#target.position !== before);
  }

  #load(objects: Iterable<T>, resourceVersion: string | undefined): void {
    if (!resourceVersion) throw new Error('the collection came without a resource version');
    const known = this.#target.position;
    const isStale = known !== undefined && (compareResourceVersions(resourceVersion, known) ?? 0) < 0;
    this.#staleLists = isStale ? this.#staleLists + 1 : 0;
    if (isStale && this.#staleLists <= staleListsAllowed) {
      throw new StaleListError(`the list is of version ${resourceVersion}, but ${known} has been seen`);
    }
    this.#staleLists = 0;
    if (known !== undefined) this.#options.counters.relisted();
    this.#target.replace(objects, resourceVersion);
    this.#mustLoad = false;
    this.#recovery.loaded();
  }

  #opened(): void {
    this.#watching = true;
    this.#touch();
    this.#recovery.opened();
  }

  #touch(): void {
    this.#lastContact = this.#clock.monotonic();
  }

  #collection() {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = this.#options;
    return {
      metadataOnly,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }
}
