/**
 * AtReconciler: facts, decision, effects of one At. It gathers the facts; {@link decide} decides, the {@link Actuator}
 * acts. It keeps nothing but what {@link Memory} may forget.
 */
import type { At } from '../api/at.generated.ts';
import { earliest } from '../kubernetes/time.ts';
import { TransportError } from '../runtime/client/api-error.ts';
import { DecidingReconciler } from '../runtime/controller/deciding-reconciler.ts';
import type { Answer } from '../runtime/controller/decision.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  type Result,
  RetryError,
  requestKey,
  TerminalError,
} from '../runtime/controller/reconciler.ts';
import { describeError } from '../runtime/error-chain.ts';
import { Actuator } from './act/actuator.ts';
import { factsOf } from './act/at-facts.ts';
import type { AtParts } from './act/at-parts.ts';
import { ConfigErrors } from './act/config-errors.ts';
import { maxUnansweredDelayMs } from './act/create-answer.ts';
import { letGo, letHiddenGo } from './act/pod-edit.ts';
import type { Preflights } from './act/preflights.ts';
import { conflictDelayMs } from './act/settle.ts';
import { decide } from './decide/decide.ts';
import type { Effect } from './decide/decision.ts';
import type { HiddenPods } from './facts/hidden-pods.ts';
import type { Observed } from './facts/observed.ts';
import { trackedIndex } from './facts/pod-owner.ts';
import { dueTime, isDue } from './plan/due.ts';
import { phaseOf } from './plan/phase.ts';
import { podUidLabel } from './plan/pod.ts';

export class AtReconciler implements Reconciler {
  readonly #options;
  readonly #configErrors = new ConfigErrors();
  readonly #actuator: Actuator;
  readonly #loop: Reconciler;

  /** @param options `preflights`: dry runs that are repeated while Ats wait. */
  constructor(
    options: Omit<AtParts, 'onDryRun'> & {
      readonly preflights?: Pick<Preflights, 'tried' | 'recall' | 'forget'>;
      readonly hidden: Pick<HiddenPods, 'of' | 'released'>;
    },
  ) {
    this.#options = options;
    const onDryRun: AtParts['onDryRun'] = (at, preflight) => options.preflights?.tried(at, preflight);
    const actuator = new Actuator({ ...options, onDryRun });
    this.#actuator = actuator;
    this.#loop = new DecidingReconciler({
      observe: async (request) => this.#observe(request),
      decide,
      read: (need, observed, context) => actuator.read(need, observed, context),
      perform: (effect, observed, context) => this.#perform(effect, observed, context),
    });
  }

  async reconcile(request: Request, context: ReconcileContext): Promise<Result> {
    const [done] = await Promise.allSettled([this.#letGo(request, context)]);
    try {
      const result = await this.#loop.reconcile(request, context);
      // A Pod of an earlier At cannot be let go.
      if (done.status === 'rejected') throw this.#notLater(done.reason, result);
      // No event may follow: the watch has shown what the write met, or what it met was no newer Pod.
      const { requeueAfter = conflictDelayMs } = result;
      return done.value ? { ...result, requeueAfter: Math.min(requeueAfter, conflictDelayMs) } : result;
    } catch (error) {
      const at = this.#options.ats.get(request.namespace, request.name);
      // A read that a launch waits for: it must run soon after the API server is back.
      const isWaitedFor = error instanceof TransportError && at && isDue(at, this.#options.clock.now());
      throw isWaitedFor
        ? new RetryError(error.message, maxUnansweredDelayMs, { cause: error })
        : this.#notPastDue(error, at);
    }
  }

  /** What fails before the At is due, such as its status, does not put off its launch. */
  #notPastDue(error: unknown, at: At | undefined): unknown {
    if (at === undefined || error instanceof RetryError || error instanceof TerminalError) return error;
    const requeueAt = dueTime(at);
    const isAhead = requeueAt > this.#options.clock.now() && Number.isFinite(requeueAt);
    return isAhead ? this.#notLater(error, { requeueAt }) : error;
  }

  /** The error, whose back-off does not put off the next look at the At. */
  #notLater(error: unknown, { requeueAfter, requeueAt, priority }: Result): unknown {
    const wait = requeueAt === undefined ? undefined : requeueAt - this.#options.clock.now();
    const delayMs = earliest([requeueAfter, wait]);
    if (delayMs === undefined) return error;
    const options = { cause: error, ...(priority !== undefined && { priority }) };
    return new RetryError(describeError(error), Math.max(0, delayMs), options);
  }

  #observe(request: Request): Observed | undefined {
    const at = this.#options.ats.get(request.namespace, request.name);
    if (at === undefined || phaseOf(at) === 'DONE') {
      const key = requestKey(request);
      const { memory, turns, preflights } = this.#options;
      const all = [memory, turns, this.#actuator, this.#configErrors, preflights];
      for (const kept of all) kept?.forget(key);
    } else if (phaseOf(at) === 'PENDING') {
      const { memory, turns, clock } = this.#options;
      if (!isDue(at, clock.now())) {
        memory.notDue(at);
        // It would not use its turn; what has begun is not held back, nor are its further attempts.
        turns.passOn(requestKey(request));
      }
    }
    return at && this.#factsOf(at, request);
  }

  async #perform(effect: Effect, observed: Observed, context: ReconcileContext): Promise<Answer<Observed>> {
    const answer = await this.#actuator.perform(effect, observed, context);
    if (effect.type === 'UntrackPod' && answer.next === 'goOn') this.#options.hidden.released(effect.pod);
    return answer;
  }

  /** Returns whether a Pod is left for which that has to be tried again. */
  async #letGo(request: Request, { signal }: ReconcileContext): Promise<boolean> {
    const { ats, client, hidden, pods } = this.#options;
    const cached = ats.get(request.namespace, request.name);
    const tracked = pods.byIndex(trackedIndex, requestKey(request));
    const orphans = tracked.filter((pod) => pod.metadata.labels?.[podUidLabel] !== cached?.metadata.uid);
    const all = [
      await letGo(client, request, orphans, signal),
      await letHiddenGo(client, request, { hidden: hidden.of(request), cached }, signal),
    ];
    for (const pod of all.flatMap(({ released }) => released)) hidden.released(pod);
    return all.some(({ isOvertaken }) => isOvertaken);
  }

  #factsOf(at: At, request: Request): Observed {
    const { clock, preflights } = this.#options;
    const facts = factsOf(at, this.#options);
    const configErrorAge = this.#configErrors.age(requestKey(request), facts.pod, clock.monotonic());
    return {
      ...facts,
      ...(configErrorAge === undefined ? {} : { configErrorAge }),
      ...preflights?.recall(at),
    };
  }
}
