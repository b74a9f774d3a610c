/**
 * Access reviews: what the API server says when it is asked whether another user may do something. Each is answered,
 * and kept nowhere.
 */
import type { ApiRequest } from './api-message.ts';
import { type FieldError, invalid, invalidValue } from './failure.ts';
import type { Attributes, Identity, Rights } from './rights.ts';
import type { Target } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import type { AnyObject } from './strategy.ts';
import { assertNamespace, objectBody, type Result } from './writes.ts';

/** To be served where an operator asks about users. */
export const accessReviews: ServedResource = {
  ...{ group: 'authorization.k8s.io', version: 'v1', namespaced: true, status: false, isStored: false },
  ...{ plural: 'localsubjectaccessreviews', kind: 'LocalSubjectAccessReview' },
};

interface ReviewSpec extends Partial<Identity> {
  readonly resourceAttributes?: Partial<Attributes>;
}

/**
 * @param rights undefined where all users have all rights.
 * @throws Failure
 */
export function reviewed(request: ApiRequest, target: Target, rights: Rights | undefined): Result {
  const review = objectBody(request);
  assertNamespace(target, review);
  const spec = (review.spec ?? {}) as ReviewSpec;
  const errors = errorsOf(review, spec);
  // The real server loses the kind here.
  if (errors.length > 0) throw invalid({ group: target.resource.group, kind: '' }, '', errors);
  const { user = '', groups = [], resourceAttributes = {} } = spec;
  const status = rights?.review({ user, groups }, resourceAttributes) ?? { allowed: true };
  return { code: 201, body: JSON.stringify({ ...review, status }) };
}

function errorsOf(
  { metadata }: AnyObject,
  { user, groups = [], resourceAttributes }: ReviewSpec,
): FieldError[] {
  const errors: FieldError[] = [];
  const attributes = 'spec.resourceAttributes';
  if (resourceAttributes === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalidValue(attributes, null, why));
  }
  if (!user && groups.length === 0) {
    errors.push(invalidValue('spec.user', '', 'at least one of user or group must be specified'));
  }
  const { namespace = '', ...rest } = metadata;
  if (Object.values(rest).some((value) => value !== '')) {
    errors.push(invalidValue('metadata', metadata, 'must be empty except for namespace'));
  }
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && asked !== namespace) {
    errors.push(invalidValue(`${attributes}.namespace`, asked, 'must match metadata.namespace'));
  }
  return errors;
}
