/**
 * Loading of the KubeConfig: which cluster to talk to, and as whom. The order is that of Go's
 * controller-runtime: `KUBECONFIG`, then the Pod's own service account, then `~/.kube/config`. There is no
 * default server: a program that guessed `localhost:8080` would fail later and less clearly.
 */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { type Cluster, type Context, KubeConfig, type User } from '@kubernetes/client-node';
import {
  type CompleteUser,
  completeEntries,
  KubeConfigError,
  tokenFileProvider,
} from './kubeconfig-entries.ts';
import { proxyFor } from './proxy-environment.ts';

/** Where {@link loadKubeConfig} looks. */
export interface KubeConfigSources {
  /**
   * The process's environment: KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT; HTTPS_PROXY,
   * HTTP_PROXY and NO_PROXY for clusters without `proxy-url`. Exec plugins run in it.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a Pod finds its token and CA. Default /var/run/secrets/kubernetes.io/serviceaccount. */
  readonly serviceAccount?: string;
}

/**
 * Finds and reads the KubeConfig, as kubectl does. It reads files, so it blocks: use it at the start of a
 * program only.
 *
 * @throws {KubeConfigError} when there is no configuration, or none that names a cluster.
 */
export function loadKubeConfig({
  env,
  serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount',
}: KubeConfigSources): KubeConfig {
  const config = find(env, serviceAccount);
  config.clusters = config.clusters.map((cluster) => {
    const proxyUrl = cluster.proxyUrl || proxyFor(cluster.server, env);
    return proxyUrl ? { ...cluster, proxyUrl } : cluster;
  });
  config.users = config.users.map(
    (user): CompleteUser => (user.exec ? { ...user, execEnvironment: env } : user),
  );
  return config;
}

function find(env: KubeConfigSources['env'], serviceAccount: string): KubeConfig {
  if (env.KUBECONFIG !== undefined && env.KUBECONFIG !== '') {
    const files = env.KUBECONFIG.split(delimiter).filter((file) => file !== '');
    return fromFiles(files, `KUBECONFIG (${env.KUBECONFIG})`);
  }
  const host = env.KUBERNETES_SERVICE_HOST;
  if (host !== undefined && host !== '' && existsSync(join(serviceAccount, 'token'))) {
    return inCluster(host, env.KUBERNETES_SERVICE_PORT ?? '443', serviceAccount);
  }
  const home = env.HOME ?? env.USERPROFILE;
  const file = home === undefined || home === '' ? undefined : join(home, '.kube', 'config');
  if (file !== undefined && existsSync(file)) return fromFiles([file], file);
  throw new KubeConfigError(
    'no cluster is configured: set KUBECONFIG to a kubeconfig file, or run in a Pod with a service account' +
      (file === undefined ? '' : `, or create ${file}`),
  );
}

function inCluster(host: string, port: string, serviceAccount: string): KubeConfig {
  const config = new KubeConfig();
  const name = 'in-cluster';
  config.loadFromClusterAndUser(
    {
      name,
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      caFile: join(serviceAccount, 'ca.crt'),
      skipTLSVerify: false,
    },
    { name, authProvider: tokenFileProvider(join(serviceAccount, 'token')) },
  );
  const namespaceFile = join(serviceAccount, 'namespace');
  if (existsSync(namespaceFile)) {
    const namespace = readFileSync(namespaceFile, 'utf8').trim();
    config.contexts = config.contexts.map((context) => ({ ...context, namespace }));
  }
  return config;
}

/** As kubectl merges: of several definitions of one name the first wins; a missing file counts as empty. */
function fromFiles(files: readonly string[], origin: string): KubeConfig {
  const existing = files.filter((file) => existsSync(file));
  if (existing.length === 0) throw new KubeConfigError(`${origin} names no file that exists`);
  const clusters = new Map<string, Cluster>();
  const users = new Map<string, User>();
  const contexts = new Map<string, Context>();
  let currentContext: string | undefined;
  for (const config of existing.map(parseFile)) {
    for (const cluster of config.clusters) clusters.set(cluster.name, clusters.get(cluster.name) ?? cluster);
    for (const user of config.users) users.set(user.name, users.get(user.name) ?? user);
    for (const context of config.contexts) contexts.set(context.name, contexts.get(context.name) ?? context);
    currentContext ??= config.getCurrentContext() || undefined;
  }
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: [...clusters.values()],
    users: [...users.values()],
    contexts: [...contexts.values()],
    currentContext,
  });
  assertUsable(merged, origin);
  return merged;
}

function assertUsable(config: KubeConfig, origin: string): void {
  const current = config.getCurrentContext();
  if (!current) throw new KubeConfigError(`${origin} sets no current-context`);
  const context = config.getContextObject(current);
  if (!context) throw new KubeConfigError(`${origin} has no context ${JSON.stringify(current)}`);
  if (!config.getCluster(context.cluster)?.server) {
    throw new KubeConfigError(`${origin} names no server for the context ${JSON.stringify(current)}`);
  }
  if (context.user && !config.getUser(context.user)) {
    throw new KubeConfigError(`${origin} has no user ${JSON.stringify(context.user)}`);
  }
}

function parseFile(file: string): KubeConfig {
  const text = readText(file);
  try {
    const config = new KubeConfig();
    config.loadFromString(text);
    config.makePathsAbsolute(dirname(file));
    completeEntries(config, text, dirname(file));
    return config;
  } catch (error) {
    // Without its cause, and of its message the first line only: the parser's error carries the whole text,
    // tokens and keys included, and an uncaught error is printed with all it carries.
    throw unreadable(file, error);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw unreadable(file, cause, { cause });
  }
}

function unreadable(file: string, error: unknown, options?: ErrorOptions): KubeConfigError {
  const reason = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
  return new KubeConfigError(`${file} is no readable kubeconfig: ${reason}`, options);
}
