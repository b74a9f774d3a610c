/**
 * Author check: what a cluster has in which the operator asks whether the author of an At may create Pods, and what the
 * admission policy of config/author-check does there. The operator and administrators may do everything.
 */

import { isDeepStrictEqual } from 'node:util';
import type { At } from '../../../src/api/at.generated.ts';
import { atAnnotation } from '../../../src/api/at-constants.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import { accessReviews } from '../../../src/testing/api-server/access-reviews.ts';
import { rightsResources } from '../../../src/testing/api-server/rights.ts';
import type { ServedResource } from '../../../src/testing/api-server/served-resource.ts';
import type { Json } from '../entry.ts';
import { startsAt } from '../plan/draw-ats.ts';
import { creatorOfPods } from '../plan/draw-authors.ts';
import type { Creation, Deed, Plan } from '../plan/plan.ts';

const admission = {
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false, status: false },
} as const;

export const authorCheckResources: readonly ServedResource[] = [
  ...rightsResources,
  accessReviews,
  { ...admission, plural: 'mutatingadmissionpolicies', kind: 'MutatingAdmissionPolicy' },
  { ...admission, plural: 'mutatingadmissionpolicybindings', kind: 'MutatingAdmissionPolicyBinding' },
];

export function checksAuthors({ features }: Pick<Plan, 'features'>): boolean {
  return features.includes('at-author');
}

interface Bootstrap {
  readonly plural: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rest: object;
}

const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
const ofAts = [{ apiGroups: ['cnat.programming-kubernetes.info'], resources: ['ats'], verbs: ['create'] }];
const ofPods = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }];

const toRole = (name: string) => ({ kind: 'ClusterRole', name });
const toUsers = (names: readonly string[]) => names.map((name) => ({ kind: 'User', name }));
const authorLabel = { 'cnat.programming-kubernetes.info/author-check': 'true' };

function bootstrap(administrators: readonly string[]): readonly Bootstrap[] {
  const policy = { name: 'atwatch-author', labels: authorLabel };
  return [
    { plural: 'clusterroles', name: 'everything', rest: { rules: everything } },
    { plural: 'clusterroles', name: 'creator-of-ats', rest: { rules: ofAts } },
    { plural: 'clusterroles', name: creatorOfPods, rest: { rules: ofPods } },
    {
      ...{ plural: 'clusterrolebindings', name: 'administrators' },
      rest: { roleRef: toRole('everything'), subjects: toUsers(administrators) },
    },
    {
      ...{ plural: 'clusterrolebindings', name: 'developers' },
      rest: {
        roleRef: toRole('creator-of-ats'),
        subjects: [{ kind: 'Group', name: 'system:authenticated' }],
      },
    },
    { ...policy, plural: 'mutatingadmissionpolicies', rest: { spec: {} } },
    {
      ...policy,
      plural: 'mutatingadmissionpolicybindings',
      rest: { spec: { policyName: policy.name } },
    },
  ];
}

/** What is there before everything else, and was an hour before. */
export function installAuthorCheck(
  administrators: readonly string[],
  put: (plural: string, object: KubernetesObject) => void,
): void {
  const creationTimestamp = new Date(startsAt - 3_600_000).toISOString();
  for (const { plural, name, labels = {}, rest } of bootstrap(administrators)) {
    put(plural, { metadata: { name, labels, uid: `${plural}-${name}`, creationTimestamp }, ...rest });
  }
}

/** An edit that changes nothing, or only takes something from the run, keeps the author. */
function keepsAuthor(spec: Json, before: Json): boolean {
  return Object.entries(spec)
    .filter(([field, value]) => !isDeepStrictEqual(value ?? undefined, before[field]))
    .every(([field, value]) => (field === 'cancel' || field === 'suspend') && value === true);
}

/**
 * What a user sends about an At, with who asks for what it runs.
 *
 * @param before the At that is there.
 */
export function withAuthor(
  deed: Creation | (Deed & { readonly do: 'patch' }),
  username: string,
  before: KubernetesObject | undefined,
): object {
  const sent = deed.do === 'create' ? deed.object : deed.body;
  const { spec, metadata = {} } = sent as { readonly spec?: Json; readonly metadata?: Json };
  if (deed.resource !== 'ats' || spec === undefined) return sent;
  const specBefore = (before as At | undefined)?.spec as Json | undefined;
  if (deed.do === 'patch' && keepsAuthor(spec, specBefore ?? {})) return sent;
  const author = JSON.stringify({ username, uid: '', groups: ['system:authenticated'], extra: {} });
  const annotations = { ...(metadata.annotations as object), [atAnnotation.author]: author };
  return { ...sent, metadata: { ...metadata, annotations } };
}
