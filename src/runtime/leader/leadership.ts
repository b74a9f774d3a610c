/**
 * Leadership: the fence. It knows until when this process may write, and answers from two clocks without
 * a request, so that no stop, no suspended machine and no blocked event loop can make an old leader
 * believe in itself.
 *
 * The right to write ends `term` after a renewal was *sent*. The rivals count a whole lease duration from
 * when they *saw* that renewal, which is later. What lies between the two, lease duration − term, is what
 * a write may take that was sent at the last moment: the API server drops writes after their own, shorter
 * `timeout`.
 */
import { TransportError } from '../client/api-error.ts';
import type { WriteGate } from '../client/write-gate.ts';
import type { Clock } from '../clock.ts';
import { defaultDurations } from '../limits.ts';

/** One moment on both clocks. */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export function instantOf(clock: Clock): Instant {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** By so much, in milliseconds, a wall clock falls behind the monotonic one while it is only adjusted. */
const maxSetBackMs = 500;

export class Leadership implements WriteGate {
  /** Ms that one renewal is good for, counted from its sending. */
  readonly term: number;
  /** Ms that a write may take at most: what is sent at the end of the term is over before a rival may lead. */
  readonly writeLimit: number;
  readonly #clock: Clock;
  #renewed: Instant | undefined;
  #over = false;

  /** Of a lease that lasts `leaseDuration` ms for the rivals. */
  constructor(clock: Clock, term: number, leaseDuration = defaultDurations.leaseDuration) {
    this.#clock = clock;
    this.term = term;
    this.writeLimit = leaseDuration - term;
  }

  /**
   * The lease was acquired or renewed by a request that was sent at `sent`.
   *
   * @returns false when the answer came too late to be of use, or after {@link end}.
   */
  extend(sent: Instant): boolean {
    const before = this.#renewed;
    this.#renewed = sent;
    if (this.isHeld) return true;
    // Never led: a candidate that was answered too late is still a candidate.
    if (before === undefined) this.#renewed = undefined;
    return false;
  }

  /** Final: this process never writes again. */
  end(): void {
    this.#over = true;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /**
   * Whether a write may be sent right now. After the wall clock was set back it does not tell how long the machine
   * slept, which the monotonic clock never tells.
   */
  get isHeld(): boolean {
    const age = this.#age();
    if (age === undefined || age.monotonic >= this.term || age.wall >= this.term) return false;
    return age.wall > age.monotonic - maxSetBackMs;
  }

  /**
   * This process holds the lease by its own account, but could not renew it in time. Also true for a
   * moment after the wall clock was set, until the next renewal.
   */
  get isStale(): boolean {
    return this.#age() !== undefined && !this.isHeld;
  }

  /** Monotonic milliseconds until the last renewal is worth nothing; ≤ 0 afterwards and without one. */
  get remaining(): number {
    const age = this.#age();
    return age === undefined ? 0 : this.term - age.monotonic;
  }

  assertMayWrite(): void {
    if (this.isHeld) return;
    throw new TransportError('not sent: this process does not hold the leader lease', false);
  }

  #age(): Instant | undefined {
    if (this.#over || this.#renewed === undefined) return undefined;
    const now = instantOf(this.#clock);
    return { monotonic: now.monotonic - this.#renewed.monotonic, wall: now.wall - this.#renewed.wall };
  }
}
