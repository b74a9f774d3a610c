/**
 * Registry: creates, replaces and deletes objects in etcd under the rules that hold for all of them: versions,
 * uids, generation, status, finalizers, graceful deletion, dry runs and who owns which field.
 */
import { apiVersionOf, type KubernetesObject, type ObjectMeta } from '../../kubernetes/objects.ts';
import type { Random } from '../random.ts';
import type { AdmissionReview, Admit } from './admission/admission.ts';
import type { ServerTime } from './api-message.ts';
import type { Etcd } from './etcd.ts';
import { alreadyExists, conflict, Failure, invalid, notFound, requiredValue, stale } from './failure.ts';
import { FieldOwners, type Manager } from './field-owners.ts';
import { equalJson } from './json-value.ts';
import { metadataErrors } from './metadata-rules.ts';
import type { Target } from './route.ts';
import type { AnyObject } from './strategy.ts';

/** How a write is to be done. */
export interface WriteOptions {
  readonly user: string;
  readonly manager: string;
  readonly dryRun: boolean;
}

/** metav1.DeleteOptions. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly dryRun?: readonly string[];
}

export interface RegistryOptions {
  readonly etcd: Etcd;
  readonly time: ServerTime;
  readonly random: Random;
  /** Asked about each write before it is looked at any closer. */
  readonly enter: Admit;
  /** Asked about each write, once it is known to be valid. */
  readonly admit: Admit;
}

/** What deletion leaves of an object. */
export interface Deleted {
  readonly object: KubernetesObject;
  /** False: it is only marked. */
  readonly isGone: boolean;
}

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

export class Registry {
  readonly #etcd: Etcd;
  readonly #time: ServerTime;
  readonly #random: Random;
  readonly #enter: Admit;
  readonly #admit: Admit;
  /** By stored object, so that all servers on one etcd know the same. */
  static readonly #owners = new WeakMap<KubernetesObject, FieldOwners>();

  constructor({ etcd, time, random, enter, admit }: RegistryOptions) {
    this.#etcd = etcd;
    this.#time = time;
    this.#random = random;
    this.#enter = enter;
    this.#admit = admit;
  }

