/**
 * LeaseRecord: the contents of the lease that a holder writes. Pure; whatever else stands in the lease
 * (labels, fields of newer API versions) is kept.
 */
import { microTime } from '../micro-time.ts';
import { holderOf, type Lease, leases } from './lease.ts';
import { releasedDurationSeconds } from './lease-observation.ts';

export interface LeaseHolder {
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseDurationSeconds: number;
}

/**
 * The lease as `holder` takes or renews it. With the resourceVersion of `current`, so that the API server
 * refuses it when another replica was faster.
 *
 * @param current as last read; undefined when there is none.
 * @param previous this holder's own last record, to go on from when the lease has been deleted.
 * @param now epoch milliseconds.
 */
export function takenLease(
  holder: LeaseHolder,
  current: Lease | undefined,
  previous: Lease | undefined,
  now: number,
): Lease {
  const base = current ?? previous;
  const renewed = holderOf(base) === holder.identity;
  const transitions = base?.spec?.leaseTransitions ?? 0;
  const time = microTime(now);
  return {
    ...identityOf(holder, current),
    spec: {
      ...base?.spec,
      holderIdentity: holder.identity,
      leaseDurationSeconds: holder.leaseDurationSeconds,
      acquireTime: (renewed ? base?.spec?.acquireTime : undefined) ?? time,
      renewTime: time,
      leaseTransitions: base === undefined || renewed ? transitions : transitions + 1,
    },
  };
}

/** The lease as its holder gives it back, so that others need not wait. */
export function releasedLease(holder: LeaseHolder, current: Lease, now: number): Lease {
  const time = microTime(now);
  return {
    ...identityOf(holder, current),
    spec: {
      ...current.spec,
      holderIdentity: '',
      leaseDurationSeconds: releasedDurationSeconds,
      acquireTime: time,
      renewTime: time,
    },
  };
}

function identityOf({ namespace, name }: LeaseHolder, current: Lease | undefined): Lease {
  const { managedFields: _, ...metadata } = current?.metadata ?? { name, namespace };
  return { apiVersion: `${leases.group}/${leases.version}`, kind: leases.kind, metadata };
}
