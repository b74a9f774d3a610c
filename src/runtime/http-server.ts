/**
 * HttpServer: answers GET and HEAD on one address, for machines that look in from outside (kubelet,
 * Prometheus). It trusts no client: requests are small, soon over, and few at a time. A connection is for one
 * request, and when there are too many, the one that has been idle for longest gives way: what only holds
 * connections open keeps no other client out.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import type { Logger } from './logger.ts';

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Sent as it comes. When the stream fails, the connection is cut. */
export interface StreamedReply extends Omit<HttpReply, 'body'> {
  readonly body: Readable;
}

/** Undefined: there is nothing at that path, 404. */
export type HttpHandler = (
  path: string,
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
) => Answer | Promise<Answer>;

type Answer = HttpReply | StreamedReply | undefined;

export interface HttpServerOptions {
  /** What is served, for logs and errors: `metrics`. */
  readonly name: string;
  /** `host:port`, `:port` for every interface, `[address]:port`, port 0 for any free one; `0` or empty: off. */
  readonly bindAddress: string;
  readonly handler: HttpHandler;
  /** Present: HTTPS with this certificate, asked for once for each connection. Absent: HTTP. */
  readonly certificate?: CertificateSource;
  readonly log: Logger;
}

/** Both as PEM. */
export interface CertifiedKey {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface CertificateSource {
  /** The same object for as long as it is the same certificate. Rejects when there is none. */
  current(): Promise<CertifiedKey>;
}

/** The address cannot be served; the message is one sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export const plainText = 'text/plain; charset=utf-8';

const limits = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 5000,
};
const tlsLimits = { handshakeTimeout: 5000, minVersion: 'TLSv1.2' } as const;

/** Ms without a byte in either direction after which a connection is cut: its peer does not read the answer. */
const silenceLimit = 30_000;

const maxConnections = 100;

export class HttpServer {
  readonly #options: HttpServerOptions;
  #server: Server | undefined;
  /** Those without a request that is being answered, the oldest first. */
  readonly #idle = new Set<Socket>();
  #connections = 0;

  constructor(options: HttpServerOptions) {
    this.#options = options;
  }

  /** `host:port` in use, with the true port; undefined while it is not listening. */
  get address(): string | undefined {
    const address = this.#server?.address();
    if (address === null || address === undefined || typeof address === 'string') return undefined;
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `${host}:${address.port}`;
  }

  /** Resolves once it listens, or at once when it is switched off. @throws {ListenError} */
  async start(): Promise<void> {
    const { name, bindAddress, log } = this.#options;
    const where = parseBindAddress(bindAddress);
    if (where === undefined) return;
    let server: Server;
    try {
      server = await this.#create();
      server.setTimeout(silenceLimit);
      server.on('connection', (socket: Socket) => this.#admit(socket));
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(where, resolve);
      });
    } catch (error) {
      throw new ListenError(
        `cannot serve ${name} on ${bindAddress}: ${reasonOf(error)}; choose another address, or 0 to switch it off`,
        { cause: error },
      );
    }
    server.on('error', (error) => log.error({ err: error }, `the ${name} server has a problem`));
    this.#server = server;
    log.info({ address: this.address }, `serving ${name}`);
  }

  /** Cuts what is still open. Idempotent. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    // In the middle of a handshake a connection is none of HTTP yet.
    for (const socket of this.#idle) socket.destroy();
    await closed;
  }

  async #create(): Promise<Server> {
    const { name, certificate, log } = this.#options;
    const answer = (request: IncomingMessage, response: ServerResponse) =>
      void this.#answer(request, response);
    if (certificate === undefined) return createServer(limits, answer);
    let shown = await certificate.current();
    const server = createSecureServer({ ...limits, ...tlsLimits, ...shown }, answer);
    server.on('secureConnection', (stream: Socket) => this.#secured(stream));
    return server.on('connection', async () => {
      try {
        const next = await certificate.current();
        if (next !== shown) server.setSecureContext({ ...tlsLimits, ...next });
        shown = next;
      } catch (err) {
        // While its two files are being replaced one by one, key and certificate do not fit.
        log.warn({ err }, `the ${name} server keeps its certificate`);
      }
    });
  }

  /** After the handshake the encrypted stream takes the place of its connection. */
  #secured(stream: Socket): void {
    const { remoteAddress, remotePort } = stream;
    const isUnder = (socket: Socket) =>
      socket.remotePort === remotePort && socket.remoteAddress === remoteAddress;
    const connection = [...this.#idle].find(isUnder);
    if (connection) this.#idle.delete(connection);
    this.#idle.add(stream);
    stream.once('close', () => this.#idle.delete(stream));
  }

  /** Makes room for a connection; when all others are being answered it is refused. */
  #admit(socket: Socket): void {
    this.#connections++;
    this.#idle.add(socket);
    socket.once('close', () => {
      this.#connections--;
      this.#idle.delete(socket);
    });
    if (this.#connections <= maxConnections) return;
    const [oldest] = this.#idle;
    oldest?.destroy();
    // It closes later, and must not be chosen again before that.
    if (oldest) this.#idle.delete(oldest);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const { method, socket } = request;
    this.#idle.delete(socket);
    response.shouldKeepAlive = false;
    // A client that does not read the answer holds a connection like any other idle one.
    response.once('prefinish', () => {
      if (!socket.destroyed) this.#idle.add(socket);
    });
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      send(response, { status: 405, contentType: plainText, body: 'method not allowed\n' });
      return;
    }
    const url = URL.parse(request.url ?? '', 'http://localhost');
    try {
      const reply = url
        ? await this.#options.handler(url.pathname, url.searchParams, request.headers)
        : undefined;
      send(response, reply ?? { status: 404, contentType: plainText, body: 'not found\n' });
    } catch (error) {
      this.#options.log.error({ err: error }, `the ${this.#options.name} server failed to answer`);
      send(response, { status: 500, contentType: plainText, body: 'internal error\n' });
    }
  }
}

/** @throws {ListenError} when it is neither an address nor `0`. Undefined for `0` and the empty string. */
export function parseBindAddress(
  text: string,
): { readonly host?: string; readonly port: number } | undefined {
  if (text === '0' || text === '') return undefined;
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new ListenError(`${JSON.stringify(text)} is no address: expected HOST:PORT, :PORT, or 0 for none`);
  }
  const host = match[1] ?? match[2] ?? '';
  return host === '' ? { port } : { host, port };
}

function send(response: ServerResponse, { status, contentType, body }: HttpReply | StreamedReply): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    ...(typeof body === 'string' && { 'Content-Length': Buffer.byteLength(body) }),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  // For HEAD, Node leaves the body out by itself.
  if (typeof body === 'string') response.end(body);
  else pipeline(body, response, () => {});
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'the address is in use';
  if (code === 'EADDRNOTAVAIL') return 'this machine does not have that address';
  if (code === 'EACCES') return 'permission denied';
  return message;
}
