/**
 * How fast the simulator is, in the three measures that it is held to. Prints one line each.
 *
 *     node test/simulation/speed.ts [election|alone|busy] [CPU-SECONDS]
 */
import { OperatorCluster } from './operator-cluster.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

const [which = 'all', seconds = '10'] = process.argv.slice(2);

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Requests of all kinds that the API servers have answered. */
function countRequests(cluster: OperatorCluster): () => number {
  let requests = 0;
  for (const instance of cluster.instances) instance.onRequest(() => requests++);
  return () => requests;
}

/** Ten objects of each kind; an At is due and a ConfigMap is edited every `period` ms. */
function work(cluster: OperatorCluster, period: number): void {
  for (let i = 0; i < 10; i++) {
    cluster.createWatched(`web-${i}`);
    cluster.createAt(`waiting-${i}`, 3650 * day);
  }
  let round = 0;
  const again = () => {
    round++;
    cluster.createAt(`at-${round}`, 1000);
    cluster.editConfigMap(`web-${round % 10}`, `${round}`);
    if (round > 10) cluster.delete(`at-${round - 10}`);
    cluster.simulation.schedule(period, again);
  };
  cluster.simulation.schedule(minute, again);
}

async function measure(name: string, replicas: number, period: number): Promise<void> {
  const cluster = new OperatorCluster({ replicas, seed: name, config: { leaderElect: replicas > 1 } });
  const requests = countRequests(cluster);
  cluster.startReplicas();
  work(cluster, period);
  await cluster.pass(2 * minute);
  const [begun, time, before] = [cpuSeconds(), cluster.simulation.elapsed, requests()];
  const steps = cluster.simulation.steps;
  while (cpuSeconds() - begun < Number(seconds)) await cluster.pass(2 * minute);
  const used = cpuSeconds() - begun;
  const days = (cluster.simulation.elapsed - time) / day;
  const perSecond = (count: number) => Math.round(count / used);
  console.log(
    `${name}: ${((days / used) * 60).toFixed(1)} days per CPU-minute, ${perSecond(requests() - before)} requests and ` +
      `${perSecond(cluster.simulation.steps - steps)} tasks per CPU-second, ${Math.round(process.memoryUsage().heapUsed / 2 ** 20)} MiB`,
  );
}

if (which === 'election' || which === 'all') await measure('election', 3, day);
if (which === 'alone' || which === 'all') await measure('alone', 1, day);
if (which === 'busy' || which === 'all') await measure('busy', 3, 500);
