/**
 * NetworkServer: what stands at the other end of a connection, an instance of the API server.
 */
import type { ApiRequest, Responder } from '../api-server/api-message.ts';

export interface RequestReceiver {
  /** Returns what to call when the client has gone away. */
  receive(request: ApiRequest, responder: Responder): { closed(): void };
}

/** An instance under its name on the network. */
export interface NetworkServer {
  readonly name: string;
  readonly receiver: RequestReceiver;
  isUp: boolean;
}
