/**
 * ServerClock: the API server's time, as far as its answers prove it.
 *
 * The `Date` header of an answer has whole seconds. So the server's clock was not earlier than `Date` when the answer
 * arrived, and earlier than `Date` + 1 s when its request was sent. Carried on by the monotonic clock, all answers
 * together bound the server's time from both sides. The own wall clock counts where it lies between the bounds;
 * otherwise the lower bound does, so that nothing happens early because of a wrong clock.
 */
import type { Clock, Timer } from './clock.ts';

/** What one answer of the API server proves. */
export interface AnswerTime {
  /** The `Date` header, epoch ms of whole seconds. */
  readonly date: number;
  /** Monotonic ms when the request was sent. */
  readonly sentAt: number;
  /** Monotonic ms when the answer arrived. */
  readonly receivedAt: number;
}

/** What is known of the server's time, in epoch ms: it is at least `earliest`, and less than `latest`. */
export interface TimeBounds {
  readonly earliest: number;
  readonly latest: number;
}

/** A `Date` header has whole seconds, ms. */
const headerStep = 1000;
/** By how much two clocks may drift apart: NTP slews a clock by 500 ppm at most. */
const maxDrift = 500e-6;
/** After so long without an answer that agrees, ms, the bounds prove nothing from above. */
const maxAge = 60_000;
/** The wall clock has moved by so much against the monotonic clock, ms: it was set, or the machine was suspended. */
const jump = 500;
/** Bounds as close as this, ms, need no further answers. */
const narrow = 20;

/** Bounds of server time minus monotonic time; each with the monotonic time from which it drifts. */
interface Interval {
  readonly lower: number;
  readonly lowerSince: number;
  readonly upper: number;
  readonly upperSince: number;
}

/** A Clock whose wall-clock time is the API server's, as far as its answers prove it. */
export class ServerClock implements Clock {
  readonly #own: Clock;
  #interval: Interval | undefined;
  /** What answers prove that are later than the interval allows; it counts once nothing agrees with the interval. */
  #later: Interval | undefined;
  /** Monotonic ms of the last answer that agreed with the interval. */
  #agreedAt = Number.NEGATIVE_INFINITY;
  /** Wall minus monotonic time when the clocks were last read. */
  #wallOffset: number;
  /** Monotonic ms when the wall clock was last seen to have jumped forward. */
  #jumpedAt = Number.NEGATIVE_INFINITY;

  /** @param own the machine's clock. */
  constructor(own: Clock) {
    this.#own = own;
    this.#wallOffset = own.now() - own.monotonic();
  }

