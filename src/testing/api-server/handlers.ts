/**
 * Handlers of one API server: what a request does once it is worked on. Authorization, admission, reads, writes,
 * subresources and discovery, each in one place.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Random } from '../random.ts';
import { reviewed } from './access-reviews.ts';
import type { AdmissionReview } from './admission/admission.ts';
import { namespaceLifecycle } from './admission/namespace-lifecycle.ts';
import { podSecurity } from './admission/pod-security.ts';
import { resourceQuota } from './admission/resource-quota.ts';
import { assertAdmitted, assertAllowed, type Policy, type Webhook } from './admission/webhooks.ts';
import type { ApiRequest, ServerTime } from './api-message.ts';
import { CustomResources } from './custom/custom-resources.ts';
import { discovery } from './discovery.ts';
import type { Change, Etcd } from './etcd.ts';
import { type Failure, methodNotAllowed, unknownResource } from './failure.ts';
import { Reads } from './reads.ts';
import { Registry } from './registry.ts';
import { Rights } from './rights.ts';
import type { Router, Target } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import { Subresources } from './subresources.ts';
import { timeLimitOf } from './time-limit.ts';
import type { WatchCache } from './watch-cache.ts';
import { type Result, Writes } from './writes.ts';

export interface HandlersOptions {
  readonly etcd: Etcd;
  readonly cache: WatchCache;
  readonly time: ServerTime;
  readonly random: Random;
  readonly router: Router;
  /** Called when a custom resource is served no more. */
  readonly onGone: (resource: ServedResource) => void;
}

const noWaits: ReadonlyMap<string, number> = new Map();

export class Handlers {
  /** Asked about every write that is valid, in this order: policies before webhooks. */
  readonly policies: Policy[] = [];
  readonly webhooks: Webhook[] = [];
  readonly #router: Router;
  readonly #reads: Reads;
  readonly #writes: Writes;
  readonly #subresources: Subresources;
  readonly #custom: CustomResources;
  readonly #rights: Rights;
  /** Milliseconds that the request which is worked on has waited, by whom it waited for. */
  #waited: ReadonlyMap<string, number> = noWaits;

  constructor({ etcd, cache, time, random, router, onGone }: HandlersOptions) {
    this.#router = router;
    this.#reads = new Reads(etcd, cache);
    this.#rights = new Rights(etcd);
    const security = podSecurity(etcd, router);
    const quota = resourceQuota(etcd, router);
    const registry = new Registry({
      etcd,
      time,
      random,
      enter: namespaceLifecycle(etcd, router),
      admit: (review) => {
        security(review);
        this.#admit(review);
        quota(review);
      },
    });
    this.#writes = new Writes(registry);
    this.#subresources = new Subresources(registry, etcd, router);
    this.#custom = new CustomResources({ etcd, registry, router, onGone });
  }

  /** A change as the watch cache takes it up: definitions of custom resources change what is served. */
  see(change: Change): void {
    this.#custom.see(change);
  }

  /** @throws Failure 403, where RBAC is served. */
  assertMay(request: ApiRequest): void {
    if (this.#hasRights) this.#rights.assertMay(request);
  }

  /** Elsewhere all users have all rights. */
  get #hasRights(): boolean {
    return this.#router.find('rbac.authorization.k8s.io', 'v1', 'clusterroles') !== undefined;
  }

  /**
   * Any request but a watch.
   *
   * @param waited milliseconds that it has waited, by the name of the webhook it waited for.
   * @returns a Failure where discovery finds nothing.
   * @throws Failure, or what it has to wait for.
   */
  perform(request: ApiRequest, target: Target | undefined, waited = noWaits): Result | Failure {
    this.#waited = waited;
    timeLimitOf(request.query);
    this.assertMay(request);
    if (target === undefined) {
      const body = discovery(request.path, this.#router.resources);
      return typeof body === 'string' ? { code: 200, body } : body;
    }
    const { subresource, resource } = target;
    if (subresource !== '' && !(subresource === 'status' && resource.status !== false)) {
      return this.#subresources.handle(request, target);
    }
    if (resource.isStored === false) return this.#answer(request, target);
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
        throw methodNotAllowed();
    }
  }

  /** What is kept nowhere has no names. */
  #answer(request: ApiRequest, target: Target): Result {
    if (target.name !== '') throw unknownResource();
    if (request.method !== 'POST') throw methodNotAllowed();
    return reviewed(request, target, this.#hasRights ? this.#rights : undefined);
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

  #admit(review: AdmissionReview): void {
    for (const policy of this.policies) assertAllowed(policy, review);
    for (const webhook of this.webhooks) {
      assertAdmitted(webhook, review, this.#waited.get(webhook.name) ?? 0);
    }
  }
}
