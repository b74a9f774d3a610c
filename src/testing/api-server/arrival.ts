/**
 * Arrival: one request on its way through a server.
 */
import type { ApiRequest, Responder } from './api-message.ts';
import type { Target } from './route.ts';

export class Arrival {
  readonly request: ApiRequest;
  readonly target: Target | undefined;
  readonly responder: Responder;
  isClosed = false;
  /** Whether it has been answered. */
  isOver = false;
  readonly waited = new Map<string, number>();
  #onClose: (() => void) | undefined;

  constructor(request: ApiRequest, target: Target | undefined, responder: Responder) {
    this.request = request;
    this.target = target;
    this.responder = responder;
  }

  onClose(run: () => void): void {
    this.#onClose = run;
  }

  get waitedInAll(): number {
    let sum = 0;
    for (const ms of this.waited.values()) sum += ms;
    return sum;
  }

  wait(whom: string, ms: number): void {
    this.waited.set(whom, (this.waited.get(whom) ?? 0) + ms);
  }

  close(): void {
    this.isClosed = true;
    this.#onClose?.();
  }
}
