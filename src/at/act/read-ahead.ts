/**
 * Read-ahead: where many Ats of one namespace are to be launched, one list takes the place of a GET for each, so that the
 * API server has to answer half as many requests. What it shows is as current as what a slow GET shows.
 */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import type { Client } from '../../runtime/client/client.ts';
import { type Clock, stopwatch } from '../../runtime/clock.ts';
import { transformAt } from '../facts/transform.ts';

/** So many Ats of one namespace are read together. */
const crowd = 8;
/** A list shows so many Ats at most, and so many times as many as are to be launched. */
const most = { size: 2000, share: 10 };
/** Lists at a time. */
const maxLists = 4;
/** Milliseconds that launches wait for a list, all of its pages together. */
const limitMs = 1000;
/** For so many milliseconds what a list shows is current enough for a launch. */
const currentMs = 3000;
/** Milliseconds until the next list of a namespace where most of the last one was of no use: a quota may be full. */
const uselessMs = 60_000;

/** The last list of a namespace, or the decision that none is worth it. */
interface List {
  /** Milliseconds since it was sent, by whichever clock has gone further. */
  readonly age: () => number;
  isUnderWay: boolean;
  isUseless: boolean;
  /** How many it has shown. */
  size: number;
  /** Those that were not taken yet, by uid. */
  readonly left: Map<string, At>;
}

export class ReadAhead {
  readonly #options;
  /** By namespace. */
  readonly #lists = new Map<string, List>();

  constructor(options: {
    readonly client: Pick<Client, 'list'>;
    readonly ats: Lister<At>;
    readonly clock: Clock;
  }) {
    this.#options = options;
  }

  /** Whether Ats of this namespace are being read together. */
  isReading(namespace: string): boolean {
    return this.#lists.get(namespace)?.isUnderWay === true;
  }

  /**
   * Sends a list for each namespace of which it spares many GETs.
   *
   * @param toLaunch all that are to be launched now.
   * @returns undefined where none is sent; otherwise resolves when all are answered. It never rejects: without an
   *   answer, each At is read alone.
   */
  read(toLaunch: readonly At[], signal: AbortSignal): Promise<unknown> | undefined {
    this.#forget();
    const wanted = Map.groupBy(toLaunch, ({ metadata: { namespace = '' } }) => namespace);
    const crowds = [...wanted].filter(([name, some]) => some.length >= crowd && !this.#lists.has(name));
    let free = maxLists - [...this.#lists.values()].filter(({ isUnderWay }) => isUnderWay).length;
    const sent: Promise<void>[] = [];
    for (const [namespace, some] of crowds) {
      const isWorthIt = this.#sizeOf(namespace) <= Math.min(most.size, most.share * some.length);
      if (!isWorthIt) this.#begin(namespace, { isUseless: true });
      else if (free-- > 0) sent.push(this.#list(namespace, some, signal));
    }
    return sent.length === 0 ? undefined : Promise.all(sent);
  }

  /** The At as a list has shown it, once; undefined where that is too old, or the watch has shown a newer one. */
  take({ metadata: { namespace = '', uid = '', resourceVersion = '' } }: At): At | undefined {
    const list = this.#lists.get(namespace);
    const at = list?.left.get(uid);
    list?.left.delete(uid);
    if (list === undefined || at === undefined || list.age() >= currentMs) return undefined;
    const order = compareResourceVersions(at.metadata.resourceVersion ?? '', resourceVersion);
    return order === undefined || order < 0 ? undefined : at;
  }

  /** Nothing is launched any more. */
  clear(): void {
    this.#lists.clear();
  }

  /** What is too old, and the lists after which another one may be sent. */
  #forget(): void {
    for (const [namespace, list] of this.#lists) {
      if (list.isUnderWay || list.age() < currentMs) continue;
      list.isUseless ||= list.size === 0 || 2 * list.left.size > list.size;
      list.left.clear();
      if (!list.isUseless || list.age() >= uselessMs) this.#lists.delete(namespace);
    }
  }

  #sizeOf(namespace: string): number {
    return this.#options.ats.list(namespace).length;
  }

  #begin(namespace: string, { isUnderWay = false, isUseless = false }): List {
    const age = stopwatch(this.#options.clock);
    const list: List = { age, isUnderWay, isUseless, size: 0, left: new Map() };
    this.#lists.set(namespace, list);
    return list;
  }

  async #list(namespace: string, wanted: readonly At[], signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const list = this.#begin(namespace, { isUnderWay: true });
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    const end = new AbortController();
    const timer = clock.setTimer(limitMs, () => end.abort());
    try {
      const { items } = await client.list(ats, {
        ...{ namespace, timeout: limitMs, signal: AbortSignal.any([signal, end.signal]) },
        transform: (at) => (uids.has(at.metadata.uid) ? transformAt(at as At) : undefined),
      });
      for (const at of items) list.left.set(at.metadata.uid ?? '', at);
      list.size = items.length;
    } catch {
      // A GET of one of them tells what is wrong.
    } finally {
      timer.cancel();
      list.isUnderWay = false;
    }
  }
}
