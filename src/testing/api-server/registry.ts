/**
 * Registry: creates, replaces and deletes objects in etcd under the rules that hold for all of them: versions,
 * uids, generation, status, finalizers, graceful deletion, dry runs and who owns which field.
 */
import { apiVersionOf, type KubernetesObject, type ObjectMeta } from '../../kubernetes/objects.ts';
import type { Random } from '../random.ts';
import type { AdmissionReview, Admit } from './admission/admission.ts';
import type { ServerTime } from './api-message.ts';
import {
  assertPreconditions,
  type DeleteOptions,
  finalizersFor,
  graceOf,
  isReleased,
  terminating,
} from './deletion.ts';
import type { Etcd } from './etcd.ts';
import { alreadyExists, Failure, invalid, notFound, requiredValue, stale } from './failure.ts';
import { FieldOwners, type Manager } from './field-owners.ts';
import { metadataErrors } from './metadata-rules.ts';
import type { Target } from './route.ts';
import type { AnyObject } from './strategy.ts';
import { rfc3339 } from './timestamp.ts';
import { counted, isSame, typeOf, updated } from './update.ts';

/** How a write is to be done. */
export interface WriteOptions {
  readonly user: string;
  readonly manager: string;
  readonly dryRun: boolean;
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
    const made = updated(target, current, body);
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
    const next = terminating(resource, current, { grace, finalizers, now: this.#time.now });
    if (isSame(next, current)) return current;
    const owners = Registry.#owners.get(current);
    const stored = this.#etcd.put(resource, next);
    if (owners) Registry.#owners.set(stored, owners);
    return stored;
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

function reviewOf(
  { resource, subresource, namespace, name }: Target,
  operation: AdmissionReview['operation'],
  { user, dryRun }: WriteOptions,
  object: AnyObject | undefined,
  oldObject: AnyObject | undefined,
): AdmissionReview {
  return { operation, resource, subresource, namespace, name, user, dryRun, object, oldObject };
}
