/** Container process: what runs in a simulated container, from its start to its end. */
import type { SimulatedTime } from '../cluster-ports.ts';
import type { Behaviour } from './program.ts';

/** The kubelet gives no container less, in ms. */
const minGraceMs = 2000;
/** Of a process that SIGKILL has ended. */
const killed = 137;

export interface ProcessEvents {
  ready(): void;
  exited(exitCode: number, reason: string | undefined): void;
}

export class ContainerProcess {
  readonly #time: SimulatedTime;
  readonly #behaviour: Behaviour;
  readonly #events: ProcessEvents;
  readonly #tasks = new Set<{ cancel(): void }>();
  #killAt = Number.POSITIVE_INFINITY;

  /** Starts it. @param probed whether its readiness is to be found out */
  constructor(time: SimulatedTime, behaviour: Behaviour, probed: boolean, events: ProcessEvents) {
    this.#time = time;
    this.#behaviour = behaviour;
    this.#events = events;
    const { exitAfter, exitCode = 0, readyAfter = 1000, reason } = behaviour;
    if (probed && readyAfter !== 'never') this.#in(readyAfter, () => events.ready());
    if (exitAfter !== undefined) this.#in(exitAfter, () => this.exit(exitCode, reason));
  }

  /** SIGTERM, and SIGKILL after the grace, in ms. A later call can only shorten it. */
  stop(grace: number): void {
    const wait = Math.max(grace, minGraceMs);
    const isFirst = this.#killAt === Number.POSITIVE_INFINITY;
    const killAt = this.#time.now + wait;
    if (killAt >= this.#killAt) return;
    this.#killAt = killAt;
    const { onTerm } = this.#behaviour;
    if (isFirst && onTerm !== undefined) this.#in(onTerm.exitAfter, () => this.exit(onTerm.exitCode));
    this.#in(wait, () => this.exit(killed));
  }

  /** Ends it now. */
  exit(exitCode: number, reason?: string): void {
    for (const task of this.#tasks) task.cancel();
    this.#tasks.clear();
    this.#events.exited(exitCode, reason);
  }

  #in(delay: number, run: () => void): void {
    const task = this.#time.schedule(delay, () => {
      this.#tasks.delete(task);
      run();
    });
    this.#tasks.add(task);
  }
}
