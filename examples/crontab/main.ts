/** The program: one manager, one controller. */
import { createManager, loadKubeConfig, runManager } from '@atwatch/runtime';
import { pino } from 'pino';
import { addCronTabController } from './controller.ts';

const { env } = process;
const manager = createManager({
  name: 'crontab-operator',
  kubeConfig: loadKubeConfig({ env }),
  log: pino(),
  namespaces: env.WATCH_NAMESPACE ? [env.WATCH_NAMESPACE] : [],
  leaderElection: true,
  ...(env.POD_NAMESPACE && { leaderElectionNamespace: env.POD_NAMESPACE }),
  installCommand: 'kubectl apply --server-side -f crontabs.yaml',
});
addCronTabController(manager);
await runManager(manager, process);
