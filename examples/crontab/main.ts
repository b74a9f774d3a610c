/** The program: one manager, one controller. */
import { createManager, errorFields, loadKubeConfig, runManager } from '@atwatch/runtime';
import { pino } from 'pino';
import { addCronTabController } from './controller.ts';

const { env } = process;
const manager = createManager({
  name: 'crontab-operator',
  kubeConfig: loadKubeConfig({ env }),
  log: pino({ serializers: { err: errorFields } }),
  namespaces: env.WATCH_NAMESPACE ? [env.WATCH_NAMESPACE] : [],
  leaderElection: true,
  ...(env.POD_NAMESPACE && { leaderElectionNamespace: env.POD_NAMESPACE }),
  metricsBindAddress: env.METRICS_BIND_ADDRESS ?? '0',
  healthProbeBindAddress: env.HEALTH_BIND_ADDRESS ?? '0',
  installCommand: 'kubectl apply --server-side -f crd.yaml',
});
addCronTabController(manager);
await runManager(manager, process);
