/**
 * Launch line: Ats of a namespace whose creates fail for one cause, in the order in which they try again. One that has
 * not been tried yet comes first, so that a new At which fits waits for no round of those that do not. Times are
 * monotonic milliseconds.
 */
import type { Timer } from '../../runtime/clock.ts';
import type { Cause } from '../plan/cause.ts';

/** First wait after a failure; it doubles. */
const firstDelayMs = 250;
/** Bounds of the wait between two tries for one cause. */
const minIntervalMs = 500;
const maxIntervalMs = 10_000;
/** The same after a create without an answer. */
const maxIntervalWithoutAnswerMs = 2000;
/**
 * Each At that waits has a try within this time, as far as the bounds allow it. Five minutes are promised; a turn may be
 * taken an interval later than it was planned.
 */
const roundMs = 285_000;

/** Which At it is, and which edit of it. */
export interface Version {
  readonly uid: string;
  readonly generation: number;
}

/** An At in the line. */
export interface Place {
  readonly version: Version;
  readonly failure: Cause;
  readonly since: number;
}

export class LaunchLine {
  /** Namespace and cause. */
  readonly id: string;
  readonly namespace: string;
  /** When the first create that failed for this cause was sent. */
  readonly since: number;
  /** By key: those whose turn it is, and since when. */
  readonly trying = new Map<string, Pick<Place, 'version' | 'since'>>();
  failure: Cause;
  /** Turns that failed in a row, those of the line that its first At comes from included. */
  failures: number;
  /** How many may try at once; 0: one at each interval. */
  window = 0;
  nextTurnAt: number;
  timer?: Timer;
  readonly #maxIntervalMs: number;
  /** By key, each in the order of their turns. */
  readonly #newcomers = new Map<string, Place>();
  readonly #tried = new Map<string, Place>();
  #wasNewcomer = false;

  constructor(
    { id, namespace, failure }: { readonly id: string; readonly namespace: string; readonly failure: Cause },
    options: { now: number; since?: number; isAnswered?: boolean; failures?: number },
  ) {
    const { now, since = now, isAnswered = true, failures = 0 } = options;
    this.id = id;
    this.namespace = namespace;
    this.failure = failure;
    this.since = since;
    this.failures = failures;
    this.nextTurnAt = now;
    this.#maxIntervalMs = isAnswered ? maxIntervalMs : maxIntervalWithoutAnswerMs;
  }

  get size(): number {
    return this.#newcomers.size + this.#tried.size + this.trying.size;
  }

  /** Between two turns. */
  intervalMs(now: number): number {
    const backOff = firstDelayMs * 2 ** Math.min(Math.max(0, this.failures - 1), 10);
    return Math.min(this.#maxIntervalMs, backOff, Math.max(minIntervalMs, this.#roundIntervalMs(now)));
  }

  /**
   * The longest interval that lets each one try within its round. Counted from when each began to wait and not from how
   * many wait: those that leave for another line would slow down the ones behind them.
   */
  #roundIntervalMs(now: number): number {
    let interval = roundMs;
    let turns = 0;
    for (const places of [this.#newcomers, this.#tried]) {
      for (const { since } of places.values()) {
        turns += 1;
        interval = Math.min(interval, (since + roundMs - now) / turns);
        if (interval <= minIntervalMs) return interval;
      }
    }
    return interval;
  }

  placeOf(key: string): Place | undefined {
    return this.#newcomers.get(key) ?? this.#tried.get(key);
  }

  /** The At has not been tried for this cause. */
  joinNew(key: string, place: Place): void {
    this.#newcomers.set(key, place);
  }

  /** The create of the At has failed just now. */
  joinTried(key: string, place: Place): void {
    this.leave(key);
    this.#tried.set(key, place);
  }

  leave(key: string): void {
    this.#newcomers.delete(key);
    this.#tried.delete(key);
    this.trying.delete(key);
  }

  /** The key of the At whose turn is next: one that waits for longer than a round takes turns with the newcomers. */
  next(now: number): string | undefined {
    const [newcomer] = this.#newcomers.keys();
    const [tried] = this.#tried;
    if (newcomer === undefined || tried === undefined) return newcomer ?? tried?.[0];
    const isOverdue = now - tried[1].since > roundMs;
    return isOverdue && this.#wasNewcomer ? tried[0] : newcomer;
  }

  /** It is the turn of this At, or it uses its turn. */
  try(key: string, version: Version, now: number): void {
    if (!this.trying.has(key)) this.#wasNewcomer = this.#newcomers.has(key);
    this.leave(key);
    this.trying.set(key, { version, since: now });
  }
}
