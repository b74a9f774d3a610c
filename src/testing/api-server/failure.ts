/**
 * Failure of a simulated API server: an answer that is a metav1.Status, worded as the real one words it.
 */
import type { Resource } from '../../kubernetes/objects.ts';

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** metav1.Status of a failure. */
export interface FailureStatus {
  /** Both are absent where the time of a request is over. */
  readonly kind?: 'Status';
  readonly apiVersion?: 'v1';
  readonly metadata: object;
  readonly status: 'Failure';
  readonly message: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

export class Failure extends Error {
  status: FailureStatus;
  /** Seconds for the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.retryAfter = details?.retryAfterSeconds;
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason !== '' && { reason }),
      ...(details !== undefined && { details }),
      code,
    };
  }
}

/** A path that no group answers for: plain text. */
export class PageNotFound extends Failure {
  readonly text = '404 page not found\n';

  constructor() {
    super(404, 'NotFound', '404 page not found');
  }
}

export type Named = Pick<Resource, 'group' | 'plural'>;

/** `deployments.apps`, or `pods` of the core group. */
export function qualified({ group, plural }: Named): string {
  return group === '' ? plural : `${plural}.${group}`;
}

export function detailsOf({ group, plural }: Named, name: string): StatusDetails {
  return group === '' ? { name, kind: plural } : { name, group, kind: plural };
}

export function notFound(resource: Named, name: string): Failure {
  return new Failure(
    404,
    'NotFound',
    `${qualified(resource)} "${name}" not found`,
    detailsOf(resource, name),
  );
}

export function unknownResource(): Failure {
  return new Failure(404, 'NotFound', 'the server could not find the requested resource');
}

export function methodNotAllowed(): Failure {
  const message = 'the server does not allow this method on the requested resource';
  return new Failure(405, 'MethodNotAllowed', message);
}

export function alreadyExists(resource: Named, name: string): Failure {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new Failure(409, 'AlreadyExists', message, detailsOf(resource, name));
}

export function conflict(resource: Named, name: string, why: string): Failure {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new Failure(409, 'Conflict', message, detailsOf(resource, name));
}

export function stale(resource: Named, name: string): Failure {
  const why = 'the object has been modified; please apply your changes to the latest version and try again';
  return conflict(resource, name, why);
}

/** 403. `causes` as admission gives them. */
export function forbidden(
  resource: Named,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): Failure {
  const what = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const details = { ...detailsOf(resource, name), ...(causes && { causes }) };
  return new Failure(403, 'Forbidden', `${what} is forbidden: ${why}`, details);
}

export function badRequest(message: string): Failure {
  return new Failure(400, 'BadRequest', message);
}

/** One thing that is wrong with a field, as k8s.io/apimachinery's field.Error words it. */
export interface FieldError {
  /** As in `FieldValueInvalid`. */
  readonly reason: string;
  readonly field: string;
  /** As in `Invalid value: "x": must be y`. */
  readonly message: string;
}

/** @param value as JSON would have it; undefined leaves it out. */
export function invalidValue(field: string, value: unknown, why: string): FieldError {
  const shown = value === undefined ? '' : `${JSON.stringify(value)}: `;
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${shown}${why}` };
}

export function requiredValue(field: string, why = ''): FieldError {
  return {
    reason: 'FieldValueRequired',
    field,
    message: why === '' ? 'Required value' : `Required value: ${why}`,
  };
}

export function forbiddenValue(field: string, why: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${why}` };
}

export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((text) => JSON.stringify(text)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

/** 422 with a cause per error. */
export function invalid(
  { group, kind }: Pick<Resource, 'group' | 'kind'>,
  name: string,
  errors: readonly FieldError[],
): Failure {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const typeName = group === '' ? kind : `${kind}.${group}`;
  const message = `${typeName} "${name}" is invalid: ${list}`;
  const details = {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    kind,
    causes: errors,
  };
  return new Failure(422, 'Invalid', message, details);
}

export function expired(resourceVersion: string, oldest: number): Failure {
  return new Failure(410, 'Expired', `too old resource version: ${resourceVersion} (${oldest})`);
}

export function expiredList(): Failure {
  return new Failure(410, 'Expired', 'The resourceVersion for the provided list is too old.');
}

/** @param token goes on with what is there now. */
export function expiredPage(token: string): Failure {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  const failure = new Failure(410, 'Expired', message);
  failure.status = { ...failure.status, metadata: { continue: token } };
  return failure;
}

export function versionTooLarge(resourceVersion: string, current: number): Failure {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const message = `Timeout: Too large resource version: ${resourceVersion}, current: ${current}`;
  return new Failure(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
}
