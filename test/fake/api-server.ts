/**
 * FakeApiServer: a Kubernetes API server in memory, over real HTTP on a free port of the loopback, for
 * tests that need faults which a real one does not have on demand. The conformance suite holds it against
 * the real one.
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
} from '../../src/api/kubernetes.ts';
import { type Fault, type FaultMatch, FaultScript } from './api-server-faults.ts';
import { FakeReads } from './api-server-reads.ts';
import { type FakeRequest, isWatch, type Target, targetOf } from './api-server-request.ts';
import { Failure, unknownResource } from './api-server-status.ts';
import { collectionOf, FakeStore, type ServedResource } from './api-server-store.ts';
import { FakeWatch } from './api-server-watch.ts';
import { type Answer, FakeWrites } from './api-server-writes.ts';

/** One request as it came, in the order of arrival. */
export interface RecordedRequest extends FakeRequest {
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
  graceful: true,
};

export class FakeApiServer {
  readonly store = new FakeStore();
  readonly requests: RecordedRequest[] = [];
  readonly #options: FakeApiServerOptions;
  readonly #resources = new Map<string, ServedResource>();
  readonly #faults = new FaultScript();
  readonly #reads = new FakeReads(this.store);
  readonly #writes: FakeWrites;
  readonly #watches = new Set<FakeWatch>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #connections = { most: 0, opened: 0, resets: 0 };
  /** Writes that are worked on. */
  #writesUnderWay = 0;
  /**
   * How many writes it works on at the same time, and for how long on each, in milliseconds; the others are
   * turned away, as priority and fairness does, for so many seconds. Undefined: any number.
   */
  seats: { readonly count: number; readonly duration: number; readonly retryAfter: number } | undefined;

  private constructor(options: FakeApiServerOptions) {
    this.#options = options;
    this.#writes = new FakeWrites({ store: this.store, now: options.now ?? Date.now });
    for (const resource of [fakeConfigMaps, fakePods, ...(options.resources ?? [])]) this.register(resource);
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#receive(request, response);
    const { tls } = options;
    this.#server = tls
      ? createTlsServer({ ...tls, ca: tls.clientCa, requestCert: true, rejectUnauthorized: false }, listener)
      : createServer(listener);
    this.#server.on('connection', (socket: Socket) => this.#connected(socket));
    this.#server.on('secureConnection', (socket: Socket) => this.#countResets(socket));
    this.store.onChange((change) => {
      for (const watch of this.#watches) watch.show(change);
    });
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
  get watches(): readonly FakeWatch[] {
    return [...this.#watches];
  }

  kubeConfig(): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: 'fake', server: this.url, skipTLSVerify: false }, { name: 'fake' });
    return config;
  }

  /** From now on the resource is served, as when its CRD is created. */
  register(resource: ServedResource): void {
    this.#resources.set(collectionOf(resource), resource);
  }

  /** From now on it is not; its watches end. */
  unregister(resource: Resource): void {
    this.#resources.delete(collectionOf(resource));
    for (const watch of this.#watches) {
      if (collectionOf(watch.target.resource) === collectionOf(resource)) watch.end();
    }
  }

