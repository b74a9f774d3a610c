/**
 * Rights and their use: what RBAC grants to the operator's ServiceAccount, and what the API server's audit
 * log says it asked for.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { ControlPlane } from '../../local-cluster/control-plane.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** The operator's own. */
export const serviceAccount: ServiceAccount = {
  namespace: 'atwatch-system',
  name: 'atwatch-controller-manager',
};

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

interface Binding {
  readonly metadata: { readonly namespace?: string };
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }[];
}

/**
 * Everything granted to the ServiceAccount itself, sorted, each as `verb group/resource`; in one namespace
 * only with ` in NAMESPACE`, for one name only with ` NAME`.
 */
export async function grantedRights(
  controlPlane: ControlPlane,
  account: ServiceAccount = serviceAccount,
): Promise<string[]> {
  const list = async <T>(kinds: string): Promise<T[]> =>
    JSON.parse(await controlPlane.kubectl(['get', kinds, '--all-namespaces', '--output=json'])).items;
  const roles = await list<Role>('clusterroles,roles');
  const bindings = (await list<Binding>('clusterrolebindings,rolebindings')).filter(({ subjects = [] }) =>
    subjects.some(
      ({ kind, name, namespace }) =>
        kind === 'ServiceAccount' && name === account.name && namespace === account.namespace,
    ),
  );
  const rights = bindings.flatMap(({ metadata: { namespace }, roleRef }) => {
    const role = roles.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind &&
        metadata.name === roleRef.name &&
        (kind === 'ClusterRole' || metadata.namespace === namespace),
    );
    return (role?.rules ?? []).flatMap((rule) => rightsOf(rule, namespace));
  });
  return [...new Set(rights)].sort();
}

function rightsOf({ apiGroups, resources, verbs, resourceNames }: Role['rules'][number], namespace?: string) {
  const where = namespace === undefined ? '' : ` in ${namespace}`;
  const names = resourceNames?.map((name) => ` ${name}`) ?? [''];
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => names.map((name) => `${verb} ${group}/${resource}${where}${name}`)),
    ),
  );
}

interface AuditEvent {
  readonly user: { readonly username?: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Use {
  /** In the form of {@link grantedRights}, so that one can be compared with the other. */
  readonly used: string[];
  /** Requests that RBAC refused. */
  readonly denied: string[];
}

/**
 * What the ServiceAccount asked for so far.
 *
 * @param granted a request counts as a use of the narrowest right among them that covers it.
 * @param since epoch ms; earlier requests are left out.
 */
export async function usedRights(
  { auditLog = '' }: ControlPlane,
  granted: readonly string[],
  since = 0,
  account: ServiceAccount = serviceAccount,
): Promise<Use> {
  const userName = `system:serviceaccount:${account.namespace}:${account.name}`;
  const lines = (await readFile(auditLog, 'utf8')).split('\n').filter(Boolean);
  const used = new Set<string>();
  const denied = new Set<string>();
  for (const line of lines) {
    const event: AuditEvent = JSON.parse(line);
    if (event.user.username !== userName || Date.parse(event.requestReceivedTimestamp) < since) continue;
    if (event.annotations?.['authorization.k8s.io/decision'] === 'forbid') {
      denied.add(`${event.verb} ${event.requestURI}`);
    } else if (event.objectRef) {
      used.add(rightFor(event, granted));
    }
  }
  return { used: [...used].sort(), denied: [...denied] };
}

function rightFor({ verb, objectRef }: AuditEvent, granted: readonly string[]): string {
  const { apiGroup = '', resource = '', subresource, namespace, name } = objectRef ?? {};
  const right = `${verb} ${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  const narrowest = [`${right} in ${namespace} ${name}`, `${right} in ${namespace}`];
  return narrowest.find((one) => granted.includes(one)) ?? right;
}

/** Writes a kubeconfig with which a process is the ServiceAccount, in its namespace as in a Pod. */
export async function writeServiceAccountKubeconfig(
  controlPlane: ControlPlane,
  path: string,
  account: ServiceAccount = serviceAccount,
): Promise<void> {
  const { namespace, name } = account;
  const token = await controlPlane.kubectl(['create', 'token', name, `--namespace=${namespace}`]);
  const config = parse(await readFile(controlPlane.kubeconfig, 'utf8'));
  const users = config.users.map((entry: object) => ({ ...entry, user: { token: token.trim() } }));
  const contexts = config.contexts.map((entry: { readonly context: object }) => ({
    ...entry,
    context: { ...entry.context, namespace },
  }));
  await writeFile(path, JSON.stringify({ ...config, users, contexts }), { mode: 0o600 });
}
