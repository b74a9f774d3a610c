/**
 * Exchange: one HTTP request and its response on a connection. It knows exactly whether the request has
 * begun to leave the process, and asks its gate in the same turn.
 */
import type { Dispatcher } from 'undici';
import { TransportError } from './api-error.ts';
import { ByteStream } from './byte-stream.ts';

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface Response {
  /** HTTP status code. */
  readonly code: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer;
}

export interface ExchangeOptions {
  /** `GET https://host/path`, for messages. */
  readonly title: string;
  /** Called in the same turn as the sending; what it throws is the exchange's end, and nothing is sent. */
  readonly beforeSend: () => void;
  /** Whether the body of a 200 is to be handed on while it arrives. */
  readonly streaming: boolean;
  /**
   * Called once, when the connection is not needed any more: the response is complete, or the exchange
   * failed, was abandoned, or the reader has left the stream. Not `reusable`: it has to be broken.
   */
  readonly over: (reusable: boolean) => void;
}

export class Exchange implements Dispatcher.DispatchHandler {
  /** The whole response, or for `streaming` a 200's head; rejects with a {@link TransportError}. */
  readonly response: Promise<Response>;
  #stream: ByteStream | undefined;
  readonly #options: ExchangeOptions;
  readonly #chunks: Buffer[] = [];
  #resolve: (response: Response) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #sent = false;
  #over = false;
  #failure: Error | undefined;
  #code = 0;
  #headers: ResponseHeaders = {};

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The body, once {@link response} has resolved with the head of a stream. */
  get stream(): ByteStream | undefined {
    return this.#stream;
  }

  /** False: certainly no byte of the request has left. */
  get sent(): boolean {
    return this.#sent;
  }

  /** Ends the exchange from this side. */
  abandon(reason: unknown): void {
    this.#fail(reason instanceof TransportError ? reason : this.#error(reason), false);
  }

  onRequestStart(): void {
    this.#options.beforeSend();
    // It was given up while it waited for its connection, or just now: a gate may end everything.
    if (this.#failure !== undefined) throw this.#failure;
    this.#sent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, code: number, headers: ResponseHeaders): void {
    if (code < 200) return;
    this.#code = code;
    this.#headers = headers;
    if (!this.#options.streaming || code !== 200 || this.#failure !== undefined) return;
    this.#stream = new ByteStream({
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      left: () => this.#finish(false),
    });
    this.#resolve({ code, headers, body: Buffer.alloc(0) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream !== undefined) this.#stream.push(chunk);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish(true);
    if (this.#stream !== undefined) {
      this.#stream.end();
      return;
    }
    const [only = Buffer.alloc(0)] = this.#chunks;
    const body = this.#chunks.length < 2 ? only : Buffer.concat(this.#chunks);
    this.#resolve({ code: this.#code, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Of a request that was not sent (the gate is closed) the connection has noticed nothing.
    this.#fail(error instanceof TransportError ? error : this.#error(error), !this.#sent);
  }

  #error(cause: unknown): TransportError {
    return new TransportError(`${this.#options.title}: ${describe(cause)}`, this.#sent, { cause });
  }

  #fail(error: Error, reusable: boolean): void {
    if (this.#over) return;
    this.#failure = error;
    this.#finish(reusable);
    this.#stream?.fail(error);
    this.#reject(error);
  }

  #finish(reusable: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.over(reusable);
  }
}

/** An AggregateError of several addresses tried has no message of its own. */
function describe(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(describe).join(', ');
  if (cause instanceof Error) return cause.message === '' ? cause.name : cause.message;
  return String(cause);
}
