/**
 * SimulatedApiServer: one instance of a Kubernetes API server in memory. It has no time and no chance of its own,
 * so that the same requests at the same times give the same answers. Several instances can share one Etcd. The
 * conformance suite holds it against the real one.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';
import type { Random } from '../random.ts';
import type { AdmissionReview } from './admission/admission.ts';
import { namespaceLifecycle } from './admission/namespace-lifecycle.ts';
import { podSecurity } from './admission/pod-security.ts';
import { resourceQuota } from './admission/resource-quota.ts';
import { assertAdmitted, assertAllowed, type Policy, type Webhook } from './admission/webhooks.ts';
import { AnswerHeaders } from './answer-headers.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  isWatch,
  type Method,
  type Responder,
  type ServerTime,
  splitTarget,
} from './api-message.ts';
import type { ApiWatch } from './api-watch.ts';
import { Arrival } from './arrival.ts';
import { CustomResources } from './custom/custom-resources.ts';
import { discovery } from './discovery.ts';
import type { Change, Etcd } from './etcd.ts';
import { Failure, PageNotFound, versionTooLarge } from './failure.ts';
import type { Fault } from './faults.ts';
import { Reads } from './reads.ts';
import { Registry } from './registry.ts';
import { Rights } from './rights.ts';
import { Router, type Target } from './route.ts';
import { collectionOf, type ServedResource } from './served-resource.ts';
import { Subresources } from './subresources.ts';
import { timedOut, timeLimitOf } from './time-limit.ts';
import { AwaitsRevision, AwaitsTime, freshnessLimit } from './wait.ts';
import { WatchCache } from './watch-cache.ts';
import { Watches } from './watches.ts';
import { type Result, Writes } from './writes.ts';

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

const noWaits: ReadonlyMap<string, number> = new Map();

/** How many writes are worked on at the same time, and for how long on each. */
export interface Seats {
  readonly count: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Seconds after which those that are turned away may come back. */
  readonly retryAfter: number;
}

