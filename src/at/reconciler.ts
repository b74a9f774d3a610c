/**
 * AtReconciler: facts, decision, effects of one At. It gathers the facts; {@link decide} decides, the {@link Actuator}
 * acts. It keeps nothing but what {@link Memory} may forget.
 */
import type { At, AtStatus } from '../api/at.generated.ts';
import type { Pod } from '../kubernetes/objects.ts';
import type { Lister } from '../runtime/cache/lister.ts';
import { TransportError } from '../runtime/client/api-error.ts';
import type { Client } from '../runtime/client/client.ts';
import type { Clock } from '../runtime/clock.ts';
import { DecidingReconciler } from '../runtime/controller/deciding-reconciler.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  RetryError,
  requestKey,
} from '../runtime/controller/reconciler.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import { Actuator, maxUnansweredDelayMs } from './act/actuator.ts';
import type { AuthorCheck } from './act/author-check.ts';
import { ConfigErrors } from './act/config-errors.ts';
import { LaunchTurns } from './act/launch-turns.ts';
import { Memory } from './act/memory.ts';
import type { Preflights } from './act/preflights.ts';
import { decide } from './decide/decide.ts';
import type { AtDefaults, Observed } from './decide/decision.ts';
import type { DepartedPods } from './facts/departed-pods.ts';
import { podsAt } from './facts/own-pod.ts';
import { trackedIndex } from './facts/pod-owner.ts';
import { isDue } from './plan/due.ts';
import { phaseOf } from './plan/phase.ts';
import { podUidLabel } from './plan/pod.ts';

/** First wait before a create that was refused is tried again, in milliseconds. */
const firstRetryDelayMs = 250;

export interface AtReconcilerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly ats: Lister<At>;
  readonly pods: Lister<Pod>;
  readonly departed: Pick<DepartedPods, 'of'>;
  /** Whether Pods of ExactlyOnce get a finalizer: only where the right to take it off cannot go before the Pod. */
  readonly tracks: boolean;
  /** What the operator was started with for fields that an At leaves open. */
  readonly defaults?: AtDefaults;
  /** What this process knows of Ats. */
  readonly memory?: Memory;
  /** Whose turn it is where creates fail; wakes an At when its turn comes. */
  readonly turns?: LaunchTurns;
  /** Dry runs that are repeated while Ats wait. */
  readonly preflights?: Pick<Preflights, 'tried' | 'recall' | 'forget'>;
  /** Asked before each create. Absent: any author's Ats run. */
  readonly authorCheck?: AuthorCheck;
  /** Called with every status that was written, and the At as it was before. */
  readonly onStatus?: (before: At, after: AtStatus) => void;
}

export class AtReconciler implements Reconciler {
  readonly #options: AtReconcilerOptions;
  readonly #memory: Memory;
  readonly #turns: LaunchTurns;
  readonly #configErrors = new ConfigErrors();
  readonly #actuator: Actuator;
  readonly #loop: Reconciler;

  constructor(options: AtReconcilerOptions) {
    this.#options = options;
    this.#memory = options.memory ?? new Memory();
    this.#turns = options.turns ?? new LaunchTurns(options.clock);
    const actuator = new Actuator({
      ...options,
      memory: this.#memory,
      turns: this.#turns,
      onDryRun: (at, preflight) => options.preflights?.tried(at, preflight),
    });
    this.#actuator = actuator;
    this.#loop = new DecidingReconciler({
      observe: (request, context) => this.#observe(request, context),
      decide,
      read: (need, observed, context) => actuator.read(need, observed, context),
      perform: (effect, observed, context) => actuator.perform(effect, observed, context),
    });
  }

  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    try {
      return await this.#loop.reconcile(request, context);
    } catch (error) {
      const at = this.#options.ats.get(request.namespace, request.name);
      // A read that a launch waits for: it must run soon after the API server is back.
      const isWaitedFor = error instanceof TransportError && at && isDue(at, this.#options.clock.now());
      throw isWaitedFor ? new RetryError(error.message, maxUnansweredDelayMs, { cause: error }) : error;
    }
  }

  async #observe(request: Request, context: ReconcileContext): Promise<Observed | undefined> {
    const at = this.#options.ats.get(request.namespace, request.name);
    if (at === undefined || phaseOf(at) === 'DONE') {
      const key = requestKey(request);
      const { preflights } = this.#options;
      const all = [this.#memory, this.#turns, this.#actuator, this.#configErrors, preflights];
      for (const kept of all) kept?.forget(key);
    }
    const orphans = this.#orphans(request, at?.metadata.uid);
    if (orphans.length > 0) {
      await this.#actuator.letGo(request, orphans, context);
    }
    return at && this.#factsOf(at, request);
  }

  /** The Pods that the finalizer holds for an At of this name which is not the one in the cache. */
  #orphans(request: Request, uid: string | undefined): readonly Pod[] {
    const tracked = this.#options.pods.byIndex(trackedIndex, requestKey(request));
    return tracked.filter((pod) => pod.metadata.labels?.[podUidLabel] !== uid);
  }

  #factsOf(at: At, request: Request): Observed {
    const { clock, tracks, pods, departed, defaults, preflights } = this.#options;
    const now = clock.now();
    const seen = podsAt(at, (name) => pods.get(request.namespace, name));
    const configErrorAge = this.#configErrors.age(requestKey(request), seen.pod, clock.monotonic());
    return {
      at,
      ...seen,
      departed: departed.of(at),
      ...(configErrorAge === undefined ? {} : { configErrorAge }),
      now,
      live: false,
      tracks,
      ...(defaults && { defaults }),
      retryDelay: firstRetryDelayMs,
      ...this.#memory.recall(at),
      ...preflights?.recall(at),
    };
  }
}
