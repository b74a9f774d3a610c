/**
 * TcpProxy: stands between a client and a server on loopback, and cuts their connections or lets none come
 * about.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #refusing = false;
  #accepted = 0;
  #received = 0;

  private constructor(target: URL) {
    this.#target = { host: target.hostname, port: Number(target.port) };
    this.#server = createServer((client) => this.#accept(client));
  }

  /** @param server such as https://127.0.0.1:6443. */
  static async start(server: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(server));
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  /** The server's URL by way of the proxy. */
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return `https://127.0.0.1:${address.port}`;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Connections so far, those included that are over. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Bytes that the server has sent. */
  get received(): number {
    return this.#received;
  }

  /** Resets all connections. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  /** New connections are reset from now on, or no longer. */
  refuse(refusing = true): void {
    this.#refusing = refusing;
  }

  stop(): Promise<void> {
    this.refuse();
    this.cut();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      client.resetAndDestroy();
      return;
    }
    this.#accepted++;
    const upstream = connect(this.#target);
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    for (const [socket, other] of [pair, [upstream, client] as const]) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
      socket.pipe(other);
    }
    upstream.on('data', ({ length }) => {
      this.#received += length;
    });
  }
}
