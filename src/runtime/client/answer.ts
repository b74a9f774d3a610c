/**
 * Answer: what a 2xx must hold to count as one. A proxy, a captive portal or a broken aggregated API answers 200 with
 * `null`, `{}`, a page or something else's object, and none of that may be taken for an object, or for an empty list.
 */
import { apiVersionOf, type KubernetesObject, type Resource } from '../../kubernetes/objects.ts';
import { TransportError } from './api-error.ts';
import type { Status } from './client.ts';
import type { RawList } from './paged-list.ts';

/** `GET /api/v1/…`, for messages. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** The object was sent without a name, as a SubjectAccessReview is, so the answer needs none. Default false. */
  readonly nameless?: boolean;
}

/** @throws {TransportError} unless it is an object of this resource, with a name where one is expected. */
export function objectAnswer<T extends KubernetesObject>(
  asked: Asked,
  resource: Resource<T>,
  answer: unknown,
): T {
  if (isObjectOf(resource, answer, asked.nameless)) return answer as T;
  throw refused(asked, answer, `a ${resource.kind} of ${apiVersionOf(resource)}`);
}

/** @throws {TransportError} unless it is {@link objectAnswer} or the Status of a delete. */
export function deleteAnswer<T extends KubernetesObject>(
  asked: Asked,
  resource: Resource<T>,
  answer: unknown,
): T | Status {
  if (isStatus(answer) || isObjectOf(resource, answer)) return answer as T | Status;
  throw refused(asked, answer, `a ${resource.kind} of ${apiVersionOf(resource)} or a Status`);
}

/** @throws {TransportError} unless it is the Status, or the Eviction, with which an eviction is confirmed. */
export function evictionAnswer(asked: Asked, answer: unknown): void {
  if (isStatus(answer) || kindOf(answer) === 'Eviction') return;
  throw refused(asked, answer, 'a Status');
}

/** @throws {TransportError} unless it is a list with items and the version from which it can be followed. */
export function listAnswer<T>(asked: Asked, resource: Resource, answer: unknown): RawList<T> {
  if (isListAnswer<T>(answer)) return answer;
  throw refused(asked, answer, `a list of ${resource.plural}`);
}

/** Whether it is an object of this resource, with a name unless it needs none. */
export function isObjectOf(resource: Resource, answer: unknown, nameless = false): boolean {
  if (!isJson(answer) || !isJson(answer.metadata)) return false;
  const { apiVersion, kind, metadata } = answer;
  if (!nameless && (typeof metadata.name !== 'string' || metadata.name === '')) return false;
  return kind === 'PartialObjectMetadata'
    ? apiVersion === 'meta.k8s.io/v1'
    : kind === resource.kind && apiVersion === apiVersionOf(resource);
}

function isListAnswer<T>(answer: unknown): answer is RawList<T> {
  if (!isJson(answer) || !isJson(answer.metadata)) return false;
  const { kind, items, metadata } = answer;
  // Go writes an empty list without items as null.
  const hasItems = items === null || Array.isArray(items);
  return typeof kind === 'string' && hasItems && typeof metadata.resourceVersion === 'string';
}

function isStatus(answer: unknown): boolean {
  return kindOf(answer) === 'Status';
}

function kindOf(answer: unknown): unknown {
  return isJson(answer) ? answer.kind : undefined;
}

/** Says what came by its kind alone: the rest may be the content of a Secret. */
function refused({ method, path }: Asked, answer: unknown, expected: string): TransportError {
  const [title] = path.split('?', 1);
  return new TransportError(`${method} ${title}: the answer is ${nameOf(answer)}, not ${expected}`, true);
}

function nameOf(answer: unknown): string {
  if (Array.isArray(answer)) return 'an array';
  if (!isJson(answer)) return answer === null ? 'null' : `a ${typeof answer}`;
  const { kind, apiVersion, metadata } = answer;
  if (typeof kind !== 'string' || !/^\w{1,63}$/.test(kind)) return 'an object without a kind';
  const version =
    typeof apiVersion === 'string' && /^[\w./-]{1,100}$/.test(apiVersion) ? ` of ${apiVersion}` : '';
  const named = isJson(metadata) && typeof metadata.name === 'string' && metadata.name !== '';
  return `a ${kind}${version}${named ? '' : ' without a name'}`;
}

function isJson(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
