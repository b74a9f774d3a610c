/**
 * Subresources beside status: eviction and binding of Pods, scale of workloads, finalize of namespaces.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { ApiRequest } from './api-message.ts';
import type { Etcd } from './etcd.ts';
import { Evictions } from './eviction.ts';
import { badRequest, conflict, Failure, unknownResource } from './failure.ts';
import { mergePatch } from './json-patch.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';
import { listOf } from './pod-defaults.ts';
import { specOf, withCondition } from './pods.ts';
import type { Registry } from './registry.ts';
import type { Router, Target } from './route.ts';
import type { AnyObject } from './strategy.ts';
import { jsonBody, objectBody, optionsOf, type Result } from './writes.ts';

const success = JSON.stringify({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 201,
});

export class Subresources {
  readonly #registry: Registry;
  readonly #etcd: Etcd;
  readonly #evictions: Evictions;

  constructor(registry: Registry, etcd: Etcd, router: Router) {
    this.#registry = registry;
    this.#etcd = etcd;
    this.#evictions = new Evictions(registry, etcd, router);
  }

  /** @throws Failure, 404 for a subresource that the resource does not have. */
  handle(request: ApiRequest, target: Target): Result {
    const key = `${request.method} ${target.subresource}`;
    if (target.resource.subresources?.includes(target.subresource) !== true) throw unknownResource();
    switch (key) {
      case 'POST eviction':
        this.#evictions.evict(request, target);
        return { code: 201, body: success };
      case 'POST binding':
        return this.#bind(request, target);
      case 'PUT finalize':
        return this.#finalize(request, target);
      case 'GET scale':
        return this.#scale(this.#registry.existing(target));
      case 'PUT scale':
      case 'PATCH scale':
        return this.#rescale(request, target);
      default:
        throw new Failure(
          405,
          'MethodNotAllowed',
          'the server does not allow this method on the requested resource',
        );
    }
  }

  #bind(request: ApiRequest, target: Target): Result {
    const binding: KubernetesObject & { readonly target?: { readonly name?: string } } = objectBody(request);
    const node = binding.target?.name;
    if (!node) throw badRequest('target.name: Required value');
    const pod = this.#registry.existing({ ...target, subresource: '' });
    const { name } = target;
    const refuse = (why: string) =>
      conflict({ group: '', plural: 'pods/binding' }, name, `pod ${name} ${why}`);
    const spec = specOf(pod);
    if (pod.metadata.deletionTimestamp) throw refuse('is being deleted, cannot be assigned to a host');
    if (spec.nodeName) throw refuse(`is already assigned to node "${spec.nodeName}"`);
    if (listOf(spec.schedulingGates).length > 0) throw refuse('has non-empty .spec.schedulingGates');
    if (!optionsOf(request).dryRun) {
      const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null };
      const lastTransitionTime = this.#registry.timestamp;
      const bound = withCondition(pod, { ...condition, lastTransitionTime } as { type: string });
      this.#etcd.put(target.resource, { ...bound, spec: { ...spec, nodeName: node } } as AnyObject);
    }
    return { code: 201, body: success };
  }

  #finalize(request: ApiRequest, target: Target): Result {
    const current = this.#registry.existing(target);
    const { spec, metadata } = objectBody(request);
    const { resourceVersion } = metadata;
    const body = {
      ...current,
      metadata: { ...current.metadata, ...(resourceVersion && { resourceVersion }) },
      spec,
    };
    const next = this.#registry.replace(target, current, body as AnyObject, optionsOf(request));
    return { code: 200, body: JSON.stringify(next) };
  }

  #scale(object: AnyObject): Result {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
    const spec = specOf(object);
    const status: JsonObject = isJsonObject(object.status) ? object.status : {};
    const scale = {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: spec.replicas ?? 0 },
      status: { replicas: status.replicas ?? 0, selector: selectorText(spec.selector) },
    };
    return { code: 200, body: JSON.stringify(scale) };
  }

  #rescale(request: ApiRequest, target: Target): Result {
    const current = this.#registry.existing(target);
    const before = JSON.parse(this.#scale(current).body);
    const wanted = request.method === 'PUT' ? jsonBody(request) : mergePatch(before, jsonBody(request));
    const { spec, metadata } = wanted as {
      spec?: { replicas?: number };
      metadata?: { resourceVersion?: string };
    };
    const resourceVersion = metadata?.resourceVersion ?? current.metadata.resourceVersion;
    const body = {
      ...current,
      metadata: { ...current.metadata, resourceVersion },
      spec: { ...specOf(current), replicas: spec?.replicas ?? 0 },
    };
    const next = this.#registry.replace(target, current, body as AnyObject, optionsOf(request));
    return this.#scale(next);
  }
}

function selectorText(selector: unknown): string {
  const labels = isJsonObject(selector) && isJsonObject(selector.matchLabels) ? selector.matchLabels : {};
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}
