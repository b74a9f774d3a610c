/**
 * Kubeconfig entries: what a kubeconfig file says of clusters and users beyond what client-node reads, and what of it
 * this runtime cannot do.
 */
import { isAbsolute, join } from 'node:path';
import { type Cluster, type KubeConfig, loadYaml, type User } from '@kubernetes/client-node';
import type { ExecConfig } from './exec-plugin.ts';

/** Nothing says which cluster to use, or what says so is wrong. The message is one sentence. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
}

/** A user of a KubeConfig with the fields that client-node leaves out. */
export interface CompleteUser extends User {
  readonly impersonateUid?: string;
  readonly impersonateGroups?: readonly string[];
  readonly impersonateExtra?: Readonly<Record<string, readonly string[]>>;
  /** In which an exec plugin runs. */
  readonly execEnvironment?: Readonly<Record<string, string | undefined>>;
}

/** A cluster of a KubeConfig with what it has for exec plugins. */
export interface CompleteCluster extends Cluster {
  readonly execConfig?: unknown;
}

interface RawUser {
  readonly name?: string;
  readonly user?: {
    readonly tokenFile?: string;
    readonly 'as-uid'?: string;
    readonly 'as-groups'?: readonly string[];
    readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
    readonly exec?: ExecConfig;
  };
}

interface RawCluster {
  readonly name?: string;
  readonly cluster?: {
    readonly extensions?: readonly { readonly name?: string; readonly extension?: unknown }[];
  };
}

/** What a plugin finds in its cluster's information as `config` stands in the kubeconfig under this name. */
const execExtension = 'client.authentication.k8s.io/exec';

/**
 * Adds to the configuration of a file what client-node does not read.
 *
 * @param text the file's content. @param directory where it lies; paths in it are relative to that.
 */
export function completeEntries(config: KubeConfig, text: string, directory: string): void {
  const raw = loadYaml<{ readonly users?: readonly RawUser[]; readonly clusters?: readonly RawCluster[] }>(
    text,
  );
  config.users = config.users.map((user) => {
    const fields = raw.users?.find(({ name }) => name === user.name)?.user ?? {};
    return completeUser(user, fields, (path) => (isAbsolute(path) ? path : join(directory, path)));
  });
  config.clusters = config.clusters.map((cluster): CompleteCluster => {
    const { extensions = [] } = raw.clusters?.find(({ name }) => name === cluster.name)?.cluster ?? {};
    const execConfig = extensions.find(({ name }) => name === execExtension)?.extension;
    return execConfig === undefined ? cluster : { ...cluster, execConfig };
  });
}

function completeUser(
  user: User,
  fields: NonNullable<RawUser['user']>,
  absolute: (path: string) => string,
): CompleteUser {
  const { tokenFile, exec } = fields;
  return {
    ...user,
    // The file wins over a token beside it, as in kubectl.
    ...(tokenFile && { authProvider: tokenFileProvider(absolute(tokenFile)) }),
    // A command without a slash is looked for in PATH.
    ...(exec?.command?.includes('/') && { exec: { ...exec, command: absolute(exec.command) } }),
    ...(fields['as-uid'] && { impersonateUid: fields['as-uid'] }),
    ...(fields['as-groups'] && { impersonateGroups: fields['as-groups'] }),
    ...(fields['as-user-extra'] && { impersonateExtra: fields['as-user-extra'] }),
  };
}

/** The Cluster of an ExecCredential's spec. */
export function clusterInfo(cluster: CompleteCluster, ca: Buffer | undefined): object {
  const { server, tlsServerName, skipTLSVerify, proxyUrl, execConfig } = cluster;
  return {
    server,
    ...(tlsServerName && { 'tls-server-name': tlsServerName }),
    ...(skipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(ca && { 'certificate-authority-data': ca.toString('base64') }),
    ...(proxyUrl && { 'proxy-url': proxyUrl }),
    ...(execConfig !== undefined && { config: execConfig }),
  };
}

/** The form in which client-node's in-cluster configuration names the token's file. */
export function tokenFileProvider(tokenFile: string) {
  return { name: 'tokenFile', config: { tokenFile } };
}

export function tokenFileOf(user: User): string | undefined {
  const file: unknown = user.authProvider?.config?.tokenFile;
  return typeof file === 'string' && file !== '' ? file : undefined;
}

/** The id-token of an OIDC provider that is not to be renewed. */
export function idTokenOf({ authProvider }: User): string | undefined {
  if (authProvider?.name !== 'oidc' || authProvider.config?.['refresh-token']) return undefined;
  const token: unknown = authProvider.config?.['id-token'];
  return typeof token === 'string' && token !== '' ? token : undefined;
}

/** @throws {KubeConfigError} for what would fail later, or when a token expires, with what to do instead. */
export function assertSupported(user: CompleteUser, { proxyUrl }: Cluster): void {
  const { name, authProvider, execEnvironment } = user;
  const exec: Partial<ExecConfig> | undefined = user.exec;
  if (authProvider && tokenFileOf(user) === undefined && idTokenOf(user) === undefined) {
    throw new KubeConfigError(
      `the kubeconfig user ${name} has the auth provider ${authProvider.name}, whose tokens cannot be renewed here: ` +
        `use an exec plugin (${pluginFor(String(authProvider.name))}), a token or a client certificate`,
    );
  }
  if (proxyUrl && !(URL.canParse(proxyUrl) && /^https?:$/.test(new URL(proxyUrl).protocol))) {
    throw new KubeConfigError(`the proxy ${withoutPassword(proxyUrl)} is no URL of an HTTP or HTTPS proxy`);
  }
  if (!exec) return;
  const why =
    problemOf(exec) ?? (execEnvironment === undefined ? 'was not read by loadKubeConfig' : undefined);
  if (why !== undefined) throw new KubeConfigError(`the exec plugin of the kubeconfig user ${name} ${why}`);
}

function problemOf({ command, apiVersion, interactiveMode }: Partial<ExecConfig>): string | undefined {
  if (!command) return 'has no command';
  if (apiVersion !== undefined && !/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    return `has the apiVersion ${apiVersion}; client.authentication.k8s.io/v1 is needed`;
  }
  if (interactiveMode === 'Always')
    return 'needs standard input (interactiveMode: Always), which no plugin gets here; use one that works without it';
  return undefined;
}

function pluginFor(provider: string): string {
  const plugins: Readonly<Record<string, string>> = {
    oidc: 'such as kubelogin, "kubectl oidc-login"',
    gcp: 'gke-gcloud-auth-plugin',
    azure: 'kubelogin of Azure',
  };
  return plugins[provider] ?? 'one of your provider';
}

function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//');
}
