/**
 * SimulatedProcess: the life of one process: its ports, what runs in it, and how it is stopped, continued and
 * ended from outside. Whatever calls back into it goes through {@link SimulatedProcess.deliver}; once it has ended,
 * nothing does: its timers never fire, its requests go nowhere, its promises stay pending.
 */
import type { OpenConnection } from '../runtime/client/http-connection.ts';
import type { Clock } from '../runtime/clock.ts';
import type { HostProcess } from '../runtime/manager/run-manager.ts';
import type { Randomness } from '../runtime/randomness.ts';
import { SimulatedConnection } from './network/simulated-connection.ts';
import type { SimulatedLink } from './network/simulated-link.ts';
import type { Random } from './random.ts';
import { type CallbackSource, type MachineTime, SimulatedClock, type TimerHost } from './simulated-clock.ts';
import type { Simulation } from './simulation.ts';

/** Everything through which a process reaches the world. */
export interface ProcessPorts {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openConnection: OpenConnection;
}

/** What a process runs: it gets the ports and what the program would have as Node's `process`. */
export type Program = (ports: ProcessPorts, host: HostProcess) => unknown;

export interface SimulatedProcessOptions {
  readonly simulation: Simulation;
  /** Unlike any other's, earlier ones included. */
  readonly name: string;
  /** Who its requests are from, by the name that an audit log would have. */
  readonly user: string;
  readonly time: MachineTime;
  readonly link: SimulatedLink;
}

/** How a process ended. */
export interface ProcessEnd {
  /** Exit code; 137 when it was killed. */
  readonly code: number;
  /** What it wrote on standard error. */
  readonly stderr: string;
  /** True time, ms since the start of the simulation. */
  readonly at: number;
}

type ProcessState = 'running' | 'stopped' | 'suspended' | 'ended';
type Listener = (value: unknown) => void;

/** One process on a simulated machine, which can be signalled, stopped, killed and suspended. */
export class SimulatedProcess implements TimerHost {
  readonly name: string;
  readonly user: string;
  readonly time: MachineTime;
  readonly ports: ProcessPorts;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #link: SimulatedLink;
  readonly #listeners = new Map<string, Listener[]>();
  readonly #endListeners: ((end: ProcessEnd) => void)[] = [];
  /** What called back while the process was stopped. */
  #late: { readonly run: () => void; readonly source: CallbackSource }[] = [];
  #state: ProcessState = 'running';
  #stderr = '';
  #end: ProcessEnd | undefined;

  constructor({ simulation, name, user, time, link }: SimulatedProcessOptions) {
    this.name = name;
    this.user = user;
    this.time = time;
    this.#simulation = simulation;
    this.#link = link;
    this.#random = simulation.random.fork(`process ${name}`);
    const random = this.#random.fork('randomness');
    this.ports = {
      clock: new SimulatedClock({ simulation, host: this, random: this.#random.fork('timers'), lane: name }),
      randomness: {
        random: () => random.next(),
        uuid: () => random.uuid(),
        bytes: (size) => Buffer.from(Array.from({ length: size }, () => random.integer(256))),
      },
      openConnection: (endpoint) => new SimulatedConnection({ endpoint, link, process: this }),
    };
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** Stopped and suspended ones are. */
  get isAlive(): boolean {
    return this.#state !== 'ended';
  }

  /** Undefined while it is alive. */
  get end(): ProcessEnd | undefined {
    return this.#end;
  }

  /** Told once, in the turn in which the process ends. */
  onEnd(listener: (end: ProcessEnd) => void): void {
    this.#endListeners.push(listener);
  }

  /** Runs the program in a later turn. What it throws or rejects with ends the process with 1. */
  start(program: Program): void {
    const host: HostProcess = this.#host();
    this.#simulation.schedule(0, () => {
      this.deliver(() => {
        Promise.resolve()
          .then(() => program(this.ports, host))
          .catch((error: unknown) => this.#crash(error));
      }, 'timer');
    });
  }

  /** A signal that the program may handle; without a handler it ends the process. */
  signal(name: 'SIGTERM' | 'SIGINT'): void {
    this.deliver(() => {
      if (!this.#emit(name, name)) this.#exit(143);
    }, 'network');
  }

  /** SIGKILL, or its node is gone: it ends in this turn. */
  kill(): void {
    this.#exit(137);
  }

  /** SIGSTOP: both clocks run on, nothing calls back. */
  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped';
  }

  /** SIGCONT: everything that should have called back meanwhile does so now, one by one. */
  continue(): void {
    if (this.#state === 'stopped') this.#wake();
  }

  /** Its machine sleeps: only the wall clock runs. */
  suspend(): void {
    if (this.#state !== 'running') return;
    this.#state = 'suspended';
    this.time.suspend();
  }

  /** Its machine wakes up. */
  resume(): void {
    if (this.#state !== 'suspended') return;
    this.time.resume();
    this.#wake();
  }

  deliver(run: () => void, source: CallbackSource): void {
    if (this.#state === 'running') this.#run(run);
    else if (this.#state !== 'ended') this.#late.push({ run, source });
  }

  /** An event loop sees all that came in together and all timers together; which first depends on where it stood. */
  #wake(): void {
    this.#state = 'running';
    const late = this.#late;
    this.#late = [];
    const first: CallbackSource = this.#random.chance(0.5) ? 'timer' : 'network';
    const isFirst = (one: { source: CallbackSource }) => one.source === first;
    for (const { run, source } of [...late.filter(isFirst), ...late.filter((one) => !isFirst(one))]) {
      this.#simulation.schedule(0, () => this.deliver(run, source), this.name);
    }
  }

  /** What nothing in the program catches goes to its handler, as in Node.js. */
  #run(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!this.#emit('uncaughtException', error)) this.#crash(error);
    }
  }

  #emit(event: string, value: unknown): boolean {
    const listeners = this.#listeners.get(event) ?? [];
    for (const listener of listeners) listener(value);
    return listeners.length > 0;
  }

  #crash(error: unknown): void {
    this.#stderr += `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
    this.#exit(1);
  }

  #exit(code: number): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.time.resume();
    this.#late = [];
    this.#end = { code, stderr: this.#stderr, at: this.#simulation.elapsed };
    this.#simulation.trace(`${this.name} ended with ${code}`);
    this.#link.abandon(this);
    for (const listener of this.#endListeners) listener(this.#end);
  }

  #host(): HostProcess {
    const host = {
      on: (event: string, listener: Listener) => {
        const listeners = this.#listeners.get(event) ?? [];
        this.#listeners.set(event, [...listeners, listener]);
        return host;
      },
      exit: (code: number) => this.#exit(code),
      stderr: {
        write: (text: string) => {
          this.#stderr += text;
          return true;
        },
      },
    };
    // The program needs no more of Node's process than this.
    return host as unknown as HostProcess;
  }
}
