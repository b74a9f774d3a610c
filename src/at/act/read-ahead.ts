/**
 * Read-ahead: where many Ats of one namespace are to be launched, one list takes the place of a GET for each, so that the
 * API server has to answer half as many requests. What it shows is as current as what a slow GET shows.
 *
 * Times are monotonic milliseconds.
 */
import type { At } from '../../api/at.generated.ts';
import { ats } from '../../api/resources.ts';
import type { Lister } from '../../runtime/cache/lister.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import type { Client } from '../../runtime/client/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { readTimeoutMs } from './live-read.ts';

/** So many of one namespace are read together. */
const crowd = 8;
/** A list shows so many times as many Ats as are to be launched, at most. */
const maxShare = 10;
/** For so long what a list shows is current enough for a launch. */
const currentMs = 3000;
/** Until the next list of a namespace where most of what the last one has shown was of no use: a quota may be full. */
const uselessMs = 60_000;

/** A list of one namespace. */
interface List {
  readonly askedAt: number;
  isUnderWay: boolean;
  /** How many it has shown. */
  size: number;
  /** Those that were not taken yet, by uid. */
  readonly left: Map<string, At>;
}

export class ReadAhead {
  readonly #options;
  /** The last one of each namespace. */
  readonly #lists = new Map<string, List>();

  constructor(options: {
    readonly client: Pick<Client, 'list'>;
    readonly ats: Lister<At>;
    readonly clock: Pick<Clock, 'monotonic'>;
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
    for (const [namespace, list] of this.#lists) if (this.#isOver(list)) this.#lists.delete(namespace);
    const wanted = Map.groupBy(toLaunch, ({ metadata: { namespace = '' } }) => namespace);
    const worthIt = [...wanted].filter(([namespace, some]) => this.#isWorthIt(namespace, some.length));
    if (worthIt.length === 0) return undefined;
    return Promise.all(worthIt.map(([namespace, some]) => this.#list(namespace, some, signal)));
  }

  /** The At as a list has shown it, once; undefined where that is too old, or the watch has shown a newer one. */
  take({ metadata: { namespace = '', uid = '', resourceVersion = '' } }: At): At | undefined {
    const list = this.#lists.get(namespace);
    const at = list?.left.get(uid);
    list?.left.delete(uid);
    if (list === undefined || at === undefined || !this.#isCurrent(list)) return undefined;
    const order = compareResourceVersions(at.metadata.resourceVersion ?? '', resourceVersion);
    return order === undefined || order < 0 ? undefined : at;
  }

  #ageOf({ askedAt }: List): number {
    return this.#options.clock.monotonic() - askedAt;
  }

  #isCurrent(list: List): boolean {
    return this.#ageOf(list) < currentMs;
  }

  /** Another one may be sent. */
  #isOver(list: List): boolean {
    const isUseless = 2 * list.left.size > list.size;
    return !list.isUnderWay && this.#ageOf(list) >= (isUseless ? uselessMs : currentMs);
  }

  #isWorthIt(namespace: string, count: number): boolean {
    if (count < crowd || this.#lists.has(namespace)) return false;
    return this.#options.ats.list(namespace).length <= maxShare * count;
  }

  async #list(namespace: string, wanted: readonly At[], signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const list: List = { askedAt: clock.monotonic(), isUnderWay: true, size: 0, left: new Map() };
    this.#lists.set(namespace, list);
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    try {
      const { items } = await client.list(ats, {
        ...{ namespace, timeout: readTimeoutMs, signal },
        transform: (at) => (uids.has(at.metadata.uid) ? at : undefined),
      });
      for (const at of items) list.left.set(at.metadata.uid ?? '', at);
      list.size = list.left.size;
    } catch {
      // A GET of one of them tells what is wrong.
    } finally {
      list.isUnderWay = false;
    }
  }
}
