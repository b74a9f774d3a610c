/**
 * Stale lists: a list may be older than what a watch has shown, where an API server behind a load balancer answers
 * from an old cache. Such a list is refused, until several in a row say that the storage was restored from a backup.
 */
import { compareResourceVersions } from './resource-version.ts';

/** Lists in a row older than what is known, after which the storage is taken to have been restored. */
const maxRefused = 2;

/** A list came back older than what the watch had shown. */
export class StaleListError extends Error {
  override readonly name = 'StaleListError';
}

export class StaleLists {
  #inRow = 0;

  /** @param known the version that has been seen. @throws {StaleListError} for a list that is to be refused. */
  assertCurrent(resourceVersion: string, known: string | undefined): void {
    const isStale = known !== undefined && (compareResourceVersions(resourceVersion, known) ?? 0) < 0;
    this.#inRow = isStale ? this.#inRow + 1 : 0;
    if (isStale && this.#inRow <= maxRefused) {
      throw new StaleListError(`the list is of version ${resourceVersion}, but ${known} has been seen`);
    }
    this.#inRow = 0;
  }
}