  /** Stores an object as somebody else would, without a request. */
  put<T extends KubernetesObject>(resource: Resource<T>, object: T): T {
    const served = this.#resources.get(collectionOf(resource));
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

  async #receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(message.url ?? '/', 'http://fake');
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk);
    } catch {
      // The client broke off: the request never was.
      return;
    }
    const request: RecordedRequest = {
      method: message.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      target: targetOf(url.pathname, this.#resources.values()),
      code: undefined,
    };
    this.requests.push(request);
    try {
      if (this.#options.authenticate?.(message) === false)
        throw new Failure(401, 'Unauthorized', 'Unauthorized');
      if (request.method === 'GET') await this.#serve(request, response);
      else await this.#serveWrite(request, response);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const retryAfter = error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) };
      send(request, response, { code: error.status.code, body: error.status }, retryAfter);
    }
  }

  async #serveWrite(request: RecordedRequest, response: ServerResponse): Promise<void> {
    const { count = Number.POSITIVE_INFINITY, duration = 0, retryAfter = 1 } = this.seats ?? {};
    if (this.#writesUnderWay >= count) {
      const text = 'Too many requests, please try again later.';
      return sendFault(request, response, { kind: 'status', code: 429, retryAfter, text });
    }
    this.#writesUnderWay++;
    try {
      if (duration > 0) await new Promise((resolve) => setTimeout(resolve, duration));
      await this.#serve(request, response);
    } finally {
      this.#writesUnderWay--;
    }
  }

  async #serve(request: RecordedRequest, response: ServerResponse): Promise<void> {
    const fault = this.#faults.take(request);
    switch (fault?.kind) {
      case 'status':
        return sendFault(request, response, fault);
      case 'hang':
        if (fault.commit) this.#answer(request);
        return;
      case 'cut':
        if (fault.when === 'after') this.#answer(request);
        response.socket?.resetAndDestroy();
        return;
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, fault.ms));
        break;
      case 'mute':
      case 'text':
      case 'drip':
      case undefined:
        break;
    }
    if (request.target !== undefined && isWatch(request))
      this.#watch(request, request.target, response, fault);
    else send(request, response, this.#answer(request));
  }

  #watch(request: RecordedRequest, target: Target, response: ServerResponse, fault: Fault | undefined): void {
    const watch = new FakeWatch(this.store, request, target, response, fault);
    request.code = 200;
    this.#watches.add(watch);
    response.once('close', () => this.#watches.delete(watch));
  }

  #answer(request: FakeRequest): Answer {
    const { target } = request;
    if (target === undefined) return this.#discovery(request.path);
    if (target.subresource === 'eviction') return this.#writes.evict(request, target);
    const hasStatus = target.resource.status !== false;
    if (target.subresource !== '' && !(target.subresource === 'status' && hasStatus)) throw unknownResource();
    switch (request.method) {
      case 'GET':
        return { code: 200, body: this.#reads[target.name === '' ? 'list' : 'get'](request, target) };
      case 'POST':
        return this.#writes.create(request, target);
      case 'PUT':
        return this.#writes.update(request, target);
      case 'PATCH':
        return this.#writes.patch(request, target);
      case 'DELETE':
        return this.#writes.delete(request, target);
      default:
        throw new Failure(405, 'MethodNotAllowed', 'the server does not allow this method');
    }
  }

  #discovery(path: string): Answer {
    if (path === '/version')
      return { code: 200, body: { major: '1', minor: '36', gitVersion: 'v1.36.0-fake' } };
    const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)$/.exec(path);
    const [, group = '', version] = match ?? [];
    const served = [...this.#resources.values()].filter((r) => r.group === group && r.version === version);
    if (match === null || served.length === 0) throw unknownResource();
    const resources = served.flatMap(({ plural, kind, namespaced, status }) => [
      {
        name: plural,
        singularName: '',
        namespaced,
        kind,
        verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
      },
      ...(status === false
        ? []
        : [
            {
              name: `${plural}/status`,
              singularName: '',
              namespaced,
              kind,
              verbs: ['get', 'patch', 'update'],
            },
          ]),
    ]);
    const groupVersion = group === '' ? version : `${group}/${version}`;
    return { code: 200, body: { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources } };
  }
}

function send(
  request: RecordedRequest,
  response: ServerResponse,
  { code, body }: Answer,
  headers: Readonly<Record<string, string>> = {},
): void {
  request.code = code;
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function sendFault(
  request: RecordedRequest,
  response: ServerResponse,
  {
    code,
    reason = '',
    retryAfter,
    text,
    contentType = 'text/plain; charset=utf-8',
  }: Fault & { kind: 'status' },
): void {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  if (text === undefined) {
    send(request, response, { code, body: new Failure(code, reason, `scripted ${code}`).status }, headers);
    return;
  }
  request.code = code;
  response.writeHead(code, { 'content-type': contentType, ...headers });
  response.end(text);
}
