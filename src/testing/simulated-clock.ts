/**
 * The clocks of a simulated machine, and the clock that a process on it has. True time is the simulation's; no
 * machine knows it. A wall clock is ahead or behind (skew), runs too fast or too slow (drift) and is set (steps);
 * the monotonic clock drifts with it, is never set, and stands still while the machine is suspended.
 */
import { assertTimerDelay, type Clock, type Timer } from '../runtime/clock.ts';
import type { Random } from './random.ts';
import type { Simulation, Task } from './simulation.ts';

/** How wrong the clocks of a machine are. */
export interface MachineTimeOptions {
  /** Ms that the wall clock is ahead of true time at the start; negative: behind. Default 0. */
  readonly skew?: number;
  /** How much faster both clocks run: 0.0001 is 100 ppm. Default 0. */
  readonly drift?: number;
  /** Ms on the monotonic clock at the start. Default 1000. */
  readonly monotonic?: number;
}

/** Both clocks of one machine; they outlive its processes. */
export class MachineTime {
  /** Ms on both clocks for each ms of true time. */
  readonly rate: number;
  readonly #simulation: Simulation;
  readonly #begun: number;
  readonly #wallAtBegin: number;
  readonly #monotonicAtBegin: number;
  #stepped = 0;
  /** Ms of true time, in all. */
  #suspended = 0;
  #suspendedAt: number | undefined;

  constructor(simulation: Simulation, { skew = 0, drift = 0, monotonic = 1000 }: MachineTimeOptions = {}) {
    this.rate = 1 + drift;
    this.#simulation = simulation;
    this.#begun = simulation.elapsed;
    this.#wallAtBegin = simulation.now + skew;
    this.#monotonicAtBegin = monotonic;
  }

  /** The wall clock, epoch ms, whole ones. */
  now(): number {
    return Math.floor(
      this.#wallAtBegin + this.#stepped + (this.#simulation.elapsed - this.#begun) * this.rate,
    );
  }

  monotonic(): number {
    const until = this.#suspendedAt ?? this.#simulation.elapsed;
    return this.#monotonicAtBegin + (until - this.#begun - this.#suspended) * this.rate;
  }

  /** The wall clock is set forward, or back for a negative `ms`. */
  stepWall(ms: number): void {
    this.#stepped += ms;
  }

  /** From now on only the wall clock runs. */
  suspend(): void {
    this.#suspendedAt ??= this.#simulation.elapsed;
  }

  resume(): void {
    if (this.#suspendedAt === undefined) return;
    this.#suspended += this.#simulation.elapsed - this.#suspendedAt;
    this.#suspendedAt = undefined;
  }
}

/** What called back: the clock or the network. */
export type CallbackSource = 'timer' | 'network';

/** What a clock needs of the process that it is for. */
export interface TimerHost {
  readonly time: MachineTime;
  readonly isAlive: boolean;
  /** Runs a callback of the process, now or, while it is stopped, later; never once it has ended. */
  deliver(run: () => void, source: CallbackSource): void;
}

export interface SimulatedClockOptions {
  readonly simulation: Simulation;
  readonly host: TimerHost;
  /** For how early or late each timer is. */
  readonly random: Random;
  /** Of the process's callbacks. */
  readonly lane: string;
}

/** Node.js fires a timer up to so many ms before it is due, by the monotonic clock. */
const earliest = 1;
/** Usually at most so many ms after it. */
const usuallyLatest = 1;
/** Most true ms until a turn of the event loop. */
const maxTurnMs = 0.05;
const noTimer: Timer = { cancel() {} };

/** The Clock of a process on a simulated machine; its timers run on the time of the simulation. */
export class SimulatedClock implements Clock {
  readonly #options: SimulatedClockOptions;

  constructor(options: SimulatedClockOptions) {
    this.#options = options;
  }

  now(): number {
    return this.#options.host.time.now();
  }

  monotonic(): number {
    return this.#options.host.time.monotonic();
  }

  setTimer(delay: number, callback: () => void): Timer {
    assertTimerDelay(delay);
    if (!this.#options.host.isAlive) return noTimer;
    return new SimulatedTimer(this.#options, delay, callback);
  }

  turn(): Promise<void> {
    const { simulation, host, random, lane } = this.#options;
    return new Promise((resolve) => {
      simulation.schedule(random.next() * maxTurnMs, () => host.deliver(resolve, 'timer'), lane);
    });
  }
}

class SimulatedTimer implements Timer {
  readonly #options: SimulatedClockOptions;
  /** Monotonic. */
  readonly #due: number;
  readonly #callback: () => void;
  #task: Task;
  #over = false;

  constructor(options: SimulatedClockOptions, delay: number, callback: () => void) {
    // Node.js counts in whole ms, and in at least one.
    const whole = Math.max(1, Math.trunc(delay));
    const { host, random } = options;
    this.#options = options;
    this.#callback = callback;
    this.#due = host.time.monotonic() + whole;
    const shift = random.next() * (earliest + usuallyLatest) - earliest;
    this.#task = this.#schedule(Math.max(0, whole + shift));
  }

  cancel(): void {
    this.#over = true;
    this.#task.cancel();
  }

  /** @param delay monotonic ms. */
  #schedule(delay: number): Task {
    const { simulation, host, lane } = this.#options;
    const { rate } = host.time;
    return simulation.schedule(delay / rate, () => host.deliver(() => this.#fire(), 'timer'), lane);
  }

  #fire(): void {
    // Cancelled while it waited for its stopped process.
    if (this.#over) return;
    // The machine was suspended meanwhile: that time does not count.
    const left = this.#due - this.#options.host.time.monotonic();
    if (left > earliest) {
      this.#task = this.#schedule(left);
      return;
    }
    this.#over = true;
    this.#callback();
  }
}
