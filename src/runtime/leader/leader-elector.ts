/**
 * LeaderElector: takes the Lease when it is free, renews it, and gives it back. At most one process holds
 * it; {@link Leadership} fences that process's writes in time. Once lost or given back it is never taken
 * again: the process ends and another one starts.
 *
 * After client-go's tools/leaderelection, with three differences: the fence counts from when a renewal was
 * sent, on two clocks; a candidate also wakes exactly when the lease it has seen expires; and a lease that
 * was deleted, or whose holder was wiped out, is not free before a whole duration is over.
 */
import type { Registry } from '@prometheus-io/client';
import { isAlreadyExists, isConflict } from '../client/api-error.ts';
import type { Client } from '../client/client.ts';
import { type Clock, sleep, type Timer } from '../clock.ts';
import { tellLease } from '../diagnostics.ts';
import { checkedDurations, leaseCallLimit, leaseCallsPerDeadline, retryJitter } from '../limits.ts';
import type { Logger } from '../logger.ts';
import { againOnConflict } from './conflict.ts';
import { leaderMetrics } from './leader-metrics.ts';
import type { Leadership } from './leadership.ts';
import { holderOf, type Lease } from './lease.ts';
import { LeaseLock } from './lease-lock.ts';
import { LeaseLog } from './lease-log.ts';
import { LeaseObservation } from './lease-observation.ts';
import { Standstill } from './standstill.ts';

export interface LeaderElectorOptions {
  /** Not gated, with connections of its own: no other request may delay a renewal. */
  readonly client: Client;
  /** Its term is the renew deadline. */
  readonly leadership: Leadership;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the Lease. */
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Of this process, unlike any other's, earlier ones on the same machine included: `host_uuid`. */
  readonly identity: string;
  readonly registry?: Registry;
  /** How long candidates wait for a record that does not change, ms. Default 15 000; whole seconds. */
  readonly leaseDuration?: number;
  /** Between two renewals, and, plus up to a tenth, between two looks of a candidate, ms. Default 2000. */
  readonly retryPeriod?: number;
  /** 0 ≤ x < 1; for the candidates' jitter. Default Math.random. */
  readonly random?: () => number;
}

