/**
 * Eviction: a delete of a Pod that holds to PodDisruptionBudgets.
 */

import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { LabelSelector } from '../../kubernetes/selector.ts';
import { selects } from '../../kubernetes/selector.ts';
import type { ApiRequest } from './api-message.ts';
import { assertPreconditions, type DeleteOptions } from './deletion.ts';
import type { Etcd } from './etcd.ts';
import { badRequest, Failure, type StatusCause } from './failure.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';
import { listOf } from './pod-defaults.ts';
import { phaseOf, withCondition } from './pods.ts';
import type { Registry, WriteOptions } from './registry.ts';
import type { Router, Target } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import type { AnyObject } from './strategy.ts';
import { objectBody, optionsOf } from './writes.ts';

const violation = "Cannot evict pod as it would violate the pod's disruption budget.";

interface EvictionBody extends KubernetesObject {
  readonly deleteOptions?: DeleteOptions;
}

export class Evictions {
  readonly #registry: Registry;
  readonly #etcd: Etcd;
  readonly #router: Router;

  constructor(registry: Registry, etcd: Etcd, router: Router) {
    this.#registry = registry;
    this.#etcd = etcd;
    this.#router = router;
  }

  /** @throws Failure 429 when a budget does not allow it. */
  evict(request: ApiRequest, target: Target): void {
    const { metadata, deleteOptions = {} }: EvictionBody = objectBody(request);
    if (metadata.name !== target.name) throw badRequest('name in URL does not match name in Eviction object');
    const options = optionsOf(request);
    const write = { ...options, dryRun: options.dryRun || (deleteOptions.dryRun ?? []).length > 0 };
    const podTarget = { ...target, subresource: '' };
    const pod = this.#registry.existing(podTarget);
    if (!mayIgnoreBudgets(pod)) this.#meetBudget(pod, target.namespace, write);
    this.#delete(podTarget, pod, deleteOptions, write);
  }

  #meetBudget(pod: AnyObject, namespace: string, write: WriteOptions): void {
    const resource = this.#router.find('policy', 'v1', 'poddisruptionbudgets');
    if (resource === undefined) return;
    const budgets = this.#etcd.list(resource, namespace).filter((budget) => {
      const { spec }: AnyObject = budget;
      return (
        isJsonObject(spec) &&
        isJsonObject(spec.selector) &&
        selects(spec.selector as LabelSelector, pod.metadata.labels)
      );
    });
    if (budgets.length > 1) {
      const why =
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
      throw new Failure(500, '', why);
    }
    const [budget] = budgets;
    if (budget === undefined || mayEvictUnready(pod, budget)) return;
    this.#decrement(resource, budget, pod, write);
  }

  /** Takes one disruption off the budget. */
  #decrement(resource: ServedResource, budget: AnyObject, pod: AnyObject, write: WriteOptions): void {
    const { name, namespace = '', generation = 0 } = budget.metadata;
    const status = statusOf(budget);
    if (Number(status.observedGeneration ?? 0) < generation) throw beingProcessed(name);
    const allowed = Number(status.disruptionsAllowed ?? 0);
    if (allowed <= 0) throw tooManyRequests(refusalOf(name, status));
    if (write.dryRun) return;
    const disrupted = isJsonObject(status.disruptedPods) ? status.disruptedPods : {};
    const next = {
      ...status,
      disruptionsAllowed: allowed - 1,
      disruptedPods: { ...disrupted, [pod.metadata.name]: this.#registry.timestamp },
    };
    const target = { resource, namespace, name, subresource: 'status' };
    this.#registry.replace(
      target,
      budget,
      { ...budget, status: next },
      { ...write, user: 'system:apiserver' },
    );
  }

  #delete(target: Target, pod: AnyObject, options: DeleteOptions, write: WriteOptions): void {
    if (!write.dryRun) {
      assertPreconditions(target, pod, options);
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: this.#registry.timestamp,
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      };
      this.#registry.replace({ ...target, subresource: 'status' }, pod, withCondition(pod, condition), write);
    }
    // The condition has made another version of it.
    const { resourceVersion, ...preconditions } = options.preconditions ?? {};
    this.#registry.delete(target, { ...options, preconditions }, write);
  }
}

/** What does not run, or is going anyway, disrupts nothing more. */
function mayIgnoreBudgets(pod: AnyObject): boolean {
  const phase = phaseOf(pod);
  return (
    phase === 'Succeeded' ||
    phase === 'Failed' ||
    phase === 'Pending' ||
    pod.metadata.deletionTimestamp !== undefined
  );
}

function mayEvictUnready({ status }: AnyObject, budget: AnyObject): boolean {
  const conditions = isJsonObject(status) ? listOf(status.conditions) : [];
  if (conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return false;
  const { spec } = budget;
  if (isJsonObject(spec) && spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = statusOf(budget);
  return Number(currentHealthy) >= Number(desiredHealthy) && Number(desiredHealthy) > 0;
}

function statusOf({ status }: AnyObject): JsonObject {
  return isJsonObject(status) ? status : {};
}

function refusalOf(name: string, status: JsonObject): string {
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  const condition = listOf(status.conditions).find(({ type }) => type === 'DisruptionAllowed');
  const says = condition?.status === 'False' && condition.message ? condition : undefined;
  const prefix = `The disruption budget ${name}`;
  if (says?.reason === 'SyncFailed') {
    return `${prefix} does not allow evicting pods currently because it failed sync: ${says.message}`;
  }
  if (Number(currentHealthy) <= Number(desiredHealthy)) {
    return `${prefix} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  if (says !== undefined)
    return `${prefix} does not allow evicting pods currently (${says.reason}): ${says.message}`;
  return `${prefix} does not allow evicting pods currently`;
}

function beingProcessed(name: string): Failure {
  return tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, 10);
}

function tooManyRequests(message: string, retryAfterSeconds?: number): Failure {
  const causes: StatusCause[] = [{ reason: 'DisruptionBudget', message }];
  const details = { causes, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
  return new Failure(429, 'TooManyRequests', violation, details);
}
