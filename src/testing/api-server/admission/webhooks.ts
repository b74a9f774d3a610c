/**
 * Webhooks and policies: what others have put between a write and its being stored.
 */
import { Failure, forbidden } from '../failure.ts';
import { AwaitsTime } from '../wait.ts';
import type { AdmissionReview } from './admission.ts';

export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly message: string; readonly code?: number; readonly reason?: string }
  /** The webhook cannot be reached. */
  | { readonly kind: 'fail'; readonly why: string }
  /** The webhook does not answer within its time limit. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'slow'; readonly ms: number; readonly finally: Verdict };

/** A validating webhook. */
export interface Webhook {
  readonly name: string;
  /** Seconds; default 10. */
  readonly timeoutSeconds?: number;
  /** Default Fail. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** Undefined: the webhook is not asked about this write. */
  call(review: AdmissionReview): Verdict | undefined;
}

/** A ValidatingAdmissionPolicy with its binding. */
export interface Policy {
  readonly name: string;
  readonly binding: string;
  /** Why a write is refused; undefined: it is not. */
  deny(review: AdmissionReview): string | undefined;
}

/** @throws Failure 422 as a policy without a reason of its own refuses. */
export function assertAllowed({ name, binding, deny }: Policy, review: AdmissionReview): void {
  const message = deny(review);
  if (message === undefined) return;
  const why = `ValidatingAdmissionPolicy '${name}' with binding '${binding}' denied request: ${message}`;
  const { message: text, details } = forbidden(review.resource, review.name, why).status;
  throw new Failure(422, 'Invalid', text, details);
}

/**
 * Asks a webhook.
 *
 * @param waited milliseconds that the request has waited for it already.
 * @throws Failure when it refuses or fails, a wait when it takes its time.
 */
export function assertAdmitted(webhook: Webhook, review: AdmissionReview, waited: number): void {
  const { name, timeoutSeconds = 10 } = webhook;
  const verdict = webhook.call(review);
  const limit = timeoutSeconds * 1000;
  if (verdict?.kind === 'hang' || (verdict?.kind === 'slow' && verdict.ms > limit)) {
    if (waited < limit) throw new AwaitsTime(limit - waited, name);
    fail(webhook, 'context deadline exceeded');
  } else if (verdict?.kind === 'slow') {
    if (waited < verdict.ms) throw new AwaitsTime(verdict.ms - waited, name);
    settle(webhook, verdict.finally);
  } else if (verdict !== undefined) settle(webhook, verdict);
}

function settle(webhook: Webhook, verdict: Verdict): void {
  if (verdict.kind === 'fail') fail(webhook, verdict.why);
  if (verdict.kind !== 'deny') return;
  const { message, code = 403, reason = code === 403 ? 'Forbidden' : '' } = verdict;
  const why = `admission webhook "${webhook.name}" denied the request`;
  throw new Failure(code, reason, message === '' ? `${why} without explanation` : `${why}: ${message}`);
}

function fail({ name, failurePolicy = 'Fail' }: Webhook, why: string): void {
  if (failurePolicy === 'Ignore') return;
  const message = `failed calling webhook "${name}": failed to call webhook: ${why}`;
  throw new Failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}
