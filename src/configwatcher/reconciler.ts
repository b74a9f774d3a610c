/**
 * ConfigWatcherReconciler: reads the facts about one watcher, asks {@link decide}, writes the status and
 * performs the actions, in that order.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigWatcher } from '../api/configwatcher.generated.ts';
import { watcherEvent } from '../api/configwatcher-constants.ts';
import type { Resource } from '../kubernetes/objects.ts';
import type { Lister } from '../runtime/cache/lister.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ReconcileContext, Reconciler, Request, Result } from '../runtime/controller/reconciler.ts';
import { requestKey } from '../runtime/controller/reconciler.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import type { ConfigWatcherMetrics } from './act/configwatcher-metrics.ts';
import { objectOf, resourceOf } from './act/event-subject.ts';
import { logOutcomes } from './act/outcome-log.ts';
import type { Performed, PodRestarter } from './act/pod-restarter.ts';
import type { WatcherStore, Written } from './act/state-store.ts';
import { decide } from './decide/decide.ts';
import type { Action, Decision, Observed } from './decide/observed.ts';
import { emptyMemory, type PodOutcome, type RestartMemory, remember } from './decide/restart-memory.ts';
import type { WatcherState } from './decide/state.ts';
import { MissingRight } from './facts/missing-right.ts';
import type { Observer } from './facts/observer.ts';

export interface ReconcilerOptions {
  /** What Events are about. */
  readonly resource: Resource;
  readonly watchers: Lister<ConfigWatcher>;
  readonly store: WatcherStore;
  readonly observer: Observer;
  readonly restarter: PodRestarter;
  readonly recorder: EventRecorder;
  readonly metrics: ConfigWatcherMetrics;
  readonly clock: Pick<Clock, 'turn' | 'monotonic'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** What this process remembers of a watcher; of one uid, so that a re-created one starts anew. */
interface Known {
  readonly watcher: ConfigWatcher;
  readonly memory: RestartMemory;
  /** As it was written last. */
  readonly state: WatcherState;
  /** Monotonic ms since when the state has said the same of the sources. */
  readonly since: number;
}

/** After another writer's write, doubled while the watch does not bring it. */
const retryConflict = { first: 250, longest: 10_000 };
/** Each question is asked at most once; more would be a defect, and a loop. */
const questionLimit = 4;

