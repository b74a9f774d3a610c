/** Event subject: an owner as Events need it, known by its reference alone. */
import type { ConfigWatcher } from '../../api/configwatcher.generated.ts';
import type { KubernetesObject, OwnerReference, Resource } from '../../kubernetes/objects.ts';
import { workloadOf } from '../facts/workload.ts';

export function resourceOf(reference: OwnerReference): Resource {
  const known = workloadOf(reference);
  if (known) return known;
  const [version = '', group = ''] = reference.apiVersion.split('/').reverse();
  // Only the kind of a custom owner is known; an Event needs no more.
  return { group, version, plural: '', kind: reference.kind, namespaced: true };
}

export function objectOf(
  { metadata }: ConfigWatcher,
  { apiVersion, kind, name, uid }: OwnerReference,
): KubernetesObject {
  return {
    apiVersion,
    kind,
    metadata: { name, uid, ...(metadata.namespace && { namespace: metadata.namespace }) },
  };
}
