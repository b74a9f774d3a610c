/**
 * Wakes: when a key of a controller is looked at again. It stands between the sources, the outcomes of reconciles
 * and the queue, and knows of each wake whether another writer has caused it or the key itself:
 *
 * - What another writer has caused acts at once.
 * - The event of an own write does not shorten a backoff, and does not bring a key back more often than its
 *   {@link WakeLimit} allows; nor do requeues and retries.
 * - An event that may be the key's own or show more than that ends a backoff, the first time at once, then after a
 *   backoff of its own: a key that fails and causes such events with each run is not looked at more often for it.
 *
 * An event may arrive before the answer to the write that has caused it. So events that come during a reconcile are
 * judged at its end, when its writes are known.
 */
import type { Written } from '../client/written.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { priorityOf } from '../queue/add-options.ts';
import { ExponentialBackoff } from '../queue/rate-limiter.ts';
import type { Workqueue } from '../queue/workqueue.ts';
import type { ControllerMetrics } from './controller-metrics.ts';
import { type Outcome, retryOptions } from './outcome.ts';
import { type Ownership, OwnVersions } from './own-versions.ts';
import { requestOfKey } from './reconciler.ts';
import type { EnqueueOptions } from './source.ts';
import { isTight, type SelfWakeCause, WakeLimit } from './wake-limit.ts';

/** A retry that waits so long, ms, is no loop: its rate limiter is to decide. The first backoff by default. */
const minBackoff = 5;
/** The same where the error itself says how long (RetryError): what a key may cause by itself, twenty a second. */
const minAskedBackoff = 50;
/** Events of one reconcile that are kept to be judged; further ones count as foreign. */
const maxUnjudged = 256;

export interface WakesOptions {
  readonly clock: Clock;
  readonly queue: Workqueue;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

/** What each cause of a loop is, for people. */
const reasons: Readonly<Record<SelfWakeCause, string>> = {
  requeue: 'it asks for the next run at once (requeueAfter, requeueAt)',
  retry: 'it fails, and its next try comes at once (RetryError, rateLimiter)',
  own_write: 'what it writes wakes it: write only what differs, or watch with generationChanged',
};

/** What one or several events of a version have in common. */
type Shown = Required<Pick<EnqueueOptions, 'priority' | 'showsMore'>>;

type Requeue = Extract<Outcome, { readonly kind: 'requeue' }>;

export class Wakes {
  readonly #clock: Clock;
  readonly #queue: Workqueue;
  readonly #limit: WakeLimit;
  readonly #own = new OwnVersions();
  /** By key that is being reconciled: the versions whose events have come meanwhile. */
  readonly #unjudged = new Map<string, Map<string, Shown>>();
  /** Keys that failed and wait for their next try. */
  readonly #backingOff = new Set<string>();
  /** Counts the backoffs of a key since its last success that ended with an event that may be its own. */
  readonly #doubtful = new ExponentialBackoff();
  /** Keys whose next run only they themselves have asked for. */
  readonly #bySelf = new Set<string>();