/** This process led and does not any more; it must end without writing anything. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError';
}

export class LeaderElector {
  readonly #leadership: Leadership;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #news: LeaseLog;
  readonly #lease: string;
  readonly #identity: string;
  readonly #retryPeriod: number;
  readonly #random: () => number;
  readonly #standstill: Standstill;
  readonly #callTimeout: number;
  readonly #lock: LeaseLock;
  readonly #observation: LeaseObservation;
  readonly #lost = new AbortController();
  /** Aborted when no call for the lease may go on, but the one that gives it back. */
  readonly #stopped = new AbortController();
  #renewing: Promise<void> | undefined;
  #deadline: Timer | undefined;

  constructor(options: LeaderElectorOptions) {
    const { leadership, namespace, name, identity } = options;
    const renewDeadline = leadership.term;
    const { leaseDuration, retryPeriod } = checkedDurations({ ...options, renewDeadline });
    const holder = { namespace, name, identity, leaseDurationSeconds: leaseDuration / 1000 };
    this.#leadership = leadership;
    this.#clock = options.clock;
    this.#lease = `${namespace}/${name}`;
    this.#log = options.log.child({ lease: this.#lease });
    this.#news = new LeaseLog(this.#log);
    this.#identity = identity;
    this.#retryPeriod = retryPeriod;
    this.#random = options.random ?? Math.random;
    this.#standstill = new Standstill(options.clock);
    this.#callTimeout = Math.min(leaseCallLimit, renewDeadline / leaseCallsPerDeadline);
    this.#lock = new LeaseLock(options.client, options.clock, holder, this.#callTimeout);
    this.#observation = new LeaseObservation(identity, leaseDuration);
    if (options.registry) leaderMetrics(options.registry, name, () => leadership.isHeld);
  }

  /** Aborted, with a {@link LeadershipLostError} as the reason, when this process led and lost the lease. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Reads the Lease without taking it: for a candidate that has more to do first. One that has seen a Lease waits when
   * that is deleted later, since its holder may not know yet. Rejects with the client's errors.
   */
  async look(signal: AbortSignal): Promise<Lease | undefined> {
    const current = await this.#lock.read(signal);
    this.#observation.observe(current, this.#clock.monotonic());
    return current;
  }

  /**
   * Resolves once this process leads, and goes on renewing until {@link release} or {@link abandon}.
   * When the signal is aborted first: lets an attempt under way end, gives back what that may have won, and
   * rejects with the signal's reason.
   */
  async acquire(signal: AbortSignal): Promise<void> {
    if (this.#renewing || this.#leadership.isOver) throw new Error('a lease is acquired only once');
    signal.throwIfAborted();
    this.#log.info({ identity: this.#identity }, 'waiting for leadership');
    const signals = [signal, this.#stopped.signal];
    // Not AbortSignal.any: a signal made by it lives on for good when its listener is never removed.
    const ended = new AbortController();
    const onAbort = ({ target }: Event) => ended.abort((target as AbortSignal).reason);
    for (const one of signals) one.addEventListener('abort', onAbort, { once: true });
    try {
      while (!(await this.#tryToAcquire())) {
        await sleep(this.#clock, this.#untilNextTry(), ended.signal);
      }
    } finally {
      for (const one of signals) one.removeEventListener('abort', onAbort);
    }
    this.#watchDeadline();
    this.#renewing = this.#keepRenewing();
    if (signal.aborted) {
      await this.release();
      throw signal.reason;
    }
    this.#log.info({ identity: this.#identity }, 'leading');
  }

  /**
   * Closes the gate for good and gives the lease back, so that another process need not wait. Only when no
   * write of this process can be under way any more; otherwise {@link abandon}. Never rejects: a failure
   * costs the others the rest of the lease's duration.
   *
   * @param limit ms for all of it.
   */
  async release(limit = 2000): Promise<void> {
    const held = this.#renewing !== undefined && !this.#leadership.isOver;
    this.abandon();
    await this.#renewing;
    if (!held) return;
    const late = new AbortController();
    const timer = this.#clock.setTimer(limit, () => late.abort(new Error(`no answer within ${limit} ms`)));
    try {
      await againOnConflict(() => this.#lock.giveBack(late.signal));
      this.#log.info('gave the lease back');
    } catch (error) {
      this.#log.warn({ err: error }, 'could not give the lease back; it expires by itself');
    } finally {
      timer.cancel();
    }
  }

  /** Closes the gate for good and lets the lease expire. */
  abandon(): void {
    this.#leadership.end();
    this.#deadline?.cancel();
    this.#stopped.abort(new Error('leader election has ended'));
  }

  /** Ms until a candidate looks again: after the retry period, or as soon as the lease seen expires. */
  #untilNextTry(): number {
    const period = this.#retryPeriod * (1 + retryJitter * this.#random());
    const expiry = this.#observation.expiresAt - this.#clock.monotonic();
    return expiry > 0 ? Math.min(period, Math.ceil(expiry)) : period;
  }

  async #tryToAcquire(): Promise<boolean> {
    try {
      const current = await this.look(this.#stopped.signal);
      this.#news.met(this.#observation.holder);
      const free = this.#clock.monotonic() >= this.#observation.expiresAt;
      const leads = free && this.#leadership.extend(await this.#lock.take(current, this.#stopped.signal));
      this.#news.report(undefined);
      return leads;
    } catch (error) {
      // Another candidate was faster. The next look shows which.
      if (isAlreadyExists(error)) this.#observation.wasCreated(this.#clock.monotonic());
      else if (!isConflict(error)) this.#news.report(error);
      return false;
    }
  }

  /** Every retry period, counted from the beginning of each renewal; never rejects. */
  async #keepRenewing(): Promise<void> {
    const { signal } = this.#stopped;
    let begun = this.#clock.monotonic();
    while (!signal.aborted) {
      const pause = Math.max(0, begun + this.#retryPeriod - this.#clock.monotonic());
      await this.#standstill.watch(pause, sleep(this.#clock, pause, signal)).catch(() => {});
      begun = this.#clock.monotonic();
      if (!signal.aborted) await this.#tryToRenew();
    }
  }

  async #tryToRenew(): Promise<void> {
    try {
      await againOnConflict(() => this.#renew());
      this.#news.report(undefined);
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.#news.report(error);
    }
  }

  async #renew(): Promise<void> {
    const { signal } = this.#stopped;
    const current = this.#lock.known ?? (await this.#call(this.#lock.read(signal)));
    const holder = holderOf(current);
    if (holder !== '' && holder !== this.#identity) this.#lose(`${holder} holds it now`);
    // Asked again right before sending: the process may have been stopped since this attempt began.
    else if (this.#leadership.remaining <= 0) this.#loseForLateness();
    else if (this.#leadership.extend(await this.#call(this.#lock.take(current, signal)))) {
      this.#standstill.reset();
    }
  }

  #call<T>(call: Promise<T>): Promise<T> {
    return this.#standstill.watch(this.#callTimeout, call);
  }

  /** A call that hangs must not delay the end: this timer does not wait for it. */
  #watchDeadline(): void {
    const { remaining } = this.#leadership;
    if (remaining <= 0) this.#loseForLateness();
    else this.#deadline = this.#clock.setTimer(Math.ceil(remaining), () => this.#watchDeadline());
  }

  #loseForLateness(): void {
    this.#lose(`it was not renewed for ${this.#leadership.term / 1000} s`);
  }

  #lose(why: string): void {
    if (this.#leadership.isOver) return;
    this.abandon();
    // A shorter standstill leaves time enough to renew.
    const standstill = this.#standstill.describe(this.#leadership.term / 2);
    const cause = standstill === undefined ? why : `${why}; ${standstill} before that`;
    this.#log.error({ why: cause }, 'lost the lease');
    tellLease(() => ({ type: 'lost', lease: this.#lease, identity: this.#identity, why: cause }));
    this.#lost.abort(new LeadershipLostError(`lost the leader lease ${this.#lease}: ${cause}`));
  }
}
