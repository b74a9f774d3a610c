/**
 * SimulatedConnection: an HttpConnection on a simulated link. It calls its handlers as the connection over undici
 * does: with a connection at hand `onRequestStart` runs in the turn of the dispatch, otherwise once it is connected.
 */
import type { Dispatcher } from 'undici';
import type { Endpoint } from '../../runtime/client/endpoint.ts';
import type { HttpConnection } from '../../runtime/client/http-connection.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { TimerHost } from '../simulated-clock.ts';
import { type ExchangeHost, SimulatedExchange } from './simulated-exchange.ts';
import type { SimulatedLink } from './simulated-link.ts';
import { Wire, type WireClient } from './wire.ts';

/** What a connection needs of the process that it is of. */
export interface ConnectionHost extends TimerHost, ExchangeHost {
  readonly ports: { readonly clock: Clock };
}

export interface SimulatedConnectionOptions {
  readonly endpoint: Endpoint;
  readonly link: SimulatedLink;
  readonly process: ConnectionHost;
}

/** A request that is to be sent. */
export interface Dispatched {
  readonly options: Dispatcher.DispatchOptions;
  readonly handler: Dispatcher.DispatchHandler;
}

/** Ms for connecting, and ms that an idle connection is kept, as of the real one. */
const connectTimeout = 4000;
const keepAliveTimeout = 45_000;

export class SimulatedConnection implements HttpConnection, WireClient {
  readonly endpoint: Endpoint;
  readonly #link: SimulatedLink;
  readonly #process: ConnectionHost;
  #wire: Wire | undefined;
  #exchange: SimulatedExchange | undefined;
  /** A request that waits for its connection, and the end of its patience. */
  #waiting: { readonly dispatched: Dispatched; readonly timer: Timer; wire?: Wire } | undefined;

  constructor({ endpoint, link, process }: SimulatedConnectionOptions) {
    this.endpoint = endpoint;
    this.#link = link;
    this.#process = process;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    if (!this.#process.isAlive) return;
    if (this.#exchange !== undefined || this.#waiting !== undefined) {
      throw new Error('a connection carries one request at a time');
    }
    this.#expire();
    if (this.#wire === undefined) this.#connect({ options, handler });
    else this.#send(this.#wire, { options, handler });
  }

  break(): void {
    const waiting = this.#waiting;
    const exchange = this.#exchange;
    this.#waiting = undefined;
    this.#exchange = undefined;
    waiting?.timer.cancel();
    this.#wire?.leave();
    this.#wire = undefined;
    if (waiting === undefined && exchange === undefined) return;
    const error = new Error('The client is destroyed');
    void this.#process.ports.clock.turn().then(() => {
      exchange?.fail(error);
      if (waiting !== undefined) fail(waiting.dispatched.handler, error);
    });
  }

  async close(): Promise<void> {
    if (this.#exchange !== undefined || this.#waiting !== undefined) return;
    this.#wire?.leave();
    this.#wire = undefined;
  }

  lost(wire: Wire, message: string): void {
    const waiting = this.#waiting;
    if (waiting?.wire === wire) {
      this.#process.deliver(() => this.#refuse(waiting.dispatched, message), 'network');
      return;
    }
    if (wire !== this.#wire) return;
    this.#wire = undefined;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange === undefined) return;
    this.#process.deliver(() => exchange.fail(networkError(message)), 'network');
  }

  #expire(): void {
    const wire = this.#wire;
    if (wire === undefined || this.#link.network.simulation.elapsed - wire.usedAt < keepAliveTimeout) return;
    wire.leave();
    this.#wire = undefined;
  }

  /** Three ways there and three back: for TCP and for TLS. */
  #connect(dispatched: Dispatched): void {
    const server = this.#link.network.pickServer();
    const timer = this.#process.ports.clock.setTimer(connectTimeout, () => {
      this.#refuse(dispatched, `no connection within ${connectTimeout / 1000} s`);
    });
    this.#waiting = { dispatched, timer };
    const stillWaits = () => this.#waiting?.dispatched === dispatched;
    const back = (run: () => void) => this.#process.deliver(() => stillWaits() && run(), 'network');
    if (server === undefined) {
      const { simulation } = this.#link.network;
      const refuse = () => this.#refuse(dispatched, 'connect ECONNREFUSED');
      simulation.schedule(this.#link.latency.usual, () => back(refuse));
      return;
    }
    const wire = new Wire(this.#link, server, this.#process, this);
    this.#waiting.wire = wire;
    // The first two round trips as one delay.
    const late = Array.from({ length: 4 }, () => this.#link.delay()).reduce((sum, delay) => sum + delay);
    wire.toServer(() => {
      wire.toClient(() => {
        if (stillWaits()) back(() => this.#connected(wire, dispatched));
        else wire.leave();
      });
    }, late);
  }

  #connected(wire: Wire, dispatched: Dispatched): void {
    this.#waiting?.timer.cancel();
    this.#waiting = undefined;
    this.#wire = wire;
    this.#send(wire, dispatched);
  }

  #refuse(dispatched: Dispatched, message: string): void {
    if (this.#waiting?.dispatched !== dispatched) return;
    this.#waiting.timer.cancel();
    this.#waiting = undefined;
    fail(dispatched.handler, networkError(message));
  }

  #send(wire: Wire, { options, handler }: Dispatched): void {
    const exchange = new SimulatedExchange({
      link: this.#link,
      wire,
      handler,
      process: this.#process,
      over: () => {
        if (this.#exchange === exchange) this.#exchange = undefined;
        wire.usedAt = this.#link.network.simulation.elapsed;
      },
    });
    this.#exchange = exchange;
    exchange.send(options);
  }
}

const controller: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort() {},
  pause() {},
  resume() {},
};

function fail(handler: Dispatcher.DispatchHandler, error: Error): void {
  handler.onResponseError?.(controller, error);
}

/** With the code at its end or in its middle, as Node.js has it. */
function networkError(message: string): Error {
  const code = message.split(' ').find((word) => /^E[A-Z]+$/.test(word));
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
