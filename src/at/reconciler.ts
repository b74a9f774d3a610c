/**
 * AtReconciler: reads one At and its Pods from the store, decides, performs, writes the status. It decides
 * nothing itself, and keeps nothing but what {@link Memory} may forget.
 */
import type { At, AtStatus } from '../api/at.generated.ts';
import { ats } from '../api/resources.ts';
import type { Pod } from '../kubernetes/objects.ts';
import type { Lister } from '../runtime/cache/lister.ts';
import { isConflict, isInvalid, isNotFound, TransportError } from '../runtime/client/api-error.ts';
import type { Client } from '../runtime/client/client.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  RetryError,
  requestKey,
} from '../runtime/controller/reconciler.ts';
import type { EventRecorder } from '../runtime/events/event-recorder.ts';
import { errorFields } from '../runtime/logger.ts';
import type { AuthorCheck } from './act/author-check.ts';
import { ConfigErrors } from './act/config-errors.ts';
import { HourlyEvents } from './act/hourly-events.ts';
import { LaunchTurns } from './act/launch-turns.ts';
import { Memory } from './act/memory.ts';
import { mostDelayWithoutAnswer, Performer } from './act/perform.ts';
import { StatusPace } from './act/status-pace.ts';
import { statusPatch } from './act/status-patch.ts';
import { decide } from './decide/decide.ts';
import { type Decision, type Observed, retryPriority } from './decide/decision.ts';
import { obstacleEvent } from './decide/launch.ts';
import type { DepartedPods } from './facts/departed-pods.ts';
import { findAmong, podsAt } from './facts/own-pod.ts';
import { trackedIndex } from './facts/pod-owner.ts';
import { isDue } from './plan/due.ts';
import { isRefused, isRefusedFor, phaseOf } from './plan/phase.ts';
import { podUidLabel } from './plan/pod.ts';

/** Decisions in one pass; each follows from what the one before has learned or written. */
const mostDecisions = 8;
/** After a status write met a newer At: its watch event comes by itself, this is the net. Milliseconds. */
const conflictDelay = 1000;
/** The longest wait after the API server refused a status as invalid, in milliseconds. */
const mostInvalidDelay = 300_000;
/** First wait before a create that was refused is tried again, in milliseconds. */
const firstRetryDelay = 250;

export interface AtReconcilerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly ats: Lister<At>;
  readonly pods: Lister<Pod>;
  readonly departed: Pick<DepartedPods, 'of'>;
  /** Whether Pods of ExactlyOnce get a finalizer: only where the right to take it off cannot go before the Pod. */
  readonly tracks: boolean;
  /** Whose turn it is where creates fail; wakes an At when its turn comes. */
  readonly turns?: LaunchTurns;
  /** Asked before each create. Absent: any author's Ats run. */
  readonly authorCheck?: AuthorCheck;
  /** Told every status that was written, and the At as it was before. */
  readonly onStatus?: (before: At, after: AtStatus) => void;
}

export class AtReconciler implements Reconciler {
  readonly #options: AtReconcilerOptions;
  readonly #memory = new Memory();
  readonly #turns: LaunchTurns;
  readonly #pace = new StatusPace();
  readonly #hourly = new HourlyEvents();
  readonly #configErrors = new ConfigErrors();
  readonly #performer: Performer;

  constructor(options: AtReconcilerOptions) {
    const { client, clock, recorder } = options;
    const onRefusedDryRun = (at: At, message: string) =>
      recorder.record(ats, at, obstacleEvent('PodRejected', message));
    this.#options = options;
    this.#turns = options.turns ?? new LaunchTurns(clock);
    const shared = { memory: this.#memory, turns: this.#turns };
    const authors = options.authorCheck && { authorCheck: options.authorCheck };
    this.#performer = new Performer({ client, clock, ...shared, ...authors, onRefusedDryRun });
  }

  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    const at = this.#options.ats.get(request.namespace, request.name);
    if (at === undefined || phaseOf(at) === 'DONE') {
      const key = requestKey(request);
      for (const kept of [this.#memory, this.#turns, this.#pace, this.#configErrors]) kept.forget(key);
    }
    const orphans = this.#orphans(request, at?.metadata.uid);
    if (orphans.length > 0) {
      await this.#performer.letGo(request, orphans, context);
    }
    if (at === undefined) {
      return {};
    }
    try {
      return await this.#pass(this.#observe(at), context);
    } catch (error) {
      // A read that a launch waits for: it must run soon after the API server is back.
      const isWaitedFor = error instanceof TransportError && isDue(at, this.#options.clock.now());
      throw isWaitedFor ? new RetryError(error.message, mostDelayWithoutAnswer, { cause: error }) : error;
    }
  }

  /** The Pods that the finalizer holds for an At of this name which is not the one in the cache. */
  #orphans(request: Request, uid: string | undefined): readonly Pod[] {
    const tracked = this.#options.pods.byIndex(trackedIndex, requestKey(request));
    return tracked.filter((pod) => pod.metadata.labels?.[podUidLabel] !== uid);
  }

  /** Decides and performs until there is nothing more to find out or to write. */
  async #pass(first: Observed, context: ReconcileContext): Promise<Result> {
    let observed = first;
    for (let decisions = 0; decisions < mostDecisions; decisions += 1) {
      const next = await this.#perform(observed, decide(observed), context);
      if (!('at' in next)) {
        return next;
      }
      observed = next;
    }
    return { requeueAfter: observed.retryDelay };
  }

  #observe(at: At): Observed {
    const { clock, tracks, pods } = this.#options;
    const namespace = at.metadata.namespace ?? '';
    const now = clock.now();
    const seen = podsAt(at, (name) => pods.get(namespace, name));
    const key = requestKey({ namespace, name: at.metadata.name });
    const configErrorAge = this.#configErrors.age(key, seen.pod, clock.monotonic());
    return {
      at,
      ...seen,
      departed: this.#options.departed.of(at),
      ...(configErrorAge === undefined ? {} : { configErrorAge }),
      now,
      live: false,
      tracks,
      retryDelay: firstRetryDelay,
      ...this.#memory.recall(at),
    };
  }

