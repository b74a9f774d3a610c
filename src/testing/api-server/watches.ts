/**
 * Watches of one API server: how each of them begins, goes on and ends.
 */
import type { Random } from '../random.ts';
import type { ApiRequest, Responder, ServerTime } from './api-message.ts';
import { ApiWatch } from './api-watch.ts';
import type { Change, Etcd } from './etcd.ts';
import { expired, Failure, forbiddenValue, invalid, versionTooLarge } from './failure.ts';
import type { Fault } from './faults.ts';
import type { Target } from './route.ts';
import { type Match, matcher } from './selectors.ts';
import { collectionOf } from './served-resource.ts';
import { freshnessLimit } from './wait.ts';
import type { WatchCache } from './watch-cache.ts';

export interface WatchesOptions {
  readonly etcd: Etcd;
  readonly cache: WatchCache;
  readonly time: ServerTime;
  readonly random: Random;
}

export interface StartOptions {
  readonly fault: Fault | undefined;
  /** Called right before the first bytes, once the watch is known to be possible. */
  readonly begin: () => void;
}

/** Milliseconds between two bookmarks, more or less, and before the end of a watch. */
const bookmarks = { every: 60_000, beforeEnd: 2000 };
/** Seconds after which a watch without a limit of its own ends: so many, up to twice as many. */
const defaultTimeout = 1800;

export class Watches {
  readonly #options: WatchesOptions;
  readonly #byCollection = new Map<string, Set<ApiWatch>>();

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  get open(): readonly ApiWatch[] {
    return [...this.#byCollection.values()].flatMap((watches) => [...watches]);
  }

  show(change: Change): void {
    const watches = this.#byCollection.get(collectionOf(change.resource));
    if (watches === undefined) return;
    for (const watch of watches) watch.show(change);
  }

  /**
   * Starts a watch.
   *
   * @returns what to call when its client has gone away.
   * @throws Failure when it cannot start; then nothing has been sent.
   */
  start(request: ApiRequest, target: Target, responder: Responder, options: StartOptions): () => void {
    const { query } = request;
    const plan = this.#planOf(query, target);
    const closing: (() => void)[] = [];
    const close = () => {
      for (const run of closing.splice(0)) run();
    };
    const watch = new ApiWatch(request, target, responder, plan);
    watch.onOver = close;
    options.begin();
    const { fault } = options;
    if (fault?.kind === 'mute') watch.mute();
    if (fault?.kind === 'text') watch.write(fault.text);
    if (plan.tooOld !== undefined) {
      watch.error(plan.tooOld);
      watch.end();
      return close;
    }
    closing.push(this.#keepTime(watch, query));
    this.#follow(watch, plan, closing);
    return close;
  }

  #planOf(query: ReadonlyMap<string, string>, { resource }: Target): Plan {
    const { etcd } = this.#options;
    assertMatch(query);
    const [labels, fields] = [query.get('labelSelector') ?? '', query.get('fieldSelector') ?? ''];
    const matches = matcher(labels, fields, resource.selectableFields ?? []);
    const initial = query.get('sendInitialEvents') === 'true';
    const version = query.get('resourceVersion') ?? '';
    const from = versionOf(version);
    const all = initial || from === 0;
    const tooOld = !all && from < etcd.compacted ? expired(version, etcd.compacted) : undefined;
    const needed = initial ? from || (version === '' ? etcd.revision : 0) : 0;
    return { matches, initial, all, from, needed, tooOld };
  }

  /** A list in the form of a watch is at least as new as it is asked to be, by default as new as etcd. */
  #follow(watch: ApiWatch, plan: Plan, closing: (() => void)[]): void {
    const { cache, time } = this.#options;
    const go = () => {
      if (plan.all) watch.from = cache.revision;
      closing.push(this.#add(watch));
      this.#sendPast(watch, plan);
    };
    if (plan.needed <= cache.revision) {
      go();
      return;
    }
    const cancel = cache.whenAt(plan.needed, () => {
      timer.cancel();
      go();
    });
    const timer = time.schedule(freshnessLimit, () => {
      cancel();
      watch.error(versionTooLarge(String(plan.needed), cache.revision));
      watch.end();
    });
    closing.push(cancel, () => timer.cancel());
  }

  #sendPast(watch: ApiWatch, { all, initial, from }: Plan): void {
    const { cache } = this.#options;
    const { resource, namespace } = watch.target;
    if (all) {
      watch.sendInitial(cache.list(resource, namespace));
      if (initial) watch.bookmark(cache.revision, { 'k8s.io/initial-events-end': 'true' });
      return;
    }
    const collection = collectionOf(resource);
    for (const change of cache.since(from))
      if (collectionOf(change.resource) === collection) watch.show(change);
  }

  #add(watch: ApiWatch): () => void {
    const collection = collectionOf(watch.target.resource);
    const watches = this.#byCollection.get(collection) ?? new Set();
    this.#byCollection.set(collection, watches.add(watch));
    return () => watches.delete(watch);
  }

  /** Sends bookmarks, and ends the watch when its time is over. */
  #keepTime(watch: ApiWatch, query: ReadonlyMap<string, string>): () => void {
    const { time, random, cache } = this.#options;
    const seconds =
      Number(query.get('timeoutSeconds') ?? 0) || Math.round(defaultTimeout * (1 + random.next()));
    const end = time.now + seconds * 1000;
    let timer: { cancel(): void };
    const plan = () => {
      const left = end - time.now;
      const usual = Math.round(bookmarks.every * (1 - random.next() / 4));
      const next = Math.min(usual, left - bookmarks.beforeEnd);
      if (next <= 0) timer = time.schedule(Math.max(0, left), () => watch.end());
      else {
        timer = time.schedule(next, () => {
          watch.bookmark(cache.revision);
          plan();
        });
      }
    };
    plan();
    return () => timer.cancel();
  }
}

interface Plan {
  readonly matches: Match;
  /** A list in the form of a watch. */
  readonly initial: boolean;
  /** Whether it begins with everything. */
  readonly all: boolean;
  /** The revision after which changes are sent. */
  readonly from: number;
  /** The revision that the cache must have before anything is sent. */
  readonly needed: number;
  readonly tooOld: Failure | undefined;
}

/** @throws Failure 422 for a resourceVersionMatch that does not go with a watch. */
function assertMatch(query: ReadonlyMap<string, string>): void {
  const match = query.get('resourceVersionMatch') ?? '';
  if (query.has('sendInitialEvents')) {
    if (match === 'NotOlderThan') return;
    throw refused('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (match !== '') {
    throw refused('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  }
}

function refused(why: string): Failure {
  const error = forbiddenValue('resourceVersionMatch', why);
  return invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [error]);
}

/** @throws Failure 500, as the real server has it for a watch. */
function versionOf(text: string): number {
  if (text === '') return 0;
  if (/^\d+$/.test(text)) return Number(text);
  const why = `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw new Failure(500, '', `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`);
}
