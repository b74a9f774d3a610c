/**
 * The admission policies under test: installed by an overlay that sets nothing but a namespace and a name prefix, so that
 * every row also proves that the policies bind the ServiceAccount that the overlay has renamed.
 */
import { KubeConfig } from '@kubernetes/client-node';
import { type ControlPlane, startControlPlane } from '../../local-cluster/control-plane.ts';
import type { Client } from '../../src/runtime/client/client.ts';
import { applyOverlay } from './overlay.ts';
import { eventually, newConnection } from './support.ts';

export const operator = 'system:serviceaccount:other:team-atwatch-controller-manager';

export interface PolicyWorld {
  /** File of the administrator. */
  readonly kubeconfig: string;
  /** The cluster, and a client of it, as another user. */
  kubeConfigOf(user: string): KubeConfig;
  clientOf(user: string): Client;
  /** Runs kubectl as administrator. */
  kubectl(args: readonly string[], input?: object): Promise<string>;
  /** Runs kubectl as another user and resolves with what it refused, or with '' for success. */
  refusal(user: string, args: readonly string[], input?: object): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Resolves once the policies are in force.
 *
 * @param components further folders of config/ beside those that the tests of all policies need.
 */
export async function startPolicyWorld(components: readonly string[] = []): Promise<PolicyWorld> {
  const controlPlane = await startControlPlane({ scheduler: false });
  try {
    return await install(controlPlane, components);
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

async function install(controlPlane: ControlPlane, components: readonly string[]): Promise<PolicyWorld> {
  const kubectl = (args: readonly string[], input?: object) =>
    controlPlane.kubectl(args, input && JSON.stringify(input));
  const refusal = async (user: string, args: readonly string[], input?: object) => {
    try {
      await kubectl([...args, `--as=${user}`], input);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  await applyOverlay(controlPlane, {
    namespace: 'other',
    namePrefix: 'team-',
    resources: ['default'],
    components: ['annotation-controller', ...components],
    patches: [allowNamespaces],
  });
  const crds = (await kubectl(['get', '--kustomize=crds', '--output=name'])).trim().split('\n');
  await kubectl(['wait', '--for=condition=Established', '--timeout=30s', ...crds]);
  const kubeConfigOf = (user: string) => {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(controlPlane.kubeconfig);
    kubeConfig.users = kubeConfig.users.map((administrator) => ({ ...administrator, impersonateUser: user }));
    return kubeConfig;
  };
  const clientOf = (user: string) => newConnection({ kubeConfig: kubeConfigOf(user) }).client;
  const { kubeconfig } = controlPlane;
  const world = { kubeconfig, clientOf, kubeConfigOf, kubectl, refusal, stop: () => controlPlane.stop() };
  // A policy is in force a moment after it was stored.
  await eventually(async () => (await refusal(operator, ...strangePod)).includes('an At controls'), {
    timeout: 30_000,
    interval: 200,
    message: 'the policies are in force',
  });
  return world;
}

/** As docs/security.md says it. */
const allowNamespaces = {
  target: { kind: 'ClusterRoleBinding', name: '.*operator-identity' },
  patch: `
- op: replace
  path: /metadata/annotations/cnat.programming-kubernetes.info~1allowed-namespaces
  value: kube-listed, kube-too`,
};

const strangePod: [readonly string[], object] = [
  ['create', '--dry-run=server', '--filename=-'],
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'strange', namespace: 'default' },
    spec: { containers: [{ name: 'a', image: 'busybox' }] },
  },
];

/** Grants a user rights in one namespace. */
export async function grant(
  { kubectl }: PolicyWorld,
  user: string,
  name: string,
  namespace: string,
  rules: readonly object[],
): Promise<void> {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name, namespace } };
  await kubectl(['create', '--filename=-'], { ...role, kind: 'Role', rules });
  await kubectl(['create', '--filename=-'], {
    ...{ ...role, kind: 'RoleBinding' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'User', name: user }],
  });
}

/** A ConfigWatcher as the operator makes it for a workload; what is given replaces parts of its owner or itself. */
export function ownedWatcher(
  {
    kind,
    name,
    uid,
    ...owner
  }: { readonly kind: string; readonly name: string; readonly uid: string; readonly [key: string]: unknown },
  metadata: object = {},
): object {
  return {
    ...{ apiVersion: 'k8spatterns.io/v1', kind: 'ConfigWatcher' },
    metadata: {
      ...{ name: `${kind.toLowerCase()}-${name}`, namespace: 'default' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true, ...owner }],
      ...metadata,
    },
    spec: { podSelector: { app: name }, sources: [{ kind: 'ConfigMap', name: 'a' }] },
  };
}

/** Takes the binding of a policy away while something is done. Resolves once it is in force again. */
export async function withoutBinding(
  { kubectl }: PolicyWorld,
  policy: string,
  isInForce: () => Promise<boolean>,
  act: () => Promise<void>,
): Promise<void> {
  const binding = `validatingadmissionpolicybinding/team-atwatch-${policy}`;
  const before = JSON.parse(await kubectl(['get', binding, '--output=json']));
  await kubectl(['delete', binding]);
  try {
    await eventually(async () => !(await isInForce()), {
      interval: 500,
      message: `${policy} is not in force`,
    });
    await act();
  } finally {
    const { apiVersion, kind, spec } = before;
    const object = { apiVersion, kind, spec, metadata: { name: before.metadata.name } };
    await kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], object);
    await eventually(isInForce, { interval: 500, message: `${policy} is in force again` });
  }
}
