/**
 * FakeApiServer: a simulated API server over real HTTP on a free port of the loopback, for tests of the transport
 * and for those that need faults which a real one does not have on demand.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import {
  apiVersionOf,
  configMaps,
  type KubernetesObject,
  pods,
  type Resource,
} from '../../src/kubernetes/objects.ts';
import type { ApiAnswer, ApiRequest, Method, Responder } from '../../src/testing/api-server/api-message.ts';
import { parseQuery } from '../../src/testing/api-server/api-message.ts';
import type { ApiWatch } from '../../src/testing/api-server/api-watch.ts';
import { Etcd } from '../../src/testing/api-server/etcd.ts';
import { type Fault, type FaultMatch, FaultScript } from '../../src/testing/api-server/faults.ts';
import type { Seats } from '../../src/testing/api-server/handler-chain.ts';
import type { Target } from '../../src/testing/api-server/route.ts';
import { collectionOf, type ServedResource } from '../../src/testing/api-server/served-resource.ts';
import { SimulatedApiServer } from '../../src/testing/api-server/simulated-api-server.ts';
import { Random } from '../../src/testing/random.ts';

/** One request as it came, in the order of arrival. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Undefined when the path is none of a registered resource. */
  readonly target: Target | undefined;
  /** Undefined until it is answered. */
  code: number | undefined;
}

export interface FakeApiServerOptions {
  readonly resources?: readonly ServedResource[];
  /** Wall clock of creation timestamps, epoch milliseconds. */
  readonly now?: () => number;
  /** PEM; with them the server speaks TLS and asks for client certificates of `clientCa`. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly clientCa?: string };
  /** Returns false for 401. */
  readonly authenticate?: (request: IncomingMessage) => boolean;
}

export const fakeConfigMaps: ServedResource = {
  ...configMaps,
  status: false,
  generation: false,
  conditionalUpdate: false,
};
export const fakePods: ServedResource = {
  ...pods,
  conditionalUpdate: false,
  returnsDeleted: true,
  selectableFields: ['spec.nodeName', 'status.phase'],
  subresources: ['eviction'],
  strategy: {
    // Only what runs on a node gets time to end.
    gracePeriod: ({ spec }, requested = 30) =>
      typeof spec === 'object' && spec !== null && 'nodeName' in spec ? requested : undefined,
  },
};

export class FakeApiServer {
  readonly store = new Etcd();
  readonly requests: RecordedRequest[] = [];
  readonly core: SimulatedApiServer;
  readonly #options: FakeApiServerOptions;
  readonly #faults = new FaultScript();
  readonly #responders = new WeakMap<ApiRequest, HttpResponder>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #connections = { most: 0, opened: 0, resets: 0 };

  private constructor(options: FakeApiServerOptions) {
    this.#options = options;
    this.core = new SimulatedApiServer({
      etcd: this.store,
      time: timeOf(options.now ?? Date.now),
      random: new Random(crypto.randomUUID()),
      name: 'fake',
      resources: [fakeConfigMaps, fakePods, ...(options.resources ?? [])],
      intercept: (request, target) => this.#faultOf(request, target),
    });
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#receive(request, response);
    const { tls } = options;
    this.#server = tls
      ? createTlsServer({ ...tls, ca: tls.clientCa, requestCert: true, rejectUnauthorized: false }, listener)
      : createServer(listener);
    this.#server.on('connection', (socket: Socket) => this.#connected(socket));
    this.#server.on('secureConnection', (socket: Socket) => this.#countResets(socket));
  }