  /** Now, as RFC 3339 with whole seconds. */
  get timestamp(): string {
    return rfc3339(this.#time.now);
  }

  find({ resource, namespace, name }: Target): AnyObject | undefined {
    return this.#etcd.get(resource, namespace, name);
  }

  /** @throws Failure 404. */
  existing(target: Target): AnyObject {
    const object = this.find(target);
    if (object === undefined) throw notFound(target.resource, target.name);
    return object;
  }

  ownersOf(object: KubernetesObject | undefined): FieldOwners {
    return (object && Registry.#owners.get(object)) ?? new FieldOwners();
  }

  /** Stores an object that is new. `owners` are those that an apply has found out. */
  insert(target: Target, body: AnyObject, options: WriteOptions, owners?: FieldOwners): KubernetesObject {
    const { resource, namespace } = target;
    const {
      resourceVersion,
      generation,
      deletionTimestamp,
      deletionGracePeriodSeconds,
      managedFields,
      ...given
    } = body.metadata;
    if (resourceVersion) {
      throw new Failure(500, '', 'resourceVersion should not be set on objects to be created');
    }
    const name = given.name || (given.generateName && `${given.generateName}${this.#suffix()}`);
    if (!name)
      throw invalid(resource, '', [requiredValue('metadata.name', 'name or generateName is required')]);
    this.#enter(reviewOf({ ...target, name }, 'CREATE', options, body, undefined));
    const metadata: ObjectMeta = {
      ...given,
      name,
      ...(resource.namespaced && { namespace }),
      uid: this.#random.uuid(),
      ...(resource.generation !== false && { generation: 1 }),
      creationTimestamp: this.timestamp,
    };
    const { status, ...rest } = body;
    const kept = resource.status === false && status !== undefined ? { status } : {};
    const context = { subresource: '', now: this.timestamp };
    const made = { ...rest, ...typeOf(target), metadata, ...kept };
    const object = resource.strategy?.prepare?.(made, undefined, context) ?? made;
    this.#assertValid({ ...target, name }, object, undefined);
    this.#admit(reviewOf({ ...target, name }, 'CREATE', options, object, undefined));
    if (this.#etcd.get(resource, namespace, name)) throw alreadyExists(resource, name);
    return this.#put({ ...target, name }, undefined, object, options, owners);
  }

  /** What every change of an existing object has in common, whatever verb it came by. */
  replace(
    target: Target,
    current: AnyObject,
    body: AnyObject,
    options: WriteOptions,
    owners?: FieldOwners,
  ): KubernetesObject {
    const { resource, name, subresource } = target;
    const { resourceVersion } = body.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw stale(resource, name);
    const context = { subresource, now: this.timestamp };
    const made = subresource === 'status' ? statusOf(target, current, body) : mainOf(target, current, body);
    const prepared = resource.strategy?.prepare?.(made, current, context) ?? made;
    const next = counted(prepared, current);
    this.#assertValid(target, next, current);
    this.#admit(reviewOf(target, 'UPDATE', options, next, current));
    if (isSame(next, current)) return current;
    return this.#put(target, current, next, options, owners);
  }

  /** @throws Failure 409 when a precondition does not hold. */
  delete(target: Target, options: DeleteOptions, write: WriteOptions): Deleted {
    const current = this.existing(target);
    assertPreconditions(target, current, options);
    const review = reviewOf(target, 'DELETE', write, undefined, current);
    this.#enter(review);
    this.#admit(review);
    const grace = graceOf(target, current, options);
    if (grace === 'pending') return { object: current, isGone: false };
    const finalizers = finalizersFor(current.metadata.finalizers ?? [], options.propagationPolicy);
    const isHeld = finalizers.length > 0 || target.resource.strategy?.isHeld?.(current) === true;
    const isOver = !isHeld && (grace ?? 0) === 0;
    if (write.dryRun) return { object: current, isGone: isOver };
    // What is deleted gracefully is marked first even when it is gone at once.
    const isMarked = grace !== undefined || isHeld;
    const marked = isMarked ? this.#mark(target, current, grace, finalizers) : current;
    if (!isOver) return { object: marked, isGone: false };
    return { object: this.#etcd.remove(target.resource, marked), isGone: true };
  }

  #mark(
    { resource }: Target,
    current: AnyObject,
    grace: number | undefined,
    finalizers: readonly string[],
  ): AnyObject {
    const { finalizers: _, generation, ...rest } = current.metadata;
    const isFirst = rest.deletionTimestamp === undefined;
    const metadata = {
      ...rest,
      ...(finalizers.length > 0 && { finalizers }),
      ...(generation !== undefined && { generation: isFirst ? generation + 1 : generation }),
      ...this.#deadline(current, grace),
    };
    const marked = { ...current, metadata };
    const next = isFirst ? (resource.strategy?.terminating?.(marked) ?? marked) : marked;
    if (isSame(next, current)) return current;
    const owners = Registry.#owners.get(current);
    const stored = this.#etcd.put(resource, next);
    if (owners) Registry.#owners.set(stored, owners);
    return stored;
  }

  /** When an object that is being deleted is to be gone. */
  #deadline(
    { metadata: { deletionTimestamp, deletionGracePeriodSeconds = 0 } }: AnyObject,
    grace: number | undefined,
  ): Pick<ObjectMeta, 'deletionTimestamp' | 'deletionGracePeriodSeconds'> {
    const { now } = this.#time;
    if (deletionTimestamp === undefined) {
      const seconds = grace ?? 0;
      return { deletionTimestamp: rfc3339(now + seconds * 1000), deletionGracePeriodSeconds: seconds };
    }
    if (grace === undefined) return { deletionTimestamp, deletionGracePeriodSeconds };
    // A shorter period counts from the delete that began it.
    const end = Date.parse(deletionTimestamp) + (grace - deletionGracePeriodSeconds) * 1000;
    if (end >= now || grace === 0) {
      return { deletionTimestamp: rfc3339(Math.max(end, now)), deletionGracePeriodSeconds: grace };
    }
    return { deletionTimestamp: rfc3339(now), deletionGracePeriodSeconds: 1 };
  }

  #put(
    target: Target,
    current: AnyObject | undefined,
    next: AnyObject,
    { dryRun, manager }: WriteOptions,
    applied: FieldOwners | undefined,
  ): KubernetesObject {
    const { resource, subresource } = target;
    if (dryRun) return next;
    if (current !== undefined && isReleased(target, current, next)) {
      this.#etcd.remove(resource, current);
      return next;
    }
    const owners = applied ?? this.ownersOf(current);
    const by: Manager = { name: manager, operation: 'Update', subresource };
    if (applied === undefined) owners.update(current ?? {}, next, by, this.timestamp);
    const managedFields = resource.managedFields ? owners.entries(apiVersionOf(resource)) : [];
    const object =
      managedFields.length > 0 ? { ...next, metadata: { ...next.metadata, managedFields } } : next;
    const stored = this.#etcd.put(resource, object);
    Registry.#owners.set(stored, owners);
    return stored;
  }

  #assertValid(target: Target, object: AnyObject, old: AnyObject | undefined): void {
    const { resource, subresource } = target;
    const context = { subresource, now: this.timestamp };
    const errors = [
      ...metadataErrors(resource, object.metadata, old?.metadata),
      ...(resource.strategy?.validate?.(object, old, context) ?? []),
    ];
    if (errors.length > 0) throw invalid(resource, object.metadata.name, errors);
  }

