/**
 * ReconcileScope: on whose behalf the code that runs now does so. It follows a reconcile through everything it
 * awaits, so that a write, or an error that nothing handles, can be traced to its controller and object.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { WriteListener, Written } from '../client/written.ts';
import type { Request } from './reconciler.ts';

export interface ReconcileScope {
  readonly controller: string;
  readonly request: Request;
  /**
   * Called for each successful write of the reconcile, before the reconciler knows of it.
   *
   * @param isOwn whether the version is certainly that of this write, as {@link WriteListener} says.
   */
  wrote(written: Written, isOwn: boolean): void;
}

const scopes = new AsyncLocalStorage<ReconcileScope>();

export function inScope<R>(scope: ReconcileScope, run: () => R): R {
  return scopes.run(scope, run);
}

/** Undefined outside of every reconcile. */
export function currentScope(): ReconcileScope | undefined {
  return scopes.getStore();
}
