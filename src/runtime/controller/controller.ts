/**
 * Controller: takes requests from its sources through a workqueue to one reconciler, several at once but never
 * two for the same object.
 *
 * Its life: `warmUp` starts the sources and waits until everything that exists is in the queue; only then do
 * workers take from it, and only while the process leads. On `stop` the sources and the queue end at once and
 * the reconciles in progress run to their end; `abort` breaks those off through their context's signal.
 */
import type { Registry } from '@prometheus-io/client';
import { CallbackFaults } from '../callback.ts';
import { assertTimerDelay, type Clock } from '../clock.ts';
import { asReconcile } from '../diagnostics.ts';
import { errorFields, type Logger } from '../logger.ts';
import { ExponentialBackoff, type RateLimiter } from '../queue/rate-limiter.ts';
import { type WorkItem, Workqueue } from '../queue/workqueue.ts';
import { workqueueMetrics } from '../queue/workqueue-metrics.ts';
import type { Randomness } from '../randomness.ts';
import { Calls } from './calls.ts';
import { ControllerMetrics } from './controller-metrics.ts';
import { type Outcome, outcomeOf, withOutcome } from './outcome.ts';
import { inScope, type ReconcileScope } from './reconcile-scope.ts';
import {
  type ReconcileContext,
  type Reconciler,
  type Request,
  requestKey,
  requestOfKey,
} from './reconciler.ts';
import type { Runnable } from './runnable.ts';
import { type Enqueue, initialListPriority, type Source } from './source.ts';
import { Wakes } from './wakes.ts';

/** Options of a controller; everything has a default. */
export interface ControllerOptions {
  /** Workers, and so the most reconciles at once. Default 1. */
  readonly maxConcurrentReconciles?: number;
  /**
   * Milliseconds after which the signal of a reconcile's context is aborted. Its worker then goes
   * on with other keys; its own key stays locked until its promise settles. Default: no limit.
   */
  readonly reconcileTimeout?: number;
  /** Milliseconds for which every worker may be in one reconcile before `/healthz` fails. Default 900 000. */
  readonly unhealthyAfter?: number;
  /** False: reconciles on every replica. Default true. */
  readonly needsLeaderElection?: boolean;
  /**
   * Requests of one priority are taken in turns by what this returns, such as their namespace, so that one flow's
   * thousands do not hold up another's few. Default: first come, first served.
   */
  readonly flowOf?: (request: Request) => string;
  /** Longest backoff of a failing key, ms. Default 1 000 000. Not together with `rateLimiter`. */
  readonly maxBackoff?: number;
  /** Default: exponential, 5 ms · 2ⁿ up to `maxBackoff`. */
  readonly rateLimiter?: RateLimiter;
}

export interface ControllerConfig extends ControllerOptions {
  /** Of the controller; the value of `controller` in logs and metrics. */
  readonly name: string;
  readonly reconciler: Reconciler;
  readonly sources: readonly Source[];
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Logger;
  readonly registry: Registry;
}

/**
 * Reconciles that need no I/O follow each other without a turn of the event loop, and could keep the lease
 * from being renewed. So a worker lets the loop turn after so many.
 */
const reconcilesPerTurn = 64;

/** A Runnable that the Manager drives; made by the builder. */
export class Controller implements Runnable {
  readonly name: string;
  readonly needsLeaderElection: boolean;
  readonly #config: ControllerConfig;
  readonly #workers: number;
  readonly #log: Logger;
  readonly #metrics: ControllerMetrics;
  readonly #queue: Workqueue;
  readonly #wakes: Wakes;
  readonly #calls: Calls;
  #warm: Promise<void> | undefined;
  #abort: AbortSignal | undefined;

