/**
 * ConnectProxy: an HTTP proxy on loopback that opens tunnels, as HTTPS_PROXY and a kubeconfig's proxy-url name one, and
 * writes down where to.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export class ConnectProxy {
  /** `host:port credentials` of each tunnel that was asked for; `-` without credentials. */
  readonly asked: string[] = [];
  /** Answers 407 instead. */
  refuses = false;
  readonly #server: Server = createServer();
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request, socket: Socket) => this.#open(request, socket));
  }

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** `host:port` */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks all tunnels. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut();
    return closed;
  }

  #open({ url = '', headers }: IncomingMessage, socket: Socket): void {
    this.asked.push(`${url} ${headers['proxy-authorization'] ?? '-'}`);
    if (this.refuses) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host = '', port = ''] = url.split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    this.#keep(upstream);
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => socket.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
