/** Rights of users that exist in the tests only: a user with all rights may also impersonate another. */
import type { TestContext } from 'node:test';
import type { KubeConfig } from '@kubernetes/client-node';
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { testKubeConfig } from './support.ts';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false } as const;
const clusterRoles: Resource<KubernetesObject & { readonly rules: readonly Rule[] }> = {
  ...rbac,
  plural: 'clusterroles',
  kind: 'ClusterRole',
};
const clusterRoleBindings: Resource<KubernetesObject & { roleRef: object; subjects: object[] }> = {
  ...rbac,
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
};
const roles: Resource<KubernetesObject & { readonly rules: readonly Rule[] }> = {
  ...{ ...rbac, plural: 'roles', kind: 'Role', namespaced: true },
};
const roleBindings: Resource<KubernetesObject & { roleRef: object; subjects: object[] }> = {
  ...{ ...rbac, plural: 'rolebindings', kind: 'RoleBinding', namespaced: true },
};

interface Review extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}
const reviews: Resource<Review> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** The test cluster, as that user. */
export function kubeConfigOf(user: string): KubeConfig {
  const kubeConfig = testKubeConfig();
  kubeConfig.users = kubeConfig.users.map((administrator) => ({ ...administrator, impersonateUser: user }));
  return kubeConfig;
}

/** Gives the user the rights of a ClusterRole until the end of the test. */
export async function bind(t: TestContext, client: Client, user: string, role: string): Promise<void> {
  const metadata = { name: user };
  t.after(() => client.delete(clusterRoleBindings, metadata));
  await client.create(clusterRoleBindings, {
    metadata,
    roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: rbac.group, kind: 'User', name: user }],
  });
}

/** A ClusterRole of the user's own, with these rules until they are changed. */
export async function grant(
  t: TestContext,
  client: Client,
  user: string,
  rules: readonly Rule[],
): Promise<void> {
  t.after(() => client.delete(clusterRoles, { name: user }));
  await client.create(clusterRoles, { metadata: { name: user }, rules });
  await bind(t, client, user, user);
}

/** A Role in one namespace, which goes with that. */
export async function grantIn(
  { client, namespace }: { readonly client: Client; readonly namespace: string },
  user: string,
  rules: readonly Rule[],
): Promise<void> {
  const metadata = { namespace, name: user };
  await client.create(roles, { metadata, rules });
  await client.create(roleBindings, {
    metadata,
    roleRef: { apiGroup: rbac.group, kind: 'Role', name: user },
    subjects: [{ apiGroup: rbac.group, kind: 'User', name: user }],
  });
}

/** The user has these rights instead. */
export async function regrant(client: Client, user: string, rules: readonly Rule[]): Promise<void> {
  await client.patch(clusterRoles, { name: user }, { type: 'merge', body: { rules } });
}

/**
 * Whether the API server lets the user do it by now: it follows a change of the rules after a moment.
 *
 * @param namespace default: everywhere.
 */
export async function isAllowed(
  client: Client,
  user: string,
  rule: Rule,
  namespace?: string,
): Promise<boolean> {
  const [resource, subresource = ''] = rule.resources[0]?.split('/') ?? [];
  const [group, verb] = [rule.apiGroups[0], rule.verbs[0]];
  const resourceAttributes = { group, resource, subresource, verb, ...(namespace && { namespace }) };
  const metadata = { name: '' };
  const { status } = await client.create(reviews, { metadata, spec: { user, resourceAttributes } });
  return status?.allowed === true;
}
