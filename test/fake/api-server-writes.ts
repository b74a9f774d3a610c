/**
 * Writes of the fake API server: create, update, the three patches, delete and eviction, with the checks
 * of the real one on versions, uids, generation, status and finalizers.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { apiVersionOf, type KubernetesObject, type ObjectMeta } from '../../src/api/kubernetes.ts';
import {
  applyPatch,
  type FieldOwners,
  jsonPatch,
  mergePatch,
  ownersAfterUpdate,
} from './api-server-patch.ts';
import { type FakeRequest, jsonBody, type Target } from './api-server-request.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  Failure,
  invalid,
  notFound,
  stale,
} from './api-server-status.ts';
import { collectionOf, type FakeStore } from './api-server-store.ts';

export interface Answer {
  readonly code: number;
  readonly body: object;
}

interface Stateful extends KubernetesObject {
  readonly status?: unknown;
}

interface DeleteBody {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: readonly string[];
}

export interface FakeWritesOptions {
  readonly store: FakeStore;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
}

export class FakeWrites {
  readonly #store: FakeStore;
  readonly #now: () => number;
  readonly #owners = new Map<string, FieldOwners>();

  constructor({ store, now }: FakeWritesOptions) {
    this.#store = store;
    this.#now = now;
  }

  create(request: FakeRequest, target: Target): Answer {
    const body = objectBody(request);
    const { resource, namespace } = target;
    const { metadata } = body;
    if (metadata.resourceVersion) {
      throw new Failure(500, '', 'resourceVersion should not be set on objects to be created');
    }
    const name =
      metadata.name || (metadata.generateName && `${metadata.generateName}${randomUUID().slice(0, 5)}`);
    if (!name) throw invalid(resource.kind, '', 'metadata.name', 'name or generateName is required');
    if (this.#store.get(resource, namespace, name)) throw alreadyExists(resource.plural, name);
    return { code: 201, body: this.#insert(request, target, { ...body, metadata: { ...metadata, name } }) };
  }

  update(request: FakeRequest, target: Target): Answer {
    const body = objectBody(request);
    const { resource, name } = target;
    if (body.metadata.name !== name) {
      throw badRequest(
        `the name of the object (${body.metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    const current = this.#existing(target);
    if (!body.metadata.resourceVersion && resource.conditionalUpdate !== false) {
      throw invalid(resource.kind, name, 'metadata.resourceVersion', 'must be specified for an update');
    }
    return { code: 200, body: this.#replace(request, target, current, body) };
  }

  patch(request: FakeRequest, target: Target): Answer {
    const [contentType] = (request.headers['content-type'] ?? '').split(';');
    if (contentType === 'application/apply-patch+yaml') return this.#apply(request, target);
    const current = this.#existing(target);
    const patch = jsonBody(request);
    switch (contentType) {
      case 'application/merge-patch+json':
        return {
          code: 200,
          body: this.#replace(request, target, current, mergePatch(current, patch) as Stateful),
        };
      case 'application/json-patch+json': {
        if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list of operations');
        return {
          code: 200,
          body: this.#replace(request, target, current, jsonPatch(current, patch) as Stateful),
        };
      }
      default:
        throw new Failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type');
    }
  }

  delete(request: FakeRequest, target: Target): Answer {
    const options: DeleteBody = request.body === '' ? {} : (jsonBody(request) as DeleteBody);
    return this.#delete(target, options, options.dryRun !== undefined);
  }

  evict(request: FakeRequest, target: Target): Answer {
    const { deleteOptions = {} } = jsonBody(request) as { deleteOptions?: DeleteBody };
    this.#delete(target, deleteOptions, isDryRun(request));
    return {
      code: 201,
      body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
    };
  }

  #existing({ resource, namespace, name }: Target): Stateful {
    const object = this.#store.get(resource, namespace, name);
    if (object === undefined) throw notFound(resource.plural, name);
    return object;
  }

  #insert(request: FakeRequest, target: Target, body: Stateful): KubernetesObject {
    const { resource, namespace } = target;
    const { status, ...rest } = body;
    const metadata: ObjectMeta = {
      ...body.metadata,
      ...(resource.namespaced && { namespace }),
      uid: randomUUID(),
      creationTimestamp: this.#timestamp(),
      ...(resource.generation !== false && { generation: 1 }),
    };
    const keepsStatus = resource.status === false && status !== undefined;
    const object = { ...rest, ...typeOf(target), metadata, ...(keepsStatus && { status }) };
    return this.#put(request, target, undefined, object);
  }

  /** What every change of an existing object has in common, whatever verb it came by. */
  #replace(request: FakeRequest, target: Target, current: Stateful, body: Stateful): KubernetesObject {
    const { resource, name } = target;
    const { uid, resourceVersion } = body.metadata;
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion)
      throw stale(resource.plural, name);
    // The real server ignores a uid in a patch of a custom resource's status, and so does this one.
    if (uid && uid !== current.metadata.uid && target.subresource !== 'status') {
      throw conflict(resource.plural, name, `Precondition failed: UID in precondition: ${uid}`);
    }
    const next = target.subresource === 'status' ? statusOf(current, body) : mainOf(target, current, body);
    if (isDeepStrictEqual(next, current)) return current;
    return this.#put(request, target, current, next);
  }

  #put(
    request: FakeRequest,
    target: Target,
    current: Stateful | undefined,
    next: KubernetesObject,
  ): KubernetesObject {
    const { resource } = target;
    if (isDryRun(request)) return next;
    const key = ownersKey(target, next.metadata.name);
    const { deletionTimestamp, finalizers = [] } = next.metadata;
    if (deletionTimestamp && finalizers.length === 0) {
      this.#owners.delete(key);
      return this.#store.remove(resource, next);
    }
    const manager = request.query.get('fieldManager') ?? 'unknown';
    const before = this.#owners.get(key) ?? new Map();
    this.#owners.set(key, ownersAfterUpdate(current ?? {}, next, before, manager));
    return this.#store.put(resource, next);
  }

  #apply(request: FakeRequest, target: Target): Answer {
    const { resource, namespace, name } = target;
    const manager = request.query.get('fieldManager');
    if (!manager) throw badRequest('PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value');
    const body = objectBody(request);
    if (body.apiVersion !== apiVersionOf(resource) || body.kind !== resource.kind) {
      throw badRequest('invalid object type: apiVersion and kind are required');
    }
    const current: Stateful | undefined = this.#store.get(resource, namespace, name);
    if (current === undefined && target.subresource !== '') throw notFound(resource.plural, name);
    const owners = this.#owners.get(ownersKey(target, name)) ?? new Map();
    const force = request.query.get('force') === 'true';
    const applied = applyPatch(current ?? {}, owners, body, manager, force);
    const object = applied.object as Stateful;
    if (current === undefined) {
      const inserted = this.#insert(request, target, { ...object, metadata: { ...object.metadata, name } });
      if (!isDryRun(request)) this.#owners.set(ownersKey(target, name), applied.owners);
      return { code: 201, body: inserted };
    }
    const changed = this.#replace(request, target, current, object);
    if (!isDryRun(request)) this.#owners.set(ownersKey(target, name), applied.owners);
    return { code: 200, body: changed };
  }

  #delete(target: Target, options: DeleteBody, dryRun: boolean): Answer {
    const { resource, name } = target;
    const current = this.#existing(target);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid && uid !== current.metadata.uid) throw conflict(resource.plural, name, 'the UID does not match');
    if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
      throw conflict(resource.plural, name, 'the ResourceVersion does not match');
    }
    if (dryRun) return { code: 200, body: current };
    if (mustWait(target, current, options)) return { code: 200, body: this.#marked(target, current) };
    const last = this.#store.remove(resource, current);
    this.#owners.delete(ownersKey(target, name));
    if (resource.returnsDeleted) return { code: 200, body: last };
    const details = { name, kind: resource.plural, uid: current.metadata.uid };
    return {
      code: 200,
      body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details },
    };
  }

  #marked({ resource }: Target, current: Stateful): KubernetesObject {
    if (current.metadata.deletionTimestamp) return current;
    const { generation } = current.metadata;
    const metadata = {
      ...current.metadata,
      deletionTimestamp: this.#timestamp(),
      deletionGracePeriodSeconds: 0,
      ...(generation !== undefined && { generation: generation + 1 }),
    };
    return this.#store.put(resource, { ...current, metadata });
  }

  #timestamp(): string {
    return new Date(this.#now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

/** Finalizers hold an object, and the kubelet of its node a Pod, until it is deleted with grace period 0. */
function mustWait({ resource }: Target, current: Stateful, { gracePeriodSeconds }: DeleteBody): boolean {
  if ((current.metadata.finalizers ?? []).length > 0) return true;
  const spec: unknown = Reflect.get(current, 'spec');
  const running = typeof spec === 'object' && spec !== null && 'nodeName' in spec;
  return resource.graceful === true && running && gracePeriodSeconds !== 0;
}

function ownersKey({ resource, namespace }: Target, name: string): string {
  return `${collectionOf(resource)}/${namespace}/${name}`;
}

function typeOf({ resource }: Target): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

function isDryRun(request: FakeRequest): boolean {
  return request.query.get('dryRun') === 'All';
}

/** @throws Failure 400 unless it looks like an object. */
function objectBody(request: FakeRequest): Stateful {
  const body = jsonBody(request);
  const isObject = typeof body === 'object' && body !== null && 'metadata' in body;
  if (!isObject) throw badRequest('the object provided is unrecognized: no metadata');
  return body as Stateful;
}

/** A write to the status subresource changes the status alone. */
function statusOf(current: Stateful, body: Stateful): Stateful {
  const { status, ...rest } = current;
  return body.status === undefined ? rest : { ...rest, status: body.status };
}

/** Any other write keeps the status and what only the server may set, and counts the generation. */
function mainOf(target: Target, current: Stateful, body: Stateful): Stateful {
  const { resource } = target;
  const {
    uid,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    resourceVersion,
  } = current.metadata;
  const server = { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation };
  const { status, ...rest } = body;
  const kept = resource.status === false ? status : current.status;
  const metadata = withoutUndefined({ ...body.metadata, ...server, resourceVersion });
  const next = { ...rest, ...typeOf(target), metadata, ...(kept !== undefined && { status: kept }) };
  if (generation === undefined || isDeepStrictEqual(payload(next), payload(current))) return next;
  return { ...next, metadata: { ...metadata, generation: generation + 1 } };
}

function payload({ metadata, status, ...rest }: Stateful): object {
  return { ...rest, apiVersion: undefined, kind: undefined };
}

function withoutUndefined(metadata: Readonly<Record<string, unknown>>): ObjectMeta {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined),
  ) as unknown as ObjectMeta;
}
