/**
 * Start garbage: what the filling of the caches leaves behind. V8 collects a heap of this size only when it has
 * doubled, which an idle operator never does; so ten thousand objects would cost 10 MB more, for months.
 *
 * One collection some time after the start is enough: after it V8 looks for quiet moments by itself, and in
 * them gives back what is free. As a last resort means that V8 makes the young generation small again, too,
 * which has grown to the most that it may while the caches were filled: another 20 MB.
 */
import { type Clock, sleep } from '../clock.ts';
import type { Runnable } from '../controller/runnable.ts';

/** Milliseconds from the filled caches on; by then everything in them has been looked at. */
const delay = 5000;

/** @param collect runs a garbage collection: `gc`, which is there when Node.js runs with `--expose-gc`. */
export function startGarbage(clock: Clock, collect: NodeJS.GCFunction): Runnable {
  return {
    name: 'start-garbage',
    needsLeaderElection: false,
    async start(stop) {
      const waited = await sleep(clock, delay, stop).then(
        () => true,
        () => false,
      );
      if (waited) void collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
    },
  };
}
