/**
 * The composition root: config → log → manager → both controllers. What it makes is run by main.ts.
 */
import { hostname } from 'node:os';
import { type LoggerOptions, pino } from 'pino';
import { addAtController } from './at/controller.ts';
import type { Config } from './config.ts';
import { addConfigWatcherController } from './configwatcher/controller.ts';
import { loadKubeConfig } from './runtime/client/load-kubeconfig.ts';
import { errorFields } from './runtime/logger.ts';
import { createManager } from './runtime/manager/create-manager.ts';
import { type HostProcess, runManager } from './runtime/manager/run-manager.ts';
import { startGarbage } from './start-garbage.ts';

const name = 'atwatch';

/** How the CRDs are installed, for the sentence that says they are missing. */
const installCommand = 'kubectl apply --server-side -k crds';

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
  // over, for ever, when nobody reads the pipe any more.
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
  log.info(
    { version, server: kubeConfig.getCurrentCluster()?.server, namespaces: config.namespaces },
    'starting',
  );
  const { podNamespace, secretAccess, annotationController } = config;
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  const ownNamespace = podNamespace ?? context?.namespace ?? 'default';
  const manager = createManager({
    ...{ name, version, kubeConfig, log, installCommand },
    namespaces: config.namespaces,
    leaderElection: config.leaderElect,
    leaderElectionNamespace: ownNamespace,
    metricsBindAddress: config.metricsBindAddress,
    healthProbeBindAddress: config.healthProbeBindAddress,
  });
  addAtController(manager, {});
  addConfigWatcherController(manager, {
    onServerDate: (listener) => manager.connection.onServerDate(listener),
    annotationController,
    ...(secretAccess && { secretKeyNamespace: ownNamespace }),
    // In a Pod the host's name is the Pod's.
    ...(podNamespace !== undefined && { ownPod: { namespace: podNamespace, name: hostname() } }),
  });
  if (globalThis.gc) manager.add(startGarbage(manager.clock, globalThis.gc));
  await runManager(manager, host);
}
