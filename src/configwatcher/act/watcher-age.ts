/**
 * Watcher age: whether a watcher that this process knows may be another one by now, or gone. A watch whose connection
 * is dead shows nothing, for minutes: a watcher that was deleted or edited then must not take Pods away.
 */
import { stalenessLimit } from '../../runtime/limits.ts';
import type { WatcherParts } from './watcher-parts.ts';

export class WatcherAge {
  readonly #options;

  constructor(options: Pick<WatcherParts, 'watch' | 'clock'>) {
    this.#options = options;
  }

  /** @param readAt when the watcher was read from the API server itself, monotonic ms; absent when it was not. */
  isOld(readAt = Number.NEGATIVE_INFINITY): boolean {
    const { watch, clock } = this.#options;
    return Math.min(watch.staleness(), clock.monotonic() - readAt) > stalenessLimit;
  }
}
