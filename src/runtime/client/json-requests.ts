/**
 * JsonRequests: requests whose answers are JSON, sent in the lane of one client and through its gate.
 */
import { TransportError } from './api-error.ts';
import type { CallOptions, WriteOptions } from './call-options.ts';
import type { HttpRequest } from './http-request.ts';
import { serverTimeout } from './request-timeouts.ts';
import type { Transport } from './transport.ts';

export interface JsonRequestsOptions {
  readonly transport: Transport;
  /** In which lane the requests wait. Default: that of the code that calls. */
  readonly lane?: string;
  /** True: the writes do not ask the gate. */
  readonly ungated?: boolean;
}

export class JsonRequests {
  readonly #options: JsonRequestsOptions;

  constructor(options: JsonRequestsOptions) {
    this.#options = options;
  }

  read(path: string, { signal, timeout }: CallOptions, accept?: string): Promise<unknown> {
    return this.send({ method: 'GET', path, accept, signal, timeout });
  }

  async text(path: string, { signal, timeout }: CallOptions): Promise<string> {
    const { transport, lane } = this.#options;
    const request = { method: 'GET', path, accept: '*/*', signal, timeout, lane } as const;
    return (await transport.request(request)).toString();
  }

  async send(request: HttpRequest): Promise<unknown> {
    const { transport, lane, ungated } = this.#options;
    const body = await transport.request({ ...request, lane, ungated });
    try {
      return JSON.parse(body.toString('utf8'));
    } catch {
      // The cause would quote the answer, which may be a Secret.
      throw new TransportError(`${request.method} ${request.path}: the answer is not JSON`, true);
    }
  }

  /** Sent with every write, so that the API server itself gives up one that it could only do late. */
  serverTimeout(method: HttpRequest['method'], options: WriteOptions): string {
    const { transport, ungated } = this.#options;
    const limit = transport.timeLimit({ method, timeout: options.timeout, ungated });
    return serverTimeout(limit, transport.timeLimit({ method, ungated }), options.serverTimeout);
  }
}
