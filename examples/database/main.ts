/** The program: one manager, one controller. */
import { createManager, errorFields, loadKubeConfig, runManager } from '@atwatch/runtime';
import { pino } from 'pino';
import { addController } from './controller.ts';

const manager = createManager({
  name: 'databases-operator',
  kubeConfig: loadKubeConfig({ env: process.env }),
  log: pino({ serializers: { err: errorFields } }),
  leaderElection: true,
  metricsBindAddress: process.env.METRICS_BIND_ADDRESS ?? '0',
  healthProbeBindAddress: process.env.HEALTH_BIND_ADDRESS ?? '0',
  installCommand: 'kubectl apply --server-side -f crd.yaml',
});
addController(manager);
await runManager(manager, process);
