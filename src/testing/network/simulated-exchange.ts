/**
 * SimulatedExchange: one request on a wire and the answer to it, with the fault that hits it. It is the Responder of
 * the server and calls the handler of the client.
 */
import type { Dispatcher } from 'undici';
import type { ApiAnswer, Responder } from '../api-server/api-message.ts';
import type { CallbackSource } from '../simulated-clock.ts';
import type { Simulation } from '../simulation.ts';
import { requestOf } from './dispatched-request.ts';
import { type NetworkFault, pages } from './network-fault.ts';
import type { SimulatedLink } from './simulated-link.ts';
import type { Wire } from './wire.ts';

/** What an exchange needs of the process that it is of. */
export interface ExchangeHost {
  /** Who its requests are from. */
  readonly user: string;
  deliver(run: () => void, source: CallbackSource): void;
}

/** Milliseconds after which a slow answer goes on as fast as any: a watch lives longer than what slows it down. */
const dripsFor = 60_000;

export interface SimulatedExchangeOptions {
  readonly link: SimulatedLink;
  readonly wire: Wire;
  readonly handler: Dispatcher.DispatchHandler;
  readonly process: ExchangeHost;
  /** The connection is free for another request. */
  readonly over: () => void;
}

type Headers = Readonly<Record<string, string>>;

export class SimulatedExchange implements Responder, Dispatcher.DispatchController {
  readonly #link: SimulatedLink;
  readonly #wire: Wire;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #process: ExchangeHost;
  readonly #free: () => void;
  readonly #simulation: Simulation;
  #fault: NetworkFault | undefined;
  #sentAt = 0;
  /** The whole answer has left the server. */
  #answered = false;
  #over = false;
  /** Calls of a paused handler. */
  #paused: (() => void)[] | undefined;
  /** Text of a stream that leaves the server in this instant, in one piece. */
  #outbox: { text: string; readonly at: number } | undefined;
  /** Bytes of the answer's body so far. */
  #bytes = 0;

  constructor({ link, wire, handler, process, over }: SimulatedExchangeOptions) {
    this.#link = link;
    this.#wire = wire;
    this.#handler = handler;
    this.#process = process;
    this.#free = over;
    this.#simulation = link.network.simulation;
  }

