/**
 * Rewrites: how often a status is written again that another client has replaced. Two active replicas of which one has
 * an older view, or a user with a script, would otherwise write against this one as fast as the watch tells of it.
 */

/** Before the second rewrite in a row, in milliseconds; doubled for each that follows. The first one waits for nothing. */
const firstWaitMs = 1000;
const maxWaitMs = 10_000;
/** A write is forgotten after this time, in milliseconds. */
const forgetMs = 60_000;

interface Write {
  readonly statement: string;
  /** How often in a row it was written again. */
  readonly rewrites: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/**
 * Spaces the writes of a reconciler whose status another client replaces. A statement is what a status says, as a text,
 * without what differs each time that it is said, such as times and counters.
 */
export class Rewrites {
  /** By key, the oldest first. */
  readonly #writes = new Map<string, Write>();

  /**
   * Milliseconds until this statement may be written; 0: now.
   *
   * @param key of the object: `namespace/name`.
   * @param stored what the object's status says.
   * @param wanted what it is to say.
   * @param now monotonic milliseconds.
   */
  wait(key: string, stored: string, wanted: string, now: number): number {
    const rewrites = this.#rewritesOf(key, stored, wanted, now);
    const { at = now } = this.#writes.get(key) ?? {};
    return rewrites < 2 ? 0 : Math.max(0, at + Math.min(maxWaitMs, firstWaitMs * 2 ** (rewrites - 2)) - now);
  }

  /** The statement was written in place of what was stored. The parameters are those of {@link wait}. */
  written(key: string, stored: string, statement: string, now: number): void {
    const rewrites = this.#rewritesOf(key, stored, statement, now);
    this.#writes.delete(key);
    this.#writes.set(key, { statement, rewrites, at: now });
    for (const [oldest, { at }] of this.#writes) {
      if (now - at <= forgetMs) break;
      this.#writes.delete(oldest);
    }
  }

  /** How often in a row this statement was written again, with the write that is to come. */
  #rewritesOf(key: string, stored: string, wanted: string, now: number): number {
    const last = this.#writes.get(key);
    const isRewrite =
      last !== undefined && now - last.at <= forgetMs && last.statement === wanted && stored !== wanted;
    return isRewrite ? last.rewrites + 1 : 0;
  }
}
