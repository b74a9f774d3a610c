/**
 * ConfigWatcherReconciler: facts, decision, effects of one watcher. It gathers the facts; {@link decide} decides, the
 * {@link Actuator} acts. It keeps nothing but what {@link WatcherMemory} may forget.
 */
import type { ConfigWatcher } from '../api/configwatcher.generated.ts';
import { DecidingReconciler } from '../runtime/controller/deciding-reconciler.ts';
import type { Answer } from '../runtime/controller/decision.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  requestFor,
  requestKey,
} from '../runtime/controller/reconciler.ts';
import { Actuator, type WatcherFacts } from './act/actuator.ts';
import { WatcherAge } from './act/watcher-age.ts';
import { WatcherMemory } from './act/watcher-memory.ts';
import type { WatcherParts } from './act/watcher-parts.ts';
import { decide } from './decide/decide.ts';
import type { Effect } from './decide/decision.ts';
import { MissingRight } from './facts/missing-right.ts';
import type { Need, Observed } from './facts/observed.ts';
import { emptyMemory } from './facts/restart-memory.ts';

export class ConfigWatcherReconciler implements Reconciler {
  readonly #options;
  readonly #memory: WatcherMemory;
  readonly #age: WatcherAge;
  readonly #actuator: Actuator;
  readonly #loop: Reconciler;

  constructor(options: WatcherParts) {
    this.#options = options;
    this.#memory = new WatcherMemory(options.clock);
    this.#age = new WatcherAge(options);
    const actuator = new Actuator({ ...options, memory: this.#memory, age: this.#age });
    this.#actuator = actuator;
    this.#loop = new DecidingReconciler<WatcherFacts, Need, Effect>({
      observe: (request, context) => this.#observe(request, context),
      decide,
      read: (need, facts, context) => this.#read(need, facts, context),
      perform: (effect, facts, context) => actuator.perform(effect, facts, context),
    });
  }

  reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    return this.#loop.reconcile(request, context);
  }

  async #observe(request: Request, { signal }: ReconcileContext): Promise<WatcherFacts | undefined> {
    const cached = this.#options.watchers.get(request.namespace, request.name);
    // What changes while the cache stands still may change back before it moves again: it must be recorded by then.
    const isCurrent = !cached || !this.#memory.isBehind(requestKey(request));
    return isCurrent ? this.#factsOf(request, cached, signal) : this.#live(request, signal);
  }

  /** @param known what the watcher is in place of, which holds where it is still that version. */
  async #live(
    request: Request,
    signal: AbortSignal,
    known?: WatcherFacts,
  ): Promise<WatcherFacts | undefined> {
    const { clock, store } = this.#options;
    const readAt = clock.monotonic();
    const live = await store.live(request, signal);
    if (known && live && isSameVersion(known.watcher, live)) {
      return { ...known, readAt, isOld: this.#age.isOld(readAt) };
    }
    return this.#factsOf(request, live, signal, readAt);
  }

  /** @param readAt when the API server itself was asked, monotonic ms; absent for what the watch has shown. */
  async #factsOf(
    request: Request,
    watcher: ConfigWatcher | undefined,
    signal: AbortSignal,
    readAt?: number,
  ): Promise<WatcherFacts | undefined> {
    const { observer, store } = this.#options;
    const key = requestKey(request);
    this.#forgetOther(key, watcher);
    // One that is being deleted restarts nothing any more; there is no finalizer to take off.
    if (!watcher || watcher.metadata.deletionTimestamp) {
      this.#memory.settled(key);
      return undefined;
    }
    const known = this.#memory.recall(key);
    const state = store.read(watcher, known?.state);
    const knownSince = this.#memory.knownSince(key, watcher);
    const isRecorded = known !== undefined;
    const facts = {
      ...observer.known(watcher, state, known?.memory ?? emptyMemory),
      ...{ watcher, knownSince, isRecorded, isOld: this.#age.isOld(readAt) },
      ...(readAt !== undefined && { readAt }),
    };
    // Where the watch of watchers is behind, that of their sources may be, which with annotations is the same one.
    const afresh = readAt !== undefined;
    const options = { afresh, isRecorded, knownSince, signal };
    return withForbidden(facts, observer.observe(watcher, facts, options));
  }

  async #read(need: Need, facts: WatcherFacts, { signal }: ReconcileContext): Promise<Answer<WatcherFacts>> {
    const { watcher, isRecorded, knownSince } = facts;
    if (need === 'watcher') {
      const live = await this.#live(requestFor(watcher), signal, facts);
      return live ? { next: 'decide', facts: live } : { next: 'end', result: {} };
    }
    const options = { isRecorded, knownSince, signal };
    const read = this.#options.observer.answer(need, watcher, facts, options);
    return { next: 'decide', facts: await withForbidden(facts, read) };
  }

  /** What is known of another watcher of this name. */
  #forgetOther(key: string, watcher: ConfigWatcher | undefined): void {
    // Its sources may have been read although no status of it was ever written.
    if (!watcher) this.#options.observer.forget(key);
    const known = this.#memory.recall(key);
    if (!known || known.watcher.metadata.uid === watcher?.metadata.uid) return;
    this.#memory.forget(key);
    this.#actuator.forget(key);
  }
}

function isSameVersion(one: ConfigWatcher, other: ConfigWatcher): boolean {
  const [left, right] = [one.metadata, other.metadata];
  return left.uid === right.uid && left.resourceVersion === right.resourceVersion;
}

/** The facts with what was read, or with the right that is missing for it. */
async function withForbidden(facts: WatcherFacts, read: Promise<Observed>): Promise<WatcherFacts> {
  try {
    return { ...facts, ...(await read) };
  } catch (error) {
    if (!(error instanceof MissingRight)) throw error;
    return { ...facts, forbidden: error };
  }
}
