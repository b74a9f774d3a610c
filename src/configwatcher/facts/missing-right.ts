/**
 * MissingRight: the API server answered 403. It is a state of the watcher (Ready=False, Forbidden) and no
 * failure of the operator: the other watchers go on.
 */
import { isForbidden, isProvenNotFound } from '../../runtime/client/api-error.ts';

export class MissingRight extends Error {
  override readonly name = 'MissingRight';
  /** As RBAC names it: `get`, `list`, `create`, … */
  readonly verb: string;
  /** As RBAC names it: `configmaps`, `pods/eviction`. */
  readonly resource: string;

  constructor(verb: string, resource: string, options?: ErrorOptions) {
    super(`may not ${verb} ${resource}`, options);
    this.verb = verb;
    this.resource = resource;
  }
}

/** The result of a call; a 403 is thrown as {@link MissingRight}. */
export async function withRight<T>(verb: string, resource: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isForbidden(error)) throw new MissingRight(verb, resource, { cause: error });
    throw error;
  }
}

/** What a read has found; undefined where the API server proves that there is nothing. */
export async function ifFound<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isProvenNotFound(error)) return undefined;
    throw error;
  }
}
