/**
 * SimulatedApiServer: one instance of a Kubernetes API server in memory. It has no time and no chance of its own,
 * so that the same requests at the same times give the same answers. Several instances can share one Etcd. The
 * conformance suite holds it against the real one.
 */
import type { Resource } from '../../kubernetes/objects.ts';
import type { Random } from '../random.ts';
import type { Policy, Webhook } from './admission/webhooks.ts';
import { Answers } from './answers.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type Method,
  type Responder,
  type ServerTime,
  splitTarget,
} from './api-message.ts';
import type { ApiWatch } from './api-watch.ts';
import { Arrival } from './arrival.ts';
import type { Change, Etcd } from './etcd.ts';
import type { Fault } from './faults.ts';
import { HandlerChain, type Seats } from './handler-chain.ts';
import { Handlers } from './handlers.ts';
import { Router, type Target } from './route.ts';
import { collectionOf, type ServedResource } from './served-resource.ts';
import { WatchCache } from './watch-cache.ts';
import { Watches } from './watches.ts';

export interface SimulatedApiServerOptions {
  readonly etcd: Etcd;
  readonly time: ServerTime;
  readonly random: Random;
  readonly name: string;
  readonly resources?: readonly ServedResource[];
  /** Milliseconds by which the watch cache follows etcd, asked for each change. Default 0: in the same turn. */
  readonly lag?: () => number;
  /** Says what goes wrong with a request. */
  readonly intercept?: (request: ApiRequest, target: Target | undefined) => Fault | undefined;
}

/** One instance of the simulated API server, whose watch cache may lag behind etcd. */
export class SimulatedApiServer {
  readonly name: string;
  readonly etcd: Etcd;
  readonly cache: WatchCache;
  /** Beyond them writes are turned away, as priority and fairness does. Undefined: any number. */
  seats: Seats | undefined;
  intercept: SimulatedApiServerOptions['intercept'];
  readonly #router = new Router();
  readonly #watches: Watches;
  readonly #handlers: Handlers;
  readonly #chain: HandlerChain;

  constructor({
    etcd,
    time,
    random,
    name,
    resources = [],
    lag = () => 0,
    intercept,
  }: SimulatedApiServerOptions) {
    this.name = name;
    this.etcd = etcd;
    this.intercept = intercept;
    const cache = new WatchCache({ etcd, time, lag, onChange: (change) => this.#show(change) });
    this.cache = cache;
    const watches = new Watches({ etcd, cache, time, random });
    this.#watches = watches;
    const onGone = (resource: Resource) => this.#endWatches(resource);
    const handlers = new Handlers({ etcd, cache, time, random, router: this.#router, onGone });
    this.#handlers = handlers;
    const answers = new Answers(time, random);
    this.#chain = new HandlerChain({ time, cache, handlers, watches, answers, conditions: this });
    for (const resource of resources) this.#router.add(resource);
  }

  /** The watches that are open. */
  get watches(): readonly ApiWatch[] {
    return this.#watches.open;
  }

  /** What is served. */
  get resources(): readonly ServedResource[] {
    return this.#router.resources;
  }

  /** Asked about every write that is valid, in this order: policies before webhooks. */
  get policies(): Policy[] {
    return this.#handlers.policies;
  }

  get webhooks(): Webhook[] {
    return this.#handlers.webhooks;
  }

  /** From now on the resource is served, as when its CRD is created. */
  register(resource: ServedResource): void {
    this.#router.add(resource);
  }

  /** From now on it is not; its watches end. */
  unregister(resource: Resource): void {
    this.#router.remove(resource);
    this.#endWatches(resource);
  }

  /** What a path names; undefined when it is none of a resource that is served. */
  route(path: string): Target | undefined {
    return this.#router.route(path);
  }

  /** Called with every request and its answer; of a watch with the headers of its stream. */
  onRequest(listener: (request: ApiRequest, answer: ApiAnswer) => void): void {
    this.#chain.onRequest(listener);
  }

  /**
   * Takes a request. It is done in this turn unless something makes it wait.
   *
   * @returns what to call when the client has gone away.
   */
  receive(request: ApiRequest, responder: Responder): { closed(): void } {
    const arrival = new Arrival(request, this.#router.route(request.path), responder);
    this.#chain.receive(arrival);
    return { closed: () => arrival.close() };
  }

  /** For simulated actors: the same admission and rights, and the answer at once. What would wait has timed out. */
  request(user: string, method: Method, target: string, body?: object, contentType?: string): ApiAnswer {
    const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
    const request: ApiRequest = {
      method,
      ...splitTarget(target),
      headers: { 'content-type': type, 'user-agent': user },
      body: body === undefined ? '' : JSON.stringify(body),
      user,
    };
    return this.#chain.answerNow(request, this.#router.route(request.path));
  }

  #show(change: Change): void {
    this.#watches.show(change);
    this.#handlers.see(change);
  }

  #endWatches(resource: Resource): void {
    for (const watch of this.watches) {
      if (collectionOf(watch.target.resource) === collectionOf(resource)) watch.end();
    }
  }
}
