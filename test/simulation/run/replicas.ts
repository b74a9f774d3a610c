/** Replicas: the processes of the operator in a run, one machine each. */
import { KubeConfig } from '@kubernetes/client-node';
import { parseCommandLine } from '../../../src/config.ts';
import { createOperator } from '../../../src/operator.ts';
import { errorFields, type Logger } from '../../../src/runtime/logger.ts';
import { runManager } from '../../../src/runtime/manager/run-manager.ts';
import { MachineTime } from '../../../src/testing/simulated-clock.ts';
import { SimulatedProcess } from '../../../src/testing/simulated-process.ts';
import type { EntryOf } from '../entry.ts';
import type { History } from '../history.ts';
import type { Plan } from '../plan/plan.ts';
import type { Cluster } from './cluster.ts';
import type { Recorder } from './recorder.ts';

export const operatorNamespace = 'atwatch-system';
export const operatorUser = `system:serviceaccount:${operatorNamespace}:atwatch-controller-manager`;

/** How soon a process that has ended by itself is started again, in ms. */
const restartDelay = 1000;

interface Machine {
  readonly time: MachineTime;
  readonly link: ReturnType<Cluster['network']['link']>;
  process: SimulatedProcess | undefined;
  lives: number;
  /** Killed on purpose until then, in elapsed ms. */
  downUntil: number;
}

export class Replicas {
  readonly machines: readonly Machine[];
  /** Sentences on standard error of processes that ended. */
  readonly deaths: string[] = [];
  readonly #cluster: Cluster;
  readonly #history: History;
  readonly #recorder: Recorder;
  readonly #args: readonly string[];

  constructor(plan: Plan, cluster: Cluster, history: History, recorder: Recorder) {
    this.#cluster = cluster;
    this.#history = history;
    this.#recorder = recorder;
    const servers = ['--metrics-bind-address=0', '--health-probe-bind-address=0'];
    this.#args = [...servers, `--leader-elect=${plan.election}`];
    this.machines = plan.clocks.map((clock, index) => ({
      time: new MachineTime(cluster.simulation, { ...clock, monotonic: 1000 + index }),
      link: cluster.network.link(`machine-${index}`),
      process: undefined,
      lives: 0,
      downUntil: 0,
    }));
  }

  machine(index: number): Machine {
    return this.machines[index % this.machines.length] as Machine;
  }

  start(index: number): void {
    const machine = this.machine(index);
    if (machine.process?.isAlive) return;
    const { simulation } = this.#cluster;
    const name = `replica-${index}.${++machine.lives}`;
    const process = new SimulatedProcess({
      simulation,
      name,
      user: operatorUser,
      time: machine.time,
      link: machine.link,
    });
    machine.process = process;
    const ahead = () => machine.time.now() - simulation.now;
    this.tell(name, 'started', ahead());
    process.onEnd(({ code, stderr }) => {
      this.tell(name, code === 137 ? 'killed' : 'exited');
      if (code !== 0 && code !== 137 && code !== 143)
        this.deaths.push(`${name} ended with ${code}: ${stderr.slice(0, 2000)}`);
      this.#revive(index);
    });
    process.start((ports, host) => {
      const line = parseCommandLine(this.#args, { POD_NAMESPACE: operatorNamespace });
      if (line.command !== 'run') throw new Error('the operator was not asked to run');
      const manager = createOperator({
        ...{ config: line.config, version: '0.0.0', kubeConfig: kubeConfig(), hostName: name },
        log: this.#logOf(name, {}),
        clock: ports.clock,
        randomness: ports.randomness,
        openConnection: this.#recorder.observe(name, ports.openConnection, ahead),
        processMetrics: false,
      });
      return runManager(manager, host);
    });
  }

  /** As the kubelet would, unless it is to stay away for longer. */
  #revive(index: number): void {
    const { simulation } = this.#cluster;
    const wait = Math.max(restartDelay, this.machine(index).downUntil - simulation.elapsed);
    simulation.schedule(wait, () => this.start(index));
  }

  kill(index: number, forMs: number): void {
    const machine = this.machine(index);
    machine.downUntil = this.#cluster.simulation.elapsed + forMs;
    machine.process?.kill();
  }

  tell(replica: string, state: EntryOf<'replica'>['state'], clockAhead?: number): void {
    const time = this.#cluster.simulation.now;
    this.#history.add({
      type: 'replica',
      time,
      replica,
      state,
      ...(clockAhead !== undefined && { clockAhead }),
    });
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

function kubeConfig(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'simulated', server: 'http://api.simulated', skipTLSVerify: true },
    { name: 'operator' },
  );
  return config;
}
