/**
 * HTTP request: what the transport is asked to send, and in which form it goes to a connection.
 */
import type { Dispatcher } from 'undici';
import type { CredentialSet } from './credentials.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, beginning with a slash. */
  readonly path: string;
  /** Default application/json. */
  readonly accept?: string | undefined;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for everything, retries included. Default: that of {@link RequestTimeouts}; a gate may allow less. */
  readonly timeout?: number | undefined;
  /** Milliseconds after which nothing is sent any more. */
  readonly sendWithin?: number | undefined;
  /** Whether a body that arrives in parts may come compressed, unless the server is on this machine. Default false. */
  readonly compressed?: boolean;
  /** In which lane it waits. Default: that of the code that is running. */
  readonly lane?: string | undefined;
  /** Sent as well. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True: the write gate is not asked. */
  readonly ungated?: boolean | undefined;
}

/** The request as a connection sends it. */
export function dispatchOptions(
  {
    method,
    path,
    accept = 'application/json',
    contentType = 'application/json',
    body,
    compressed,
    headers: more,
  }: HttpRequest,
  { endpoint, headers: credentials }: CredentialSet,
  userAgent: string,
): Dispatcher.DispatchOptions {
  const headers = ['accept', accept, 'user-agent', userAgent];
  if (body !== undefined) headers.push('content-type', contentType);
  if (compressed && !endpoint.isLoopback) headers.push('accept-encoding', 'gzip');
  // Never in the place of those above, nor of the credentials.
  if (more !== undefined) for (const [name, value] of Object.entries(more)) headers.push(name, value);
  headers.push(...credentials);
  return { method, path: endpoint.prefix + path, headers, body: body ?? null };
}
