/** ProblemLog: logs a problem with the Lease when it begins or changes, and its end; not each of its repetitions. */
import type { Logger } from '../logger.ts';

export class ProblemLog {
  readonly #log: Logger;
  #problem = '';

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param error undefined when all is well. */
  report(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error ?? '');
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === '') this.#log.info('the lease can be reached again');
    else this.#log.warn({ err: error }, 'cannot reach or write the lease; trying again');
  }
}