  /** Five characters as the API server makes them: no vowels, so no words. */
  #suffix(): string {
    const letters = 'bcdfghjklmnpqrstvwxz2456789';
    return Array.from({ length: 5 }, () => letters[this.#random.integer(letters.length)]).join('');
  }
}

let lastSecond = -1;
let lastText = '';

function rfc3339(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}

function typeOf({ resource }: Target): { kind: string; apiVersion: string } {
  return { kind: resource.kind, apiVersion: apiVersionOf(resource) };
}

function reviewOf(
  { resource, subresource, namespace, name }: Target,
  operation: AdmissionReview['operation'],
  { user, dryRun }: WriteOptions,
  object: AnyObject | undefined,
  oldObject: AnyObject | undefined,
): AdmissionReview {
  return { operation, resource, subresource, namespace, name, user, dryRun, object, oldObject };
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
function counted(next: AnyObject, current: AnyObject): AnyObject {
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

function isSame(next: AnyObject, current: AnyObject): boolean {
  return (
    samePayload(next, current) &&
    equalJson(next.metadata, current.metadata) &&
    equalJson(next.status, current.status)
  );
}

/** Whether an update has taken away the last thing that held an object which is being deleted. */
function isReleased({ resource }: Target, current: AnyObject, next: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds > 0) return false;
  return (next.metadata.finalizers ?? []).length === 0 && resource.strategy?.isHeld?.(next) !== true;
}

/** @throws Failure 409 */
export function assertPreconditions(
  { resource, name }: Target,
  current: AnyObject,
  { preconditions = {} }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions;
  const byKind = { group: resource.group, plural: resource.kind };
  if (uid && uid !== current.metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${current.metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(byKind, name, why);
  }
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.metadata.resourceVersion}). The object might have been modified`;
    throw conflict(byKind, name, why);
  }
}

/**
 * Seconds that a delete leaves; undefined without graceful deletion, `pending` when one is under way that is not
 * to be shortened.
 */
function graceOf(
  { resource }: Target,
  current: AnyObject,
  { gracePeriodSeconds }: DeleteOptions,
): number | 'pending' | undefined {
  const gracePeriod = resource.strategy?.gracePeriod;
  if (gracePeriod === undefined) return undefined;
  // The API server takes a negative period for a second.
  const requested = gracePeriodSeconds === undefined || gracePeriodSeconds >= 0 ? gracePeriodSeconds : 1;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata;
  if (deletionTimestamp === undefined) return gracePeriod(current, requested);
  if (deletionGracePeriodSeconds === 0) return undefined;
  return requested === undefined || requested >= deletionGracePeriodSeconds ? 'pending' : requested;
}

/** The finalizers of an object, with those of the garbage collector as the policy wants them. */
function finalizersFor(finalizers: readonly string[], policy: string | undefined): readonly string[] {
  if (policy === undefined) return finalizers;
  const others = finalizers.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  if (policy === 'Orphan') return [...others, orphan];
  return policy === 'Foreground' ? [...others, foreground] : others;
}
