/** The program: one manager, one controller. */
import { createManager, errorFields, loadKubeConfig, runManager } from '@atwatch/runtime';
import { pino } from 'pino';
import { addController } from './controller.ts';
import { httpMachines } from './machines.ts';

const manager = createManager({
  name: 'tunnel-operator',
  kubeConfig: loadKubeConfig({ env: process.env }),
  log: pino({ serializers: { err: errorFields } }),
  leaderElection: true,
  metricsBindAddress: process.env.METRICS_BIND_ADDRESS ?? '0',
  healthProbeBindAddress: process.env.HEALTH_BIND_ADDRESS ?? '0',
});
const { MACHINES_URL: url = 'http://machines.tunnel-system', TUNNEL_IMAGE: image = 'tunnel:latest' } =
  process.env;
addController(manager, httpMachines(url), image);
await runManager(manager, process);
