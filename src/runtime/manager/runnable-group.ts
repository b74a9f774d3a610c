/**
 * RunnableGroup: the runnables of a Manager through their two phases. It knows which of them are at work,
 * so that a stop can wait for them and name those that do not end.
 */
import { inLane } from '../client/lane.ts';
import type { Runnable } from '../controller/runnable.ts';
import { describeError } from '../error-chain.ts';

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

export class RunnableGroup {
  readonly #options: RunnableGroupOptions;
  readonly #runnables = new Map<string, Runnable>();
  readonly #running = new Map<Runnable, Promise<void>>();
  #begun = false;

  constructor(options: RunnableGroupOptions) {
    this.#options = options;
  }

  add(runnable: Runnable): void {
    if (this.#begun) throw new Error(`${runnable.name} was added after the start`);
    if (this.#runnables.has(runnable.name)) throw new Error(`there is a runnable ${runnable.name} already`);
    this.#runnables.set(runnable.name, runnable);
  }

  /** Resolves when all are warm. */
  async warmUp(): Promise<void> {
    this.#begun = true;
    await Promise.all(
      Array.from(this.#runnables.values(), (runnable) =>
        inLane(runnable.name, () => runnable.warmUp?.(this.#options.stop)),
      ),
    );
  }

  /** Starts those that need leadership, or those that do not. After a stop has begun: none. */
  start(needsLeaderElection: boolean): void {
    const { stop, abort, onFailure } = this.#options;
    for (const runnable of this.#runnables.values()) {
      if (runnable.needsLeaderElection !== needsLeaderElection || stop.aborted) continue;
      const ended = inLane(runnable.name, async () => runnable.start(stop, abort))
        .catch((cause: unknown) => {
          onFailure(new Error(`${runnable.name} failed: ${describeError(cause)}`, { cause }));
        })
        .finally(() => this.#running.delete(runnable));
      this.#running.set(runnable, ended);
    }
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
