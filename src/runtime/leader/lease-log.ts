/** LeaseLog: logs who leads and what is wrong with the Lease when that begins, changes or ends; not its repetitions. */
import type { Logger } from '../logger.ts';

export class LeaseLog {
  readonly #log: Logger;
  #leader = '';
  #problem = '';

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param leader the holder that a candidate has met; empty for none. */
  met(leader: string): void {
    if (leader !== this.#leader && leader !== '') this.#log.info({ leader }, 'another process leads');
    this.#leader = leader;
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
