/**
 * EventCorrelator: decides what becomes of a record: a new Event, one more in a series, or nothing because
 * its object has had too many. After client-go (tools/events for the series, tools/record for the spam
 * filter), but with the note in the key: an Event's note cannot be changed, so another note is another Event.
 */
import type { Event } from './event.ts';

/** A series ends when nothing was added for so long, ms. */
const seriesWindow = 6 * 60_000;

/** Events that one object may have at once, and how long until it may have one more, ms. */
const burstPerObject = 25;
const refillPerObject = 5 * 60_000;

/** Series and objects remembered; the least recently used go first. */
const remembered = 2048;

/** Equal records of one object. */
export interface Series {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** How often it happened. */
  count: number;
  /** When it last happened, epoch milliseconds. */
  lastObserved: number;
  /** The count that the API server knows; 0 before the Event was created. */
  sentCount: number;
  /** Monotonic milliseconds, of the last write to the API server. */
  sentAt: number;
  /** The Event to create; undefined once that was done. */
  event: Event | undefined;
}

interface Bucket {
  tokens: number;
  at: number;
}

export class EventCorrelator {
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, Bucket>();

  /**
   * @param key of records that are equal.
   * @param now epoch milliseconds, from the event's own clock; also the measure for the windows.
   * @returns the series that the record is part of now, or undefined when its object has had too many.
   */
  correlate(key: string, event: Event, now: number): Series | undefined {
    const known = this.#series.get(key);
    if (known && Math.abs(now - known.lastObserved) <= seriesWindow) {
      known.count++;
      known.lastObserved = now;
      touch(this.#series, key, known);
      return known;
    }
    const { namespace, kind, name, uid } = event.regarding;
    if (!this.#takeToken(uid ?? `${kind}/${namespace}/${name}`, now)) return undefined;
    const series: Series = {
      ...{ key, namespace: event.metadata.namespace ?? '', name: event.metadata.name },
      ...{ count: 1, lastObserved: now, sentCount: 0, sentAt: 0, event },
    };
    touch(this.#series, key, series);
    return series;
  }

  /** The next equal record begins a new Event: this one is gone, or was never created. */
  forget(series: Series): void {
    if (this.#series.get(series.key) === series) this.#series.delete(series.key);
  }

  #takeToken(object: string, now: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: burstPerObject, at: now };
    const refilled = Math.max(0, now - bucket.at) / refillPerObject;
    bucket.tokens = Math.min(burstPerObject, bucket.tokens + refilled);
    bucket.at = now;
    touch(this.#buckets, object, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }
}

/** Puts an entry last in the order of insertion, and drops the first one when there are too many. */
function touch<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= remembered) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
