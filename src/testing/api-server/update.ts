/**
 * Update: the object that an update or a patch makes of the stored one. The status and what only the server may set
 * are not taken from the body, and the generation counts what else has changed.
 */
import { apiVersionOf, type ObjectMeta } from '../../kubernetes/objects.ts';
import { equalJson } from './json-value.ts';
import type { Target } from './route.ts';
import type { AnyObject } from './strategy.ts';

/** Kind and version as they are served. */
export function typeOf({ resource }: Target): { kind: string; apiVersion: string } {
  return { kind: resource.kind, apiVersion: apiVersionOf(resource) };
}

/** With what the subresource lets the body change. */
export function updated(target: Target, current: AnyObject, body: AnyObject): AnyObject {
  return target.subresource === 'status' ? statusOf(target, current, body) : mainOf(target, current, body);
}

/** A write to the status subresource changes the status alone. */
function statusOf({ resource }: Target, current: AnyObject, body: AnyObject): AnyObject {
  const { status, ...rest } = current;
  const next = body.status === undefined ? rest : { ...rest, status: body.status };
  if (!resource.statusTakesMetadata) return next;
  const { ownerReferences } = current.metadata;
  return { ...next, metadata: { ...metadataOf(current, body), ...(ownerReferences && { ownerReferences }) } };
}

const serverSet = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'resourceVersion',
  'managedFields',
  'namespace',
] as const;

/** Any other write keeps the status and what only the server may set. */
function mainOf(target: Target, current: AnyObject, body: AnyObject): AnyObject {
  const next: Record<string, unknown> = { ...body, ...typeOf(target), metadata: metadataOf(current, body) };
  if (target.resource.status !== false) {
    if (current.status === undefined) delete next.status;
    else next.status = current.status;
  }
  return next as unknown as AnyObject;
}

/** That of the body, with what only the server may set. */
function metadataOf(current: AnyObject, body: AnyObject): ObjectMeta {
  const metadata: Record<string, unknown> = { ...body.metadata };
  for (const field of serverSet) {
    const value = current.metadata[field];
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
  return metadata as unknown as ObjectMeta;
}

/** With the generation counted when anything but metadata and status has changed. */
export function counted(next: AnyObject, current: AnyObject): AnyObject {
  const { generation } = current.metadata;
  if (generation === undefined || samePayload(next, current)) return next;
  return { ...next, metadata: { ...next.metadata, generation: generation + 1 } };
}

const noPayload = ['kind', 'apiVersion', 'metadata', 'status'];

function samePayload(a: AnyObject, b: AnyObject): boolean {
  for (const key in a) if (!noPayload.includes(key) && !sameField(a, b, key)) return false;
  for (const key in b) if (!noPayload.includes(key) && !(key in a)) return false;
  return true;
}

function sameField(a: object, b: object, key: string): boolean {
  return equalJson(Reflect.get(a, key), Reflect.get(b, key));
}

/** Whether nothing is to be stored. */
export function isSame(next: AnyObject, current: AnyObject): boolean {
  return (
    samePayload(next, current) &&
    equalJson(next.metadata, current.metadata) &&
    equalJson(next.status, current.status)
  );
}
