/**
 * Something that the Manager starts and stops. A controller is one; so is any background loop.
 *
 * The Manager drives each runnable through at most two phases:
 *
 * 1. `warmUp(stop)`, if there is one, before leadership and on standbys too: fill caches and queues, do
 *    nothing that others could see. The Manager waits for all warm-ups (its sync limit applies) before it
 *    asks for leadership, so that a new leader works at once.
 * 2. `start(stop, abort)`: once the warm-up is over and, with `needsLeaderElection`, this process leads.
 *
 * `stop` is one signal for the whole life: it is also aborted when the process never came to lead, and then
 * ends what the warm-up began. `abort` is the harder one, aborted when nothing may happen any more: a lost
 * lease (at once, together with `stop`), or the end of the drain limit after `stop`.
 */
export interface Runnable {
  /** For logs and error messages; unique in a Manager. */
  readonly name: string;
  /** True: started only while this process leads. False: started as soon as it is warm. */
  readonly needsLeaderElection: boolean;
  /** Resolves when warm. Rejects when it cannot become so, or when `stop` is aborted first. */
  warmUp?(stop: AbortSignal): Promise<void>;
  /**
   * Works until `stop` is aborted, then takes up nothing new and resolves as soon as what was in progress
   * has ended; `abort` tells it to break that off as well. A rejection is fatal for the process.
   */
  start(stop: AbortSignal, abort: AbortSignal): Promise<void>;
  /** Throws when it is stuck so that only a restart of the process may help; part of `/healthz`. */
  healthCheck?(): void;
  /** What it is at work on, for the sentence about a stop that took too long. */
  readonly inProgress?: readonly string[];
}
