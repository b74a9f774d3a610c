/**
 * HostileProxy: stands between a client and the real API server, as proxies and load balancers do, and answers in its
 * place, changes what is asked, or holds answers back, as a test says. It speaks plain HTTP to its client.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, type RequestOptions, request as startRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline, Transform } from 'node:stream';
import type { TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { testKubeConfig } from './support.ts';

/** One request as it came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** May be changed before it is passed on. */
  readonly query: URLSearchParams;
  /** Of which type the answer is to be. */
  readonly accept: string;
}

/** Asks for the events after a version. What a list brings is not meant, nor a stream that begins with one. */
export function goesOn({ path, query }: Asked, plural: string): boolean {
  const { watch, sendInitialEvents } = Object.fromEntries(query);
  return path.endsWith(`/${plural}`) && watch === 'true' && sendInitialEvents !== 'true';
}

/** Asks for what there is, without the events after it. */
export function lists({ method, path, query }: Asked, plural: string): boolean {
  return method === 'GET' && path.endsWith(`/${plural}`) && !query.has('watch');
}

/** An answer that is not the API server's. */
export interface OwnAnswer {
  readonly code: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The API server does as it is asked, and where its answer should come, the connection breaks. */
export const lostAnswer = 'lost answer';

/** A request that is neither passed on nor answered, as on a connection that is dead. */
export interface Silence {
  /** Called when the client gives it up, with how long it has waited, milliseconds. */
  readonly onGivenUp: (afterMs: number) => void;
}

export const noAnswer: Silence = { onGivenUp: () => {} };

/** The API server does as it is asked, and this comes in place of its answer, or nothing does. */
export interface ReplacedAnswer {
  readonly instead: OwnAnswer | Silence;
}

/** How a request is treated; undefined: it is passed on, and so is its answer. */
export type Treatment =
  | OwnAnswer
  | { readonly through: Transform }
  | typeof lostAnswer
  | ReplacedAnswer
  | Silence
  | undefined;

/** What an API server says of a request that it does not carry out. */
export function failure(code: number, reason: string): OwnAnswer {
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason });
  return { code, body, headers: { 'content-type': 'application/json' } };
}

/** What a proxy says of its own, as text. */
export function page(code: number, words: string): OwnAnswer {
  return { code, body: `<h1>${code} ${words}</h1>`, headers: { 'content-type': 'text/html' } };
}

/** What the default backend of an ingress controller says. */
export const page404 = page(404, 'Not Found');

/** Answers that stop in the middle for as long as a test says, as on a connection that is dead. */
export class Hold {
  #ended = Promise.resolve();
  #end = () => {};

  /** From now on nothing comes through. */
  begin(): void {
    ({ promise: this.#ended, resolve: this.#end } = Promise.withResolvers<void>());
  }

  end(): void {
    this.#end();
  }

  /** One part of each answer comes through. */
  step(): void {
    this.end();
    this.begin();
  }

  /** For one answer. @param isDropped of a part that is never to come through. */
  through(isDropped: (part: Buffer) => boolean = () => false): Transform {
    return new Transform({
      transform: (part, _encoding, done) => {
        if (isDropped(part)) done();
        else void this.#ended.then(() => done(null, part));
      },
    });
  }
}

export class HostileProxy {
  /** In the order of their arrival. */
  readonly asked: Asked[] = [];
  treat: (asked: Asked) => Treatment = () => undefined;
  /** By so much the API server's clock seems to be ahead, milliseconds. */
  aheadMs = 0;
  /** By so much more the clock of the server that answers this seems to be ahead, milliseconds. */
  aheadFor: (asked: Asked) => number = () => 0;
  /** Answers come without Audit-Id, as from what is not Kubernetes. */
  hidesAuditId = false;
  /** Requests without an answer, other than watches. */
  open = 0;
  readonly #server: Server;
  #port = 0;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #upstream: RequestOptions;

  private constructor(upstream: RequestOptions) {
    this.#upstream = { ...upstream, agent: this.#agent };
    this.#server = createServer((request, response) => this.#receive(request, response));
  }

  /**
   * In front of a cluster until the end of the test.
   *
   * @param kubeConfig which one, and as whom the clients of the proxy are there.
   */
  static async start(
    t: Pick<TestContext, 'after'>,
    kubeConfig: KubeConfig = testKubeConfig(),
  ): Promise<HostileProxy> {
    const { hostname, port } = new URL(kubeConfig.getCurrentCluster()?.server ?? '');
    const upstream: RequestOptions = { hostname, port };
    await kubeConfig.applyToHTTPSOptions(upstream);
    const proxy = new HostileProxy(upstream);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    t.after(() => proxy.#stop());
    return proxy;
  }

  /** For a client of the proxy. */
  get kubeConfig(): KubeConfig {
    const { port } = this.#address;
    const kubeConfig = new KubeConfig();
    const server = `http://127.0.0.1:${port}`;
    kubeConfig.loadFromClusterAndUser({ name: 'proxy', server, skipTLSVerify: false }, { name: 'test' });
    return kubeConfig;
  }

  /** Breaks all connections of clients. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** From now on connections are refused, and those that there are break. */
  async leave(): Promise<void> {
    this.#port = this.#address.port;
    const left = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await left;
  }

  /** Where it was before it left. */
  async comeBack(): Promise<void> {
    const back = once(this.#server, 'listening');
    this.#server.listen(this.#port, '127.0.0.1');
    await back;
  }

  get #address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  #stop(): void {
    this.#server.close();
    this.cut();
    this.#agent.destroy();
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://proxy');
    const { method = '', headers } = request;
    const asked: Asked = { method, path: pathname, query: searchParams, accept: headers.accept ?? '' };
    this.asked.push(asked);
    if (!searchParams.has('watch')) {
      this.open++;
      response.on('close', () => this.open--);
    }
    const treatment = this.treat(asked);
    if (treatment === undefined || treatment === lostAnswer) {
      this.#passOn(request, response, asked, treatment);
    } else if ('through' in treatment) {
      this.#passOn(request, response, asked, treatment.through);
    } else if ('instead' in treatment) {
      this.#passOn(request, response, asked, treatment);
    } else {
      request.resume();
      reply(response, treatment);
    }
  }

  #passOn(
    request: IncomingMessage,
    response: ServerResponse,
    asked: Asked,
    through: Transform | typeof lostAnswer | ReplacedAnswer | undefined,
  ): void {
    const { method } = request;
    const { path: pathname, query } = asked;
    const headers = Object.assign({}, request.headers, this.#upstream.headers);
    const path = `${pathname}?${query}`;
    const upstream = startRequest({ ...this.#upstream, method, path, headers }, (answer) => {
      if (through === lostAnswer) {
        response.destroy();
        return;
      }
      if (through !== undefined && 'instead' in through) {
        answer.resume();
        reply(response, through.instead);
        return;
      }
      if (this.hidesAuditId) delete answer.headers['audit-id'];
      const aheadMs = this.aheadMs + this.aheadFor(asked);
      const date = new Date(Date.parse(answer.headers.date ?? '') + aheadMs).toUTCString();
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, date });
      // The first event of a watch may be far away.
      response.flushHeaders();
      const end = () => {};
      if (through === undefined) pipeline(answer, response, end);
      else pipeline(answer, through, response, end);
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  }
}

/** An answer of the proxy's own, or none. */
function reply(response: ServerResponse, answer: OwnAnswer | Silence): void {
  if ('code' in answer) {
    response.writeHead(answer.code, answer.headers).end(answer.body);
    return;
  }
  const since = performance.now();
  response.on('close', () => answer.onGivenUp(performance.now() - since));
}
