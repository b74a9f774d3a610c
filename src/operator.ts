/**
 * The composition root: config → log → manager → the controllers. What it makes is run by main.ts.
 */
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import { type LoggerOptions, pino } from 'pino';
import { addAnnotatedWorkloadsController } from './annotated-workloads/controller.ts';
import { addAtController } from './at/controller.ts';
import type { Config } from './config.ts';
import { addConfigWatcherController } from './configwatcher/controller.ts';
import { PolicySelfTest, type PolicySelfTestOptions } from './policy-self-test.ts';
import { loadKubeConfig } from './runtime/client/load-kubeconfig.ts';
import { errorFields, type Logger } from './runtime/logger.ts';
import { type CreateManagerOptions, createManager } from './runtime/manager/create-manager.ts';
import type { Manager } from './runtime/manager/manager.ts';
import { type HostProcess, runManager } from './runtime/manager/run-manager.ts';

const name = 'atwatch';

/** How the CRDs are installed, for the sentence that says they are missing. */
const installCommand = 'kubectl apply --server-side -k crds';

export interface OperatorOptions
  extends Pick<CreateManagerOptions, 'clock' | 'randomness' | 'openConnection' | 'processMetrics'> {
  readonly config: Config;
  readonly version: string;
  readonly kubeConfig: KubeConfig;
  readonly log: Logger;
  /** Of the machine; in a Pod, the Pod's name. */
  readonly hostName: string;
}

/**
 * The manager with the controllers. Nothing is sent before it is started.
 *
 * @throws {KubeConfigError} when the KubeConfig names no cluster.
 */
export function createOperator(options: OperatorOptions): Manager {
  const { config, version, kubeConfig, log, hostName, ...ports } = options;
  log.info(
    { version, server: kubeConfig.getCurrentCluster()?.server, namespaces: config.namespaces },
    'starting',
  );
  const { podNamespace, secretAccess, annotationController, namespaces } = config;
  const ownPod = podNamespace === undefined ? {} : { ownPod: { namespace: podNamespace, name: hostName } };
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  const ownNamespace = podNamespace ?? context?.namespace ?? 'default';
  const manager = createManager({
    ...ports,
    ...{ name, version, kubeConfig, log, installCommand },
    instance: hostName,
    namespaces: config.namespaces,
    leaderElection: config.leaderElect,
    leaderElectionNamespace: ownNamespace,
    metricsBindAddress: config.metricsBindAddress,
    ...(config.secureMetrics && {
      secureMetrics: config.metricsCertPath === '' ? {} : { certificateDirectory: config.metricsCertPath },
    }),
    healthProbeBindAddress: config.healthProbeBindAddress,
    profilingBindAddress: config.profilingBindAddress,
  });
  // A Role goes with its namespace, before the Pods do, and with it the right to take a finalizer off.
  addAtController(manager, {
    tracks: config.namespaces.length === 0,
    checksAuthors: config.authorCheck,
    defaults: config.atDefaults,
    failoverLaunchDelay: config.failoverLaunchDelay,
  });
  const selfTest = config.policySelfTest
    ? addSelfTest(manager, { log, ownNamespace, namespaces, ...ownPod })
    : undefined;
  addConfigWatcherController(manager, {
    annotationController,
    ...(secretAccess && { secretKeyNamespace: ownNamespace }),
    ...(selfTest && { isPatchJailed: () => selfTest.isInForce() }),
    ...ownPod,
  });
  if (config.annotatedWorkloads) {
    const { reloaderAnnotations, autoReloadAll } = config;
    addAnnotatedWorkloadsController(manager, { reloaderAnnotations, autoReloadAll, secretAccess });
  }
  return manager;
}

function addSelfTest(
  manager: Manager,
  {
    ownNamespace,
    ...options
  }: Pick<PolicySelfTestOptions, 'log' | 'namespaces' | 'ownPod'> & { readonly ownNamespace: string },
): PolicySelfTest {
  const { client, clock, registry } = manager;
  const [namespace = ownNamespace] = options.namespaces;
  const recorder = manager.recorder(name);
  const test = new PolicySelfTest({ client, clock, recorder, registry, namespace, ...options });
  manager.add(test);
  manager.addReadyCheck('operator-policy', () => test.check(), { required: false });
  return test;
}

/**
 * Puts the operator together and runs it for the life of the process.
 *
 * @param host the process; its environment says which cluster to use.
 * @throws {KubeConfigError} when no cluster is configured.
 */
export async function runOperator(
  config: Config,
  version: string,
  host: HostProcess & Pick<NodeJS.Process, 'env'>,
): Promise<void> {
  // Each line is written at once. What is collected for a write in the background is written at the exit, over and
  // over, for ever, when the pipe has no reader any more.
  const output = pino.destination({ dest: 1, sync: true });
  const options: LoggerOptions = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
    serializers: { err: errorFields },
  };
  const log = pino(options, output);
  const kubeConfig = loadKubeConfig({ env: host.env });
  const manager = createOperator({ config, version, kubeConfig, log, hostName: hostname() });
  await runManager(manager, host);
}
