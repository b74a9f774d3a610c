/**
 * LeaseServer: one Lease in memory, with the API server's rules for resource versions, and faults on
 * demand: what a scripted test of leader election needs, on a fake clock.
 */
import { ApiError, TransportError } from '../../../src/runtime/client/api-error.ts';
import type { CallOptions } from '../../../src/runtime/client/call-options.ts';
import type { Client } from '../../../src/runtime/client/client.ts';
import { type Clock, sleep } from '../../../src/runtime/clock.ts';
import type { Lease } from '../../../src/runtime/leader/lease.ts';

export interface LeaseRequest {
  readonly verb: 'get' | 'create' | 'update';
  readonly by: string;
  /** Monotonic time when it was sent. */
  readonly at: number;
  readonly lease?: Lease;
}

/**
 * `refused`: no connection. `lost`: done, but the answer never arrives. `hung`: neither done nor answered.
 * `forbidden`: 403.
 */
export type Fault = 'refused' | 'lost' | 'hung' | 'forbidden';

function apiError(code: number, reason: string): ApiError {
  return new ApiError(`leases: ${reason}`, code, { code, reason });
}

export class LeaseServer {
  lease: Lease | undefined;
  readonly requests: LeaseRequest[] = [];
  /** Asked for each request; undefined lets it through. */
  fault: (request: LeaseRequest) => Fault | undefined = () => undefined;
  /** Ms that the answer takes. */
  latency = 0;
  readonly #clock: Clock;
  #version = 100;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Another client's edit: an edit that no elector made. */
  edit(change: (lease: Lease) => Lease): void {
    if (!this.lease) throw new Error('there is no lease');
    this.#store(change(this.lease));
  }

  /** A user deletes the lease. */
  remove(): void {
    this.lease = undefined;
  }

  writesBy(identity: string): LeaseRequest[] {
    return this.requests.filter(({ by, verb }) => by === identity && verb !== 'get');
  }

  /** A client whose requests are recorded under `by`. Only the verbs of leader election work. */
  client(by: string): Client {
    const verbs = {
      get: (_: unknown, __: unknown, options: CallOptions) =>
        this.#call({ verb: 'get', by, at: this.#clock.monotonic() }, options, () => this.#get()),
      create: (_: unknown, lease: Lease, options: CallOptions) =>
        this.#call({ verb: 'create', by, at: this.#clock.monotonic(), lease }, options, () =>
          this.#create(lease),
        ),
      update: (_: unknown, lease: Lease, options: CallOptions) =>
        this.#call({ verb: 'update', by, at: this.#clock.monotonic(), lease }, options, () =>
          this.#update(lease),
        ),
    };
    return verbs as unknown as Client;
  }

  async #call(request: LeaseRequest, options: CallOptions, act: () => Lease): Promise<Lease> {
    this.requests.push(request);
    const fault = this.fault(request);
    if (fault === 'refused') throw new TransportError('connection refused', false);
    if (fault === 'forbidden') throw apiError(403, 'Forbidden');
    if (fault === 'hung') return this.#neverAnswer(options);
    const answer = (async () => act())();
    answer.catch(() => {});
    if (fault === 'lost') return this.#neverAnswer(options);
    if (this.latency > 0) await sleep(this.#clock, this.latency, options.signal);
    options.signal?.throwIfAborted();
    return answer;
  }

  async #neverAnswer({ timeout, signal }: CallOptions): Promise<never> {
    await sleep(this.#clock, timeout ?? 30_000, signal);
    throw new TransportError(`no answer within ${timeout} ms`, true);
  }

  #get(): Lease {
    if (!this.lease) throw apiError(404, 'NotFound');
    return this.lease;
  }

  #create(lease: Lease): Lease {
    if (this.lease) throw apiError(409, 'AlreadyExists');
    return this.#store(lease);
  }

  #update(lease: Lease): Lease {
    if (!this.lease) throw apiError(404, 'NotFound');
    if (lease.metadata.resourceVersion !== this.lease.metadata.resourceVersion) {
      throw apiError(409, 'Conflict');
    }
    return this.#store(lease);
  }

  #store(lease: Lease): Lease {
    this.#version++;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.#version) } };
    return this.lease;
  }
}
