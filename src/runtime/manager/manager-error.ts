/** ManagerError, and how an unexpected error becomes one. */
import type { ReconcileScope } from '../controller/reconcile-scope.ts';
import { requestKey } from '../controller/reconciler.ts';
import { describeError } from '../error-chain.ts';

/** Why the process must end with a failure. The message is one sentence for people. */
export class ManagerError extends Error {
  override readonly name = 'ManagerError';
}

/** @param scope the reconcile in which the error came up; undefined outside of every reconcile. */
export function unexpectedError(error: unknown, scope: ReconcileScope | undefined): ManagerError {
  const where = scope ? ` in controller ${scope.controller} for ${requestKey(scope.request)}` : '';
  return new ManagerError(`ended by an unexpected error${where}: ${describeError(error)}`, { cause: error });
}
