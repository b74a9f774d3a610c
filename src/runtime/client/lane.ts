/**
 * Lane: on whose behalf requests are sent. Each controller has a lane of its own, and so have informers and Events;
 * lanes wait apart and take turns, so that what hangs in one does not hold up another. A lane belongs to what is
 * called within it, however many awaits away: code that is given a client needs to know nothing of it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const lanes = new AsyncLocalStorage<string>();

/** The lane of everything that is called outside of all others. */
const defaultLane = 'manager';

/** Calls `work`; its requests, and those of everything that it calls, are sent in this lane. */
export function inLane<R>(lane: string, work: () => R): R {
  return lanes.run(lane, work);
}

/** The lane of the code that is running. */
export function currentLane(): string {
  return lanes.getStore() ?? defaultLane;
}