  /**
   * Epoch ms, whole ones as those of a wall clock: the own wall clock where the bounds allow it, otherwise the lower
   * bound. Without an answer for a minute,
   * or after the wall clock jumped forward, the earlier of the two. Before the first answer, the own wall clock.
   */
  now(): number {
    const own = this.#own.now();
    const bounds = this.bounds;
    if (bounds === undefined) return own;
    const earliest = Math.floor(bounds.earliest);
    if (!this.#isRecent) return Math.min(own, earliest);
    return own >= earliest && own < bounds.latest ? own : earliest;
  }

  /** Epoch ms that the server's clock shows at least; before the first answer, the own wall clock. */
  earliest(): number {
    return this.bounds?.earliest ?? this.#own.now();
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  setTimer(delay: number, callback: () => void): Timer {
    return this.#own.setTimer(delay, callback);
  }

  turn(): Promise<void> {
    return this.#own.turn();
  }

  /** What the answers prove about this moment; undefined before the first. */
  get bounds(): TimeBounds | undefined {
    this.#noticeJump();
    if (this.#interval === undefined) return undefined;
    const monotonic = this.#own.monotonic();
    const { lower, upper } = at(this.#interval, monotonic);
    return { earliest: monotonic + lower, latest: monotonic + upper };
  }

  /** Ms that the own wall clock is ahead of the server's time (negative: behind), at least; 0 while they may agree. */
  get skew(): number {
    const bounds = this.bounds;
    if (bounds === undefined || !this.#isRecent) return 0;
    const own = this.#own.now();
    return Math.min(0, own - bounds.earliest) + Math.max(0, own - bounds.latest);
  }

  /** The API server answered. Answers that do not come from Kubernetes itself, such as a proxy's, must be left out. */
  observe(answer: AnswerTime): void {
    this.#noticeJump();
    const { date, sentAt, receivedAt } = answer;
    if (![date, sentAt, receivedAt].every(Number.isFinite)) return;
    // The monotonic clock may have stood still between the two, so that the answer bounds nothing from above.
    if (sentAt < this.#jumpedAt) return;
    const upper = date + headerStep - sentAt;
    const proved: Interval = { lower: date - receivedAt, lowerSince: receivedAt, upper, upperSince: sentAt };
    const known = this.#interval;
    const monotonic = this.#own.monotonic();
    if (known !== undefined && at(proved, monotonic).lower >= at(known, monotonic).upper) {
      this.#observeLater(proved, monotonic);
      return;
    }
    // Servers that disagree: the earliest counts.
    const isEarlier = known === undefined || at(proved, monotonic).upper <= at(known, monotonic).lower;
    this.#interval = isEarlier ? proved : intersection(known, proved, monotonic);
    this.#agreedAt = monotonic;
    this.#later = undefined;
  }

  /**
   * Monotonic ms at which a request should be sent so that its answer halves the bounds: the server's second turns
   * between them. At once when the last answer is old; undefined while recent bounds are close enough.
   *
   * @param roundTrip ms that a request takes.
   */
  probeAt(roundTrip: number): number | undefined {
    const { bounds } = this;
    const monotonic = this.#own.monotonic();
    if (bounds === undefined || monotonic - this.#agreedAt > maxAge / 2) return monotonic;
    if (bounds.latest - bounds.earliest <= Math.max(narrow, roundTrip)) return undefined;
    const middle = (bounds.earliest + bounds.latest) / 2 + roundTrip / 2;
    return monotonic + headerStep - (middle % headerStep);
  }

  get #isRecent(): boolean {
    return this.#own.monotonic() - this.#agreedAt <= maxAge;
  }

  /**
   * Another server is ahead of the one that was heard, or the server's clock was set forward, which no answer can tell
   * apart at once. So it counts only when no answer agreed with the earlier time for a minute.
   */
  #observeLater(proved: Interval, monotonic: number): void {
    const before = this.#later;
    const agrees =
      before !== undefined &&
      at(proved, monotonic).lower < at(before, monotonic).upper &&
      at(before, monotonic).lower < at(proved, monotonic).upper;
    this.#later = agrees ? intersection(before, proved, monotonic) : earlierOf(before, proved, monotonic);
    if (this.#isRecent) return;
    this.#interval = this.#later;
    this.#later = undefined;
    this.#agreedAt = monotonic;
  }

  /**
   * A machine that was suspended may have stopped its monotonic clock: the server's time has gone on, so the upper
   * bound is void, and the lower one holds. A wall clock that was set looks the same, and the next answer tells.
   */
  #noticeJump(): void {
    const offset = this.#own.now() - this.#own.monotonic();
    const jumped = offset - this.#wallOffset > jump;
    this.#wallOffset = offset;
    if (!jumped) return;
    this.#jumpedAt = this.#own.monotonic();
    if (this.#interval === undefined) return;
    this.#interval = { ...this.#interval, upper: Number.POSITIVE_INFINITY };
    this.#later = undefined;
    this.#agreedAt = Number.NEGATIVE_INFINITY;
  }
}

/** The bounds at a moment, wider by what the clocks may have drifted. */
function at(interval: Interval, monotonic: number): { readonly lower: number; readonly upper: number } {
  const { lower, lowerSince, upper, upperSince } = interval;
  return {
    lower: lower - maxDrift * Math.max(0, monotonic - lowerSince),
    upper: upper + maxDrift * Math.max(0, monotonic - upperSince),
  };
}

function intersection(one: Interval, other: Interval, monotonic: number): Interval {
  const [first, second] = [at(one, monotonic), at(other, monotonic)];
  const { lower, lowerSince } = first.lower > second.lower ? one : other;
  const { upper, upperSince } = first.upper < second.upper ? one : other;
  return { lower, lowerSince, upper, upperSince };
}

function earlierOf(one: Interval | undefined, other: Interval, monotonic: number): Interval {
  return one !== undefined && at(one, monotonic).lower < at(other, monotonic).lower ? one : other;
}
