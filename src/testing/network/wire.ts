/**
 * Wire: one TCP connection with its two ends. What is under way on it keeps its order; each end learns later than
 * the other that it is over, or never.
 */
import type { NetworkServer } from './network-server.ts';

/** From the machine to the API servers, or back. */
export type Direction = 'out' | 'in';

/** What a connection needs of the link that it is on. */
export interface WireLink {
  /** Carries a message, `late` ms longer than usual, then runs. */
  send(wire: Wire, direction: Direction, run: () => void, late?: number): void;
  opened(wire: Wire): void;
  closed(wire: Wire): void;
}

/** The client's end. */
export interface WireClient {
  /** The other end has closed or reset the connection. */
  lost(wire: Wire, message: string): void;
}

/** Least ms between two messages in one direction, so that they keep their order. */
const spacing = 1e-6;

export class Wire {
  readonly #link: WireLink;
  readonly server: NetworkServer;
  /** Whose connection it is. */
  readonly process: object;
  /** When it was used last, true ms. */
  usedAt = 0;
  readonly #client: WireClient;
  readonly #lastArrival = { out: 0, in: 0 };
  /** What the server is to be told when the client has gone. */
  #request: { closed(): void } | undefined;
  #closedAtClient = false;
  #closedAtServer = false;
  #silent = false;

  constructor(link: WireLink, server: NetworkServer, process: object, client: WireClient) {
    this.#link = link;
    this.server = server;
    this.process = process;
    this.#client = client;
    link.opened(this);
  }

  /** The client has left it, or has learned that it is over. */
  get isClosed(): boolean {
    return this.#closedAtClient;
  }

  /** Ms from now until a message arrives that is sent now. */
  arrival(direction: Direction, now: number, delay: number): number {
    const at = Math.max(now + delay, this.#lastArrival[direction] + spacing);
    this.#lastArrival[direction] = at;
    return at - now;
  }

  /** The server gets it, unless it has gone, or the connection is over for it. */
  toServer(run: () => void, late = 0): void {
    this.#link.send(
      this,
      'out',
      () => {
        if (!this.#silent && !this.#closedAtServer) run();
      },
      late,
    );
  }

  /** The client gets it, unless it has left. */
  toClient(run: () => void, late = 0): void {
    this.#link.send(
      this,
      'in',
      () => {
        if (!this.#silent && !this.#closedAtClient) run();
      },
      late,
    );
  }

  /** The server works on a request of this connection; undefined: on none. */
  serve(request: { closed(): void } | undefined): void {
    this.#request = request;
  }

  /** The client ends the connection at once. */
  leave(): void {
    if (this.#closedAtClient) return;
    this.#closeAtClient();
    this.#link.send(this, 'out', () => {
      if (!this.#silent) this.lostAtServer();
    });
  }

  /** The server ends the connection: the client learns of it later. */
  cut(): void {
    this.lostAtServer();
    this.toClient(() => this.lostAtClient('read ECONNRESET'));
  }

  lostAtServer(): void {
    if (this.#closedAtServer) return;
    this.#closedAtServer = true;
    const request = this.#request;
    this.#request = undefined;
    request?.closed();
  }

  lostAtClient(message: string): void {
    if (this.#closedAtClient) return;
    this.#closeAtClient();
    this.#client.lost(this, message);
  }

  /** A middle box has forgotten the connection: neither end hears anything any more. */
  silence(): void {
    this.#silent = true;
  }

  #closeAtClient(): void {
    this.#closedAtClient = true;
    this.#link.closed(this);
  }
}
