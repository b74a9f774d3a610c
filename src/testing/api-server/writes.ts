/**
 * Writes of a simulated API server: what create, update, the patches and delete ask for, brought to the registry.
 */
import { apiVersionOf } from '../../kubernetes/objects.ts';
import { type ApiRequest, isDryRun } from './api-message.ts';
import type { DeleteOptions } from './deletion.ts';
import {
  badRequest,
  conflict,
  Failure,
  forbidden,
  invalid,
  invalidValue,
  notFound,
  unsupportedValue,
} from './failure.ts';
import { type JsonPatchOperation, jsonPatch, mergePatch } from './json-patch.ts';
import { isJsonObject, type JsonObject } from './json-value.ts';
import { textOf } from './object-text.ts';
import type { Registry, WriteOptions } from './registry.ts';
import type { Target } from './route.ts';
import type { AnyObject } from './strategy.ts';

/** Code and body of an answer. */
export interface Result {
  readonly code: number;
  readonly body: string;
}

export class Writes {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  create(request: ApiRequest, target: Target): Result {
    const body = decoded(request, target, objectBody(request));
    assertNamespace(target, body);
    if (target.resource.isTerminating) {
      const why = 'create not allowed while custom resource definition is terminating';
      throw forbidden(target.resource, body.metadata.name, why);
    }
    return this.#result(201, target, this.#registry.insert(target, body, optionsOf(request)));
  }

  update(request: ApiRequest, target: Target): Result {
    const body = decoded(request, target, objectBody(request));
    const { resource, name } = target;
    if (body.metadata.name !== name) {
      throw badRequest(
        `the name of the object (${body.metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    assertNamespace(target, body);
    const current = this.#registry.existing(target);
    const { uid, resourceVersion } = body.metadata;
    if (uid && uid !== current.metadata.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`;
      const key = `/registry/${resource.plural}/${target.namespace}/${name}`;
      const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
      throw conflict(resource, name, error);
    }
    if (!resourceVersion && resource.conditionalUpdate !== false) {
      const error = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
      throw invalid({ group: resource.group, kind: resource.plural }, name, [error]);
    }
    return this.#result(200, target, this.#registry.replace(target, current, body, optionsOf(request)));
  }

  patch(request: ApiRequest, target: Target): Result {
    const contentType = request.headers['content-type'] ?? '';
    if (contentType.startsWith('application/apply-patch+')) return this.#apply(request, target);
    const current = this.#registry.existing(target);
    const patched = decoded(request, target, patchedBody(contentType, current, jsonBody(request)));
    const { uid, name } = patched.metadata;
    if (name !== target.name) {
      throw badRequest(
        `the name of the object (${name}) does not match the name on the URL (${target.name})`,
      );
    }
    // The real server ignores a uid in a patch of a custom resource's status, and so does this one.
    if (uid && uid !== current.metadata.uid && target.subresource !== 'status') {
      throw invalid(target.resource, name, [invalidValue('metadata.uid', uid, 'field is immutable')]);
    }
    return this.#result(200, target, this.#registry.replace(target, current, patched, optionsOf(request)));
  }

  delete(request: ApiRequest, target: Target): Result {
    const options: DeleteOptions = request.body === '' ? {} : (jsonBody(request) as DeleteOptions);
    const { resource, name } = target;
    const write = optionsOf(request);
    const dryRun = write.dryRun || options.dryRun !== undefined;
    const query = request.query.get('gracePeriodSeconds');
    const policy = request.query.get('propagationPolicy');
    const all = {
      ...(query !== undefined && { gracePeriodSeconds: Number(query) }),
      ...(policy !== undefined && { propagationPolicy: policy }),
      ...options,
    };
    assertDeleteOptions(all);
    const { object, isGone } = this.#registry.delete(target, all, { ...write, dryRun });
    if (!isGone || resource.returnsDeleted) return this.#result(200, target, object);
    const { group, plural } = resource;
    const details = { name, ...(group !== '' && { group }), kind: plural, uid: object.metadata.uid };
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
    return { code: 200, body: JSON.stringify(status) };
  }

  #apply(request: ApiRequest, target: Target): Result {
    const { resource, name } = target;
    const manager = request.query.get('fieldManager');
    if (!manager) {
      throw badRequest(
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      );
    }
    const body = decoded(request, target, objectBody(request));
    if (body.apiVersion !== apiVersionOf(resource) || body.kind !== resource.kind) {
      throw badRequest('invalid object type: apiVersion and kind are required');
    }
    const current = this.#registry.find(target);
    if (current === undefined && target.subresource !== '') throw notFound(resource, name);
    const owners = this.#registry.ownersOf(current).copy();
    const by = { name: manager, operation: 'Apply', subresource: target.subresource } as const;
    const force = request.query.get('force') === 'true';
    const time = this.#registry.timestamp;
    const applied = owners.apply(current ?? {}, body as unknown as JsonObject, by, { force, time });
    const object = applied as AnyObject;
    const options = optionsOf(request);
    if (current === undefined) {
      const named = { ...object, metadata: { ...object.metadata, name } };
      return this.#result(201, target, this.#registry.insert(target, named, options, owners));
    }
    return this.#result(200, target, this.#registry.replace(target, current, object, options, owners));
  }

  #result(code: number, { resource }: Target, object: AnyObject): Result {
    return { code, body: textOf(object, resource, 'whole') };
  }
}

export function optionsOf(request: ApiRequest): WriteOptions {
  return { user: request.user, manager: managerOf(request), dryRun: isDryRun(request) };
}

const policies = ['Foreground', 'Background', 'Orphan'];

/** @throws Failure 422 */
function assertDeleteOptions({ propagationPolicy }: DeleteOptions): void {
  if (propagationPolicy === undefined || policies.includes(propagationPolicy)) return;
  const error = unsupportedValue('propagationPolicy', propagationPolicy, [...policies, 'nil']);
  throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [error]);
}

/** Without a name given, the program that asks. */
function managerOf({ query, headers }: ApiRequest): string {
  return query.get('fieldManager') || (headers['user-agent'] ?? 'unknown').split('/', 1)[0] || 'unknown';
}

/** @throws Failure 400 when the body is no JSON. */
export function jsonBody(request: ApiRequest): unknown {
  try {
    return JSON.parse(request.body);
  } catch {
    throw badRequest('the object provided is unrecognized: json parse error');
  }
}

/** @throws Failure 400 unless it looks like an object. */
export function objectBody(request: ApiRequest): AnyObject {
  const body = jsonBody(request);
  if (!isJsonObject(body) || !isJsonObject(body.metadata)) {
    throw badRequest('the object provided is unrecognized: no metadata');
  }
  return body as unknown as AnyObject;
}

function decoded(request: ApiRequest, { resource }: Target, body: AnyObject): AnyObject {
  return resource.strategy?.decode?.(body, request.query.get('fieldValidation') === 'Strict') ?? body;
}

/** @throws Failure 400 when the body names another namespace than the path. */
export function assertNamespace({ resource, namespace }: Target, { metadata }: AnyObject): void {
  if (!resource.namespaced || !metadata.namespace || metadata.namespace === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function patchedBody(contentType: string, current: AnyObject, patch: unknown): AnyObject {
  if (contentType.startsWith('application/merge-patch+json')) return mergePatch(current, patch) as AnyObject;
  if (contentType.startsWith('application/json-patch+json')) {
    if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list of operations');
    return jsonPatch(current, patch as JsonPatchOperation[]) as AnyObject;
  }
  throw new Failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type');
}
