/**
 * Start garbage: what the filling of the caches leaves behind. V8 collects a heap of this size only when it has
 * doubled, which an idle operator never does; so ten thousand Ats would cost 10 MB more, for months.
 *
 * One collection some time after the start is enough: after it V8 looks for quiet moments by itself, and in
 * them gives back what is free. It stops the process for some 20 ms with ten thousand Ats.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, sleep } from './runtime/clock.ts';
import type { Runnable } from './runtime/controller/runnable.ts';

/** Milliseconds from the filled caches on; by then everything in them has been looked at. */
const delay = 5000;

/** @param collect runs one full garbage collection. */
export function startGarbage(clock: Clock, collect: () => void = collectGarbage): Runnable {
  return {
    name: 'start-garbage',
    needsLeaderElection: false,
    async start(stop) {
      const waited = await sleep(clock, delay, stop).then(
        () => true,
        () => false,
      );
      if (waited) collect();
    },
  };
}

function collectGarbage(): void {
  // The function is there only in a context that is made after the flag was set.
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  void gc({ type: 'major', execution: 'async' });
}
