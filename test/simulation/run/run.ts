/** Runs a plan: the operator on a simulated cluster, with the promises looking on. */
import { Coverage } from '../coverage.ts';
import type { Entry } from '../entry.ts';
import { type Exercise, History, type NamedPromise, type Violation } from '../history.ts';
import { commandCanary } from '../plan/draw-ats.ts';
import type { Plan } from '../plan/plan.ts';
import { configCanary, secretCanary } from '../plan/watcher-parts.ts';
import { allPromises } from '../promises/all.ts';
import { rightOf } from '../promises/writes.ts';
import { Cluster } from './cluster.ts';
import { Deeds } from './deeds.ts';
import { Faults, KillAtWrites } from './faults.ts';
import { Recorder } from './recorder.ts';
import { Replicas } from './replicas.ts';

export interface RunOptions {
  readonly promises?: readonly NamedPromise[];
  /** Told every entry, for a story. */
  readonly onEntry?: (entry: Entry, history: History) => void;
}

export interface RunResult {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  /** Ms of virtual time. */
  readonly simulated: number;
  readonly requests: number;
  readonly changes: number;
  readonly steps: number;
  readonly traceHash: string;
  readonly cells: ReadonlyMap<string, number>;
  readonly exercises: readonly Exercise[];
  /** What replicas were granted and used, as `verb group/resource`. */
  readonly rights: ReadonlySet<string>;
}

/** In ms: after the last fault, until everything is done and it has been silent for long enough. */
const settling = 20 * 60_000;
/** Ms between two looks at what should have happened by then. */
const lookEvery = { busy: 10_000, settling: 30_000, idle: 10 * 60_000 };
/** Ms after an event in which most of what follows it has happened. */
const busyFor = 6 * 60_000;
/** After so many ms without an event, nothing is pending any more but what a schedule or a window holds. */
const settlingFor = 30 * 60_000;

/** A run of a plan that can be stopped and continued. */
export class Run {
  readonly cluster: Cluster;
  readonly history: History;
  readonly recorder: Recorder;
  readonly #coverage: Coverage;
  readonly #rights = new Set<string>();
  readonly #replicas: Replicas;
  readonly #plan: Plan;

  constructor(plan: Plan, { promises = allPromises, onEntry }: RunOptions = {}) {
    this.#plan = plan;
    const history = new History(promises, {
      secrets: [commandCanary, configCanary, secretCanary, btoa(secretCanary).slice(0, 16)],
    });
    const coverage = new Coverage(history);
    history.onEntry((entry) => {
      coverage.see(entry);
      if (entry.type === 'request' && entry.replica !== undefined) this.#rights.add(rightOf(entry));
      onEntry?.(entry, history);
    });
    const cluster = new Cluster(plan);
    const kills = new KillAtWrites();
    const recorder = new Recorder(history, cluster.simulation, kills);
    cluster.etcd.onChange((change) => recorder.changed(change));
    for (const instance of cluster.instances) {
      instance.onRequest((request, answer) => recorder.answered(request, answer));
      recorder.attribute(instance);
    }
    cluster.start(history);
    this.#replicas = new Replicas(plan, cluster, history, recorder);
    this.cluster = cluster;
    this.history = history;
    this.recorder = recorder;
    this.#coverage = coverage;
    this.#schedule(new Faults(cluster, history, recorder, this.#replicas, kills, plan.duration));
  }

  #schedule(faults: Faults): void {
    const { cluster, history } = this;
    const { simulation } = cluster;
    const { replicas, deeds, faults: planned } = this.#plan;
    const people = new Deeds(cluster, history, this.#plan);
    for (let index = 0; index < replicas; index++) {
      simulation.schedule(index * 37, () => this.#replicas.start(index));
    }
    for (const deed of deeds) simulation.schedule(Math.max(1, deed.at), () => people.perform(deed));
    for (const fault of planned) simulation.schedule(Math.max(1, fault.at), () => faults.inflict(fault));
    const look = () => {
      history.add({ type: 'calm', time: simulation.now });
      const quietFor = simulation.now - history.busyAt;
      const settles = quietFor > settlingFor ? lookEvery.idle : lookEvery.settling;
      simulation.schedule(quietFor > busyFor ? settles : lookEvery.busy, look);
    };
    simulation.schedule(lookEvery.busy, look);
  }

  get result(): RunResult {
    const { cluster, recorder } = this;
    const { simulation } = cluster;
    const { violations, exercises } = this.history;
    return {
      ...{
        plan: this.#plan,
        violations,
        exercises,
        cells: this.#coverage.cells,
      },
      ...{ simulated: simulation.elapsed, steps: simulation.steps, traceHash: simulation.traceHash },
      ...{ requests: recorder.requests, changes: recorder.changes, rights: this.#rights },
    };
  }
}

/** Ends with the first violation. */
export async function runPlan(plan: Plan, options: RunOptions = {}): Promise<RunResult> {
  const run = new Run(plan, options);
  const { violations } = run.history;
  const isBroken = () => violations.length > 0;
  await run.cluster.simulation.run({ until: plan.duration + settling, when: isBroken });
  if (!isBroken()) run.history.end();
  return run.result;
}