export class ConfigWatcherReconciler implements Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #known = new Map<string, Known>();
  /** How often in a row the status of a watcher was another one than the cache shows. */
  readonly #conflicts = new Map<string, number>();
  #saidWithoutStatus = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    const key = requestKey(request);
    const watcher = this.#options.watchers.get(request.namespace, request.name);
    const known = this.#known.get(key);
    if (known && known.watcher.metadata.uid !== watcher?.metadata.uid) this.#forget(key, known);
    // One that is being deleted restarts nothing any more; there is no finalizer to take off.
    if (!watcher || watcher.metadata.deletionTimestamp) {
      this.#conflicts.delete(key);
      return {};
    }
    const { observed, decision } = await this.#decide(watcher, this.#known.get(key), context.signal);
    // The status is written before anything it announces is done: it is the lock (its resourceVersion makes
    // a stale operator fail here) and the memory of everything that follows. A crash right after it finds
    // the same decision again; see progress.ts for the windows.
    const written = await this.#write(watcher, decision, context);
    if (written === 'Conflict') return { requeueAfter: this.#conflicted(key) };
    this.#conflicts.delete(key);
    if (written !== 'Written') return {};
    const { state } = decision;
    const since = this.#knownSince(state, this.#known.get(key));
    this.#known.set(key, { watcher, memory: decision.memory, state, since });
    const [{ outcomes, unsent }] = await Promise.all([
      this.#perform(watcher, decision, context),
      this.#tell(watcher, key, observed, decision, context),
    ]);
    const now = this.#options.observer.now();
    const after = remember(decision.memory, outcomes, now, this.#options.random);
    this.#known.set(key, { watcher, memory: after, state, since });
    if (unsent) throw unsent.reason;
    return resultOf(decision, after, now);
  }

  /** How long to wait after a conflict. A watch that is behind brings the other write late; the event wakes the watcher. */
  #conflicted(key: string): number {
    const before = this.#conflicts.get(key) ?? 0;
    this.#conflicts.set(key, before + 1);
    return Math.min(retryConflict.longest, retryConflict.first * 2 ** Math.min(before, 10));
  }

  /** What another process has written about the sources is known from now on only. */
  #knownSince({ sources }: WatcherState, known: Known | undefined): number {
    const isKnown = known !== undefined && isDeepStrictEqual(sources, known.state.sources);
    return isKnown ? known.since : this.#options.clock.monotonic();
  }

  /** Decides, reading what the decision turns out to need. */
  async #decide(
    watcher: ConfigWatcher,
    known: Known | undefined,
    signal: AbortSignal,
  ): Promise<{ observed: Observed; decision: Decision }> {
    const { observer, store } = this.#options;
    const state = store.read(watcher, known?.state);
    let observed = observer.known(watcher, state, known?.memory ?? emptyMemory);
    const options = { knownSince: this.#knownSince(state, known), signal };
    try {
      observed = await observer.observe(watcher, observed, options);
      for (let asked = 0; asked <= questionLimit; asked++) {
        const decision = decide(observed);
        if (typeof decision !== 'string') return { observed, decision };
        observed = await observer.answer(decision, watcher, observed, options);
      }
    } catch (error) {
      if (!(error instanceof MissingRight)) throw error;
      const decision = decide({ ...observed, forbidden: error });
      if (typeof decision !== 'string') return { observed, decision };
    }
    throw new Error(`the decision about ConfigWatcher ${watcher.metadata.name} does not settle`);
  }

  async #write(
    watcher: ConfigWatcher,
    { state, actions }: Decision,
    { signal, log }: ReconcileContext,
  ): Promise<Written> {
    const { resource, store, recorder } = this.#options;
    // A Pod that is stale by an old status is stale by the new one, so an old copy may still evict it. But a
    // template would be set back to an earlier change: that takes a status that is known to be the last.
    const asLock = actions.some(({ type }) => type === 'RestartRollout');
    const written =
      !asLock && store.isStored(watcher, state) ? 'Written' : await store.write(watcher, state, signal);
    if (store.hasStatus) {
      this.#saidWithoutStatus = false;
    } else if (!this.#saidWithoutStatus) {
      this.#saidWithoutStatus = true;
      const note = 'the installed CRD has no status: the state is kept in an annotation, defaults apply';
      log.warn(note);
      recorder.record(resource, watcher, {
        type: 'Warning',
        reason: watcherEvent.statusUnavailable,
        action: 'WriteStatus',
        note,
      });
    }
    return written;
  }

  /** After the status was written. A crash in between loses an Event and a log line, and nothing else. */
  async #tell(
    watcher: ConfigWatcher,
    key: string,
    observed: Observed,
    decision: Decision,
    { log }: ReconcileContext,
  ): Promise<void> {
    // Pods go before the news of it: by then the first writes are on their way.
    if (decision.actions.length > 0) await this.#options.clock.turn();
    const { resource, recorder, metrics } = this.#options;
    for (const { regarding, ...event } of decision.events) {
      if (regarding) recorder.record(resourceOf(regarding), objectOf(watcher, regarding), event);
      else recorder.record(resource, watcher, event);
    }
    metrics.decided(this.#metricsKey(key), observed.state, decision);
    if (isNews(observed, decision)) {
      const { pending, stalePods } = decision.state;
      const reasons = decision.events.map(({ reason }) => reason);
      log.info(
        { events: reasons, waitsFor: pending?.reason, stalePods, batch: decision.actions.length },
        'decided',
      );
    }
  }

  async #perform(
    watcher: ConfigWatcher,
    { actions, memory }: Decision,
    { signal, log }: ReconcileContext,
  ): Promise<Performed & { readonly outcomes: readonly PodOutcome[] }> {
    if (actions.length === 0) return { outcomes: [] };
    const { restarter, metrics } = this.#options;
    const isWanted = () => this.#isUnchanged(watcher);
    const performed = await restarter.perform(watcher.metadata.namespace ?? '', actions, {
      signal,
      isWanted,
    });
    logOutcomes(log, actions, performed.outcomes, memory.refusals);
    const outcomes = performed.outcomes.filter((outcome) => outcome !== undefined);
    metrics.performed(outcomes);
    return { ...performed, outcomes };
  }

  /** As far as the watch knows: a big batch ends where the watcher is deleted, suspended or edited otherwise. */
  #isUnchanged({ metadata: { namespace = '', name, uid, generation } }: ConfigWatcher): boolean {
    const { metadata } = this.#options.watchers.get(namespace, name) ?? {};
    return metadata?.uid === uid && !metadata?.deletionTimestamp && metadata?.generation === generation;
  }

  #forget(key: string, { watcher }: Known): void {
    this.#known.delete(key);
    this.#options.observer.forget(watcher);
    this.#options.metrics.forget(this.#metricsKey(key));
  }

  /** Watchers of another group, and ConfigMaps, may have the same name. */
  #metricsKey(key: string): string {
    return `${this.#options.resource.group}/${this.#options.resource.kind}/${key}`;
  }
}

/** A further try of what was refused before is none. */
function isNews({ memory: { refusals } }: Observed, { events, actions }: Decision): boolean {
  const isFirstTry = (action: Action) =>
    !refusals.has(action.type === 'RestartRollout' ? action.owner.uid : action.pod.uid);
  return events.length > 0 || actions.some(isFirstTry);
}

/** A refused Pod is tried again when its backoff is over, which the decision could not know yet. */
function resultOf({ requeueAfter }: Decision, memory: RestartMemory, now: number): Result {
  const retries = [...memory.refusals.values()]
    .map(({ retryAt }) => retryAt - now)
    .filter((wait) => wait > 0);
  const waits = [...retries, ...(requeueAfter === undefined ? [] : [requeueAfter])];
  return waits.length === 0 ? {} : { requeueAfter: Math.min(...waits) };
}
