/** The web app of the samples on a real node, and its ConfigWatcher. */
import type { ConfigWatcher, ConfigWatcherStatus } from '../../src/api/configwatcher.generated.ts';
import { eventually, kubectl, type Namespace } from './kubectl.ts';

/** What the web app of the samples answers at first. */
export const welcome = 'Welcome to Kubernetes Patterns !';

/** Longer than a busy node takes to lead no request to a Pod any more. */
const drainSeconds = 12;
/** The grace period of a Pod that drains. */
export const graceSeconds = drainSeconds + 3;

/**
 * A Pod that goes away is told so and taken out of the Service at the same moment, so it serves on for a
 * little while: what every application needs that is to be restarted without a failed request.
 */
export const draining = {
  name: 'app',
  readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
  lifecycle: { preStop: { sleep: { seconds: drainSeconds } } },
};

/** Answers with what the ConfigMap held when its container started. */
export const serving = {
  ...draining,
  image: 'k8spatterns/mini-http-server',
  env: [{ name: 'MESSAGE', valueFrom: { configMapKeyRef: { name: 'webapp-config', key: 'message' } } }],
};

const watcherName = 'webapp-config-watcher';

export const samples = ['config/samples/webapp.yaml', 'config/samples/k8spatterns_v1_configwatcher.yaml'];

/** What the web app answers, through the API server's proxy. */
export const served = (namespace: Namespace) =>
  kubectl(['get', '--raw', `/api/v1/namespaces/${namespace.name}/services/webapp:http/proxy/`]);

/** A value of null removes the key. */
export const editConfig = (namespace: Namespace, data: Readonly<Record<string, string | null>>) =>
  namespace.kubectl('patch', 'configmap', 'webapp-config', `--patch=${JSON.stringify({ data })}`);

export const setMessage = (namespace: Namespace, message: string) => editConfig(namespace, { message });

export const podNames = async (namespace: Namespace) =>
  (await namespace.kubectl('get', 'pods', '--selector=app=webapp', '--output=name')).split('\n');

export const statusOf = async (namespace: Namespace, name = watcherName): Promise<ConfigWatcherStatus> =>
  (await namespace.getJson<ConfigWatcher>(`cw/${name}`)).status ?? {};

/** Merges this into the spec of the watcher. */
export const editWatcher = (namespace: Namespace, spec: Partial<ConfigWatcher['spec']>) =>
  namespace.kubectl('patch', `cw/${watcherName}`, '--type=merge', `--patch=${JSON.stringify({ spec })}`);

export const baselined = (namespace: Namespace, name?: string) =>
  eventually('the baseline', async () => (await statusOf(namespace, name)).appliedHash);

/** Applies web app and watcher and resolves once the app serves and the baseline is written. */
export async function start(namespace: Namespace, files: readonly string[] = samples): Promise<void> {
  for (const file of files) await namespace.kubectl('apply', `--filename=${file}`);
  await namespace.kubectl('rollout', 'status', 'deployment/webapp', '--timeout=110s');
  await baselined(namespace);
  await eventually('the web app', async () =>
    (await served(namespace)).includes('Welcome to Kubernetes Patterns'),
  );
}

/** A restart is over when the replacements are Ready; the old Pods may still take their time to end. */
export const replaced = (namespace: Namespace, before: readonly string[]) =>
  eventually('only new Pods are left', async () => {
    const names = await podNames(namespace);
    return names.length === before.length && !names.some((name) => before.includes(name));
  });

export const restarted = (namespace: Namespace, count: number, name?: string) =>
  eventually(
    `${count} finished restarts`,
    async () => {
      const status = await statusOf(namespace, name);
      return status.restartCount === count && !status.pending && status;
    },
    180_000,
  );
