/**
 * HTTP connection: one connection to the API server, at most one request on it at a time, kept alive
 * between them and opened again when needed. Everything below it is the network, which a simulation replaces.
 */
import type { Dispatcher } from 'undici';
import type { Endpoint } from './endpoint.ts';

export interface HttpConnection {
  readonly endpoint: Endpoint;
  /**
   * Sends a request, after connecting if there is no connection. The handler's `onRequestStart` is called
   * right before, in the same turn as, the request's bytes go to the socket; if it throws, none do.
   */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /**
   * Ends the connection at once. What has not left this machine by then never does, and the handler of a
   * request in progress gets an error.
   */
  break(): void;
  /** Ends the connection once its request, if there is one, is over. */
  close(): Promise<void>;
}

/** Makes a connection to an endpoint; it connects with its first request. */
export type OpenConnection = (endpoint: Endpoint) => HttpConnection;
