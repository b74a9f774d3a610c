/** Limits: every time limit that a guarantee rests on, in the one place where their sums are checked. All in ms. */

/** A reconcile that runs longer is reported as hanging. */
export const hangLimit = 60_000;

/** When every worker of a controller has been in one reconcile for so long, the process should be restarted. */
export const deadControllerLimit = 15 * 60_000;

/** How long a stop waits for reconciles in progress. */
export const drainLimit = 20_000;
/** After that, how long for those that were told to break off. */
export const breakOffLimit = 500;
/** How long a stop waits for Events, and then for the lease to be given back. */
export const flushLimit = 2000;
export const releaseLimit = 2000;
