/**
 * Entry: all that a workqueue knows of one key. It exists while the key is waiting, ready or processing; a
 * key can be waiting or ready again while it is still being processed.
 */
import type { Prioritized, Ready } from './ready-queue.ts';
import type { Alarm } from './timer-heap.ts';
import type { WorkInProgress } from './workqueue-metrics.ts';

export interface Entry extends Prioritized {
  readonly key: string;
  ready: Ready<Entry> | undefined;
  /** Monotonic; when the key was handed out, while it is processed. */
  takenAt: number | undefined;
  /** What it waits for, if it waits: the end of a delay, an instant, or either. Never together with `ready`. */
  delay: Alarm<Entry> | undefined;
  instant: Alarm<Entry> | undefined;
}

export function newEntry(key: string, priority: number): Entry {
  return { key, priority, ready: undefined, takenAt: undefined, delay: undefined, instant: undefined };
}

/** Walks all entries, which once a scrape is cheaper than keeping those in progress apart. `now` is monotonic. */
export function workInProgress(entries: Iterable<Entry>, now: number): WorkInProgress {
  let total = 0;
  let longest = 0;
  for (const { takenAt = now } of entries) {
    total += now - takenAt;
    longest = Math.max(longest, now - takenAt);
  }
  return { total, longest };
}