  /** The bytes of the request leave, unless the handler throws. */
  send(options: Dispatcher.DispatchOptions): void {
    try {
      this.#handler.onRequestStart?.(this, {});
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    // Given up in that very turn.
    if (this.#over || this.#wire.isClosed) return;
    const wire = this.#wire;
    const fault = this.#link.faultOf(options.method, options.path);
    this.#fault = fault;
    this.#sentAt = this.#simulation.elapsed;
    if (fault !== undefined) this.#simulation.trace(fault.kind);
    if (fault?.kind === 'requestLost') this.#lose(fault.reset);
    else if (fault?.kind === 'page') wire.toServer(() => this.#page(fault.code));
    else wire.toServer(() => this.#arrive(options), fault?.kind === 'delay' ? fault.request : 0);
  }

  /** The connection has gone. */
  fail(error: Error): void {
    if (this.#over) return;
    this.#end();
    this.#handler.onResponseError?.(this, error);
  }

  answer({ code, headers, body }: ApiAnswer): void {
    this.#simulation.trace(body);
    this.#answered = true;
    this.#wire.serve(undefined);
    if (this.#fault !== undefined) {
      this.#answerFaulty(this.#fault, code, headers, body);
      return;
    }
    const dated = this.#dated(headers);
    this.#toClient(() => {
      this.#handler.onResponseStart?.(this, code, dated);
      if (body !== '') this.#handler.onResponseData?.(this, Buffer.from(body));
      this.#finish();
    });
  }

  begin(headers: Headers): void {
    if (this.#fault?.kind === 'answerLost') this.#lose(this.#fault.reset);
    else this.#head(200, headers);
  }

  write(text: string): void {
    this.#simulation.trace(text);
    const { elapsed: at } = this.#simulation;
    if (this.#fault?.kind === 'cut' || this.#fault?.kind === 'drip') this.#data(text);
    else if (this.#outbox?.at === at) this.#outbox.text += text;
    else {
      const outbox = { text, at };
      this.#outbox = outbox;
      this.#toClient(() => {
        if (this.#outbox === outbox) this.#outbox = undefined;
        this.#handler.onResponseData?.(this, Buffer.from(outbox.text));
      });
    }
  }

  end(): void {
    this.#answered = true;
    this.#wire.serve(undefined);
    this.#toClient(() => this.#finish());
  }

  cut(): void {
    this.#wire.cut();
  }

  get aborted(): boolean {
    return this.#over;
  }

  get paused(): boolean {
    return this.#paused !== undefined;
  }

  get reason(): Error | null {
    return null;
  }

  abort(): void {
    this.#wire.leave();
    this.fail(new Error('Request aborted'));
  }

  pause(): void {
    this.#paused ??= [];
  }

  resume(): void {
    const calls = this.#paused;
    this.#paused = undefined;
    for (const call of calls ?? []) {
      this.#simulation.schedule(0, () => this.#deliver(call), this.#link.name);
    }
  }

  #arrive(options: Dispatcher.DispatchOptions): void {
    const request = requestOf(options, this.#process.user);
    this.#simulation.trace(`${this.#link.name} ${request.method} ${options.path} ${request.body}`);
    const closed = this.#wire.server.receiver.receive(request, this);
    if (!this.#answered) this.#wire.serve(closed);
  }

  #page(code: keyof typeof pages): void {
    this.answer({ code, headers: { 'content-type': 'text/html' }, body: pages[code] });
  }

  #answerFaulty(fault: NetworkFault, code: number, headers: Headers, body: string): void {
    if (fault.kind === 'answerLost') {
      this.#lose(fault.reset);
      return;
    }
    this.#head(code, headers);
    this.#data(body);
    this.#toClient(() => this.#finish());
  }

  /** Nothing comes back. */
  #lose(reset: boolean): void {
    if (reset) this.#wire.cut();
    else this.#wire.silence();
  }

  #head(code: number, headers: Headers): void {
    const late = this.#fault?.kind === 'delay' ? this.#fault.answer : 0;
    const dated = this.#dated(headers);
    this.#toClient(() => this.#handler.onResponseStart?.(this, code, dated), late);
  }

  #data(text: string): void {
    const bytes = Buffer.from(text);
    const fault = this.#fault;
    const before = this.#bytes;
    this.#bytes += bytes.length;
    if (fault?.kind === 'cut' && this.#bytes > fault.bytes) {
      if (before < fault.bytes) this.#piece(bytes.subarray(0, fault.bytes - before), 0);
      this.#wire.cut();
    } else if (fault?.kind === 'drip' && this.#simulation.elapsed - this.#sentAt < dripsFor) {
      for (let start = 0, late = 0; start < bytes.length; start += fault.bytes, late += fault.every) {
        this.#piece(bytes.subarray(start, start + fault.bytes), late);
      }
    } else {
      this.#piece(bytes, 0);
    }
  }

  #piece(bytes: Buffer, late: number): void {
    if (bytes.length > 0) this.#toClient(() => this.#handler.onResponseData?.(this, bytes), late);
  }

  /** @param late further ms on the way. */
  #toClient(call: () => void, late = 0): void {
    this.#wire.toClient(() => this.#deliver(call), late);
  }

  #deliver(call: () => void): void {
    this.#process.deliver(() => {
      if (this.#over) return;
      if (this.#paused === undefined) call();
      else this.#paused.push(call);
    }, 'network');
  }

  #finish(): void {
    this.#end();
    this.#handler.onResponseEnd?.(this, {});
  }

  #end(): void {
    this.#over = true;
    this.#free();
  }

  #dated(headers: Headers): Headers {
    return headers.date !== undefined ? headers : { date: this.#link.network.date, ...headers };
  }
}
