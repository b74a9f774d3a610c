/**
 * Rights: role-based access control over the Roles and bindings in etcd, so that who may do what changes while the
 * server runs, as in a cluster.
 */
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import { type ApiRequest, isWatch } from './api-message.ts';
import type { Etcd } from './etcd.ts';
import { type Failure, forbidden } from './failure.ts';
import { collectionOf, type ServedResource } from './served-resource.ts';

const group = 'rbac.authorization.k8s.io';
const plainRole = {
  group,
  version: 'v1',
  status: false,
  generation: false,
  conditionalUpdate: false,
} as const;

const servedRights = {
  roles: { ...plainRole, plural: 'roles', kind: 'Role', namespaced: true },
  roleBindings: { ...plainRole, plural: 'rolebindings', kind: 'RoleBinding', namespaced: true },
  clusterRoles: { ...plainRole, plural: 'clusterroles', kind: 'ClusterRole', namespaced: false },
  clusterRoleBindings: {
    ...plainRole,
    plural: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
    namespaced: false,
  },
} as const satisfies Readonly<Record<string, ServedResource>>;

/** Where these are served, all users but the cluster's own components need rights; elsewhere all users have all rights. */
export const rightsResources: readonly ServedResource[] = Object.values(servedRights);

interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Role extends KubernetesObject {
  readonly rules?: readonly PolicyRule[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

interface Binding extends KubernetesObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly Subject[];
}

/** A user, and the groups that it is in. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

/** What a user wants to do. */
export interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** How many decisions are remembered. */
const maxDecisions = 10_000;

export class Rights {
  readonly #etcd: Etcd;
  /** The refusal, or null for what is allowed, by user and request. */
  readonly #decisions = new Map<string, Failure | null>();

  constructor(etcd: Etcd) {
    this.#etcd = etcd;
    const collections = Object.values(servedRights).map(collectionOf);
    etcd.onChange(({ resource }) => {
      if (resource.group === group && collections.includes(collectionOf(resource))) this.#decisions.clear();
    });
  }

  /** @throws Failure 403 */
  assertMay(request: ApiRequest): void {
    const { user, method, path } = request;
    if (isSuperuser(user)) return;
    const selector = request.query.get('fieldSelector') ?? '';
    const key = `${user} ${isWatch(request) ? 'WATCH' : method} ${path} ${selector}`;
    let refusal = this.#decisions.get(key);
    if (refusal === undefined) {
      refusal = this.#decide(request, selector);
      if (this.#decisions.size >= maxDecisions) this.#decisions.clear();
      this.#decisions.set(key, refusal);
    }
    if (refusal !== null) throw refusal;
  }

  /** Whether a user may do what an access review asks about, and by which binding. */
  review(who: Identity, asked: Partial<Attributes>): { readonly allowed: boolean; readonly reason?: string } {
    if (isSuperuser(who.user) || who.groups.includes('system:masters')) return { allowed: true };
    const nothing = { verb: '', group: '', resource: '', subresource: '', namespace: '', name: '' };
    const grant = this.#grantOf(who, { ...nothing, ...asked });
    return grant === undefined
      ? { allowed: false }
      : { allowed: true, reason: `RBAC: allowed by ${textOf(grant)}` };
  }

  #decide(request: ApiRequest, selector: string): Failure | null {
    const { user } = request;
    const attributes = attributesOf(request, selector);
    if (attributes === undefined) return null;
    const isGranted = this.#grantOf({ user, groups: groupsOf(user) }, attributes) !== undefined;
    return isGranted ? null : refusalOf(user, attributes);
  }

  #grantOf(who: Identity, attributes: Attributes): Grant | undefined {
    const { clusterRoleBindings, roleBindings } = servedRights;
    const bindings = [
      ...this.#etcd.list(clusterRoleBindings),
      ...(attributes.namespace === '' ? [] : this.#etcd.list(roleBindings, attributes.namespace)),
    ] as Binding[];
    for (const binding of bindings) {
      const subject = binding.subjects?.find((one) => isSubject(who, one));
      if (subject !== undefined && this.#rulesOf(binding).some((rule) => covers(rule, attributes)))
        return { binding, subject };
    }
    return undefined;
  }

  #rulesOf({ roleRef, metadata }: Binding): readonly PolicyRule[] {
    const { roles, clusterRoles } = servedRights;
    const role: Role | undefined =
      roleRef.kind === 'ClusterRole'
        ? this.#etcd.get(clusterRoles, '', roleRef.name)
        : this.#etcd.get(roles, metadata.namespace ?? '', roleRef.name);
    return role?.rules ?? [];
  }
}

/** The cluster's own components, and administrators, may do everything. */
function isSuperuser(user: string): boolean {
  if (user.startsWith('system:serviceaccount:')) return user.startsWith('system:serviceaccount:kube-system:');
  return user.startsWith('system:');
}

/** Those that the API server finds out by itself. */
function groupsOf(user: string): readonly string[] {
  const account = /^system:serviceaccount:([^:]+):.+$/.exec(user);
  const groups = account === null ? [] : ['system:serviceaccounts', `system:serviceaccounts:${account[1]}`];
  return ['system:authenticated', ...groups];
}

function isSubject({ user, groups }: Identity, { kind, name, namespace }: Subject): boolean {
  switch (kind) {
    case 'User':
      return name === user;
    case 'ServiceAccount':
      return user === `system:serviceaccount:${namespace}:${name}`;
    default:
      return groups.includes(name);
  }
}

interface Grant {
  readonly binding: Binding;
  /** As whom the user has it. */
  readonly subject: Subject;
}

function textOf({ binding: { metadata, roleRef }, subject }: Grant): string {
  const scoped = ({ name, namespace }: { readonly name: string; readonly namespace?: string }) =>
    namespace === undefined ? `"${name}"` : `"${name}/${namespace}"`;
  const kind = metadata.namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding';
  const to = `${subject.kind} ${scoped(subject)}`;
  return `${kind} ${scoped(metadata)} of ${roleRef.kind} "${roleRef.name}" to ${to}`;
}

function covers(rule: PolicyRule, { verb, group, resource, subresource, name }: Attributes): boolean {
  const { apiGroups = [], resources = [], resourceNames = [], verbs } = rule;
  const asked = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    (verbs.includes('*') || verbs.includes(verb)) &&
    (apiGroups.includes('*') || apiGroups.includes(group)) &&
    (resources.includes('*') || resources.includes(asked) || resources.includes(`*/${subresource}`)) &&
    (resourceNames.length === 0 || resourceNames.includes(name))
  );
}

