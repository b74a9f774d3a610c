/**
 * CollectionServer: widgets in memory, as an API server would list and watch them, with a history that can
 * be compacted, watches that lag behind, break and repeat themselves, and requests that fail. It does
 * only what a real API server may do: events come in order, and none is left out without a cut or a 410.
 */
import type { KubernetesObject, Resource } from '../../../src/kubernetes/objects.ts';
import { TransportError } from '../../../src/runtime/client/api-error.ts';
import type {
  Client,
  ListOptions,
  ListResult,
  WatchCallOptions,
  WatchEvent,
} from '../../../src/runtime/client/client.ts';
import { apiError, listed, ScriptedClient, ScriptedWatch } from './scripted-client.ts';
import { bookmark, failed, initialEventsEnd, type Widget, widget } from './widget.ts';

interface HistoryEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Widget;
  readonly revision: number;
}

/** One open watch and how much of the history it has had. */
interface OpenWatch {
  readonly connection: ScriptedWatch;
  sent: number;
}

export class CollectionServer extends ScriptedClient implements Client {
  readonly objects = new Map<string, Widget>();
  readonly history: HistoryEvent[] = [];
  revision = 1;
  /** What the next requests are refused with, one each. */
  readonly refusals: number[] = [];
  /** New watches get old events once more. */
  repeats = false;
  offersInitialEvents = true;
  #compacted = 0;
  #uids = 0;
  readonly #watches = new Set<OpenWatch>();

  /** Creates or changes. */
  put(name: string): Widget {
    const previous = this.objects.get(name);
    const uid = previous?.metadata.uid ?? `uid-${++this.#uids}`;
    const object = widget({ name, uid, rv: ++this.revision });
    this.objects.set(name, object);
    this.history.push({ type: previous ? 'MODIFIED' : 'ADDED', object, revision: this.revision });
    return object;
  }

  /** @returns what was deleted, if there was anything. */
  remove(name: string): Widget | undefined {
    const previous = this.objects.get(name);
    if (previous === undefined) return undefined;
    this.objects.delete(name);
    const object = widget({
      ...previous.metadata,
      rv: ++this.revision,
      resourceVersion: String(this.revision),
    });
    this.history.push({ type: 'DELETED', object, revision: this.revision });
    return previous;
  }

  /** Deletes everything at one revision, as a lease that expires does. */
  expire(): void {
    this.revision++;
    for (const { metadata } of this.objects.values()) {
      const object = widget({ ...metadata, resourceVersion: String(this.revision) });
      this.history.push({ type: 'DELETED', object, revision: this.revision });
    }
    this.objects.clear();
  }

  /** Sends up to `events` of what the watches have not had. */
  deliver(events: number): void {
    for (const watch of this.#watches) {
      for (const { type, object } of this.history.slice(watch.sent, watch.sent + events)) {
        void watch.connection.send({ type, object });
        watch.sent++;
      }
    }
  }

  /** Tells the watches that have had everything how far that is. */
  sendBookmarks(): void {
    this.revision++;
    for (const watch of this.#watches) {
      if (watch.sent === this.history.length) void watch.connection.send(bookmark(this.revision));
    }
  }

  /** All watches end, cleanly or not, with what they have not sent. */
  cut(how: 'end' | 'break'): void {
    for (const { connection } of this.#watches) {
      void connection.break(how === 'break' ? new TransportError('cut', true) : undefined);
    }
    this.#watches.clear();
  }

  /** The history is forgotten; watches that lag behind are told so. */
  compact(): void {
    this.#compacted = this.revision;
    for (const watch of this.#watches) {
      if (watch.sent === this.history.length) continue;
      void watch.connection.send(failed(410, 'too old resource version'));
      this.#watches.delete(watch);
    }
  }

  override async list<T extends KubernetesObject>(
    _resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<ListResult<T>> {
    options.signal?.throwIfAborted();
    this.#refuse();
    const items = listed(this.objects.values(), options) as T[];
    return { items, resourceVersion: String(this.revision) };
  }

  override async watch<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchCallOptions,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    options.signal.throwIfAborted();
    this.#refuse();
    if (options.sendInitialEvents && !this.offersInitialEvents) throw apiError(422);
    const from = Number(options.resourceVersion ?? this.revision);
    if (from < this.#compacted) throw apiError(410);
    const connection = new ScriptedWatch(resource, options);
    void connection.accept();
    if (options.sendInitialEvents) {
      for (const object of this.objects.values()) void connection.send({ type: 'ADDED', object });
      void connection.send(initialEventsEnd(this.revision));
    } else if (this.repeats) {
      const old = this.history.filter(({ revision }) => revision <= from && revision > this.#compacted);
      for (const { type, object } of old) void connection.send({ type, object });
    }
    const next = this.history.findIndex(({ revision }) => revision > from);
    const watch = { connection, sent: next === -1 ? this.history.length : next };
    this.#watches.add(watch);
    options.signal.addEventListener('abort', () => this.#watches.delete(watch), { once: true });
    return (await connection.opened) as AsyncIterable<WatchEvent<T>>;
  }

  #refuse(): void {
    const code = this.refusals.shift();
    if (code === 0) throw new TransportError('no connection', false);
    if (code !== undefined) throw apiError(code, {}, code === 429 ? 1000 : undefined);
  }
}