/** One instance of the simulated API server, whose watch cache may lag behind etcd. */
export class SimulatedApiServer {
  readonly name: string;
  readonly etcd: Etcd;
  readonly cache: WatchCache;
  /** Beyond them writes are turned away, as priority and fairness does. Undefined: any number. */
  seats: Seats | undefined;
  /** Asked about every write that is valid, in this order: policies before webhooks. */
  readonly policies: Policy[] = [];
  readonly webhooks: Webhook[] = [];
  intercept: SimulatedApiServerOptions['intercept'];
  readonly #time: ServerTime;
  readonly #router = new Router();
  readonly #reads: Reads;
  readonly #writes: Writes;
  readonly #subresources: Subresources;
  readonly #custom: CustomResources;
  readonly #rights: Rights;
  /** Milliseconds that the request which is worked on has waited, by whom it waited for. */
  #waited: ReadonlyMap<string, number> = noWaits;
  readonly #watches: Watches;
  readonly #listeners: ((request: ApiRequest, answer: ApiAnswer) => void)[] = [];
  readonly #headers: AnswerHeaders;
  #writesUnderWay = 0;

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
    this.#time = time;
    this.cache = new WatchCache({ etcd, time, lag, onChange: (change) => this.#show(change) });
    this.#reads = new Reads(etcd, this.cache);
    this.#watches = new Watches({ etcd, cache: this.cache, time, random });
    this.#rights = new Rights(etcd);
    const security = podSecurity(etcd, this.#router);
    const quota = resourceQuota(etcd, this.#router);
    const registry = new Registry({
      etcd,
      time,
      random,
      enter: namespaceLifecycle(etcd, this.#router),
      admit: (review) => {
        security(review);
        this.#admit(review);
        quota(review);
      },
    });
    this.#writes = new Writes(registry);
    this.#subresources = new Subresources(registry, etcd, this.#router);
    const onGone = (resource: Resource) => this.#endWatches(resource);
    this.#custom = new CustomResources({ etcd, registry, router: this.#router, onGone });
    this.#headers = new AnswerHeaders(time, random);
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
    this.#listeners.push(listener);
  }

  /**
   * Takes a request. It is done in this turn unless something makes it wait.
   *
   * @returns what to call when the client has gone away.
   */
  receive(request: ApiRequest, responder: Responder): { closed(): void } {
    const arrival = new Arrival(request, this.#router.route(request.path), responder);
    if (request.method === 'GET') this.#meetFaults(arrival);
    else this.#seat(arrival);
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
    let answer: ApiAnswer;
    try {
      answer = this.#answered(this.#perform(request, this.#router.route(request.path)));
    } catch (error) {
      answer = this.#failed(this.#outOfTime(error));
    }
    this.#tell(request, answer);
    return answer;
  }

  #show(change: Change): void {
    this.#watches.show(change);
    this.#custom.see(change);
  }

  #endWatches(resource: Resource): void {
    for (const watch of this.watches) {
      if (collectionOf(watch.target.resource) === collectionOf(resource)) watch.end();
    }
  }

  #seat(arrival: Arrival): void {
    const { count = Number.POSITIVE_INFINITY, duration = 0, retryAfter = 1 } = this.seats ?? {};
    if (this.#writesUnderWay >= count) {
      const text = 'Too many requests, please try again later.';
      this.#sendFault(arrival, { kind: 'status', code: 429, retryAfter, text });
      return;
    }
    this.#writesUnderWay++;
    const serve = () => {
      this.#writesUnderWay--;
      this.#meetFaults(arrival);
    };
    if (duration > 0) this.#time.schedule(duration, serve);
    else serve();
  }

  #meetFaults(arrival: Arrival): void {
    const fault = this.intercept?.(arrival.request, arrival.target);
    switch (fault?.kind) {
      case 'status':
        this.#sendFault(arrival, fault);
        break;
      case 'hang':
        if (fault.commit) this.#performSilently(arrival);
        break;
      case 'cut':
        if (fault.when === 'after') this.#performSilently(arrival);
        arrival.responder.cut();
        break;
      case 'timeout':
        if (fault.commit) this.#performSilently(arrival);
        this.#time.schedule(timeLimitOf(arrival.request.query), () =>
          this.#answer(arrival, this.#failed(timedOut())),
        );
        break;
      case 'delay':
        this.#time.schedule(fault.ms, () => this.#serve(arrival, undefined));
        break;
      case 'mute':
      case 'text':
      case 'drip':
      case undefined:
        this.#serve(arrival, fault);
        break;
    }
  }

