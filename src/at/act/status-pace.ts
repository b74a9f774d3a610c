/**
 * Status pace: when a status that says why a due At has no Pod is written. The first 100 of a namespace and reason go
 * before the rest, and all of them at no more than 200 a second: creates need the API server more.
 */

/** Between two writes. */
const intervalMs = 5;
/** So many are written at once before the pace counts. */
const burst = 10;
/** Of each namespace and reason, so many go first. */
const urgentCount = 100;
/** A group is forgotten after this time without a status, and its count starts at zero. */
const forgetMs = 60_000;

export class StatusPace {
  /** When the next write of each lane may be, monotonic milliseconds. */
  #urgentAt = Number.NEGATIVE_INFINITY;
  #restAt = Number.NEGATIVE_INFINITY;
  readonly #groups = new Map<string, { count: number; seenAt: number }>();
  /** By key of an At: its place, monotonic milliseconds. */
  readonly #places = new Map<string, number>();

  /**
   * Milliseconds until the status of this At may be written; 0: now. Its place is kept until it is forgotten, so that
   * a status that the API server refuses waits for its back-off alone.
   *
   * @param key of the At.
   * @param group its namespace and reason.
   * @param now monotonic milliseconds.
   */
  wait(key: string, group: string, now: number): number {
    const place = this.#places.get(key) ?? this.#take(group, now);
    this.#places.set(key, place);
    return Math.max(0, place - now);
  }

  /** The status was written, or nothing of this name matters any more. */
  forget(key: string): void {
    this.#places.delete(key);
  }

  #take(id: string, now: number): number {
    for (const [other, { seenAt }] of this.#groups) {
      if (now - seenAt > forgetMs) this.#groups.delete(other);
    }
    const group = this.#groups.get(id) ?? { count: 0, seenAt: now };
    group.count += 1;
    group.seenAt = now;
    this.#groups.set(id, group);
    const earliest = now - burst * intervalMs;
    this.#urgentAt = Math.max(this.#urgentAt, earliest);
    this.#restAt = Math.max(this.#restAt, earliest);
    // A place of the first ones is one less for the rest.
    this.#restAt += intervalMs;
    if (group.count > urgentCount) {
      return this.#restAt;
    }
    this.#urgentAt += intervalMs;
    return this.#urgentAt;
  }
}