  /** @throws {RangeError} for options that make no sense. */
  constructor(config: ControllerConfig) {
    const {
      name,
      clock,
      registry,
      maxConcurrentReconciles = 1,
      reconcileTimeout,
      maxBackoff,
      flowOf,
    } = config;
    if (!(Number.isSafeInteger(maxConcurrentReconciles) && maxConcurrentReconciles > 0)) {
      throw new RangeError(`maxConcurrentReconciles must be an integer > 0, got ${maxConcurrentReconciles}`);
    }
    if (reconcileTimeout !== undefined) assertTimerDelay(reconcileTimeout);
    if (reconcileTimeout === 0)
      throw new RangeError('reconcileTimeout must be > 0 ms; leave it out for none');
    if (config.rateLimiter && maxBackoff !== undefined) {
      throw new RangeError('maxBackoff is an option of the default rateLimiter; give one of the two');
    }
    this.name = name;
    this.needsLeaderElection = config.needsLeaderElection ?? true;
    this.#config = config;
    this.#workers = maxConcurrentReconciles;
    this.#log = config.log.child({ controller: name });
    this.#metrics = new ControllerMetrics(registry, name, maxConcurrentReconciles);
    const faults = new CallbackFaults(clock, this.#log);
    this.#queue = new Workqueue({
      clock,
      rateLimiter:
        config.rateLimiter ?? new ExponentialBackoff(maxBackoff === undefined ? {} : { cap: maxBackoff }),
      ...(flowOf && { flowOf: (key) => flowOf(requestOfKey(key)) }),
      onFault: (fault) => faults.report(fault),
      metrics: workqueueMetrics(registry, name, [0, initialListPriority]),
    });
    this.#calls = new Calls({ ...config, metrics: this.#metrics, workers: this.#workers });
    this.#wakes = new Wakes({ clock, queue: this.#queue, metrics: this.#metrics, log: this.#log });
  }

  /** Starts the sources; resolves when all have synced. A second call gives the same promise. */
  warmUp(stop: AbortSignal): Promise<void> {
    this.#warm ??= this.#startSources(stop);
    return this.#warm;
  }

  async start(stop: AbortSignal, abort: AbortSignal): Promise<void> {
    if (this.#abort) throw new Error(`controller ${this.name} was started before; a controller starts once`);
    this.#abort = abort;
    const onAbort = () => this.#breakOff(abort);
    abort.addEventListener('abort', onAbort, { once: true });
    try {
      await this.warmUp(stop);
    } catch (err) {
      if (stop.aborted) return;
      throw new Error(`controller ${this.name} could not start its sources`, { cause: err });
    }
    if (abort.aborted) onAbort();
    this.#log.info({ workers: this.#workers }, 'starting workers');
    await Promise.all(Array.from({ length: this.#workers }, () => this.#work()));
    await this.#calls.ended();
    abort.removeEventListener('abort', onAbort);
    this.#log.info('all workers finished');
  }

  async #startSources(stop: AbortSignal): Promise<void> {
    stop.throwIfAborted();
    stop.addEventListener('abort', () => this.#queue.shutDown(), { once: true });
    const { sources } = this.#config;
    const enqueue: Enqueue = (request, options) => this.#wakes.request(requestKey(request), options);
    for (const source of sources) source.start(enqueue, this.#log, stop);
    await Promise.all(sources.map((source) => source.waitForSync(stop)));
  }

  get inProgress(): string[] {
    return this.#calls.keys;
  }

  /** @throws {Error} when every worker has been in one reconcile for `unhealthyAfter`: a restart may help. */
  healthCheck(): void {
    if (this.#calls.areStuck) throw new Error(`controller ${this.name}: every worker hangs in a reconcile`);
  }

  #breakOff(abort: AbortSignal): void {
    this.#queue.shutDown();
    this.#calls.abort(abort.reason);
  }

  async #work(): Promise<void> {
    let reconciles = 0;
    for (let item = await this.#queue.get(); item; item = await this.#queue.get()) {
      // Handed out in the same turn in which everything was broken off.
      if (this.#abort?.aborted) return;
      this.#metrics.busy(1);
      await this.#reconcile(item);
      this.#metrics.busy(-1);
      if (++reconciles % reconcilesPerTurn === 0) await this.#config.clock.turn();
    }
  }

  /** Resolves when the worker is free: the reconcile has ended, or its timeout has aborted its signal. */
  #reconcile(item: WorkItem): Promise<void> {
    const { clock, randomness, reconcileTimeout } = this.#config;
    const request = requestOfKey(item.key);
    const reconcileID = randomness.uuid();
    const log = this.#log.child({ ...request, reconcileID });
    const abort = new AbortController();
    let release = () => {};
    const timer =
      reconcileTimeout === undefined
        ? undefined
        : clock.setTimer(reconcileTimeout, () => {
            this.#metrics.timedOut();
            log.warn(
              { timeout: reconcileTimeout },
              'reconcile timed out; its object stays locked until it ends',
            );
            abort.abort(new DOMException(`no result after ${reconcileTimeout} ms`, 'TimeoutError'));
            release();
          });
    const call = { key: item.key, abort, holdsWorker: true };
    const ended = this.#calls.track(call, log, async () => {
      try {
        await this.#reconcileHandler(item, { signal: abort.signal, log, reconcileID });
      } finally {
        timer?.cancel();
        this.#queue.done(item.key);
      }
    });
    if (!timer) return ended;
    return Promise.race([ended, new Promise<void>((resolve) => (release = resolve))]).finally(() => {
      call.holdsWorker = false;
    });
  }

  /** Calls the reconciler and draws the consequences. All requeues happen before the key is unlocked. */
  async #reconcileHandler({ key, priority }: WorkItem, context: ReconcileContext): Promise<void> {
    const { clock, reconciler } = this.#config;
    const request = requestOfKey(key);
    const begin = clock.monotonic();
    this.#wakes.begin(key);
    const scope: ReconcileScope = {
      ...{ controller: this.name, request },
      wrote: (written, isOwn) => this.#wakes.wrote(key, written, isOwn),
    };
    const reconcile = () => outcomeOf(() => reconciler.reconcile(request, context));
    const about = () => ({ controller: this.name, ...request, reconcileID: context.reconcileID });
    const outcome = await inScope(scope, () => asReconcile(about, (event) => withOutcome(event, reconcile)));
    const duration = clock.monotonic() - begin;
    this.#metrics.ended(outcome.kind, duration);
    this.#wakes.end(key, outcome, priority);
    this.#report(outcome, duration, context.log);
  }

  #report(outcome: Outcome, duration: number, log: Logger): void {
    if (outcome.kind === 'success' || outcome.kind === 'requeue') {
      log.debug({ duration, ...outcome }, 'reconciled');
    } else if (this.#abort?.aborted) {
      log.debug({ duration, err: errorFields(outcome.error) }, 'reconcile broken off');
    } else {
      log.error({ duration, failure: outcome.kind, err: errorFields(outcome.error) }, 'reconcile failed');
    }
  }
}
