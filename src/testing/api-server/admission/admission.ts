/**
 * Admission: what may refuse a write that is valid.
 */
import type { ServedResource } from '../served-resource.ts';
import type { AnyObject } from '../strategy.ts';

/** A write that is about to be done. */
export interface AdmissionReview {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly resource: ServedResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: string;
  readonly dryRun: boolean;
  /** Undefined for a DELETE. */
  readonly object: AnyObject | undefined;
  /** Undefined for a CREATE. */
  readonly oldObject: AnyObject | undefined;
}

/** One admission plugin. @throws Failure to refuse the write. */
export type Admit = (review: AdmissionReview) => void;
