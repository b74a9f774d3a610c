/**
 * Rewrites: how often something is written again that another client has replaced, such as a status. Two active replicas of
 * which one has an older view, or a user with a script, would otherwise write against this one as fast as the watch tells of it.
 */

/** Before the second rewrite in a row, in milliseconds; doubled for each that follows. The first one waits for nothing. */
const firstWaitMs = 1000;
const maxWaitMs = 10_000;
/** A write is forgotten after this time, in milliseconds. */
const forgetMs = 60_000;

interface Write {
  readonly wanted: unknown;
  /** How often in a row it was written again. */
  readonly rewrites: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Greater numbers are instants in epoch milliseconds (since the year 2000), and no counts. */
const firstInstant = 946_684_800_000;
const timestamp = /^\d{4}-\d\d-\d\dT/;

/**
 * Spaces the writes of a reconciler that another client undoes: of a status, or of a whole spec. Two are the same that differ
 * in times alone; undefined stands for none.
 */
export class Rewrites {
  /** By key, the oldest first. */
  readonly #writes = new Map<string, Write>();

  /**
   * Milliseconds until this may be written; 0: now.
   *
   * @param key of the object, such as `namespace/name`.
   * @param stored what the object has.
   * @param wanted what it is to have.
   * @param now monotonic milliseconds.
   */
  wait(key: string, stored: unknown, wanted: unknown, now: number): number {
    const rewrites = this.#rewritesOf(key, stored, wanted, now);
    const { at = now } = this.#writes.get(key) ?? {};
    return rewrites < 2 ? 0 : Math.max(0, at + Math.min(maxWaitMs, firstWaitMs * 2 ** (rewrites - 2)) - now);
  }

  /** This was written in place of what was stored. The parameters are those of {@link wait}. */
  written(key: string, stored: unknown, wanted: unknown, now: number): void {
    const rewrites = this.#rewritesOf(key, stored, wanted, now);
    this.#writes.delete(key);
    this.#writes.set(key, { wanted, rewrites, at: now });
    for (const [oldest, { at }] of this.#writes) {
      if (now - at <= forgetMs) break;
      this.#writes.delete(oldest);
    }
  }

  /** How often in a row this was written again, with the write that is to come. */
  #rewritesOf(key: string, stored: unknown, wanted: unknown, now: number): number {
    const last = this.#writes.get(key);
    if (last === undefined || now - last.at > forgetMs) return 0;
    const isRewrite = saySame(last.wanted, wanted) && !saySame(stored, wanted);
    return isRewrite ? last.rewrites + 1 : 0;
  }
}

/** Whether two say the same but for their times, which differ in each write. Most differ early. */
function saySame(left: unknown, right: unknown): boolean {
  const [one, other] = [withoutTime(left), withoutTime(right)];
  if (one === other) return true;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.every((name) => saySame(one[name], other[name])) &&
    Object.keys(other).every((name) => name in one || withoutTime(other[name]) === undefined)
  );
}

function withoutTime(value: unknown): unknown {
  if (typeof value === 'number') return value < firstInstant ? value : undefined;
  if (typeof value === 'string') return timestamp.test(value) ? undefined : value;
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
