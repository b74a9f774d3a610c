/** Back-off of a kubelet (flowcontrol.Backoff): 10 s doubling to 5 min, from the start after 10 min of peace. */

const first = 10_000;
const longest = 300_000;

interface Entry {
  delay: number;
  /** When it was counted up last, epoch ms. */
  updated: number;
}

export class BackOff {
  readonly #entries = new Map<string, Entry>();

  /** The delay that counts after something that happened then: 0 when there is none. */
  delayAfter(key: string, eventTime: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined || isExpired(entry, eventTime) ? 0 : entry.delay;
  }

  /** Counts one more. */
  next(key: string, now: number): void {
    const entry = this.#entries.get(key);
    const delay = entry === undefined || isExpired(entry, now) ? first : Math.min(longest, entry.delay * 2);
    this.#entries.set(key, { delay, updated: now });
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }
}

function isExpired({ updated }: Entry, eventTime: number): boolean {
  return eventTime - updated > 2 * longest;
}
