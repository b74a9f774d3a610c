/** Limits: every time limit that a guarantee rests on, in the one place where their sums are checked. All in ms. */

/** Time limits of a Manager, in milliseconds; everything has a default. */
export interface Durations {
  /** How long the other replicas wait for a Lease that does not change. Whole seconds. Default 15 000. */
  readonly leaseDuration?: number;
  /** How long a leader may write after it sent its last renewal. Default 10 000. */
  readonly renewDeadline?: number;
  /** Between two renewals of the leader, and between two looks of the others. Default 2000. */
  readonly retryPeriod?: number;
  /** How long the start waits for caches that do not fill any further. Default 120 000. */
  readonly cacheSyncTimeout?: number;
  /** How long a stop waits for reconciles in progress before it breaks them off. Default 20 000. */
  readonly gracefulShutdownTimeout?: number;
}

export const defaultDurations: Required<Durations> = {
  leaseDuration: 15_000,
  renewDeadline: 10_000,
  retryPeriod: 2000,
  cacheSyncTimeout: 120_000,
  gracefulShutdownTimeout: 20_000,
};

/** How long a request may take that does not say so itself, in milliseconds; a list per page. */
export const defaultRequestTimeouts = { read: 30_000, write: 5000, list: 120_000 };

/** Candidates wait up to so much longer than the retry period, as a share of it, so that they do not collide. */
export const retryJitter = 0.1;
/** Longest call for the Lease. */
export const leaseCallLimit = 5000;
/** Calls for the Lease that must fit into the renew deadline one after the other. */
export const leaseCallsPerDeadline = 2;

/** How long the API server may be away at the start. */
export const reachLimit = 30_000;
/** What the event loop may stand still. */
export const eventLoopLagLimit = 10_000;
/** An informer without any contact for so long is dead, whatever it believes. */
export const informerSilenceLimit = 15 * 60_000;
/**
 * What an informer shows is relied on for so long after the API server has shown it to be complete. While all is well
 * a bookmark comes once a minute.
 */
export const stalenessLimit = 90_000;
/** A reconcile that runs longer is reported as hanging. */
export const hangLimit = 60_000;
/** When every worker of a controller has been in one reconcile for so long, the process should be restarted. */
export const deadControllerLimit = 15 * 60_000;

/** After `gracefulShutdownTimeout`, how long a stop waits for work whose signal has been aborted. */
export const breakOffLimit = 500;
/** How long a stop waits for Events, and then for the lease to be given back. */
export const flushLimit = 2000;
export const releaseLimit = 2000;

/** What a timer can wait for. */
const longest = 2 ** 31 - 1;

/** @throws {RangeError} with one sentence, for the first duration that makes no sense or does not fit the others. */
export function checkedDurations(options: Durations): Required<Durations> {
  const durations = { ...defaultDurations };
  for (const name of Object.keys(defaultDurations) as (keyof Durations)[]) {
    const value = options[name] ?? defaultDurations[name];
    if (!(value > 0 && value <= longest)) {
      throw new RangeError(`${name} must be more than 0 and at most ${longest} ms, got ${value}`);
    }
    durations[name] = value;
  }
  const { leaseDuration, renewDeadline, retryPeriod } = durations;
  if (leaseDuration % 1000 !== 0) {
    throw new RangeError(`leaseDuration must be whole seconds, got ${leaseDuration} ms`);
  }
  if (renewDeadline >= leaseDuration) {
    throw new RangeError(
      `renewDeadline (${renewDeadline} ms) must be shorter than leaseDuration (${leaseDuration} ms): ` +
        'a leader must have stopped before another replica may lead',
    );
  }
  if (retryPeriod * (1 + retryJitter) >= renewDeadline) {
    throw new RangeError(
      `retryPeriod (${retryPeriod} ms, and a tenth) must be shorter than renewDeadline (${renewDeadline} ms): ` +
        'otherwise no renewal comes in time',
    );
  }
  return durations;
}

/**
 * With leader election only.
 *
 * @param write ms that a write may take. @throws {RangeError} with one sentence, when that is too long.
 */
export function assertWriteFits(write: number, { leaseDuration, renewDeadline }: Required<Durations>): void {
  const room = leaseDuration - renewDeadline;
  if (write <= room) return;
  throw new RangeError(
    `requestTimeouts.write (${write} ms) must not be longer than leaseDuration - renewDeadline (${room} ms): ` +
      'what a leader sends must be over before another replica may lead',
  );
}
