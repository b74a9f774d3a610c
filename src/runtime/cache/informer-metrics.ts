/**
 * Informer metrics: how often informers list and watch, what they hold, and how long they have
 * not come further. One series per resource; informers of the same resource share it.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** What a reflector counts. */
export interface InformerCounters {
  /** The whole collection was asked for, by a list or as initial events. */
  listed(): void;
  watched(): void;
  /** The whole collection was loaded again. */
  relisted(): void;
  /** A resource version had expired (410). */
  expired(): void;
}

/** What is read from an informer when the metrics are asked for. */
export interface MeasuredInformer {
  readonly size: number;
  readonly watching: boolean;
  /** Milliseconds; `Infinity` before the first contact. */
  sinceLastContact(): number;
}

export const uncounted: InformerCounters = { listed() {}, watched() {}, relisted() {}, expired() {} };

type ByResource = 'resource';

export class InformerMetrics {
  readonly #informers = new Map<string, MeasuredInformer[]>();
  readonly #lists: Counter<ByResource>;
  readonly #watches: Counter<ByResource>;
  readonly #relists: Counter<ByResource>;
  readonly #expired: Counter<ByResource>;

  constructor(registry: Registry) {
    const counter = (name: string, help: string) =>
      new Counter<ByResource>({ name, help, labelNames: ['resource'], registers: [registry] });
    this.#lists = counter('informer_lists_total', 'Loads of a whole collection that were begun.');
    this.#watches = counter('informer_watches_total', 'Watches that were begun.');
    this.#relists = counter('informer_relists_total', 'Loads of a whole collection after the first one.');
    this.#expired = counter('informer_expired_total', 'Resource versions that were too old to go on from.');
    this.#gauge(registry, 'informer_objects', 'Objects in the cache.', (informers) =>
      informers.reduce((sum, { size }) => sum + size, 0),
    );
    this.#gauge(
      registry,
      'informer_watching',
      '1 while all watches of the resource are open.',
      (informers) => (informers.every(({ watching }) => watching) ? 1 : 0),
    );
    this.#gauge(
      registry,
      'informer_last_contact_seconds',
      'Time since the resource was last followed further, or refused by the API server; +Inf before that.',
      (informers) => Math.max(...informers.map((informer) => informer.sinceLastContact())) / 1000,
    );
  }

  /** Makes the series of a resource exist, at 0. */
  countersFor(resource: string): InformerCounters {
    const labels = { resource };
    for (const counter of [this.#lists, this.#watches, this.#relists, this.#expired]) counter.inc(labels, 0);
    return {
      listed: () => this.#lists.inc(labels),
      watched: () => this.#watches.inc(labels),
      relisted: () => this.#relists.inc(labels),
      expired: () => this.#expired.inc(labels),
    };
  }

  add(resource: string, informer: MeasuredInformer): void {
    this.#informers.set(resource, [...(this.#informers.get(resource) ?? []), informer]);
  }

  remove(resource: string, informer: MeasuredInformer): void {
    const rest = (this.#informers.get(resource) ?? []).filter((one) => one !== informer);
    this.#informers.set(resource, rest);
  }

  #gauge(
    registry: Registry,
    name: string,
    help: string,
    read: (informers: MeasuredInformer[]) => number,
  ): void {
    const informers = this.#informers;
    const gauge: Gauge<ByResource> = new Gauge({
      name,
      help,
      labelNames: ['resource'],
      registers: [registry],
      collect: () => {
        for (const [resource, ofResource] of informers) {
          if (ofResource.length === 0) gauge.remove({ resource });
          else gauge.set({ resource }, read(ofResource));
        }
      },
    });
  }
}
