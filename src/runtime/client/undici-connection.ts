/**
 * Undici connection: the {@link HttpConnection} of the real network.
 */
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type Dispatcher, Client as HttpClient } from 'undici';
import type { Endpoint } from './endpoint.ts';
import type { HttpConnection } from './http-connection.ts';

/** Milliseconds an idle connection is kept; less than an API server or a load balancer keeps it. */
const keepAliveTimeout = 45_000;

export class UndiciConnection implements HttpConnection {
  readonly endpoint: Endpoint;
  #client: HttpClient | undefined;
  #socket: Socket | undefined;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client ??= this.#open();
    this.#client.dispatch(options, handler);
  }

  /**
   * Ends the connection at once, with a TCP reset. After a plain close the kernel would go on trying to
   * deliver what the server has not taken yet, for minutes, and a write that was given up because of a
   * partition would arrive when that is over. A reset throws it away.
   */
  break(): void {
    const client = this.#client;
    const socket = this.#socket;
    this.#client = undefined;
    this.#socket = undefined;
    if (client === undefined) return;
    // Not in this turn, which may be a callback of that very socket: Node.js crashes (segmentation fault)
    // when the TCP socket under a TLS socket is reset while the latter is at work.
    setImmediate(() => {
      reset(socket);
      client.destroy().catch(() => {});
    });
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  #open(): HttpClient {
    const client: HttpClient = new HttpClient(this.endpoint.server.origin, {
      pipelining: 1,
      keepAliveTimeout,
      // The deadline of the call covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) =>
        this.endpoint.connect(options, (socket) => this.#opened(client, socket), callback),
    });
    // Errors reach the request's handler; one that a handler caused must not end the process.
    const emitter: EventEmitter = client;
    emitter.on('error', () => {});
    return client;
  }

  #opened(client: HttpClient, socket: Socket): void {
    // Given up meanwhile: undici ends the socket when it gets it.
    if (client === this.#client) this.#socket = socket;
  }
}

function reset(socket: Socket | undefined): void {
  if (socket === undefined || socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    // Not plain TCP: the connection to an HTTPS proxy.
    socket.destroy();
  }
}
