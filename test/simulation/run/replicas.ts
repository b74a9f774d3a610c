/** Replicas: the processes of the operator in a run, one machine each. */
import { parseCommandLine } from '../../../src/config.ts';
import { createOperator } from '../../../src/operator.ts';
import { errorFields, type Logger } from '../../../src/runtime/logger.ts';
import type { Manager } from '../../../src/runtime/manager/manager.ts';
import type { ProcessPorts, SimulatedProcess } from '../../../src/testing/simulated-process.ts';
import type { SimulatedReplica } from '../../../src/testing/simulated-replica.ts';
import type { EntryOf } from '../entry.ts';
import type { History } from '../history.ts';
import type { Plan } from '../plan/plan.ts';
import { checksAuthors } from './author-check.ts';
import { type Cluster, operatorNamespace, operatorUser } from './cluster.ts';
import type { Recorder } from './recorder.ts';

/** How soon a process that has ended by itself is started again, in ms. */
const restartDelay = 1000;

export class Replicas {
  readonly #cluster: Cluster;
  readonly #history: History;
  readonly #recorder: Recorder;
  readonly #args: readonly string[];
  readonly #machines: readonly { readonly replica: SimulatedReplica; downUntil: number }[];

  constructor(plan: Plan, cluster: Cluster, history: History, recorder: Recorder) {
    this.#cluster = cluster;
    this.#history = history;
    this.#recorder = recorder;
    const servers = ['--metrics-bind-address=0', '--health-probe-bind-address=0'];
    const secrets = plan.features.includes('watcher-secret');
    const annotated = plan.features.includes('watcher-annotated');
    const ofWorkloads = plan.features.includes('watcher-of-workload');
    this.#args = [
      ...[...servers, `--leader-elect=${plan.election}`],
      ...[`--secret-access=${secrets}`, `--annotation-controller=${annotated}`],
      ...[`--annotated-workloads=${ofWorkloads}`, `--author-check=${checksAuthors(plan)}`],
    ];
    this.#machines = plan.clocks.slice(0, plan.replicas).map((clocks, index) => {
      const name = `replica-${index}`;
      const build = (ports: ProcessPorts, process: SimulatedProcess) => this.#build(replica, ports, process);
      const replica: SimulatedReplica = cluster.addReplica(name, build, { user: operatorUser, clocks });
      replica.onStart((process) =>
        this.#tell(process.name, { state: 'started', clockAhead: this.#ahead(replica) }),
      );
      replica.onEnd(({ code, stderr }) => {
        const process = `${name}#${replica.ends.length}`;
        if (code === 137) this.#tell(process, { state: 'killed' });
        else this.#tell(process, { state: 'exited', end: { code, stderr } });
        this.#revive(index);
      });
      return { replica, downUntil: 0 };
    });
  }

  #ahead({ time }: SimulatedReplica): number {
    return time.now() - this.#cluster.simulation.now;
  }

  replica(index: number): SimulatedReplica {
    return this.#machine(index).replica;
  }

  #machine(index: number) {
    const machine = this.#machines[index % this.#machines.length];
    if (machine === undefined) throw new RangeError('there are no replicas');
    return machine;
  }

  start(index: number): void {
    this.replica(index).start();
  }

  #build(replica: SimulatedReplica, ports: ProcessPorts, { name }: SimulatedProcess): Manager {
    const line = parseCommandLine(this.#args, { POD_NAMESPACE: operatorNamespace });
    if (line.command !== 'run') throw new Error('the operator was not asked to run');
    return createOperator({
      ...ports,
      ...{ config: line.config, version: '0.0.0', kubeConfig: this.#cluster.kubeConfig, hostName: name },
      log: this.#logOf(name, {}),
      openConnection: this.#recorder.observe(name, ports.openConnection, () => this.#ahead(replica)),
      processMetrics: false,
    });
  }

  /** As the kubelet would, unless it is to stay away for longer. */
  #revive(index: number): void {
    const { simulation } = this.#cluster;
    const wait = Math.max(restartDelay, this.#machine(index).downUntil - simulation.elapsed);
    simulation.schedule(wait, () => this.start(index));
  }

  /** Its next process does not start before that. */
  keepDown(index: number, ms: number): void {
    this.#machine(index).downUntil = this.#cluster.simulation.elapsed + ms;
  }

  kill(index: number, ms: number): void {
    this.keepDown(index, ms);
    this.replica(index).process?.kill();
  }

  /** As SIGSTOP does, or the suspension of its machine. @returns what lets it go on. */
  standStill(index: number, by: 'stop' | 'suspend'): () => void {
    const { process } = this.replica(index);
    if (process === undefined) return () => {};
    process[by]();
    this.#tell(process.name, { state: 'stopped' });
    return () => {
      process[by === 'stop' ? 'continue' : 'resume']();
      if (process.end === undefined) this.#tell(process.name, { state: 'continued' });
    };
  }

  #tell(replica: string, what: Omit<EntryOf<'replica'>, 'type' | 'time' | 'replica'>): void {
    this.#history.add({ type: 'replica', time: this.#cluster.simulation.now, replica, ...what });
  }

  #logOf(replica: string, context: object): Logger {
    const line = (level: EntryOf<'log'>['level']) => {
      return (fields: object | string, message?: string) => {
        const text =
          typeof fields === 'string'
            ? fields
            : `${message} ${JSON.stringify({ ...context, ...plain(fields) })}`;
        this.#history.add({ type: 'log', time: this.#cluster.simulation.now, replica, level, text });
      };
    };
    return {
      ...{ debug() {}, info: line('info'), warn: line('warn'), error: line('error') },
      child: (fields) => this.#logOf(replica, { ...context, ...fields }),
    };
  }
}

/** As the operator's own log prints it. */
function plain(fields: object): object {
  return 'err' in fields ? { ...fields, err: errorFields(fields.err) } : fields;
}
