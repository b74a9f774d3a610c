/**
 * Delete body: the options of a delete as the API server reads them (metav1.DeleteOptions), alone or in the
 * policy/v1 Eviction of a Pod.
 */
import type { DeleteOptions, ObjectKey } from './client.ts';

export function deleteBody(options: DeleteOptions): object {
  const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy, dryRun } = options;
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
    gracePeriodSeconds,
    propagationPolicy,
    ...(dryRun && { dryRun: ['All'] }),
  };
}

/** The query of an eviction requests its dry run. */
export function evictionBody({ namespace, name }: ObjectKey, options: DeleteOptions): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: deleteBody({ ...options, dryRun: false }),
  };
}
