/**
 * ConcurrencyLimit: how many requests of one sort may be under way at once, learned from how the API server answers.
 *
 * Two signs say that it has too much to do. A request that it turns away (429 of its priority and fairness)
 * halves the limit, as a lost segment does in TCP, down to one at a time: a priority level may have a single seat,
 * and a refusal is so much quicker than a success that those in excess would take each other's turns. Writes that take longer than they normally do lower it in
 * proportion, and a client that needs more and is answered quickly raises it by its square root: the equation of
 * "Gradient2" in Netflix' concurrency-limits. Either happens once a round, which is as many answers as may be
 * under way; answers to requests that were sent before the limit fell say nothing about the new one.
 */

/** How one request was answered, or that it was not. */
export interface Answered {
  /** Whether its time says something: that of a read depends on how much there is to read. */
  readonly timed: boolean;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
  /** Milliseconds. */
  readonly duration: number;
  /** Turned away: refused because the API server had too much to do. Unanswered: given up after `duration`. */
  readonly outcome: 'answered' | 'turnedAway' | 'unanswered';
  /** Requests of its sort under way when it was sent, itself included. */
  readonly underWay: number;
}

/** What a connection pool and its transport need of a limit. */
export interface RequestLimit {
  /** Requests that may be under way now; an integer ≥ 1. */
  readonly current: number;
  observe(answered: Answered): void;
}

export interface ConcurrencyLimitOptions {
  /** The limit at the start, and the highest: an integer ≥ 1. */
  readonly most: number;
  /** The lowest for slowness; requests that are turned away take it down to 1. Default 4, or `most` when that is less. */
  readonly least?: number;
}

/** Milliseconds. Shorter times are all the same: a server that is so quick needs no protection. */
const quick = 250;
/** So many times its normal time a request may take before the limit falls. */
const tolerance = 2;
/** Most that one round takes from the limit, as a factor. */
const steepest = 0.5;
/** Answers in a round, at least: a single slow one (an admission webhook, a hiccup) is no sign of load. */
const minRound = 10;
/**
 * Milliseconds without a request turned away before the limit rises again. The API server doubles its Retry-After when
 * it has to turn away several a second, so the search for more must not be one of the reasons.
 */
const calm = 5000;
/** By what share of the difference the normal time follows an answer. */
const follow = 1 / 20;

export class ConcurrencyLimit implements RequestLimit {
  readonly #most: number;
  readonly #least: number;
  #normal: number | undefined;
  #limit: number;
  /** Monotonic milliseconds of the last fall. */
  #fellAt = Number.NEGATIVE_INFINITY;
  /** Monotonic milliseconds of the last request turned away. */
  #turnedAwayAt = Number.NEGATIVE_INFINITY;
  #slowness: number[] = [];
  #maxUnderWay = 0;

  /** @throws {RangeError} unless 1 ≤ least ≤ most. */
  constructor({ most, least = Math.min(4, most) }: ConcurrencyLimitOptions) {
    if (!(Number.isSafeInteger(most) && least >= 1 && least <= most)) {
      throw new RangeError(`a limit needs integers 1 ≤ least ≤ most, got ${least} and ${most}`);
    }
    this.#most = most;
    this.#least = least;
    this.#limit = most;
  }

  get current(): number {
    return Math.floor(this.#limit);
  }

  observe({ timed, sentAt, duration, outcome, underWay }: Answered): void {
    if (outcome === 'turnedAway') this.#turnedAwayAt = Math.max(this.#turnedAwayAt, sentAt + duration);
    if (sentAt < this.#fellAt) return;
    if (outcome === 'turnedAway') {
      this.#change(Math.max(1, this.#limit * steepest), sentAt + duration);
      return;
    }
    if (!timed && outcome === 'unanswered') return;
    if (timed && outcome === 'answered') this.#learnNormal(duration);
    this.#slowness.push(timed ? duration / Math.max(quick, this.#normal ?? quick) : 0);
    this.#maxUnderWay = Math.max(this.#maxUnderWay, underWay);
    if (this.#slowness.length >= this.#round) this.#endRound(sentAt + duration);
  }

  /** Answers in a round. Below its least the limit can only rise, which needs no median. */
  get #round(): number {
    return this.#limit < this.#least ? this.#limit : Math.max(minRound, this.#limit);
  }

  /**
   * The first answer is normal by definition. The normal time goes down with any answer, up only while the limit is
   * at its least or below: what is slow although next to nothing is asked, such as an admission webhook, is so by nature.
   */
  #learnNormal(duration: number): void {
    const normal = this.#normal;
    if (normal === undefined) this.#normal = duration;
    else if (duration < normal || this.current <= this.#least) {
      this.#normal = normal + (duration - normal) * follow;
    }
  }

  #endRound(now: number): void {
    const slowness = median(this.#slowness);
    const gradient = Math.min(1, Math.max(steepest, tolerance / slowness));
    // A client that did not use what there was has not shown that more would do.
    const mayRise = this.#maxUnderWay >= this.current && now - this.#turnedAwayAt >= calm;
    const more = mayRise ? Math.sqrt(this.#limit) : 0;
    const floor = Math.min(this.#least, this.#limit);
    this.#change(Math.max(floor, this.#limit * gradient + more), now);
  }

  #change(limit: number, now: number): void {
    const next = Math.min(this.#most, limit);
    if (next < this.#limit) this.#fellAt = now;
    this.#limit = next;
    this.#slowness = [];
    this.#maxUnderWay = 0;
  }
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[values.length >> 1] ?? 0;
}
