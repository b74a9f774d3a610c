/** Calls: the reconciles of one controller that are in progress, and which of them hang. */
import { assertTimerDelay, type Clock } from '../clock.ts';
import { deadControllerLimit, hangLimit } from '../limits.ts';
import type { Logger } from '../logger.ts';
import type { ControllerMetrics } from './controller-metrics.ts';

export interface CallsOptions {
  readonly clock: Clock;
  readonly metrics: ControllerMetrics;
  readonly workers: number;
  /** Milliseconds for which every worker may be in one reconcile. Default {@link deadControllerLimit}. */
  readonly unhealthyAfter?: number;
}

/** One reconcile. */
export interface Call {
  /** `namespace/name`. */
  readonly key: string;
  /** Breaks it off. */
  readonly abort: AbortController;
  /** False once its time limit has let its worker go on. */
  holdsWorker: boolean;
}

interface CallInProgress {
  readonly call: Call;
  /** Monotonic. */
  readonly begin: number;
  readonly ended: Promise<void>;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #unhealthyAfter: number;
  readonly #inProgress = new Set<CallInProgress>();

  /** @throws {RangeError} for a time that makes no sense. */
  constructor(options: CallsOptions) {
    const { unhealthyAfter = deadControllerLimit } = options;
    assertTimerDelay(unhealthyAfter);
    if (unhealthyAfter === 0) throw new RangeError('unhealthyAfter must be > 0 ms');
    this.#options = options;
    this.#unhealthyAfter = unhealthyAfter;
  }

  /** Keeps the call until `run` settles. After a minute it counts as hanging, and `log` says so. */
  async track(call: Call, log: Logger, run: () => Promise<void>): Promise<void> {
    const { clock, metrics } = this.#options;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const inProgress = { call, ended, begin: clock.monotonic() };
    this.#inProgress.add(inProgress);
    let hangs = false;
    const timer = clock.setTimer(hangLimit, () => {
      hangs = true;
      metrics.hangs();
      log.warn(
        { running: hangLimit },
        'reconcile hangs: its promise does not settle; its object stays locked',
      );
    });
    try {
      await run();
    } finally {
      timer.cancel();
      if (hangs) metrics.hungUp();
      this.#inProgress.delete(inProgress);
      resolve();
    }
  }

  get keys(): string[] {
    return Array.from(this.#inProgress, ({ call }) => call.key);
  }

  /** Resolves when those of now have ended. */
  async ended(): Promise<void> {
    await Promise.all(Array.from(this.#inProgress, ({ ended }) => ended));
  }

  abort(reason: unknown): void {
    for (const { call } of this.#inProgress) call.abort.abort(reason);
  }

  /** Whether every worker has been in one reconcile for longer than it may. */
  get areStuck(): boolean {
    const since = this.#options.clock.monotonic() - this.#unhealthyAfter;
    const stuck = Array.from(this.#inProgress).filter(({ call, begin }) => call.holdsWorker && begin < since);
    return stuck.length >= this.#options.workers;
  }
}