  /** Actions, status, Events. Returns what to decide from next, or how the pass ends. */
  async #perform(
    observed: Observed,
    decision: Decision,
    context: ReconcileContext,
  ): Promise<Observed | Result> {
    for (const action of decision.actions) {
      // Crash window before and after each action: whatever is done by now, the next decision sees it.
      const performed = await this.#performer.perform(action, observed, context);
      if (performed.next !== 'goOn') {
        return performed.next === 'decide' ? performed.observed : performed.result;
      }
    }
    const paused = this.#paceOf(observed.at, decision);
    if (paused > 0) {
      return { requeueAfter: paused, priority: retryPriority };
    }
    const written = await this.#write(observed.at, decision, context);
    if (!('metadata' in written)) {
      return written;
    }
    const { again = false, requeueAt, requeueAfter, priority } = decision;
    if (again) {
      const { refusal: _, ...rest } = observed;
      const pods = podsAt(written, findAmong(observed));
      return { ...rest, ...pods, at: written, now: this.#options.clock.now() };
    }
    return {
      ...(requeueAt === undefined ? {} : { requeueAt }),
      ...(requeueAfter === undefined ? {} : { requeueAfter }),
      ...(priority === undefined ? {} : { priority }),
    };
  }

  /** Milliseconds for which a status waits that says why a due At has no Pod. */
  #paceOf(at: At, { status }: Decision): number {
    if (status === undefined || !isRefused({ ...at, status }) || isRefusedFor(at, status.reason)) {
      return 0;
    }
    const { namespace = '', name } = at.metadata;
    const key = requestKey({ namespace, name });
    return this.#pace.wait(key, `${namespace}/${status.reason}`, this.#options.clock.monotonic());
  }

  /** The At with the status wanted, or how the pass ends because it does not take that status. */
  async #write(
    at: At,
    { status, events, untried, again = false }: Decision,
    { signal, log }: ReconcileContext,
  ): Promise<At | Result> {
    const { client, onStatus } = this.#options;
    const body = status && statusPatch(at, status);
    let written = at;
    if (body !== undefined) {
      const { namespace = '', name } = at.metadata;
      try {
        written = await client.patchStatus(ats, { namespace, name }, { type: 'merge', body }, { signal });
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) {
          return this.#overtaken(at, again);
        }
        if (!isInvalid(error)) {
          throw error;
        }
        return this.#unwritable(at, events, error, log);
      }
      this.#memory.written(at);
      onStatus?.(at, status ?? {});
    }
    // Crash window: status says it and no Event does. Events are hints, and a lost one is not made up.
    this.#tell(at, events, log);
    if (untried) {
      this.#memory.toTry(at);
    }
    return written;
  }

  /** What a write had to precede must not be decided from the same version of the At once more. */
  #overtaken(at: At, again: boolean): Result {
    if (again) this.#memory.overtaken(at);
    return { requeueAfter: conflictDelay };
  }

  /**
   * Stored under a laxer CRD than today's, it takes no status until somebody mends it: the Events are all that can
   * be said of it. It may also be a passing mistake of somebody's admission policy, so the first tries are soon.
   */
  #unwritable(at: At, events: Decision['events'], error: unknown, log: ReconcileContext['log']): Result {
    const times = this.#memory.unwritable(at);
    log.error({ err: errorFields(error) }, 'the status cannot be written: the API server finds it not valid');
    if (times === 1) {
      this.#tell(at, events, log);
    }
    return { requeueAfter: Math.min(mostInvalidDelay, firstRetryDelay * 2 ** (times - 1)) };
  }

  #tell(at: At, events: Decision['events'], log: ReconcileContext['log']): void {
    const now = this.#options.clock.monotonic();
    for (const event of events.filter((one) => this.#hourly.take(at, one, now))) {
      this.#options.recorder.record(ats, at, event);
      log[event.type === 'Warning' ? 'warn' : 'info']({ reason: event.reason }, event.note);
    }
  }
}