  static async start(options: FakeApiServerOptions = {}): Promise<FakeApiServer> {
    const server = new FakeApiServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#options.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** TCP connections: open now, the most at one time, all there have been, and those the client reset. */
  get connections(): { readonly open: number; most: number; opened: number; resets: number } {
    return { open: this.#sockets.size, ...this.#connections };
  }

  /** The watches that are open. */
  get watches(): readonly ApiWatch[] {
    return this.core.watches;
  }

  set seats(seats: Seats | undefined) {
    this.core.seats = seats;
  }

  kubeConfig(): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: 'fake', server: this.url, skipTLSVerify: false }, { name: 'fake' });
    return config;
  }

  /** From now on the resource is served, as when its CRD is created. */
  register(resource: ServedResource): void {
    this.core.register(resource);
  }

  /** From now on it is not; its watches end. */
  unregister(resource: Resource): void {
    this.core.unregister(resource);
  }

  /** Stores an object as another client would, without a request. */
  put<T extends KubernetesObject>(resource: Resource<T>, object: T): T {
    const served = this.core.resources.find((other) => collectionOf(other) === collectionOf(resource));
    if (served === undefined) throw new Error(`${resource.plural} is not registered`);
    const current = this.store.get(served, object.metadata.namespace ?? '', object.metadata.name);
    const uid = object.metadata.uid ?? current?.metadata.uid ?? crypto.randomUUID();
    const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    return this.store.put(served, { ...object, ...type, metadata: { ...object.metadata, uid } }) as T;
  }

  /** Scripts a fault for requests to come. Returns a function that takes it back. */
  fail(match: FaultMatch, fault: Fault): () => void {
    return this.#faults.add(match, fault);
  }

  /** Breaks every connection, also those of watches. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    this.#connections.opened++;
    this.#connections.most = Math.max(this.#connections.most, this.#sockets.size);
    this.#countResets(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #countResets(socket: Socket): void {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNRESET') this.#connections.resets++;
    });
  }

  #faultOf(request: ApiRequest, target: Target | undefined): Fault | undefined {
    const fault = this.#faults.take(request, target);
    const responder = this.#responders.get(request);
    if (fault?.kind === 'drip' && responder !== undefined) responder.chunkSize = fault.size;
    return fault;
  }

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk);
    } catch {
      // The client broke off: the request never was.
      return;
    }
    const { pathname: path, search } = new URL(message.url ?? '/', 'http://fake');
    const { headers } = message;
    const method = (message.method ?? '') as Method;
    const body = Buffer.concat(chunks).toString('utf8');
    const recorded: RecordedRequest = {
      method,
      path,
      query: new URLSearchParams(search),
      headers,
      body,
      target: this.core.route(path),
      code: undefined,
    };
    this.requests.push(recorded);
    const responder = new HttpResponder(response, recorded);
    if (this.#options.authenticate?.(message) === false) return responder.answer(unauthorized);
    const request: ApiRequest = {
      method,
      path,
      query: parseQuery(search.slice(1)),
      headers: headers as Readonly<Record<string, string>>,
      body,
      user: userOf(headers),
    };
    this.#responders.set(request, responder);
    const { closed } = this.core.receive(request, responder);
    response.once('close', closed);
  }
}

const unauthorized: ApiAnswer = {
  code: 401,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    kind: 'Status',
    status: 'Failure',
    code: 401,
    reason: 'Unauthorized',
    message: 'Unauthorized',
  }),
};

function userOf({ 'impersonate-user': impersonated }: IncomingMessage['headers']): string {
  return typeof impersonated === 'string' ? impersonated : 'system:admin';
}

/** Wall-clock time as given, and timers of the machine that keep no process alive. */
function timeOf(now: () => number) {
  return {
    get now() {
      return now();
    },
    schedule(delay: number, run: () => void) {
      const timer = setTimeout(run, delay).unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** An answer as the bytes of an HTTP response. */
class HttpResponder implements Responder {
  /** Bytes per write to the socket; undefined: all at once. */
  chunkSize: number | undefined;
  readonly #response: ServerResponse;
  readonly #recorded: RecordedRequest;

  constructor(response: ServerResponse, recorded: RecordedRequest) {
    this.#response = response;
    this.#recorded = recorded;
  }

  get unsent(): number {
    return this.#response.writableLength + (this.#response.socket?.writableLength ?? 0);
  }

  answer({ code, headers, body }: ApiAnswer): void {
    this.#recorded.code = code;
    this.#response.writeHead(code, headers);
    this.#response.end(body);
  }

  begin(headers: Readonly<Record<string, string>>): void {
    this.#recorded.code = 200;
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
  }

  write(text: string): void {
    if (this.#response.destroyed) return;
    const bytes = Buffer.from(text);
    const size = this.chunkSize ?? bytes.length;
    for (let start = 0; start < bytes.length; start += size)
      this.#response.write(bytes.subarray(start, start + size));
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.socket?.resetAndDestroy();
  }
}