  #serve(arrival: Arrival, fault: Fault | undefined): void {
    if (arrival.isOver || (arrival.isClosed && arrival.request.method === 'GET')) return;
    const { request, target } = arrival;
    try {
      if (target !== undefined && isWatch(request)) this.#watch(arrival, target, fault);
      else this.#answer(arrival, this.#answered(this.#perform(request, target, arrival.waited)));
    } catch (error) {
      if (error instanceof AwaitsRevision) this.#serveWhenAt(arrival, error);
      else if (error instanceof AwaitsTime) this.#serveAfter(arrival, error);
      else this.#answer(arrival, this.#failed(error));
    }
  }

  #serveWhenAt(arrival: Arrival, awaits: AwaitsRevision): void {
    const cancel = this.cache.whenAt(awaits.revision, () => {
      timer.cancel();
      this.#serve(arrival, undefined);
    });
    const limit = Math.min(freshnessLimit, timeLimitOf(arrival.request.query));
    const timer = this.#time.schedule(limit, () => {
      cancel();
      this.#answer(arrival, this.#failed(this.#outOfTime(awaits)));
    });
    arrival.onClose(() => {
      cancel();
      timer.cancel();
    });
  }

  /** A webhook takes its time; the request gives up at its own limit. */
  #serveAfter(arrival: Arrival, { ms, whom }: AwaitsTime): void {
    const limit = timeLimitOf(arrival.request.query);
    if (arrival.waitedInAll + ms > limit) {
      this.#time.schedule(limit - arrival.waitedInAll, () => this.#answer(arrival, this.#failed(timedOut())));
      return;
    }
    this.#time.schedule(ms, () => {
      arrival.wait(whom, ms);
      this.#serve(arrival, undefined);
    });
  }

  /** What a request that cannot wait is answered. */
  #outOfTime(error: unknown): unknown {
    if (error instanceof AwaitsTime) return timedOut();
    return error instanceof AwaitsRevision
      ? versionTooLarge(String(error.revision), this.cache.revision)
      : error;
  }

  #watch(arrival: Arrival, target: Target, fault: Fault | undefined): void {
    const { request, responder } = arrival;
    if (this.#router.find('rbac.authorization.k8s.io', 'v1', 'clusterroles')) this.#rights.assertMay(request);
    const headers = this.#headers.next();
    const close = this.#watches.start(request, target, responder, {
      fault,
      begin: () => {
        this.#tell(request, { code: 200, headers, body: '' });
        responder.begin(headers);
      },
    });
    arrival.onClose(close);
  }

  #performSilently({ request, target }: Arrival): void {
    try {
      this.#perform(request, target);
    } catch (error) {
      if (!(error instanceof Failure || error instanceof AwaitsRevision || error instanceof AwaitsTime))
        throw error;
    }
  }

  #admit(review: AdmissionReview): void {
    for (const policy of this.policies) assertAllowed(policy, review);
    for (const webhook of this.webhooks) {
      assertAdmitted(webhook, review, this.#waited.get(webhook.name) ?? 0);
    }
  }

  #perform(request: ApiRequest, target: Target | undefined, waited = noWaits): Result {
    this.#waited = waited;
    timeLimitOf(request.query);
    if (this.#router.find('rbac.authorization.k8s.io', 'v1', 'clusterroles')) this.#rights.assertMay(request);
    if (target === undefined) return { code: 200, body: discovery(request.path, this.#router.resources) };
    const { subresource, resource } = target;
    if (subresource !== '' && !(subresource === 'status' && resource.status !== false)) {
      return this.#subresources.handle(request, target);
    }
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
        return target.name === ''
          ? this.#deleteCollection(request, target)
          : this.#writes.delete(request, target);
      default:
        throw new Failure(
          405,
          'MethodNotAllowed',
          'the server does not allow this method on the requested resource',
        );
    }
  }

  #deleteCollection(request: ApiRequest, target: Target): Result {
    const body = this.#reads.list(request, target);
    const { items }: { items: readonly KubernetesObject[] } = JSON.parse(body);
    for (const { metadata } of items) {
      const { name, namespace = '' } = metadata;
      this.#writes.delete(request, { ...target, name, namespace });
    }
    return { code: 200, body };
  }

  #answered({ code, body }: Result): ApiAnswer {
    return { code, headers: this.#headers.next(), body };
  }

  #failed(error: unknown): ApiAnswer {
    if (!(error instanceof Failure)) throw error;
    if (error instanceof PageNotFound) {
      return { code: 404, headers: this.#headers.next('text/plain; charset=utf-8'), body: error.text };
    }
    const retryAfter = error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) };
    const headers = { ...this.#headers.next(), ...retryAfter };
    return { code: error.status.code, headers, body: JSON.stringify(error.status) };
  }

  #sendFault(arrival: Arrival, fault: Fault & { kind: 'status' }): void {
    const { code, reason = '', retryAfter, text, contentType = 'text/plain; charset=utf-8' } = fault;
    if (text === undefined) {
      const details = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter };
      this.#answer(arrival, this.#failed(new Failure(code, reason, `scripted ${code}`, details)));
      return;
    }
    // As something in between answers: without what tells an answer of Kubernetes.
    const headers = {
      'content-type': contentType,
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    };
    this.#answer(arrival, { code, headers, body: text });
  }

  #answer(arrival: Arrival, answer: ApiAnswer): void {
    arrival.isOver = true;
    this.#tell(arrival.request, answer);
    arrival.responder.answer(answer);
  }

  #tell(request: ApiRequest, answer: ApiAnswer): void {
    for (const listener of this.#listeners) listener(request, answer);
  }
}
