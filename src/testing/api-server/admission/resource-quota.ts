/**
 * Resource quota: what a namespace may hold. Usage is counted where it is asked for, so that no controller has to
 * follow it.
 */
import type { KubernetesObject } from '../../../kubernetes/objects.ts';
import type { Etcd } from '../etcd.ts';
import { forbidden } from '../failure.ts';
import { isJsonObject, type JsonObject } from '../json-value.ts';
import { listOf } from '../pod-defaults.ts';
import { phaseOf, specOf } from '../pods.ts';
import type { Router } from '../route.ts';
import type { ServedResource } from '../served-resource.ts';
import type { AnyObject } from '../strategy.ts';
import type { AdmissionReview, Admit } from './admission.ts';
import { amountOf, quantityText } from './quantity.ts';

const countable = ['configmaps', 'secrets', 'services', 'resourcequotas', 'persistentvolumeclaims'];

/** @returns what refuses a create with 403 when a quota is exceeded. */
export function resourceQuota(etcd: Etcd, router: Router): Admit {
  return (review) => {
    const { operation, namespace, object, subresource } = review;
    if (operation !== 'CREATE' || object === undefined || subresource !== '') return;
    const quotas = router.find('', 'v1', 'resourcequotas');
    if (quotas === undefined || namespace === '') return;
    for (const quota of etcd.list(quotas, namespace)) assertWithin(etcd, review, object, quota);
  };
}

function assertWithin(etcd: Etcd, review: AdmissionReview, object: AnyObject, quota: KubernetesObject): void {
  const { resource, namespace, name } = review;
  const { hard } = specOf(quota);
  const limits = Object.entries(isJsonObject(hard) ? hard : {}).filter(([key]) => isOf(key, resource));
  if (limits.length === 0) return;
  const missing = limits.flatMap(([key]) => containersWithout(key, resource, object));
  const quotaName = quota.metadata.name;
  if (missing.length > 0) {
    throw forbidden(resource, name, `failed quota: ${quotaName}: must specify ${missing.join('; ')}`);
  }
  const living = etcd.list(resource, namespace).filter((other) => !hasEnded(resource, other));
  const exceeded = limits
    .map(([key, limit]) => ({
      key,
      limit: String(limit),
      requested: usageOf(key, resource, object),
      used: living.reduce((sum, other) => sum + usageOf(key, resource, other), 0),
    }))
    .filter(({ limit, requested, used }) => requested > 0 && used + requested > amountOf(limit))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  if (exceeded.length === 0) return;
  const list = (text: (item: (typeof exceeded)[number]) => string) =>
    exceeded.map((item) => `${item.key}=${text(item)}`).join(',');
  const requested = list((item) => quantityText(item.requested));
  const used = list((item) => quantityText(item.used));
  const limited = list(({ limit }) => limit);
  const why = `exceeded quota: ${quotaName}, requested: ${requested}, used: ${used}, limited: ${limited}`;
  throw forbidden(resource, name, why);
}

function isOf(key: string, { group, plural }: ServedResource): boolean {
  if (key === `count/${group === '' ? plural : `${plural}.${group}`}`) return true;
  if (group !== '') return false;
  return plural === 'pods'
    ? key === 'pods' || resourceOf(key) !== undefined
    : countable.includes(plural) && key === plural;
}

/** Where a container says what is limited, such as `requests` and `cpu`; undefined for a count. */
function resourceOf(key: string): readonly [side: string, name: string] | undefined {
  if (key === 'cpu' || key === 'memory') return ['requests', key];
  const [side = '', name = ''] = key.split('.', 2);
  return (side === 'requests' || side === 'limits') && name !== '' ? [side, name] : undefined;
}

function amountIn(container: JsonObject, [side, name]: readonly [string, string]): unknown {
  const resources = isJsonObject(container.resources) ? container.resources : {};
  const [own, limits] = [resources[side], resources.limits];
  const value = isJsonObject(own) ? own[name] : undefined;
  return value ?? (isJsonObject(limits) ? limits[name] : undefined);
}

function containersWithout(key: string, { plural, group }: ServedResource, object: AnyObject): string[] {
  const place = resourceOf(key);
  if (place === undefined || plural !== 'pods' || group !== '') return [];
  const names = listOf(specOf(object).containers)
    .filter((container) => amountIn(container, place) === undefined)
    .map(({ name }) => name);
  return names.length === 0 ? [] : [`${key} for: ${names.join(',')}`];
}

function usageOf(key: string, resource: ServedResource, object: AnyObject): number {
  const place = resourceOf(key);
  if (place === undefined || resource.plural !== 'pods') return 1;
  const amounts = listOf(specOf(object).containers).map((container) => amountIn(container, place));
  return amounts.reduce(
    (sum: number, amount) => sum + (amount === undefined ? 0 : amountOf(String(amount))),
    0,
  );
}

/** What has ended takes no room, though the object is there. */
function hasEnded({ plural, group }: ServedResource, object: AnyObject): boolean {
  if (plural !== 'pods' || group !== '') return false;
  const phase = phaseOf(object);
  return phase === 'Succeeded' || phase === 'Failed';
}
