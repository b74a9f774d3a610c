/**
 * Simulation: virtual time and the order of everything that happens in it. Whatever is to run is a task with an
 * instant; tasks run one by one, each in a turn of the event loop of its own, so that all promise callbacks that
 * follow from one have run before the next. The seed decides the order of tasks that are due at the same instant.
 */
import { Heap, type HeapItem } from '../runtime/queue/heap.ts';
import { Random } from './random.ts';
import { TraceHash } from './trace-hash.ts';

/** Something that will run. `cancel` is idempotent and may be called after it ran. */
export interface Task {
  cancel(): void;
}

/** Options of a {@link Simulation}: the seed, and the time at the start. */
export interface SimulationOptions {
  readonly seed: string;
  /** True wall-clock time at the start, epoch ms. Default 2024-01-01T00:00:00Z. */
  readonly startsAt?: number;
}

/** When a run ends; without both, when there are no tasks any more. */
export interface RunUntil {
  /** Elapsed ms; what is due later stays. */
  readonly until?: number;
  /** Asked after each task and the promise callbacks that follow from it. */
  readonly when?: () => boolean;
}

/** Tasks that are due together change places with at most about so many others. */
const shuffled = 64;
/** Turns that are asked of the event loop together: waiting for the next iteration of the loop costs more than a turn. */
const turnsPerIteration = 32;

/**
 * Tasks that are due later than so many ms lie in a heap of their own: a plan has thousands that are days away, and
 * those at hand come and go much faster among few others.
 */
const window = 600_000;

/** Captured, so that a run in which the global one is forbidden can still be driven. */
const nextTurn = globalThis.setImmediate;

/** Virtual time: tasks run one after the other, in an order that follows from the seed. */
export class Simulation {
  readonly random: Random;
  readonly #startsAt: number;
  readonly #order: Random;
  /** What is due before the horizon. */
  readonly #near = new Heap<ScheduledTask>();
  readonly #far = new Heap<ScheduledTask>();
  #horizon = window;
  readonly #lanes = new Map<string, number>();
  readonly #listeners: (() => void)[] = [];
  readonly #trace = new TraceHash();
  #elapsed = 0;
  #scheduled = 0;
  #steps = 0;
  #running = false;

  constructor({ seed, startsAt = Date.UTC(2024, 0, 1) }: SimulationOptions) {
    this.random = new Random(seed);
    this.#order = this.random.fork('order');
    this.#startsAt = startsAt;
  }

  /** True time in ms since the start. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** True wall-clock time, epoch ms. */
  get now(): number {
    return this.#startsAt + this.#elapsed;
  }

  /** Tasks that have run. */
  get steps(): number {
    return this.#steps;
  }

  /** Tasks that wait for their instant. */
  get pendingTasks(): number {
    return this.#near.size + this.#far.size;
  }

  /**
   * Runs once after `delay` ms of true time, in a turn of its own.
   *
   * @param delay 0 or more; finite.
   * @param lane tasks of one lane that are due at the same instant run in the order in which they were set; those
   *   of different lanes, and those without one, in a seeded order.
   */
  schedule(delay: number, run: () => void, lane?: string): Task {
    if (!(delay >= 0 && delay < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`a task cannot be due in ${delay} ms`);
    }
    const due = this.#elapsed + delay;
    const place = lane === undefined ? this.#order.next() * shuffled : this.#placeOf(lane, due);
    const tasks = due < this.#horizon ? this.#near : this.#far;
    const task = new ScheduledTask(tasks, due, this.#scheduled++ + place, run);
    tasks.push(task);
    return task;
  }

  /** Folded into {@link traceHash}. */
  trace(text: string): void {
    this.#trace.addText(text);
  }

  /** 64 bits, hexadecimal, over all tasks that have run and everything that was traced. */
  get traceHash(): string {
    return this.#trace.text;
  }

  /** Called after each task and the promise callbacks that follow from it. What it throws ends the run. */
  afterStep(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Runs tasks. Rejects with what a task or a listener throws; the simulation can go on after that. */
  run({ until = Number.POSITIVE_INFINITY, when = never }: RunUntil = {}): Promise<void> {
    if (this.#running) throw new Error('the simulation is running already');
    this.#running = true;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Of this run alone: turns that were asked for may come after its end, and in another run.
    let ended = false;
    const end = (settle: () => void) => {
      ended = true;
      this.#running = false;
      settle();
    };
    let begun = false;
    const turn = () => {
      if (ended) return;
      try {
        if (begun) this.#stepped();
        if (when()) end(resolve);
        else if (!this.#step(until)) end(resolve);
        begun = true;
      } catch (error) {
        end(() => reject(error));
      }
    };
    const turns = () => {
      for (let i = 0; i < turnsPerIteration; i++) nextTurn(turn);
      nextTurn(() => {
        if (!ended) turns();
      });
    };
    turns();
    return promise;
  }

  #stepped(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Runs the next task; false when there is none until then. */
  #step(until: number): boolean {
    const task = this.#near.peek() ?? this.#approach();
    if (task === undefined || task.rank > until) {
      if (until !== Number.POSITIVE_INFINITY && until > this.#elapsed) this.#elapsed = until;
      return false;
    }
    this.#near.pop();
    this.#elapsed = task.rank;
    this.#steps++;
    this.#trace.addNumber(task.rank);
    task.run();
    return true;
  }

  /** Nothing is near: brings near what comes next, and returns the first of it. */
  #approach(): ScheduledTask | undefined {
    const first = this.#far.peek();
    if (first === undefined) return undefined;
    this.#horizon = first.rank + window;
    for (let task = this.#far.peek(); task && task.rank < this.#horizon; task = this.#far.peek()) {
      this.#far.pop();
      task.moveTo(this.#near);
    }
    return this.#near.peek();
  }

  /** Constant for one lane and instant, so that its tasks keep their order. */
  #placeOf(lane: string, due: number): number {
    let number = this.#lanes.get(lane);
    if (number === undefined) {
      number = this.#order.bits();
      this.#lanes.set(lane, number);
    }
    const bits = Math.imul(number ^ Math.floor(due), 0x85_eb_ca_6b);
    return (bits ^ (bits >>> 15)) & (shuffled - 1);
  }
}

function never(): boolean {
  return false;
}

class ScheduledTask implements Task, HeapItem {
  readonly rank: number;
  readonly sequence: number;
  readonly run: () => void;
  heapIndex = -1;
  #tasks: Heap<ScheduledTask>;

  constructor(tasks: Heap<ScheduledTask>, due: number, sequence: number, run: () => void) {
    this.#tasks = tasks;
    this.rank = due;
    this.sequence = sequence;
    this.run = run;
  }

  moveTo(tasks: Heap<ScheduledTask>): void {
    this.#tasks = tasks;
    tasks.push(this);
  }

  cancel(): void {
    this.#tasks.remove(this);
  }
}