/** Undefined for what every user may ask: discovery, health and the version. */
function attributesOf(request: ApiRequest, selector: string): Attributes | undefined {
  const [, root, ...rest] = request.path.split('/');
  const [group = '', , ...parts] = root === 'api' ? ['', ...rest] : rest;
  if ((root !== 'api' && root !== 'apis') || parts.length === 0) return undefined;
  const isScoped = parts[0] === 'namespaces' && parts.length > 2;
  const [resource = '', named = '', subresource = ''] = isScoped ? parts.slice(2) : parts;
  const name = named || (/^metadata\.name==?([^,]+)$/.exec(selector)?.[1] ?? '');
  const verb = verbOf(request, named !== '');
  // A namespace is its own.
  const namespace = isScoped ? (parts[1] ?? '') : resource === 'namespaces' ? named : '';
  return { verb, group, resource, subresource, namespace, name: verb === 'create' ? named : name };
}

function verbOf(request: ApiRequest, isNamed: boolean): string {
  switch (request.method) {
    case 'GET':
      if (isWatch(request)) return 'watch';
      return isNamed ? 'get' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return isNamed ? 'delete' : 'deletecollection';
  }
}

function refusalOf(user: string, attributes: Attributes): Failure {
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const asked = subresource === '' ? resource : `${resource}/${subresource}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user}" cannot ${verb} resource "${asked}" in API group "${group}" ${scope}`;
  return forbidden({ group, plural: resource }, name, why);
}
