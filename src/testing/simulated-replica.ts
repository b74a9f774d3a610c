/**
 * SimulatedReplica: one replica of an operator: a machine with its clocks and its link, and the processes that run
 * on it one after the other, each as new as a container that was started again.
 */
import type { Manager } from '../runtime/manager/manager.ts';
import { runManager } from '../runtime/manager/run-manager.ts';
import type { SimulatedLink } from './network/simulated-link.ts';
import type { SimulatedNetwork } from './network/simulated-network.ts';
import { MachineTime, type MachineTimeOptions } from './simulated-clock.ts';
import { type ProcessEnd, type ProcessPorts, SimulatedProcess } from './simulated-process.ts';

/** Makes the operator of one process. */
export type Build = (ports: ProcessPorts, process: SimulatedProcess) => Manager;

/** Where a replica runs, and what. */
export interface SimulatedReplicaOptions {
  readonly network: SimulatedNetwork;
  readonly name: string;
  /** Who its requests are from, by the name that an audit log would have. */
  readonly user: string;
  readonly build: Build;
  readonly clocks?: MachineTimeOptions;
  /** Ms after which a process that has ended is started again. Default: never. */
  readonly restartAfter?: number;
}

/** One replica of an operator: its machine, its link to the API servers, and its process, if one lives. */
export class SimulatedReplica {
  readonly name: string;
  readonly link: SimulatedLink;
  readonly time: MachineTime;
  /** How the processes so far have ended. */
  readonly ends: ProcessEnd[] = [];
  readonly #options: SimulatedReplicaOptions;
  readonly #startListeners: ((process: SimulatedProcess) => void)[] = [];
  readonly #endListeners: ((end: ProcessEnd) => void)[] = [];
  #process: SimulatedProcess | undefined;
  #started = 0;

  constructor(options: SimulatedReplicaOptions) {
    const { network, name, clocks } = options;
    this.#options = options;
    this.name = name;
    this.link = network.link(name);
    this.time = new MachineTime(network.simulation, clocks);
  }

  /** The process that lives, if any. */
  get process(): SimulatedProcess | undefined {
    return this.#process?.isAlive ? this.#process : undefined;
  }

  /** Told each process when it starts. */
  onStart(listener: (process: SimulatedProcess) => void): void {
    this.#startListeners.push(listener);
  }

  /** Told how each process ends. */
  onEnd(listener: (end: ProcessEnd) => void): void {
    this.#endListeners.push(listener);
  }

  /** Starts a process, unless one lives. */
  start(): void {
    if (this.process !== undefined) return;
    const { network, name, user, build } = this.#options;
    const { simulation } = network;
    const process = new SimulatedProcess({
      ...{ simulation, user, time: this.time, link: this.link },
      name: `${name}#${++this.#started}`,
    });
    this.#process = process;
    process.onEnd((end) => this.#ended(end));
    for (const listener of this.#startListeners) listener(process);
    process.start((ports, host) => runManager(build(ports, process), host));
  }

  #ended(end: ProcessEnd): void {
    this.ends.push(end);
    for (const listener of this.#endListeners) listener(end);
    const { restartAfter, network } = this.#options;
    if (restartAfter !== undefined) network.simulation.schedule(restartAfter, () => this.start());
  }
}
