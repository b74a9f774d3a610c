/**
 * Lease: the coordination.k8s.io/v1 object that says who leads. Its times are written for people: no
 * decision depends on another machine's clock.
 */
import type { KubernetesObject, Resource } from '../../kubernetes/objects.ts';

/** coordination.k8s.io/v1.LeaseSpec, as leader election reads and writes it. */
export interface LeaseSpec {
  /** Empty or absent: given back, free to take. */
  readonly holderIdentity?: string;
  /** How long the others wait after the record last changed. */
  readonly leaseDurationSeconds?: number;
  /** metav1.MicroTime. */
  readonly acquireTime?: string;
  /** metav1.MicroTime. */
  readonly renewTime?: string;
  /** How often the lease went from one holder to another. */
  readonly leaseTransitions?: number;
}

/** coordination.k8s.io/v1.Lease. */
export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

/** Leases of coordination.k8s.io/v1, as leader election writes them. */
export const leases: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

/** The identity of the process that holds the lease; empty when none does. */
export function holderOf(lease: Lease | undefined): string {
  return lease?.spec?.holderIdentity ?? '';
}
