/**
 * Connection pool: a bounded number of connections to the API server. Whoever needs one when all are
 * taken waits in line; the request itself is handed over only when its connection is free, so nothing
 * lies in a queue between the decision to send and the sending.
 */
import type { RequestLimit } from './concurrency-limit.ts';
import type { Endpoint } from './endpoint.ts';
import type { HttpConnection, OpenConnection } from './http-connection.ts';

interface Waiting {
  readonly endpoint: Endpoint;
  readonly resolve: (connection: HttpConnection) => void;
  readonly reject: (error: Error) => void;
}

export class ConnectionPool {
  readonly #limit: Pick<RequestLimit, 'current'>;
  readonly #open: OpenConnection;
  /** The one used last is taken first, so that those not needed grow old and close. */
  readonly #idle: HttpConnection[] = [];
  readonly #taken = new Set<HttpConnection>();
  readonly #waiting = new Set<Waiting>();
  #refusal: Error | undefined;

  /** @param limit how many connections may be in use; one that has fallen is reached as they are given back. */
  constructor(limit: Pick<RequestLimit, 'current'>, open: OpenConnection) {
    this.#limit = limit;
    this.#open = open;
  }

  /** Connections in use. */
  get taken(): number {
    return this.#taken.size;
  }

  /** Why nobody gets a connection any more, once the pool has been closed. */
  get refusal(): Error | undefined {
    return this.#refusal;
  }

  /** A connection to that endpoint, to be given back with {@link release}. Rejects with the signal's reason. */
  take(endpoint: Endpoint, signal: AbortSignal): HttpConnection | Promise<HttpConnection> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    if (signal.aborted) return Promise.reject(signal.reason);
    this.#admit();
    if (this.#taken.size < this.#limit.current) return this.#next(endpoint);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const waiting: Waiting = {
        endpoint,
        resolve(connection) {
          leave();
          resolve(connection);
        },
        reject(error) {
          leave();
          reject(error);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  release(connection: HttpConnection): void {
    if (!this.#taken.delete(connection)) return;
    this.#idle.push(connection);
    this.#admit();
  }

  /** Breaks every connection, those in use too; nobody gets one any more. */
  close(): void {
    this.#refusal = new Error('the client has been closed');
    for (const waiting of [...this.#waiting]) waiting.reject(this.#refusal);
    for (const connection of [...this.#taken, ...this.#idle]) connection.break();
    this.#idle.length = 0;
  }

  /** Lets in whoever is first in line: nobody or several when the limit has changed since the last time. */
  #admit(): void {
    for (const { endpoint, resolve } of this.#waiting) {
      if (this.#taken.size >= this.#limit.current) return;
      resolve(this.#next(endpoint));
    }
  }

  #next(endpoint: Endpoint): HttpConnection {
    let connection = this.#idle.pop();
    if (connection !== undefined && connection.endpoint !== endpoint) {
      // The certificates have changed: every idle connection is of the past.
      for (const old of [connection, ...this.#idle.splice(0)]) void old.close();
      connection = undefined;
    }
    connection ??= this.#open(endpoint);
    this.#taken.add(connection);
    return connection;
  }
}
