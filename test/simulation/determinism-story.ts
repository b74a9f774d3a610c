/**
 * A story with a bit of everything, for the question whether a seed gives the same run again.
 */
import { OperatorCluster } from './operator-cluster.ts';

const minute = 60_000;

/** Runs the story of that seed; its trace hash and, for an error message, how far it came. */
export async function runStory(seed: string): Promise<{ readonly hash: string; readonly steps: number }> {
  const cluster = new OperatorCluster({
    replicas: 3,
    seed,
    instances: 2,
    config: { annotationController: true },
  });
  const { simulation, network } = cluster;
  const random = simulation.random.fork('story');
  for (const { link, time } of cluster.replicas.values()) {
    link.latency = { usual: 5 * random.next(), slow: 5000, slowChance: 0.01 };
    link.faultRates = { requestLost: 0.01, answerLost: 0.01, cut: 0.01, drip: 0.01, delay: 0.01, page: 0.01 };
    time.stepWall(random.integer(2000) - 1000);
  }
  cluster.startReplicas();
  for (let i = 0; i < 3; i++) {
    cluster.createAt(`at-${i}`, random.integer(minute));
    cluster.createWatched(`web-${i}`);
  }
  const anyReplica = () => random.pick([...cluster.replicas.values()]);
  const soon = (run: () => void) => simulation.schedule(random.next() * 2 * minute, run);
  for (let i = 0; i < 3; i++)
    soon(() => cluster.editConfigMap(`web-${random.integer(3)}`, `${random.next()}`));
  soon(() => anyReplica().process?.kill());
  soon(() => anyReplica().process?.signal('SIGTERM'));
  soon(() => anyReplica().time.stepWall(random.integer(20_000) - 10_000));
  soon(() => {
    const { process } = anyReplica();
    process?.stop();
    simulation.schedule(random.next() * 20_000, () => process?.continue());
  });
  soon(() => {
    const { process } = anyReplica();
    process?.suspend();
    simulation.schedule(random.next() * 20_000, () => process?.resume());
  });
  soon(() => {
    const { link } = anyReplica();
    link.partition(random.pick(['in', 'out', 'both']));
    simulation.schedule(random.next() * 20_000, () => link.heal());
  });
  soon(() => anyReplica().link.halfOpen());
  soon(() => anyReplica().link.reset());
  soon(() => {
    network.stopServer('api-1');
    simulation.schedule(random.next() * 20_000, () => network.startServer('api-1'));
  });
  await cluster.pass(3 * minute);
  return { hash: simulation.traceHash, steps: simulation.steps };
}
