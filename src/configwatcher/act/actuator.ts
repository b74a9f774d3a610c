/** Actuator: the effects of a decision about a watcher: its status, Events, and the writes that restart Pods. */

import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import { watcherEvent } from '../../api/configwatcher-constants.ts';
import { compareResourceVersions } from '../../runtime/cache/resource-version.ts';
import type { Answer } from '../../runtime/controller/decision.ts';
import { type ReconcileContext, requestFor, requestKey } from '../../runtime/controller/reconciler.ts';
import { Rewrites } from '../../runtime/controller/rewrites.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Effect } from '../decide/decision.ts';
import type { Observed } from '../facts/observed.ts';
import { remember, retryWait } from '../facts/restart-memory.ts';
import { objectOf, resourceOf } from './event-subject.ts';
import { logOutcomes } from './outcome-log.ts';
import type { WatcherAge } from './watcher-age.ts';
import type { WatcherMemory } from './watcher-memory.ts';
import type { WatcherParts } from './watcher-parts.ts';

/** What a pass knows of a watcher. */
export interface WatcherFacts extends Observed {
  readonly watcher: ConfigWatcher;
  /** Monotonic ms since when this process knows what the state says of the sources. */
  readonly knownSince: number;
  /** This process has recorded what it knows of the watcher's sources. */
  readonly isRecorded: boolean;
  /** When the watcher was read from the API server itself, monotonic ms; absent for what the watch has shown. */
  readonly readAt?: number;
}

export class Actuator {
  readonly #options;
  readonly #rewrites = new Rewrites();
  #saidWithoutStatus = false;

  constructor(options: WatcherParts & { readonly memory: WatcherMemory; readonly age: WatcherAge }) {
    this.#options = options;
  }

  async perform(
    effect: Effect,
    facts: WatcherFacts,
    context: ReconcileContext,
  ): Promise<Answer<WatcherFacts>> {
    switch (effect.type) {
      case 'WriteStatus':
        return this.#write(effect, facts, context);
      case 'RecordEvents':
        this.#record(effect, facts.watcher, context.log);
        return { next: 'goOn', facts };
      case 'RestartPods':
        return this.#restart(effect, facts, context);
    }
  }

  /**
   * The status is written before anything it announces is done: it is the lock (its resourceVersion makes a stale
   * operator fail here) and the memory of everything that follows. A crash right after it finds the same decision
   * again; see progress.ts for the windows.
   */
  async #write(
    { state, memory, asLock, counts }: Extract<Effect, { type: 'WriteStatus' }>,
    facts: WatcherFacts,
    { signal, log }: ReconcileContext,
  ): Promise<Answer<WatcherFacts>> {
    const { store, clock, metrics, memory: known } = this.#options;
    const { watcher } = facts;
    const key = requestKey(requestFor(watcher));
    const isStored = !asLock && store.isStored(watcher, state);
    const again = isStored ? 0 : this.#rewrites.wait(key, facts.state, state, clock.monotonic());
    if (again > 0) return { next: 'end', result: { requeueAfter: again } };
    const { resourceVersion = '' } = watcher.metadata;
    const written = isStored ? { version: resourceVersion } : await store.write(watcher, state, signal);
    this.#sayWithoutStatus(watcher, log);
    if (written === 'Conflict') return { next: 'end', result: { requeueAfter: known.conflicted(key) } };
    known.settled(key);
    if (written === 'Gone') return { next: 'end', result: {} };
    if (!isStored) this.#rewrites.written(key, facts.state, state, clock.monotonic());
    known.written(key, facts, { state, memory, version: written.version });
    metrics.decided(this.#metricsKey(key), facts.state, { state, ...counts });
    return { next: 'goOn', facts };
  }

  #sayWithoutStatus(watcher: ConfigWatcher, log: Logger): void {
    const { store, recorder, resource } = this.#options;
    const wasSaid = this.#saidWithoutStatus;
    this.#saidWithoutStatus = !store.hasStatus;
    if (store.hasStatus || wasSaid) return;
    const note = 'the installed CRD has no status: the state is kept in an annotation, and defaults apply';
    const reason = watcherEvent.statusUnavailable;
    log.warn(note);
    recorder.record(resource, watcher, { type: 'Warning', reason, action: 'WriteStatus', note });
  }

  /** After the status was written. A crash in between loses an Event and a log line, and nothing else. */
  #record(
    { events, summary }: Extract<Effect, { type: 'RecordEvents' }>,
    watcher: ConfigWatcher,
    log: Logger,
  ): void {
    const { resource, recorder } = this.#options;
    for (const { regarding, ...event } of events) {
      if (regarding) recorder.record(resourceOf(regarding), objectOf(watcher, regarding), event);
      else recorder.record(resource, watcher, event);
    }
    log.info({ events: events.map(({ reason }) => reason), ...summary }, 'decided');
  }

  /** What became of a write counts, also when others could not be sent. */
  async #restart(
    { actions }: Extract<Effect, { type: 'RestartPods' }>,
    facts: WatcherFacts,
    { signal, log }: ReconcileContext,
  ): Promise<Answer<WatcherFacts>> {
    const { podControl, metrics, memory: known, observer, random, age } = this.#options;
    const { watcher, namespace } = facts;
    const key = requestKey(requestFor(watcher));
    const isWanted = () => this.#isUnchanged(watcher) && !age.isOld(facts.readAt);
    const { outcomes, unsent } = await podControl.perform(namespace, actions, { signal, isWanted });
    const memory = known.recall(key)?.memory ?? facts.memory;
    logOutcomes(log, actions, outcomes, memory.refusals);
    const performed = outcomes.filter((outcome) => outcome !== undefined);
    metrics.performed(performed);
    const time = observer.now();
    const after = remember(memory, performed, time, random);
    known.restarted(key, after);
    if (unsent) throw unsent.reason;
    // A refused Pod is tried again when its backoff is over, which the decision could not know yet.
    const requeueAfter = retryWait(after, time);
    return { next: 'goOn', facts, ...(requeueAfter !== undefined && { requeueAfter }) };
  }

  /** As far as the watch knows: a big batch ends where the watcher is deleted, suspended or edited otherwise. */
  #isUnchanged({ metadata }: ConfigWatcher): boolean {
    const { namespace = '', name, uid, generation, resourceVersion = '' } = metadata;
    const seen = this.#options.watchers.get(namespace, name)?.metadata;
    if (seen === undefined) return false;
    // The watch has yet to show what was read from the API server itself.
    if ((compareResourceVersions(seen.resourceVersion ?? '', resourceVersion) ?? 0) < 0) return true;
    return seen.uid === uid && !seen.deletionTimestamp && seen.generation === generation;
  }

  /** Nothing about this name matters any more. */
  forget(key: string): void {
    this.#options.metrics.forget(this.#metricsKey(key));
  }

  /** Watchers of another group, and ConfigMaps, may have the same name. */
  #metricsKey(key: string): string {
    return `${this.#options.resource.group}/${this.#options.resource.kind}/${key}`;
  }
}
