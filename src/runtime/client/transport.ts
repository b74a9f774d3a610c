/**
 * Transport: HTTP to the API server with what every call needs: credentials, a deadline, a bounded number
 * of connections, retries where they are harmless, the write gate, and accounting.
 */
import { type Clock, sleep, stopwatch } from '../clock.ts';
import { defaultRequestTimeouts } from '../limits.ts';
import type { Accounting } from './accounting.ts';
import { ApiError, TransportError } from './api-error.ts';
import type { ConnectionPool, Waiting } from './connection-pool.ts';
import { decoded } from './content-encoding.ts';
import type { CredentialSet, Credentials } from './credentials.ts';
import { Deadline, DeadlineError } from './deadline.ts';
import { Exchange } from './exchange.ts';
import type { Flow } from './fair-queue.ts';
import { dispatchOptions, type HttpRequest } from './http-request.ts';
import { currentLane } from './lane.ts';
import { type Sorts, unlimited } from './request-limits.ts';
import type { RequestTimeouts } from './request-timeouts.ts';
import { errorOfResponse } from './response-error.ts';
import { outcomeOf, retryDelay } from './retry.ts';
import { tracedRequest } from './traced-request.ts';
import type { WriteGate } from './write-gate.ts';

export interface TransportOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Asked about every request that is not a GET; undefined for one that needs no leadership. */
  readonly gate: WriteGate | undefined;
  readonly requests: ConnectionPool;
  /** Of the requests in that pool; each kind is notified of their answers. */
  readonly sorts: Sorts;
  readonly watches: ConnectionPool;
  readonly timeouts: Required<RequestTimeouts>;
  readonly accounting: Accounting;
  readonly userAgent: string;
  /** False for callers with a retry loop of their own. */
  readonly retry: boolean;
  /** Uniform in [0, 1), such as Math.random. */
  readonly random: () => number;
}

/** How a body is handed on: when it is there, while it arrives, or while it arrives and without a time limit. */
type Body = 'whole' | 'parts' | 'endless';

