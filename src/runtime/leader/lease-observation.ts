/**
 * LeaseObservation: what a candidate has seen of the lease, and when it may take it. The instants written
 * in the lease come from foreign clocks and are never compared: a record expires when it has not changed
 * for its duration, measured here (client-go, tools/leaderelection).
 */
import { holderOf, type Lease } from './lease.ts';

/** A holder that gives the lease back writes this duration and no holder. */
export const releasedDurationSeconds = 1;

export class LeaseObservation {
  readonly #identity: string;
  readonly #leaseDuration: number;
  #record = '';
  /** Of the record last seen, ms. */
  #duration = 0;
  #expiresAt = -Infinity;
  #holder = '';

  /** @param leaseDuration ms, for records that name none. */
  constructor(identity: string, leaseDuration: number) {
    this.#identity = identity;
    this.#leaseDuration = leaseDuration;
  }

  /** The holder last seen; empty for none. */
  get holder(): string {
    return this.#holder;
  }

  /**
   * Monotonic instant from which the lease may be taken; `-Infinity` when it is free, ours, or was never
   * seen.
   */
  get expiresAt(): number {
    return this.#expiresAt;
  }

  /**
   * The API server showed this lease, or that there is none. One that vanished is not free before its last
   * duration is over: it was deleted under a leader that does not know yet, and that this candidate may never
   * have seen. Where no lease was ever seen, there is none to wait for.
   *
   * @param now monotonic, when the answer arrived.
   */
  observe(lease: Lease | undefined, now: number): void {
    const record = lease === undefined ? '' : JSON.stringify(lease.spec ?? {});
    if (record === this.#record) return;
    this.#record = record;
    if (lease === undefined) {
      this.#expiresAt = now + this.#duration;
      return;
    }
    this.#holder = holderOf(lease);
    this.#duration = this.#durationOf(lease);
    this.#expiresAt = this.#isFree(lease) ? -Infinity : now + this.#duration;
  }

  /** There was none, and then another client created it; who has it, only the next look shows. */
  wasCreated(now: number): void {
    if (this.#record !== '') return;
    this.#record = 'not seen';
    this.#duration = Math.max(this.#duration, this.#leaseDuration);
    this.#expiresAt = now + this.#duration;
  }

  /**
   * Ours, or given back properly. A record whose holder alone was wiped out by another client still counts:
   * the holder does not know yet.
   */
  #isFree(lease: Lease): boolean {
    if (this.#holder === this.#identity) return true;
    const duration = lease.spec?.leaseDurationSeconds;
    return this.#holder === '' && (duration === undefined || duration <= releasedDurationSeconds);
  }

  #durationOf(lease: Lease): number {
    const seconds = lease.spec?.leaseDurationSeconds ?? 0;
    return seconds > 0 ? seconds * 1000 : this.#leaseDuration;
  }
}
