/**
 * Reflector: keeps a target equal to one collection of the API server, for as long as the process lives.
 *
 * It loads the collection, as the initial events of a watch where the server can do that and as a list
 * where not, and then follows it by watches from the last resource version. It never ends before its
 * signal and never throws: every failure leads to another try. The rules are client-go's reflector's.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { ApiError, TransportError } from '../client/api-error.ts';
import type { WatchEvent } from '../client/client.ts';
import { type Clock, sleep } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { Contact } from './contact.ts';
import { InitialEvents } from './initial-events.ts';
import type { LoadSlot } from './load-slots.ts';
import { findPresence } from './presence.ts';
import { Recovery, type ReflectorStep } from './recovery.ts';
import { type ReflectorOptions, selectionOf } from './reflector-options.ts';
import {
  errorOfStatus,
  isNotFoundAnswer,
  isRefusal,
  isUnreadable,
  mustReload,
  type ReflectorProblem,
  resourceName,
} from './reflector-problem.ts';
import type { ReflectorTarget } from './reflector-target.ts';
import { StaleLists } from './stale-lists.ts';
import { WatchSession } from './watch-session.ts';

/** A watch that ends sooner (ms) without having brought anything is a failure. */
const shortWatch = 1000;

export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #target: ReflectorTarget<T>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #recovery: Recovery;
  readonly #contact: Contact;
  readonly #staleLists = new StaleLists();
  #useInitialEvents = true;
  #mustLoad = true;
  #watching = false;

  constructor(options: ReflectorOptions<T>) {
    const { resource, namespace, clock, random } = options;
    this.#options = options;
    this.#target = options.target;
    this.#clock = clock;
    this.#contact = new Contact(clock);
    const ofNamespace = namespace === undefined ? {} : { namespace };
    this.#log = options.log.child({ resource: resourceName(resource), ...ofNamespace });
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
   * Milliseconds (monotonic) since it last came further: the collection was loaded, the position moved, a bookmark
   * came, or a watch ended as agreed. `Infinity` before the first time. A connection that was opened is no progress.
   * A refusal of the API server (403, 404) counts: to start again would not mend it, and would take the other
   * informers down, too.
   */
  get sinceLastContact(): number {
    return this.#contact.age;
  }

  /** The same, where only a load, a bookmark or, unless it ends a long silence, a change counts. */
  get staleness(): number {
    return this.#contact.staleness;
  }

  /** Works until the signal aborts; from then on it leaves the target alone. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#next(signal);
      } catch (error) {
        if (signal.aborted) return;
        const delay = await this.#recover(error, signal).catch(() => 0);
        if (delay > 0) await sleep(this.#clock, delay, signal).catch(() => undefined);
      }
    }
  }

  get #step(): ReflectorStep {
    if (this.#target.position !== undefined && !this.#mustLoad) return 'watch';
    return this.#useInitialEvents ? 'initial-events' : 'list';
  }

  async #next(signal: AbortSignal): Promise<void> {
    if (this.#step === 'watch') return await this.#watch(signal, this.#target.resumeFrom);
    const slot = await this.#options.loads.take(signal);
    try {
      if (this.#step === 'list') await this.#list(signal, slot);
      else await this.#watch(signal, undefined, slot);
    } finally {
      slot.release();
    }
  }

  /** @returns milliseconds to wait. Rejects only with the signal's reason. */
  async #recover(error: unknown, signal: AbortSignal): Promise<number> {
    const { client, resource, counters } = this.#options;
    const step = this.#step;
    const presence = isNotFoundAnswer(error) ? await findPresence(client, resource, signal) : 'unknown';
    if (isRefusal(error, presence)) this.#contact.made();
    if (mustReload(error)) counters.expired();
    const { delay, reload, avoidInitialEvents, gone } = this.#recovery.failed({ error, step, presence });
    if (reload) this.#mustLoad = true;
    if (avoidInitialEvents) this.#useInitialEvents = false;
    if (gone && this.#target.position !== undefined) this.#target.replace([], undefined);
    return delay;
  }

  async #list(signal: AbortSignal, slot: LoadSlot): Promise<void> {
    const { client, resource, counters } = this.#options;
    counters.listed();
    const list = await client.list(resource, {
      ...selectionOf(this.#options),
      signal,
      onPart: () => slot.advance(),
      // What is listed is of this resource, so every object is a T.
      transform: (object) => this.#target.prepare(object as T),
    });
    signal.throwIfAborted();
    // Where only metadata is asked for, T is no more than that.
    this.#load(list.items as T[], list.resourceVersion);
  }

  /**
   * @param position to go on from; undefined to begin with the whole collection.
   * @param slot to load that, given back when it is complete.
   */
  async #watch(signal: AbortSignal, position: string | undefined, slot?: LoadSlot): Promise<void> {
    const { client, resource, random, counters } = this.#options;
    if (position === undefined) counters.listed();
    counters.watched();
    const session = new WatchSession<T>(client, this.#clock, resource, {
      ...selectionOf(this.#options),
      ...(position === undefined ? { sendInitialEvents: true } : { resourceVersion: position }),
      timeoutSeconds: 300 + Math.floor(random() * 301),
    });
    const events = session.run(signal, () => this.#opened());
    try {
      if (slot !== undefined) await this.#takeInitialEvents(events, slot);
      session.endInitialEvents();
      slot?.release();
      await this.#follow(events, session);
    } finally {
      this.#watching = false;
      session.close();
      await events.return();
    }
  }

  async #takeInitialEvents(events: AsyncGenerator<WatchEvent<T>, void>, slot: LoadSlot): Promise<void> {
    const initial = new InitialEvents<T>((object) => this.#target.prepare(object));
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      const event = next.value;
      const turn = slot.advance();
      if (turn !== undefined) await turn;
      if (event.type === 'ERROR') throw errorOfStatus(event.object);
      if (initial.take(event)) return this.#load(initial.objects, event.object.metadata.resourceVersion);
    }
    throw new TransportError('the watch ended before its initial events did', true);
  }

  /**
   * Hands on what the watch brings until it ends. That it ends, or breaks off, is no failure when it
   * lived for a while or brought a change: the next one goes on from where it was.
   */
  async #follow(events: AsyncGenerator<WatchEvent<T>, void>, session: WatchSession<T>): Promise<void> {
    let changes = 0;
    let bookmarks = 0;
    let broken: unknown;
    try {
      for await (const event of events) {
        if (this.#take(event)) changes++;
        else if (event.type === 'BOOKMARK') bookmarks++;
      }
    } catch (error) {
      if (error instanceof ApiError || isUnreadable(error) || session.age === undefined) throw error;
      broken = error;
    }
    if ((session.age ?? 0) < shortWatch && changes === 0) {
      throw broken ?? new TransportError('the watch ended at once and brought nothing', true);
    }
    // A replay of what was shown before, with which each watch may begin, says nothing.
    this.#ended(session, broken, changes + bookmarks === 0);
  }

  /** @param broken why, unless the server has ended it. */
  #ended({ age = 0, isComplete }: WatchSession<T>, broken: unknown, isMute: boolean): void {
    if (broken === undefined && isComplete) this.#contact.made();
    if (isMute && this.#recovery.wasMute(age)) this.#mustLoad = true;
    this.#log.debug({ err: broken }, 'the watch has ended and is taken up again');
  }

  /** @returns whether it was a change that had not been seen before. */
  #take(event: WatchEvent<T>): boolean {
    if (event.type === 'ERROR') throw errorOfStatus(event.object);
    const before = this.#target.position;
    if (event.type === 'BOOKMARK') {
      const { resourceVersion } = event.object.metadata;
      if (resourceVersion !== undefined) this.#target.advance(resourceVersion);
      this.#contact.shown();
      this.#recovery.progressed();
      return false;
    }
    const object = this.#target.prepare(event.object);
    const changed = object !== undefined && this.#target.apply(event.type, object);
    const isNew = changed || this.#target.position !== before;
    if (isNew) {
      this.#contact.changed();
      this.#recovery.progressed();
    }
    return isNew;
  }

  #load(objects: Iterable<T>, resourceVersion: string | undefined): void {
    if (!resourceVersion) throw new Error('the collection came without a resource version');
    const known = this.#target.position;
    this.#staleLists.assertCurrent(resourceVersion, known);
    if (known !== undefined) this.#options.counters.relisted();
    this.#target.replace(objects, resourceVersion);
    this.#mustLoad = false;
    this.#useInitialEvents = true;
    this.#contact.shown();
    this.#recovery.loaded();
  }

  #opened(): void {
    this.#watching = true;
    this.#recovery.opened();
  }
}
