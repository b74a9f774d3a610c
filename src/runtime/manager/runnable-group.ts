/**
 * RunnableGroup: the runnables of a Manager through their two phases. It knows which of them are at work,
 * so that a stop can wait for them and name those that do not end.
 */
import { inLane } from '../client/lane.ts';
import type { Runnable } from '../controller/runnable.ts';
import { describeError } from '../error-chain.ts';
import { abortWith } from '../time-limit.ts';

/** Objects in progress that a sentence names. */
const maxNamed = 5;

export interface RunnableGroupOptions {
  /** Aborted when nothing new may be taken up. */
  readonly stop: AbortSignal;
  /** Aborted when what is in progress must be broken off as well. */
  readonly abort: AbortSignal;
  /** A runnable failed; called at most once for each. */
  readonly onFailure: (error: Error) => void;
}

interface Entry {
  readonly runnable: Runnable;
  /** Of this one alone; it follows that of the group. */
  readonly stop: AbortController;
  /** False while one that was added after the start warms up. */
  ready: boolean;
}

export class RunnableGroup {
  readonly #options: RunnableGroupOptions;
  readonly #runnables = new Map<string, Entry>();
  /** Which are started: those that need leadership, and those that do not. */
  readonly #started = new Set<boolean>();
  readonly #running = new Map<Runnable, Promise<void>>();
  #begun = false;

  constructor(options: RunnableGroupOptions) {
    this.#options = options;
  }

  /** One that is added while the others run is warmed up, and started as soon as its like are. */
  add(runnable: Runnable): void {
    if (this.#options.stop.aborted) throw new Error(`${runnable.name} was added after the stop`);
    if (this.#runnables.has(runnable.name)) throw new Error(`there is a runnable ${runnable.name} already`);
    const entry: Entry = { runnable, stop: new AbortController(), ready: !this.#begun };
    this.#runnables.set(runnable.name, entry);
    abortWith(entry.stop, this.#options.stop);
    if (this.#begun) void this.#admit(entry);
  }

  /** Stops one; resolves when it has ended. Its name is free then. */
  async remove(runnable: Runnable): Promise<void> {
    const entry = this.#runnables.get(runnable.name);
    if (entry?.runnable !== runnable) throw new Error(`there is no such runnable ${runnable.name}`);
    entry.stop.abort(new Error(`${runnable.name} is stopped`));
    await this.#running.get(runnable);
    this.#runnables.delete(runnable.name);
  }

  /** Resolves when all are warm. */
  async warmUp(): Promise<void> {
    this.#begun = true;
    await Promise.all(
      Array.from(this.#runnables.values(), async (entry) => {
        try {
          await warmUpOf(entry);
        } catch (error) {
          // One that was removed meanwhile holds up no start.
          if (!entry.stop.signal.aborted || this.#options.stop.aborted) throw error;
        }
      }),
    );
  }

  async #admit(entry: Entry): Promise<void> {
    try {
      await warmUpOf(entry);
      entry.ready = true;
      if (this.#started.has(entry.runnable.needsLeaderElection)) this.#start(entry);
    } catch (cause) {
      if (!entry.stop.signal.aborted) this.#failed(entry.runnable, cause);
    }
  }

  /** Starts those that need leadership, or those that do not. After a stop has begun: none. */
  start(needsLeaderElection: boolean): void {
    this.#started.add(needsLeaderElection);
    for (const entry of this.#runnables.values()) {
      if (entry.ready && entry.runnable.needsLeaderElection === needsLeaderElection) this.#start(entry);
    }
  }

  #start({ runnable, stop: { signal } }: Entry): void {
    if (signal.aborted) return;
    const ended = inLane(runnable.name, async () => runnable.start(signal, this.#options.abort))
      .catch((cause: unknown) => this.#failed(runnable, cause))
      .finally(() => this.#running.delete(runnable));
    this.#running.set(runnable, ended);
  }

  #failed({ name }: Runnable, cause: unknown): void {
    this.#options.onFailure(new Error(`${name} failed: ${describeError(cause)}`, { cause }));
  }

  /** @throws {Error} the first complaint of one that is at work. */
  healthCheck(): void {
    for (const runnable of this.#running.keys()) runnable.healthCheck?.();
  }

  /** Names of those at work, with what keeps them: `at (default/a, default/b)`. */
  get running(): string[] {
    return Array.from(this.#running.keys(), ({ name, inProgress = [] }) => {
      const rest = inProgress.length - maxNamed;
      const named = [...inProgress.slice(0, maxNamed), ...(rest > 0 ? [`${rest} more`] : [])];
      return named.length === 0 ? name : `${name} (${named.join(', ')})`;
    });
  }

  /** Resolves when none is at work any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}

async function warmUpOf({ runnable, stop }: Entry): Promise<void> {
  await inLane(runnable.name, () => runnable.warmUp?.(stop.signal));
}