  constructor(options: WakesOptions) {
    this.#clock = options.clock;
    this.#queue = options.queue;
    const { clock, metrics, log } = options;
    this.#limit = new WakeLimit({
      clock,
      onSlowed(key, cause, first) {
        metrics.slowed(cause);
        if (!first) return;
        const why = reasons[cause];
        log.warn({ ...requestOfKey(key), cause, why }, 'reconcile wakes itself too often and is slowed down');
      },
    });
  }

  /** A source asks for the key. @throws {RangeError} unless the priority is an integer. */
  request(key: string, { version, showsMore = false, ...options }: EnqueueOptions): void {
    const shown = { priority: priorityOf(options), showsMore };
    const unjudged = this.#unjudged.get(key);
    if (version === undefined) this.#byOthers(key, shown.priority);
    else if (unjudged && (unjudged.size < maxUnjudged || unjudged.has(version))) {
      unjudged.set(version, merged(shown, unjudged.get(version)));
    } else this.#judge(key, shown, this.#own.ownership(key, version));
  }

  /** A reconcile of the key begins. */
  begin(key: string): void {
    this.#unjudged.set(key, new Map());
    this.#backingOff.delete(key);
    if (this.#bySelf.delete(key)) this.#limit.begin(key);
  }

  /** A reconcile of the key wrote this; the version is certainly that of its write if `isOwn`. */
  wrote(key: string, written: Written, isOwn: boolean): void {
    this.#own.add(key, written, isOwn ? 'certain' : 'possible');
    this.#limit.wrote(key, written);
  }

  /** The reconcile of the key has ended: does what its outcome asks for. `priority` is that of the run. */
  end(key: string, outcome: Outcome, priority: number): void {
    const unjudged = this.#unjudged.get(key);
    this.#unjudged.delete(key);
    switch (outcome.kind) {
      case 'success':
      case 'terminal':
        this.#forget(key);
        break;
      case 'requeue':
        this.#forget(key);
        this.#requeue(key, outcome);
        break;
      case 'error':
      case 'panic':
        this.#retry(key, outcome.error, priority);
        break;
    }
    for (const [version, shown] of unjudged ?? []) this.request(key, { version, ...shown });
  }

  #judge(key: string, { priority, showsMore }: Shown, ownership: Ownership | undefined): void {
    if (ownership === undefined) this.#byOthers(key, priority);
    else if (!this.#backingOff.has(key)) this.#byOwnWrite(key, priority);
    // The next try of a failed key sees its own writes anyway.
    else if (ownership === 'possible' || showsMore) this.#byDoubtful(key, priority);
  }

  #forget(key: string): void {
    this.#doubtful.forget(key);
    this.#queue.forget(key);
  }

  #byOthers(key: string, priority: number): void {
    this.#bySelf.delete(key);
    this.#backingOff.delete(key);
    this.#queue.add(key, { priority });
  }

  #byOwnWrite(key: string, priority: number): void {
    // Whatever has made it ready, it is looked at soon.
    const delay = this.#queue.isReady(key) ? 0 : this.#limited(key, 'own_write', 0);
    this.#queue.addAfter(key, delay, { priority });
  }

  /** Keys that cause such events by themselves must not pass their backoff by. */
  #byDoubtful(key: string, priority: number): void {
    const isFirst = this.#doubtful.retries(key) === 0;
    const backoff = this.#doubtful.when(key);
    this.#queue.addAfter(key, isFirst ? 0 : backoff, { priority });
  }

  #requeue(key: string, { after = Infinity, at = Infinity, priority }: Requeue): void {
    const asked = Math.min(after, Math.max(0, at - this.#clock.now()));
    const delay = this.#limited(key, 'requeue', asked);
    if (delay > asked) {
      this.#queue.addAfter(key, delay, { priority });
      return;
    }
    if (after !== Infinity) this.#queue.addAfter(key, after, { priority });
    if (at !== Infinity) this.#queue.addAt(key, at, { priority });
  }

  #retry(key: string, error: unknown, priority: number): void {
    const options = retryOptions(error, priority);
    const backoff = this.#queue.backoff(key, options);
    const isAsked = options.atMost !== undefined && backoff >= options.atMost;
    const least = isAsked ? minAskedBackoff : minBackoff;
    const delay = backoff < least ? this.#limited(key, 'retry', backoff) : backoff;
    this.#backingOff.add(key);
    this.#queue.addAfter(key, delay, options);
  }

  /** The delay that a wake of the key by itself gets, which asks for `asked` ms. */
  #limited(key: string, cause: SelfWakeCause, asked: number): number {
    if (isTight(asked) && !this.#queue.isReady(key)) this.#bySelf.add(key);
    return this.#limit.delay(key, cause, asked);
  }
}

function merged(shown: Shown, other: Shown = shown): Shown {
  return {
    priority: Math.max(shown.priority, other.priority),
    showsMore: shown.showsMore || other.showsMore,
  };
}
