/**
 * Waits of a request: thrown where it cannot go on yet; the server tries it again when the wait is over.
 */

/** Until the watch cache has a revision. */
export class AwaitsRevision extends Error {
  readonly revision: number;

  constructor(revision: number) {
    super(`waits for revision ${revision}`);
    this.revision = revision;
  }
}

/** Milliseconds for which a read waits until the cache has the version that it asks for. */
export const freshnessLimit = 3000;

/** So many milliseconds, for a caller that takes them. */
export class AwaitsTime extends Error {
  readonly ms: number;
  readonly whom: string;

  constructor(ms: number, whom: string) {
    super(`waits ${ms} ms for ${whom}`);
    this.ms = ms;
    this.whom = whom;
  }
}
