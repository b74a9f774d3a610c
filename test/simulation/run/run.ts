/** Runs a plan: the operator on a simulated cluster, with the promises looking on. */
import { Coverage } from '../coverage.ts';
import type { Entry } from '../entry.ts';
import { History, type NamedPromise, type Violation } from '../history.ts';
import { explanationOf } from '../open-defects.ts';
import { commandCanary } from '../plan/draw-ats.ts';
import type { Plan } from '../plan/plan.ts';
import { configCanary, secretCanary } from '../plan/watcher-parts.ts';
import { allPromises } from '../promises/all.ts';
import { Cluster } from './cluster.ts';
import { Deeds } from './deeds.ts';
import { Faults, KillAtWrites } from './faults.ts';
import { Recorder } from './recorder.ts';
import { Replicas } from './replicas.ts';

export interface RunOptions {
  readonly promises?: readonly NamedPromise[];
  /** Told every entry, for a story. */
  readonly onEntry?: (entry: Entry, history: History) => void;
  /** Ends with the first violation that no open defect explains. Default true. */
  readonly stopsAtFirst?: boolean;
}

export interface RunResult {
  readonly plan: Plan;
  /** What no open defect explains. */
  readonly violations: readonly Violation[];
  /** How often each open defect was met, by name. */
  readonly known: Readonly<Record<string, number>>;
  /** Ms of virtual time. */
  readonly simulated: number;
  readonly requests: number;
  readonly changes: number;
  readonly steps: number;
  readonly traceHash: string;
  readonly cells: ReadonlyMap<string, number>;
  /** Processes that ended with an error of their own. */
  readonly deaths: readonly string[];
}

/** In ms: after the last fault, until everything is done and it has been silent for long enough. */
const settling = 20 * 60_000;
const lookEvery = 10_000;
/** A run that has met open defects so often shows nothing else any more. */
const mostKnown = 100;

export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const { promises = allPromises, onEntry, stopsAtFirst = true } = options;
  const history = new History(promises, {
    secrets: [commandCanary, configCanary, secretCanary, btoa(secretCanary).slice(0, 16)],
  });
  const coverage = new Coverage(history);
  history.onEntry((entry) => {
    coverage.see(entry);
    onEntry?.(entry, history);
  });
  const cluster = new Cluster(plan);
  const { simulation } = cluster;
  const kills = new KillAtWrites();
  const recorder = new Recorder(history, simulation, kills);
  cluster.etcd.onChange((change) => recorder.changed(change));
  for (const instance of cluster.instances) {
    instance.onRequest((request, answer) => recorder.answered(request, answer));
    recorder.attribute(instance);
  }
  cluster.start(history);
  const replicas = new Replicas(plan, cluster, history, recorder);
  const faults = new Faults(cluster, history, recorder, replicas, kills, plan.duration);
  const deeds = new Deeds(cluster, history);
  for (let index = 0; index < plan.replicas; index++) {
    simulation.schedule(index * 37, () => replicas.start(index));
  }
  for (const deed of plan.deeds) simulation.schedule(Math.max(1, deed.at), () => deeds.perform(deed));
  for (const fault of plan.faults) simulation.schedule(Math.max(1, fault.at), () => faults.inflict(fault));
  const look = () => {
    history.add({ type: 'calm', time: simulation.now });
    simulation.schedule(lookEvery, look);
  };
  simulation.schedule(lookEvery, look);
  const news = () => history.violations.filter((violation) => explanationOf(violation) === undefined);
  let seen = 0;
  const isOver = () => {
    if (!stopsAtFirst || history.violations.length === seen) return false;
    seen = history.violations.length;
    return seen > mostKnown || news().length > 0;
  };
  await simulation.run({ until: plan.duration + settling, when: isOver });
  if (news().length === 0 && history.violations.length <= mostKnown) history.end();
  const known = Object.groupBy(
    history.violations.flatMap((one) => explanationOf(one)?.name ?? []),
    (name) => name,
  );
  return {
    ...{ plan, violations: news(), cells: coverage.cells, deaths: replicas.deaths },
    known: Object.fromEntries(Object.entries(known).map(([name, all]) => [name, all?.length ?? 0])),
    ...{ simulated: simulation.elapsed, steps: simulation.steps, traceHash: simulation.traceHash },
    ...{ requests: recorder.requests, changes: recorder.changes },
  };
}
