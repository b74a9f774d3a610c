/**
 * Endpoint: the API server's address together with everything that a new connection to it needs. It is
 * immutable: when a certificate changes there is a new Endpoint, and connections of the old one are not
 * taken again.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { isLoopback } from './content-encoding.ts';
import { openTunnel } from './proxy-tunnel.ts';

export interface TlsOptions {
  readonly ca?: Buffer | string;
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  /** False for `insecure-skip-tls-verify`. */
  readonly rejectUnauthorized?: boolean;
  /** Name to ask for and to verify, if not the URL's. */
  readonly servername?: string;
}

export interface EndpointOptions {
  /** The server's URL; a path is a prefix of every request's. */
  readonly server: URL;
  readonly tls?: TlsOptions;
  readonly proxy?: URL;
}

/** Milliseconds for TCP and for TLS each: far less than a write's deadline. */
const connectTimeout = 4000;
/** Milliseconds of silence before the kernel asks whether the peer is still there. */
const keepAliveInitialDelay = 30_000;

export class Endpoint {
  readonly server: URL;
  /** Of the path of every request: empty, or a path without a slash at its end. */
  readonly prefix: string;
  readonly isLoopback: boolean;
  readonly #proxy: URL | undefined;
  readonly #secure: buildConnector.connector;

  constructor({ server, tls, proxy }: EndpointOptions) {
    this.server = server;
    this.prefix = server.pathname.replace(/\/$/, '');
    this.isLoopback = isLoopback(server);
    this.#proxy = proxy;
    // HTTP/1.1 on purpose, also where the server would prefer HTTP/2: one request per connection is what
    // lets a late write be taken back (see HttpConnection.break). The connector caches TLS sessions.
    this.#secure = buildConnector({
      ...tls,
      allowH2: false,
      timeout: connectTimeout,
      keepAlive: true,
      keepAliveInitialDelay,
    });
  }

  /**
   * Opens a connection.
   *
   * @param opened called with the TCP socket under the connection as soon as there is one.
   */
  connect(
    options: buildConnector.Options,
    opened: (socket: Socket) => void,
    callback: buildConnector.Callback,
  ): void {
    this.#connectTcp(options).then(
      (socket) => {
        opened(socket);
        if (options.protocol === 'https:') this.#secure({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error) => callback(error, null),
    );
  }

  async #connectTcp({ hostname, port, protocol }: buildConnector.Options): Promise<Socket> {
    const portNumber = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    const target = { host: hostname, port: portNumber };
    if (this.#proxy !== undefined) return openTunnel(this.#proxy, target, connectTimeout);
    return new Promise((resolve, reject) => {
      const socket = connectTcp({ ...target, noDelay: true, keepAlive: true, keepAliveInitialDelay });
      const timer = setTimeout(() => {
        socket.destroy(
          new Error(`no connection to ${hostname}:${portNumber} within ${connectTimeout / 1000} s`),
        );
      }, connectTimeout);
      socket.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(socket);
      });
    });
  }
}
