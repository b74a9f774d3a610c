/**
 * Failure of the fake API server: an answer that is a metav1.Status, worded as the real one words it.
 */
import type { Status } from '../../src/runtime/client/client.ts';

export class Failure extends Error {
  readonly status: Status & { readonly code: number };
  /** Seconds for the Retry-After header. */
  readonly retryAfter: number | undefined;

  constructor(code: number, reason: string, message: string, details: Status['details'] = {}) {
    super(message);
    this.retryAfter = details.retryAfterSeconds;
    this.status = { kind: 'Status', status: 'Failure', message, reason, details, code };
  }
}

export function notFound(plural: string, name: string): Failure {
  return new Failure(404, 'NotFound', `${plural} "${name}" not found`, { name, kind: plural });
}

export function unknownResource(): Failure {
  return new Failure(404, 'NotFound', 'the server could not find the requested resource');
}

export function alreadyExists(plural: string, name: string): Failure {
  return new Failure(409, 'AlreadyExists', `${plural} "${name}" already exists`, { name, kind: plural });
}

export function conflict(plural: string, name: string, why: string): Failure {
  const message = `Operation cannot be fulfilled on ${plural} "${name}": ${why}`;
  return new Failure(409, 'Conflict', message, { name, kind: plural });
}

export function stale(plural: string, name: string): Failure {
  return conflict(
    plural,
    name,
    'the object has been modified; please apply your changes to the latest version',
  );
}

export function badRequest(message: string): Failure {
  return new Failure(400, 'BadRequest', message);
}

export function invalid(kind: string, name: string, field: string, why: string): Failure {
  const causes = [{ reason: 'FieldValueInvalid', message: `Invalid value: ${why}`, field }];
  const message = `${kind} "${name}" is invalid: ${field}: Invalid value: ${why}`;
  return new Failure(422, 'Invalid', message, { name, kind, causes });
}

export function expired(resourceVersion: string, oldest: number): Failure {
  return new Failure(410, 'Expired', `too old resource version: ${resourceVersion} (${oldest})`);
}

export function versionTooLarge(resourceVersion: string, current: number): Failure {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const message = `Timeout: Too large resource version: ${resourceVersion}, current: ${current}`;
  return new Failure(504, 'Timeout', message, { causes, retryAfterSeconds: 1 });
}