interface Call {
  readonly request: HttpRequest;
  /** `GET https://host/path`, for messages. */
  readonly title: string;
  readonly deadline: Deadline;
  /** Milliseconds since it was made. */
  readonly age: () => number;
  readonly body: Body;
  readonly flow: Flow<Waiting>;
  /** Whether it waits for a connection. */
  inLine: boolean;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #origin: string;
  readonly #watches: Flow<Waiting>;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#origin = options.credentials.server.origin;
    this.#watches = options.watches.flow('watches', unlimited().of('GET', ''));
  }

  /**
   * The body of a 2xx answer.
   *
   * @throws {ApiError} for any other answer. @throws {TransportError} when there was none.
   */
  async request(request: HttpRequest): Promise<Buffer> {
    const exchange = await tracedRequest(request, (traced) => this.#perform(traced, 'whole'));
    return (await exchange.response).body;
  }

  /**
   * The body of a 200 while it arrives, within the time limit of the request.
   *
   * @throws {ApiError} for any other answer. @throws {TransportError} when there was none, also from the iterable.
   */
  async parts(request: HttpRequest): Promise<AsyncIterable<Buffer>> {
    const exchange = await tracedRequest(request, (traced) => this.#perform(traced, 'parts'));
    try {
      return decoded(streamOf(exchange), (await exchange.response).headers);
    } catch (error) {
      // Nothing is going to read the body, which would hold its connection up to the time limit.
      exchange.abandon(error);
      throw error;
    }
  }

  /**
   * Opens a stream. The time limit is for the head of the answer; after that only the signal ends it.
   *
   * @throws {ApiError} for any answer but 200. @throws {TransportError} when there was none.
   */
  async stream(request: HttpRequest): Promise<AsyncIterable<Buffer>> {
    return streamOf(await this.#perform(request, 'endless'));
  }

  /** Milliseconds that such a request may take. */
  timeLimit({ method, timeout, ungated }: Pick<HttpRequest, 'method' | 'timeout' | 'ungated'>): number {
    const { timeouts, gate } = this.#options;
    if (method === 'GET') return timeout ?? timeouts.read;
    const most =
      gate === undefined || ungated
        ? Number.POSITIVE_INFINITY
        : (gate.writeLimit ?? defaultRequestTimeouts.write);
    return Math.min(timeout ?? timeouts.write, most);
  }

  /** Breaks off everything; later calls are refused. */
  close(): void {
    this.#options.requests.close();
    this.#options.watches.close();
  }

  async #perform(request: HttpRequest, body: Body): Promise<Exchange> {
    const { clock } = this.#options;
    const title = `${request.method} ${this.#origin}${request.path.split('?', 1)[0]}`;
    const deadline = new Deadline(clock, this.timeLimit(request), request.signal);
    const flow = body === 'endless' ? this.#watches : this.#flowOf(request);
    const age = stopwatch(clock);
    const call: Call = { request, title, deadline, age, body, flow, inLine: false };
    try {
      const exchange = await this.#retried(call);
      if (body === 'endless') deadline.lift();
      else if (exchange.stream === undefined) deadline.cancel();
      return exchange;
    } catch (error) {
      deadline.cancel();
      if (error instanceof ApiError || error instanceof TransportError) throw error;
      // Before anything was sent: no credentials, or the end came while waiting.
      const reason = error instanceof Error ? error.message : String(error);
      const why = call.inLine && error instanceof DeadlineError ? ': all connections were in use' : '';
      throw new TransportError(`${title}: ${reason}${why}`, false, { cause: error });
    }
  }

  #flowOf({ lane = currentLane(), method, path }: HttpRequest): Flow<Waiting> {
    const { requests, sorts } = this.#options;
    return requests.flow(lane, sorts.of(method, path));
  }

  async #retried(call: Call): Promise<Exchange> {
    const { clock, random, retry } = this.#options;
    const { method } = call.request;
    for (let retries = 0; ; retries++) {
      try {
        return await this.#authenticated(call);
      } catch (error) {
        // The reflector starts a watch again.
        if (!retry || call.body === 'endless' || call.deadline.isOver) throw error;
        const delay = retryDelay({ method, error, retries, random });
        // A wait that cannot help ends now, with the answer of the server.
        if (delay === undefined || delay >= call.deadline.remaining) throw error;
        await sleep(clock, delay, call.deadline.signal).catch(() => {
          throw error;
        });
      }
    }
  }

  /** One attempt, and one more after 401 if there are other credentials by then. */
  async #authenticated(call: Call): Promise<Exchange> {
    const { credentials } = this.#options;
    const first = credentials.fresh ?? (await call.deadline.race(credentials.refresh()));
    try {
      return await this.#attempt(call, first);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 401)) throw error;
      const other = await call.deadline.race(credentials.renew(first)).catch(() => undefined);
      if (other === undefined) throw error;
      return this.#attempt(call, other);
    }
  }

  async #attempt(call: Call, { endpoint, headers }: CredentialSet): Promise<Exchange> {
    const { title, request, deadline, body, flow } = call;
    const pool = body === 'endless' ? this.#options.watches : this.#options.requests;
    call.inLine = true;
    const free = deadline.isOver ? undefined : pool.tryTake(flow, endpoint);
    const connection = await (free ?? pool.take(flow, endpoint, deadline.signal));
    call.inLine = false;
    // In the turn in which it came this call may have been aborted (the connection of one that is aborted
    // goes to the next in line), or the pool closed.
    const refusal: unknown = deadline.isOver ? deadline.reason : pool.refusal;
    if (refusal !== undefined) {
      pool.release(connection);
      throw refusal;
    }
    const exchange: Exchange = new Exchange({
      title,
      streaming: body !== 'whole',
      beforeSend: () => this.#beforeSend(call),
      over: (reusable) => {
        deadline.guarded = undefined;
        if (!reusable) connection.break();
        pool.release(connection);
        if (exchange.stream !== undefined) deadline.cancel();
      },
    });
    deadline.guarded = exchange;
    const sent = { at: this.#options.clock.monotonic(), underWay: flow.sort.underWay };
    connection.dispatch(dispatchOptions(request, { endpoint, headers }, this.#options.userAgent), exchange);
    try {
      const response = await exchange.response;
      this.#options.accounting.observe(request, response, sent.at);
      if (response.code < 200 || response.code > 299) throw errorOfResponse(title, response);
      this.#learn(call, sent);
      return exchange;
    } catch (error) {
      if (error instanceof TransportError && exchange.sent)
        this.#options.accounting.observe(request, undefined, sent.at);
      this.#learn(call, sent, error);
      throw error;
    }
  }

  /** Runs in the same turn as the sending: nothing can happen between the question and the send. */
  #beforeSend({ request, age, title }: Call): void {
    const { method, ungated, sendWithin = Number.POSITIVE_INFINITY } = request;
    if (age() >= sendWithin) throw new TransportError(`${title}: too late to be sent`, false);
    if (method !== 'GET' && !ungated) this.#options.gate?.assertMayWrite();
  }

  /** A connection that fails says nothing about load. */
  #learn(
    { request, body, deadline, flow }: Call,
    sent: { at: number; underWay: number },
    error?: unknown,
  ): void {
    if (body === 'endless' || (error instanceof TransportError && !deadline.isOver)) return;
    flow.sort.limit.observe({
      timed: request.method !== 'GET',
      sentAt: sent.at,
      duration: this.#options.clock.monotonic() - sent.at,
      outcome: outcomeOf(error),
      underWay: sent.underWay,
    });
  }
}

function streamOf({ stream }: Exchange): AsyncIterable<Buffer> {
  if (stream === undefined) throw new TransportError('the answer is not 200 and no error', true);
  return stream;
}
