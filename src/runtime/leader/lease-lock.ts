/**
 * LeaseLock: reads and writes the Lease on behalf of one identity. Every write is conditional on the
 * resourceVersion it was based on, so that of two who write at once one is refused.
 */
import { isNotFound } from '../client/api-error.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { type LeaseDiagnostic, tellLease } from '../diagnostics.ts';
import { type Instant, instantOf } from './leadership.ts';
import { holderOf, type Lease, leases } from './lease.ts';
import { type LeaseHolder, releasedLease, takenLease } from './lease-record.ts';

export class LeaseLock {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #holder: LeaseHolder;
  readonly #callTimeout: number;
  #written: Lease | undefined;
  #known: Lease | undefined;

  /** @param callTimeout longest call, ms. */
  constructor(client: Client, clock: Clock, holder: LeaseHolder, callTimeout: number) {
    this.#client = client;
    this.#callTimeout = callTimeout;
    this.#clock = clock;
    this.#holder = holder;
  }

  /** The lease as this identity last wrote it; undefined once a write failed, or its outcome is unknown. */
  get known(): Lease | undefined {
    return this.#known;
  }

  /** Resolves with undefined when there is none. */
  async read(signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name } = this.#holder;
    try {
      return await this.#client.get(leases, { namespace, name }, { signal, timeout: this.#callTimeout });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Takes or renews the lease.
   *
   * @param current as last read or written; undefined creates it.
   * @returns when the request was sent, at the latest.
   * @throws a conflict or already-exists ApiError when another client was faster.
   */
  async take(current: Lease | undefined, signal: AbortSignal): Promise<Instant> {
    const sent = instantOf(this.#clock);
    const type = this.#written === undefined ? 'acquired' : 'renewed';
    await this.#write(takenLease(this.#holder, current, this.#written, sent.wall), signal);
    this.#tell(type);
    return sent;
  }

  /** Gives the lease back if this identity still holds it. Throws as {@link take} does. */
  async giveBack(signal: AbortSignal): Promise<void> {
    const current = this.#known ?? (await this.read(signal));
    if (current === undefined || holderOf(current) !== this.#holder.identity) return;
    await this.#write(releasedLease(this.#holder, current, this.#clock.now()), signal);
    this.#tell('released');
  }

  #tell(type: LeaseDiagnostic['type']): void {
    const { namespace, name, identity } = this.#holder;
    tellLease(() => ({ type, lease: `${namespace}/${name}`, identity }));
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<void> {
    // Until there is an answer, and after a failure, the version that the API server has is not known.
    this.#known = undefined;
    const options = { signal, timeout: this.#callTimeout };
    const written =
      lease.metadata.resourceVersion === undefined
        ? await this.#client.create(leases, lease, options)
        : await this.#client.update(leases, lease, options);
    this.#written = written;
    this.#known = written;
  }
}
