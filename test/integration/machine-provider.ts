/** MachineProvider: stands for the provider of machines that examples/tunnel asks, by HTTP on the loopback address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export class MachineProvider {
  readonly address = '192.0.2.1';
  /** The machines that there are. */
  readonly names = new Set<string>();
  /** How many were made. */
  made = 0;
  /** Called when a write is done and not answered yet; true: there is no answer, the connection is reset. */
  onWrite: (method: string) => boolean = () => false;
  readonly #server: Server = createServer((request, answer) => this.#serve(request, answer));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve({ method = '', url = '' }: IncomingMessage, answer: ServerResponse): void {
    if (method === 'PUT' && !this.names.has(url)) this.made++;
    if (method === 'PUT') this.names.add(url);
    else this.names.delete(url);
    if (this.onWrite(method)) answer.destroy();
    else answer.end(JSON.stringify({ address: this.address }));
  }
}
