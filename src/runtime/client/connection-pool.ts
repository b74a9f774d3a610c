/**
 * Connection pool: a bounded number of connections to the API server. A caller that needs one when there is none to be
 * had waits in line, and a {@link FairQueue} says who is next; the request itself is handed over only when its
 * connection is free, so nothing lies in a queue between the decision to send and the sending.
 */
import type { Endpoint } from './endpoint.ts';
import { FairQueue, type Flow } from './fair-queue.ts';
import type { HttpConnection, OpenConnection } from './http-connection.ts';
import type { Sort } from './request-limits.ts';

/** A caller that waits in line for a connection. */
export interface Waiting {
  readonly endpoint: Endpoint;
  readonly flow: Flow<Waiting>;
  readonly resolve: (connection: HttpConnection) => void;
  readonly reject: (error: Error) => void;
}

export class ConnectionPool {
  readonly #queue: FairQueue<Waiting>;
  readonly #open: OpenConnection;
  /** The one used last is taken first, so that those not needed grow old and close. */
  readonly #idle: HttpConnection[] = [];
  readonly #taken = new Map<HttpConnection, Flow<Waiting>>();
  #refusal: Error | undefined;

  /** @param perLane how many connections one lane may have; all lanes together have twice as many at most. */
  constructor(perLane: number, open: OpenConnection) {
    this.#queue = new FairQueue(perLane);
    this.#open = open;
  }

  /** Connections in use. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Why no connection is given any more, once the pool has been closed. */
  get refusal(): Error | undefined {
    return this.#refusal;
  }

  /** In which line the requests of a lane wait that are of one sort. */
  flow(lane: string, sort: Sort): Flow<Waiting> {
    return this.#queue.flow(lane, sort);
  }

  /** As {@link take}, but undefined where the caller would have to wait, or the pool has been closed. */
  tryTake(flow: Flow<Waiting>, endpoint: Endpoint): HttpConnection | undefined {
    if (this.#refusal !== undefined) return undefined;
    this.#admit();
    return this.#queue.tryEnter(flow) ? this.#next(flow, endpoint) : undefined;
  }

  /** A connection to that endpoint, to be given back with {@link release}. Rejects with the signal's reason. */
  take(
    flow: Flow<Waiting>,
    endpoint: Endpoint,
    signal: AbortSignal,
  ): HttpConnection | Promise<HttpConnection> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    if (signal.aborted) return Promise.reject(signal.reason);
    const free = this.tryTake(flow, endpoint);
    if (free !== undefined) return free;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#queue.quit(flow, waiting);
        reject(signal.reason);
      };
      const heard = () => signal.removeEventListener('abort', onAbort);
      const waiting: Waiting = {
        ...{ endpoint, flow },
        resolve(connection) {
          heard();
          resolve(connection);
        },
        reject(error) {
          heard();
          reject(error);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.wait(flow, waiting);
    });
  }

  release(connection: HttpConnection): void {
    const flow = this.#taken.get(connection);
    if (flow === undefined) return;
    this.#taken.delete(connection);
    this.#queue.leave(flow);
    this.#idle.push(connection);
    this.#admit();
  }

  /** Breaks every connection, those in use too; none is given any more. */
  close(): void {
    this.#refusal = new Error('the client has been closed');
    for (const waiting of [...this.#queue.everyone()]) {
      this.#queue.quit(waiting.flow, waiting);
      waiting.reject(this.#refusal);
    }
    for (const connection of [...this.#taken.keys(), ...this.#idle]) connection.break();
    this.#idle.length = 0;
  }

  /** Lets in the callers that are next: none or several when a limit has changed since the last time. */
  #admit(): void {
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) {
      next.resolve(this.#next(next.flow, next.endpoint));
    }
  }

  #next(flow: Flow<Waiting>, endpoint: Endpoint): HttpConnection {
    let connection = this.#idle.pop();
    if (connection !== undefined && connection.endpoint !== endpoint) {
      // The certificates have changed: every idle connection is of the past.
      for (const old of [connection, ...this.#idle.splice(0)]) void old.close();
      connection = undefined;
    }
    connection ??= this.#open(endpoint);
    this.#taken.set(connection, flow);
    return connection;
  }
}
